#include "cli/model_options.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <fnmatch.h>
#include <ostream>
#include <set>
#include <sstream>

#include "cli/decisions.h"
#include "cli/table.h"
#include "cli/units.h"
#include "optimizer/model/from_profile.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/load.h"

namespace adprof::cli {

void add_profiles(CLI::App &verb, ModelOptions &options) {
  verb.add_option("PROFILE", options.profiles, "Profiles of one program: other placements, inputs or ranks; all must fit")
      ->default_str("adprof.json");
}

void add_budgets(CLI::App &verb, ModelOptions &options) {
  CLI::Option *budget = verb.add_option("--budget", options.budget,
                                        "Memory of the whole process: 8G, 8GiB, 500M, or 1.2x of what all sites on need");
  verb.add_option("--tape-budget", options.tape_budget, "Memory of the AD stack alone, likewise")->excludes(budget);
}

void add_wishes(CLI::App &verb, ModelOptions &options) {
  auto list = [&](const char *name, std::vector<std::string> &values, const char *help) {
    verb.add_option(name, values, help)->delimiter(',')->take_all()->allow_extra_args(false);
  };
  list("--keep-on", options.keep_on, "Stay checkpointed: site, callee, file or pattern; @FILE reads one a line; repeatable");
  list("--keep-off", options.keep_off, "Stay split, likewise");
  list("--only", options.only, "Only these may be switched off, likewise");
  verb.add_option("--granularity", options.granularity, "site, or callee for AD tools that take only names")
      ->check(CLI::IsMember({"site", "callee"}))
      ->capture_default_str();
  verb.add_option("--time-limit", options.time_limit, "Caps the search")->capture_default_str();
}

Result<std::vector<std::string>> patterns_of(const std::vector<std::string> &given) {
  std::vector<std::string> patterns;
  for (const std::string &word : given) {
    if (!word.starts_with("@")) {
      patterns.push_back(word);
      continue;
    }
    Result<std::string> text = profile::read_file(word.substr(1));
    if (!text)
      return std::unexpected(text.error());
    std::istringstream lines(*text);
    for (std::string line; std::getline(lines, line);) {
      line = line.substr(0, line.find('#'));
      const std::size_t first = line.find_first_not_of(" \t\r");
      if (first != std::string::npos)
        patterns.push_back(line.substr(first, line.find_last_not_of(" \t\r") - first + 1));
    }
  }
  return patterns;
}

Result<std::vector<std::uint32_t>> sites_named(const model::CallTree &tree, const std::string &pattern, const std::string &option) {
  std::vector<std::uint32_t> sites;
  for (std::uint32_t s = 0; s < tree.sites.size(); ++s) {
    const model::SiteInfo &site = tree.sites[s];
    const std::string base = site.file.substr(site.file.rfind('/') + 1);
    for (const std::string &word : {site.name, site.callee, site.file, base})
      if (fnmatch(pattern.c_str(), word.c_str(), 0) == 0) {
        sites.push_back(s);
        break;
      }
  }
  if (!sites.empty())
    return sites;
  std::vector<std::string> words;
  for (const model::SiteInfo &site : tree.sites)
    words.insert(words.end(), {site.name, site.callee, site.file});
  const std::string near = closest(pattern, words);
  return std::unexpected(Error{ErrorKind::kUsage, option,
                               "'" + pattern + "' is no site (caller:callee:ordinal), callee or file of the profile; " +
                                   (near.empty() ? "`adprof report --sites` lists them" : "did you mean " + near + "?")});
}

namespace {

Result<std::vector<placement::Mode>> wishes_of(const ModelOptions &options, const model::CallTree &tree) {
  std::vector<placement::Mode> wishes(tree.sites.size(), placement::kFree);
  auto each = [&](const std::vector<std::string> &given, const char *option, auto &&use) -> Result<void> {
    Result<std::vector<std::string>> patterns = patterns_of(given);
    if (!patterns)
      return std::unexpected(patterns.error());
    for (const std::string &pattern : *patterns) {
      Result<std::vector<std::uint32_t>> sites = sites_named(tree, pattern, option);
      if (!sites)
        return std::unexpected(sites.error());
      bool switchable = false;
      for (std::uint32_t site : *sites)
        switchable |= tree.sites[site].switchable;
      if (!switchable && std::string(option) == "--keep-off")
        return std::unexpected(Error{ErrorKind::kUsage, option,
                                     "'" + pattern + "' cannot be switched: " + tree.sites[sites->front()].fixed_reason});
      for (std::uint32_t site : *sites)
        if (Result<void> used = use(site); !used)
          return used;
    }
    return {};
  };
  auto wish = [&](std::uint32_t site, placement::Mode mode) -> Result<void> {
    if (wishes[site] != placement::kFree && wishes[site] != mode)
      return std::unexpected(Error{ErrorKind::kUsage, "--keep-on and --keep-off", "both name " + tree.sites[site].name});
    wishes[site] = mode;
    return {};
  };
  Result<void> done = each(options.keep_on, "--keep-on", [&](std::uint32_t s) { return wish(s, placement::kOn); });
  if (done)
    done = each(options.keep_off, "--keep-off", [&](std::uint32_t s) { return wish(s, placement::kOff); });
  std::set<std::uint32_t> only;
  if (done)
    done = each(options.only, "--only", [&](std::uint32_t s) -> Result<void> {
      only.insert(s);
      return {};
    });
  if (!done)
    return std::unexpected(done.error());
  for (std::uint32_t s = 0; s < wishes.size() && !options.only.empty(); ++s)
    if (wishes[s] == placement::kFree && !only.contains(s))
      wishes[s] = placement::kOn;
  return wishes;
}

} // namespace

Result<Model> load_model(const ModelOptions &options, Progress &progress) {
  Result<double> time_limit = parse_time(options.time_limit, "--time-limit");
  if (!time_limit)
    return std::unexpected(time_limit.error());
  Model model;
  for (const std::string &name : options.profiles) {
    progress.update("reading " + name);
    Result<profile::Profile> loaded = profile::load(name);
    if (!loaded)
      return std::unexpected(loaded.error());
    model.profiles.push_back(*std::move(loaded));
  }
  std::vector<model::NamedProfile> named;
  for (std::size_t i = 0; i < model.profiles.size(); ++i)
    named.push_back({&model.profiles[i], options.profiles[i]});
  progress.update("building the model");
  Result<model::CallTree> tree = model::from_profiles(named);
  if (!tree) {
    Error error = tree.error();
    if (!error.where.starts_with(options.profiles[0]))
      error.where = options.profiles[0] + ": " + error.where;
    return std::unexpected(error);
  }
  model.tree = *std::move(tree);
  Result<std::vector<placement::Mode>> wishes = wishes_of(options, model.tree);
  if (!wishes)
    return std::unexpected(wishes.error());
  model.solve.wishes = *wishes;
  model.solve.by_callee = options.granularity == "callee";
  model.solve.whole_process = options.tape_budget.empty();
  model.solve.seconds = *time_limit / 1e9;
  model.solve.progress = [&progress](const std::string &what) { progress.update(what); };
  model.measured = model::measured_placement(model.tree, model.profiles[0]);
  model.profile_name = options.profiles[0];
  return model;
}

Result<std::int64_t> budget_bytes(const ModelOptions &options, const placement::Solver &solver, const Model &model) {
  const bool whole = !options.budget.empty();
  if (!whole && options.tape_budget.empty())
    return -1;
  Result<Size> size = whole ? parse_size(options.budget, "--budget") : parse_size(options.tape_budget, "--tape-budget");
  if (!size)
    return std::unexpected(size.error());
  return size->bytes_given(solver.evaluate(model::uniform_placement(model.tree, true)).load_bytes);
}

Error too_little(const ModelOptions &options, std::int64_t budget, const placement::Answer &least, bool whole_process) {
  return {ErrorKind::kInfeasible, whole_process ? "--budget " + options.budget : "--tape-budget " + options.tape_budget,
          format_bytes(budget) + " is too little: the smallest budget " +
              (least.certificate.optimal ? "that is possible" : "known to be possible") + " is " + format_bytes(least.load_bytes) + " (" +
              std::to_string(least.load_bytes) + " bytes" + (whole_process ? ", what is not tape included)" : ")")};
}

Need need_of(const model::CallTree &tree, const std::vector<model::Bits> &peaks) {
  Need need;
  for (std::size_t p = 0; p < peaks.size(); ++p) {
    const std::int64_t tape = bytes_of_bits(peaks[p]);
    if (tape > need.tape_bytes) {
      need.tape_bytes = tape;
      need.process = p;
    }
    need.process_bytes = std::max(need.process_bytes, tape + tree.processes[p].other_bytes);
  }
  return need;
}

placement::PlacementFile placement_file(const Model &model, const placement::Answer &answer, const placement::Limit &limit) {
  placement::PlacementFile file;
  file.adprof_version = ADPROF_VERSION;
  file.profile = model.profile_name;
  file.site_fingerprint = profile::site_fingerprint(model.profiles[0]);
  file.limit = limit;
  const Need need = need_of(model.tree, answer.peaks);
  file.predicted_tape_bytes = need.tape_bytes;
  file.predicted_process_bytes = need.process_bytes;
  file.predicted_time_ns = answer.time_ns;
  const Measured measured = measured_of(model.profiles[0]);
  file.measured_time_ns = measured.time_ns;
  file.measured_tape_bytes = measured.tape_bytes;
  file.certificate = answer.certificate;
  for (std::size_t s = 0; s < model.tree.sites.size(); ++s) {
    const model::SiteInfo &site = model.tree.sites[s];
    placement::PlacedSite placed;
    placed.caller = site.caller;
    placed.callee = site.callee;
    placed.ordinal = site.ordinal;
    placed.file = site.file;
    placed.line = site.line;
    placed.on = answer.placement.on[s] != 0;
    const bool wished = site.switchable && !model.solve.wishes.empty() && model.solve.wishes[s] != placement::kFree;
    placed.switchable = site.switchable;
    placed.fixed_reason = wished ? "as asked for" : site.fixed_reason;
    placed.gain_ns = site.recompute_ns;
    placed.measured = placed.on ? site.measured_on && !site.estimated : site.measured_off;
    file.sites.push_back(std::move(placed));
  }
  return file;
}

std::string path_text(const model::CallTree &tree, const model::BindingTurn &turn) {
  std::string text;
  std::int64_t round = 0;
  for (const model::TurnStep &step : turn.path) {
    if (step.iteration)
      round = step.iteration;
    if (step.site == model::kNoSite)
      continue;
    text += (text.empty() ? "" : " > ") + tree.sites[step.site].name;
    if (round)
      text += " (round " + format_count(round) + ")";
    round = 0;
  }
  return text.empty() ? "ordinary code" : text;
}

void print_turn(const model::CallTree &tree, const model::BindingTurn &turn, std::size_t rows, Io &io) {
  io.out << "highest at the turn of " << path_text(tree, turn) << "\n";
  Table table({{"standing there", false, true}, {"snapshots", true}, {"tape", true}, {"share", true}});
  for (std::size_t i = 0; i < std::min(rows, turn.standing.size()); ++i) {
    const model::StandingBits &standing = turn.standing[i];
    table.add_row({standing.site == model::kNoSite ? "(calls without a site)" : tree.sites[standing.site].name,
                   format_bits(standing.snapshots), format_bits(standing.tape),
                   format_percent(static_cast<double>(standing.snapshots + standing.tape) / static_cast<double>(std::max<model::Bits>(1, turn.peak)))});
  }
  io.out << table.text(io.width, io.colour_out());
  if (turn.standing.size() > rows)
    io.out << "and " << turn.standing.size() - rows << " more sites\n";
}

} // namespace adprof::cli
