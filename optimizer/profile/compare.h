/// What differs between two profiles of one program, site by site: for `diff` (what changed) and `check` (what got worse). Sites
/// match by caller, callee and ordinal; knows nothing of how it is shown.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "optimizer/profile/profile.h"
#include "optimizer/profile/summary.h"

namespace adprof::profile {

/// One site of either profile; its totals are empty where it does not occur.
struct SiteChange {
  std::string name;
  bool in_before = false, in_after = false, root = false;
  SiteTotals before, after;
  double time_change_ns = 0;         ///< of own_ns, which adds up over sites
  double effect = 0;                 ///< share of the run's time and peak that the changes are, for sorting
  bool exact = false;                ///< bytes, invocations or mode differ: no matter of noise
};

struct Comparison {
  Summary before, after;
  std::vector<SiteChange> sites; ///< all, changes in bytes, invocations and modes first, each part by effect
};
Comparison compare(const Profile &before, const Profile &after);

/// One thing that got worse beyond what is allowed.
struct Regression {
  enum class Unit { kBits, kBytes, kNs, kCount, kMode };
  std::string what; ///< "AD stack peak", "invocations", ...
  std::string site; ///< empty: the whole run
  Unit unit = Unit::kCount;
  double before = 0, after = 0;
  std::string before_mode, after_mode; ///< where unit is kMode
};

struct Tolerance {
  double bytes = 0;           ///< fraction that the peak of the run, and tape and snapshot of a site, may grow by
  std::optional<double> time; ///< fraction that the time of the adjoint may grow by; none: time does not gate
};

/// `current`: one or more runs of one program. Sizes may grow by their tolerance in each of them; invocations may not grow, and
/// no site that was off may be on; time counts by the fastest run. What shrank is no regression.
std::vector<Regression> regressions(const Profile &baseline, const std::vector<Profile> &current, const Tolerance &tolerance);

} // namespace adprof::profile
