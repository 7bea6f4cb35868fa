/// What `suggest`, `predict`, `pareto` and `explain` have in common: profiles and wishes from the command line, the model made of
/// them, and how a placement and its highest turn are shown.
#pragma once

#include <memory>
#include <string>
#include <vector>

#include "cli/application.h"
#include "cli/progress.h"
#include "optimizer/model/call_tree.h"
#include "optimizer/model/peak.h"
#include "optimizer/placement/placement_json.h"
#include "optimizer/placement/solve.h"
#include "optimizer/profile/profile.h"

namespace adprof::cli {

struct ModelOptions {
  std::vector<std::string> profiles{"adprof.json"};
  std::string budget, tape_budget;
  std::vector<std::string> keep_on, keep_off, only; ///< patterns, or @FILE with one a line
  std::string granularity = "site", time_limit = "10s";
};

void add_profiles(CLI::App &verb, ModelOptions &options);
void add_budgets(CLI::App &verb, ModelOptions &options);
void add_wishes(CLI::App &verb, ModelOptions &options);

struct Model {
  std::vector<profile::Profile> profiles;
  model::CallTree tree;
  placement::SolveOptions solve;
  model::Placement measured; ///< of the first profile
  std::string profile_name;
};

/// Profiles read, wishes matched against the sites. `progress` outlives the model.
Result<Model> load_model(const ModelOptions &options, Progress &progress);

/// Sites that a pattern names: a site ("caller:callee:ordinal"), a callee, a file, or a glob over any of these. None: an error
/// that names `option`.
Result<std::vector<std::uint32_t>> sites_named(const model::CallTree &tree, const std::string &pattern, const std::string &option);
/// `pattern`s, those of @FILEs read.
Result<std::vector<std::string>> patterns_of(const std::vector<std::string> &given);

/// --budget or --tape-budget in bytes, "1.2x" against what all on needs; -1 where neither is given.
Result<std::int64_t> budget_bytes(const ModelOptions &options, const placement::Solver &solver, const Model &model);

/// kInfeasible in words for people: the smallest budget that is possible.
Error too_little(const ModelOptions &options, std::int64_t budget, const placement::Answer &least, bool whole_process);

placement::PlacementFile placement_file(const Model &model, const placement::Answer &answer, const placement::Limit &limit);

/// Largest need over the processes: the AD stack, and the whole process.
struct Need {
  std::int64_t tape_bytes = 0, process_bytes = 0;
  std::size_t process = 0; ///< with the largest AD stack
};
Need need_of(const model::CallTree &tree, const std::vector<model::Bits> &peaks);

/// "step:flux:0 > flux:row:1 (round 36)".
std::string path_text(const model::CallTree &tree, const model::BindingTurn &turn);
/// Where the peak is and what stands on the stack there, the largest `rows`.
void print_turn(const model::CallTree &tree, const model::BindingTurn &turn, std::size_t rows, Io &io);

} // namespace adprof::cli
