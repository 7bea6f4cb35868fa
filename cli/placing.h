/// From profiles to a placement file, as `tune` does it in each round: the options that say what is wanted, and the search.
#pragma once

#include <string>
#include <vector>

#include "cli/application.h"
#include "optimizer/placement/placement_json.h"
#include "optimizer/profile/profile.h"

namespace adprof::cli {

struct PlacingOptions {
  std::string budget, tape_budget;            ///< one of them: "8G" or "1.1x" of the all-on need
  std::vector<std::string> keep_on, keep_off; ///< sites ("caller:callee:ordinal") or callees
  bool by_callee = false;
  std::string time_limit = "10s";
};

void add_placing_options(CLI::App &verb, PlacingOptions &options);
/// All that can be wrong with them before there is a profile.
Result<void> check_placing(const PlacingOptions &options);
/// Equal for equal wishes.
std::string describe_placing(const PlacingOptions &options);

/// The fastest placement for all of `profiles` within the budget. `names` are for messages.
Result<placement::PlacementFile> place(const std::vector<profile::Profile> &profiles, const std::vector<std::string> &names,
                                       const PlacingOptions &options, Io &io);

} // namespace adprof::cli
