#include "cli/placing.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <set>

#include "cli/decisions.h"
#include "cli/progress.h"
#include "cli/units.h"
#include "optimizer/model/from_profile.h"
#include "optimizer/model/peak.h"
#include "optimizer/placement/solve.h"
#include "optimizer/profile/json.h"

namespace adprof::cli {
namespace {

/// The wish for each site of the tree; a name that fits no site is an error.
Result<std::vector<placement::Mode>> wishes_of(const PlacingOptions &options, const model::CallTree &tree) {
  std::vector<placement::Mode> wishes(tree.sites.size(), placement::kFree);
  const std::pair<const std::vector<std::string> *, placement::Mode> lists[] = {{&options.keep_off, placement::kOff},
                                                                               {&options.keep_on, placement::kOn}};
  for (const auto &[names, mode] : lists)
    for (const std::string &name : *names) {
      bool known = false;
      std::vector<std::string> candidates;
      for (std::size_t s = 0; s < tree.sites.size(); ++s) {
        const model::SiteInfo &site = tree.sites[s];
        candidates.push_back(site.name);
        candidates.push_back(site.callee);
        if (site.name == name || site.callee == name) {
          wishes[s] = mode;
          known = true;
        }
      }
      if (!known) {
        const std::string near = closest(name, candidates);
        return std::unexpected(Error{ErrorKind::kUsage, mode == placement::kOn ? "--keep-on" : "--keep-off",
                                     "no site or callee '" + name + "' in the profile" + (near.empty() ? "" : "; did you mean " + near + "?")});
      }
    }
  return wishes;
}

} // namespace

void add_placing_options(CLI::App &verb, PlacingOptions &options) {
  CLI::Option *budget = verb.add_option("--budget", options.budget,
                                        "Memory of the whole process: 8G, 500M, or a multiple of what all-on needs: 1.1x");
  verb.add_option("--tape-budget", options.tape_budget, "Memory of the AD stack alone, likewise")->excludes(budget);
  verb.add_option("--keep-on", options.keep_on, "Site (caller:callee:ordinal) or callee that stays on; repeatable")->allow_extra_args(false);
  verb.add_option("--keep-off", options.keep_off, "Likewise off")->allow_extra_args(false);
  verb.add_option("--time-limit", options.time_limit, "Caps each search")->capture_default_str();
}

Result<void> check_placing(const PlacingOptions &options) {
  if (options.budget.empty() && options.tape_budget.empty())
    return std::unexpected(Error{ErrorKind::kUsage, "--budget", "is missing; write e.g. --budget 1.1x (of the all-on need) or --budget 8G"});
  const bool whole = options.tape_budget.empty();
  if (const Result<Size> size = parse_size(whole ? options.budget : options.tape_budget, whole ? "--budget" : "--tape-budget"); !size)
    return std::unexpected(size.error());
  if (const Result<double> limit = parse_time(options.time_limit, "--time-limit"); !limit)
    return std::unexpected(limit.error());
  return {};
}

std::string describe_placing(const PlacingOptions &options) {
  std::string text = "budget " + options.budget + ", tape budget " + options.tape_budget;
  for (const std::string &name : options.keep_on)
    text += ", on " + name;
  for (const std::string &name : options.keep_off)
    text += ", off " + name;
  return text;
}

Result<placement::PlacementFile> place(const std::vector<profile::Profile> &profiles, const std::vector<std::string> &names,
                                       const PlacingOptions &options, Io &io) {
  std::vector<model::NamedProfile> named;
  for (std::size_t i = 0; i < profiles.size(); ++i)
    named.push_back({&profiles[i], names[i]});
  const Result<model::CallTree> tree = model::from_profiles(named);
  if (!tree)
    return std::unexpected(tree.error());
  const Result<std::vector<placement::Mode>> wishes = wishes_of(options, *tree);
  if (!wishes)
    return std::unexpected(wishes.error());
  const bool whole = options.tape_budget.empty();
  Progress progress(io, "searching");
  placement::SolveOptions solve;
  solve.wishes = *wishes;
  solve.by_callee = options.by_callee;
  solve.whole_process = whole;
  solve.seconds = *parse_time(options.time_limit, "--time-limit") / 1e9;
  solve.progress = [&](const std::string &what) { progress.update(what); };
  placement::Solver solver(*tree, solve);
  const placement::Answer all_on = solver.evaluate(model::uniform_placement(*tree, true));
  const Size size = *parse_size(whole ? options.budget : options.tape_budget, "--budget");
  const std::int64_t budget = size.bytes_given(all_on.load_bytes);
  const Result<placement::Answer> answer = solver.fastest(budget);
  if (!answer)
    return std::unexpected(answer.error());

  placement::PlacementFile file;
  file.adprof_version = ADPROF_VERSION;
  file.profile = names.front();
  file.site_fingerprint = profile::site_fingerprint(profiles.front());
  (whole ? file.limit.process_bytes : file.limit.tape_bytes) = budget;
  for (std::size_t p = 0; p < answer->peaks.size(); ++p) {
    const std::int64_t tape = bytes_of_bits(answer->peaks[p]);
    file.predicted_tape_bytes = std::max(file.predicted_tape_bytes, tape);
    file.predicted_process_bytes = std::max(file.predicted_process_bytes, tape + tree->processes[p].other_bytes);
  }
  file.predicted_time_ns = answer->time_ns;
  const Measured measured = measured_of(profiles.front());
  file.measured_time_ns = measured.time_ns;
  file.measured_tape_bytes = measured.tape_bytes;
  file.certificate = answer->certificate;
  for (std::size_t s = 0; s < tree->sites.size(); ++s) {
    const model::SiteInfo &site = tree->sites[s];
    const bool on = answer->placement.on[s] != 0;
    placement::PlacedSite placed;
    placed.caller = site.caller;
    placed.callee = site.callee;
    placed.ordinal = static_cast<std::uint32_t>(std::stoul(site.name.substr(site.name.rfind(':') + 1)));
    placed.file = site.file;
    placed.line = site.line;
    placed.on = on;
    placed.switchable = site.switchable;
    placed.fixed_reason = site.fixed_reason;
    placed.gain_ns = site.recompute_ns;
    placed.measured = !site.estimated;
    file.sites.push_back(std::move(placed));
  }
  return file;
}

} // namespace adprof::cli
