/// Was a placement, or another profile, made for the program that this profile shows? Called by every verb that takes
/// two inputs: sites are matched by name, and what is missing is weighed by the time spent in it.
#pragma once

#include "optimizer/profile/profile.h"

#include <string>
#include <vector>

namespace adprof::profile {

struct SiteMatch {
  double share = 1;                 ///< of the adjoint's time in `profile` that was spent in sites with a known name
  std::vector<std::string> missing; ///< known names that the profile doesn't have; sorted
  std::vector<std::string> added;   ///< sites of the profile whose name isn't known, the one with most time first
};

/// Roots are not compared: they are no decisions. Where no time was measured, shares count sites.
SiteMatch match_sites(const std::vector<std::string> &known_names, const Profile &profile);

} // namespace adprof::profile
