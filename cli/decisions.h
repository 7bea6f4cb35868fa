/// A placement joined with the program that a profile shows: what `apply`, `verify` and `tune` have in common.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "cli/application.h"
#include "optimizer/feedback/decision.h"
#include "optimizer/placement/placement_json.h"
#include "optimizer/profile/profile.h"

namespace adprof::cli {

Result<placement::PlacementFile> load_placement(const std::string &path);

/// One decision per site of the placement, roots of the profile left out. Where a profile is given, lines come from it:
/// it may be newer than the placement.
std::vector<feedback::Decision> decisions_of(const placement::PlacementFile &placement,
                                             const profile::Profile *profile);

/// What a budget and a prediction are compared with.
struct Measured {
  std::int64_t tape_bytes = 0;    ///< AD stack of the largest process, its threads together
  std::int64_t process_bytes = 0; ///< with what else was resident
  double time_ns = 0;             ///< inside adjoint roots, mean over processes, as the model counts
};
Measured measured_of(const profile::Profile &profile);

/// Refuses (kInfeasible) when less than `least_share` of the profile's time is in sites that the placement knows; says
/// what is missing and new to `io.talk` whenever anything is. `profile_name` and `placement_name` are for the message.
Result<void> require_match(const placement::PlacementFile &placement, const profile::Profile &profile,
                           double least_share, const std::string &placement_name, const std::string &profile_name,
                           Io &io);

/// Says what the chosen form could not express.
void print_losses(const std::vector<feedback::Loss> &losses, Io &io);

} // namespace adprof::cli
