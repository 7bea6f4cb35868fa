/// In which mode was each site really run? An AD tool ignores a name it doesn't know without a word, so what was asked
/// for is compared with what a profile of the regenerated program shows. Called by `verify` and `tune`.
#pragma once

#include "optimizer/profile/profile.h"

#include <cstdint>
#include <string>
#include <vector>

namespace adprof::verify {

enum class ModeVerdict {
  kAsAsked,
  kOtherMode, ///< every invocation in the other mode
  kMixed,     ///< some invocations in either mode
  kNotRun,    ///< in the program, but never reversed in this run
  kGone,      ///< no such site in the profile
  kNew,       ///< no such site in the placement
};

struct AskedMode {
  std::string name;
  bool on = true;
  bool switchable = true;
};

struct SiteMode {
  std::string name;
  bool asked_on = true, switchable = true;
  std::int64_t invocations_on = 0, invocations_off = 0;
  double time_ns = 0; ///< own time in this profile (profile/summary.h)
  ModeVerdict verdict = ModeVerdict::kAsAsked;
};

/// In the order of `asked`, then new sites. Roots are no decisions and don't appear. A site whose primal call the tool
/// sliced away recomputes nothing in either mode, but its mode is compared all the same.
std::vector<SiteMode> compare_modes(const std::vector<AskedMode> &asked, const profile::Profile &profile);

/// "asked off, ran on (36 invocations): does the tool know the name 'f'?"
std::string describe(const SiteMode &mode);

} // namespace adprof::verify
