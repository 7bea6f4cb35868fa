/// What the model said of each site, beside what the second run showed. Called by `verify`.
#pragma once

#include "optimizer/model/call_tree.h"
#include "optimizer/model/placement.h"
#include "optimizer/profile/profile.h"

#include <string>
#include <vector>

namespace adprof::verify {

struct SiteComparison {
  std::string name;
  bool on = true;
  bool estimated = false;                                       ///< the model had not seen the site in this mode
  std::int64_t predicted_tape_bits = 0, measured_tape_bits = 0; ///< largest invocation
  std::int64_t predicted_snapshot_bits = 0, measured_snapshot_bits = 0; ///< largest invocation, 0 where off
  double predicted_recompute_ns = 0, measured_recompute_ns = 0;         ///< whole run, 0 where off
};

/// Sites of the tree that `measured` has, in the tree's order. `placement` is what the measured program was built with.
std::vector<SiteComparison> compare_sites(const model::CallTree &tree, const model::Placement &placement,
                                          const profile::Profile &measured);

} // namespace adprof::verify
