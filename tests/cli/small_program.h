/// A program of three procedures: its sources, a profile of it, and a placement for it.
#pragma once

#include "in_temporary_folder.h"
#include "optimizer/placement/placement_json.h"
#include "optimizer/profile/json.h"

namespace adprof::cli {

/// main -> model (root) -> step twice, flux in step; flux is off, and one of the calls of step.
class SmallProgram : public InTemporaryFolder {
protected:
  placement::PlacementFile placement_;
  profile::Profile profile_;

  void SetUp() override {
    InTemporaryFolder::SetUp();
    profile_.sites = {{"main", "model", 0, {"main.c", 3}, {}, true, "", ""},
                      {"model", "step", 0, {"src/model.c", 2}, {}, false, "", ""},
                      {"model", "step", 1, {"src/model.c", 3}, {}, false, "", ""},
                      {"step", "flux", 0, {"src/step.f90", 2}, {}, false, "", ""}};
    profile_.procedures = {"model", "step", "flux"};
    for (std::uint32_t s = 0; s < 4; ++s) {
      profile::Context context;
      context.parent = s == 0 ? profile::kNoIndex : 0;
      context.site = s;
      context.invocations_on = 1;
      context.forward_ns = s == 0 ? 60 : 20;
      profile_.contexts.push_back(context);
    }
    placement_.site_fingerprint = profile::site_fingerprint(profile_);
    for (const profile::Site &site : profile_.sites)
      placement_.sites.push_back(
          {site.caller, site.callee, site.ordinal, site.primal.file, site.primal.line, true, !site.root, "", 1, true});
    placement_.sites[2].on = placement_.sites[3].on = false;
    write("tree/src/model.c", "void model(void) {\n  step(1);\n  step(2);\n}\n");
    write("tree/src/step.f90", "subroutine step(k)\n  call flux(k)\nend subroutine\n");
    save();
  }

  void save() {
    write("p.json", placement::write_placement(placement_));
    write("profile.json", profile::write_json(profile_));
  }
};

} // namespace adprof::cli
