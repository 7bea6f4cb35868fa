/// `adprof suggest`: the best placement within a limit.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <map>
#include <memory>
#include <ostream>

#include "cli/decisions.h"
#include "cli/model_options.h"
#include "cli/table.h"
#include "cli/units.h"
#include "optimizer/feedback/options.h"
#include "optimizer/model/replay.h"
#include "optimizer/profile/file.h"

namespace adprof::cli {
namespace {

struct SuggestOptions {
  ModelOptions model;
  std::string max_slowdown, gain, output = "placement.json";
  std::size_t list_length = 0, rows = 20;
  bool json = false;
};

constexpr std::int64_t kReplayEvents = 20'000'000; // a second or less; longer runs are walked as far as that goes

/// The shortest list: the sites (or callees) that gain most stay off, the others go on, as long as that fits.
placement::Answer shorten_list(const Model &model, const placement::Solver &solver, const placement::Answer &full, std::int64_t budget,
                               double time_limit_ns, std::size_t length, double share, std::size_t &listed) {
  struct Entry {
    std::vector<std::uint32_t> sites;
    double gain = 0;
  };
  std::vector<Entry> entries;
  std::map<std::string, std::size_t> by_callee;
  double total = 0;
  for (std::uint32_t s = 0; s < model.tree.sites.size(); ++s) {
    const bool wished = !model.solve.wishes.empty() && model.solve.wishes[s] == placement::kOff;
    if (full.placement.on[s] || !model.tree.sites[s].switchable || wished)
      continue;
    std::size_t entry = entries.size();
    if (model.solve.by_callee)
      entry = by_callee.try_emplace(model.tree.sites[s].callee, entry).first->second;
    if (entry == entries.size())
      entries.emplace_back();
    entries[entry].sites.push_back(s);
    entries[entry].gain += model.tree.sites[s].recompute_ns;
    total += model.tree.sites[s].recompute_ns;
  }
  std::ranges::stable_sort(entries, std::greater{}, &Entry::gain);
  placement::Answer best = full;
  listed = entries.size();
  // From the end: each shorter list has to fit as well, since a site that is on can need more than one that is off.
  model::Placement shorter = full.placement;
  double left = total;
  for (std::size_t count = entries.size(); count-- > 0;) {
    for (std::uint32_t s : entries[count].sites)
      shorter.on[s] = 1;
    left -= entries[count].gain;
    if (share > 0 && left < share * total * (1 - 1e-12))
      break;
    placement::Answer answer = solver.evaluate(shorter);
    const bool fits = (budget < 0 || answer.load_bytes <= budget) && (time_limit_ns <= 0 || answer.time_ns <= time_limit_ns);
    if (!fits)
      continue;
    answer.certificate = full.certificate;
    answer.certificate.optimal = false;
    answer.certificate.value = time_limit_ns > 0 ? static_cast<double>(answer.load_bytes) : answer.time_ns;
    answer.certificate.method = "shortened list";
    best = answer;
    listed = count;
    if (share <= 0 && count <= length)
      break;
  }
  return best;
}

void print_sites(const Model &model, const placement::Answer &answer, const placement::Solver &solver, std::size_t rows, Io &io) {
  struct Row {
    std::uint32_t site;
    double gain;
  };
  std::vector<Row> off, on;
  for (std::uint32_t s = 0; s < model.tree.sites.size(); ++s)
    if (model.tree.sites[s].switchable)
      (answer.placement.on[s] ? on : off).push_back({s, model.tree.sites[s].recompute_ns});
  auto print = [&](std::vector<Row> &list, std::size_t limit, const char *title, const char *peak_title) {
    std::ranges::stable_sort(list, std::greater{}, &Row::gain);
    std::erase_if(list, [&](const Row &row) { return row.gain <= 0 && answer.placement.on[row.site]; });
    if (list.empty())
      return;
    Table table({{title, false, true}, {"line", false, true}, {"was", false}, {"time", true}, {peak_title, true}});
    for (std::size_t i = 0; i < std::min(limit, list.size()); ++i) {
      const model::SiteInfo &site = model.tree.sites[list[i].site];
      model::Placement flipped = answer.placement;
      flipped.on[list[i].site] ^= 1;
      const std::int64_t change = solver.evaluate(flipped).load_bytes - answer.load_bytes;
      const bool is_on = answer.placement.on[list[i].site];
      const std::int64_t effect = is_on ? change : -change;
      const std::string base = site.file.substr(site.file.rfind('/') + 1);
      table.add_row({site.name, site.line ? base + ":" + std::to_string(site.line) : "",
                     model.measured.on[list[i].site] ? "on" : "off",
                     std::string(site.estimated ? "~" : "") + (is_on ? "+" : "-") + format_time(site.recompute_ns),
                     std::string(!is_on && !site.measured_off ? "~" : "") + (effect < 0 ? "-" : "+") + format_bytes(std::abs(effect))});
    }
    io.out << "\n" << table.text(io.width, io.colour_out());
    if (list.size() > limit)
      io.out << "and " << list.size() - limit << " more (--rows N)\n";
  };
  print(off, rows, "off: split mode", "peak");
  print(on, std::min<std::size_t>(rows, 8), "left on", "peak if off");
}

Result<int> suggest(const SuggestOptions &options, Io &io) {
  const int limits = !options.model.budget.empty() + !options.model.tape_budget.empty() + !options.max_slowdown.empty();
  if (limits != 1)
    return std::unexpected(Error{ErrorKind::kUsage, "--budget",
                                 std::string(limits ? "only one of --budget, --tape-budget and --max-slowdown can be given"
                                                    : "is missing: say how much memory the process may use, e.g. --budget 8G or --budget 1.2x; "
                                                      "or --tape-budget for the AD stack alone; or --max-slowdown 1.5 for the least memory")});
  double slowdown = 0, gain_share = 0;
  if (!options.max_slowdown.empty()) {
    Result<double> factor = parse_factor(options.max_slowdown, "--max-slowdown");
    if (!factor)
      return std::unexpected(factor.error());
    slowdown = *factor;
  }
  if (!options.gain.empty()) {
    Result<double> share = parse_percent(options.gain, "--gain");
    if (!share || *share <= 0 || *share > 1)
      return std::unexpected(share ? Error{ErrorKind::kUsage, "--gain", options.gain + "; accepted are 1% to 100%"} : share.error());
    gain_share = *share;
  }
  Progress progress(io, "suggest");
  Result<Model> model = load_model(options.model, progress);
  if (!model)
    return std::unexpected(model.error());
  placement::Solver solver(model->tree, model->solve);
  placement::Limit limit;
  Result<std::int64_t> budget = budget_bytes(options.model, solver, *model);
  if (!budget)
    return std::unexpected(budget.error());
  const double time_limit_ns = slowdown * solver.time_all_off();
  limit.slowdown = slowdown;
  if (*budget >= 0)
    (model->solve.whole_process ? limit.process_bytes : limit.tape_bytes) = *budget;
  Result<placement::Answer> answer = slowdown > 0 ? solver.smallest(time_limit_ns) : solver.fastest(*budget);
  if (!answer) {
    if (answer.error().kind != ErrorKind::kInfeasible)
      return std::unexpected(answer.error());
    if (slowdown > 0)
      return std::unexpected(Error{ErrorKind::kInfeasible, "--max-slowdown " + options.max_slowdown,
                                   "is below 1: no placement is faster than all sites off, " + format_time(solver.time_all_off())});
    return std::unexpected(too_little(options.model, *budget, solver.least_memory(), model->solve.whole_process));
  }
  std::size_t listed = 0;
  if (options.list_length || gain_share > 0) {
    answer = shorten_list(*model, solver, *answer, *budget, time_limit_ns, options.list_length, gain_share, listed);
    if (options.list_length && listed > options.list_length)
      io.talk << "note: no list of " << options.list_length << " fits; this one has " << listed << "\n";
  }
  progress.update("replaying the placement");
  const model::Replay walked = model::replay(model->tree, answer->placement, kReplayEvents);
  for (std::size_t p = 0; p < walked.peaks.size(); ++p)
    if (!walked.balanced || walked.peaks[p] > answer->peaks[p] || (walked.complete && walked.peaks[p] != answer->peaks[p]))
      return std::unexpected(Error{ErrorKind::kInternal, "replay", "contradicts the predicted peak: " + std::to_string(walked.peaks[p]) +
                                                                       " bits against " + std::to_string(answer->peaks[p])});

  const placement::PlacementFile file = placement_file(*model, *answer, limit);
  if (Result<void> written = profile::write_file(options.output, placement::write_placement(file)); !written)
    return std::unexpected(written.error());
  if (options.json) {
    if (options.output != "-")
      io.out << placement::write_placement(file);
    return kDone;
  }
  if (options.output == "-")
    return kDone;

  const Measured measured = measured_of(model->profiles[0]);
  Table summary({{""}, {"adjoint", true}, {"AD stack", true}, {"process", true}, {"sites on", true}});
  auto sites_on = [&](const model::Placement &placement) {
    std::int64_t on = 0, all = 0;
    for (std::size_t s = 0; s < model->tree.sites.size(); ++s)
      if (model->tree.sites[s].switchable) {
        ++all;
        on += placement.on[s];
      }
    return format_count(on) + " of " + format_count(all);
  };
  summary.add_row({"measured", format_time(measured.time_ns), format_bytes(measured.tape_bytes), format_bytes(measured.process_bytes),
                   sites_on(model->measured)});
  summary.add_row({"predicted", format_time(answer->time_ns), format_bytes(file.predicted_tape_bytes),
                   format_bytes(file.predicted_process_bytes), sites_on(answer->placement)});
  if (*budget >= 0)
    summary.add_row({"budget", "", limit.tape_bytes >= 0 ? format_bytes(*budget) : "", limit.process_bytes >= 0 ? format_bytes(*budget) : "", ""});
  else
    summary.add_row({"limit", format_time(time_limit_ns), "", "", ""});
  io.out << summary.text(io.width, io.colour_out());
  if (measured.time_ns > 0)
    io.out << "predicted change of the adjoint's time: " << format_change(answer->time_ns / measured.time_ns - 1) << "\n";
  io.out << "certificate: " << placement::in_words(answer->certificate)
         << (walked.complete ? "" : "; replayed as far as " + format_count(walked.events) + " events go") << "\n";
  print_sites(*model, *answer, solver, options.rows, io);
  bool estimated = false;
  for (std::size_t s = 0; s < model->tree.sites.size(); ++s)
    estimated |= model->tree.sites[s].switchable && !file.sites[s].measured;
  if (estimated)
    io.out << "~ not measured in this mode: estimated. A profile of the rebuilt adjoint settles it.\n";
  const feedback::Options lists = feedback::option_lists(decisions_of(file, &model->profiles[0]));
  io.out << "\n" << (lists.nocheckpoint.empty() ? "every site on: the AD tool's default, no option is needed" : lists.nocheckpoint) << "\n";
  print_losses(lists.losses, io);
  io.talk << "wrote " << options.output << "\n"
          << "next: `adprof apply " << model->profile_name << " --placement " << options.output
          << " --format " << (lists.losses.empty() ? "options" : "directives") << "`\n";
  return kDone;
}

} // namespace

void add_suggest(CLI::App &app, Action &action) {
  auto options = std::make_shared<SuggestOptions>();
  CLI::App *verb = app.add_subcommand("suggest", "Find the best placement within a memory budget or a time limit");
  add_profiles(*verb, options->model);
  add_budgets(*verb, options->model);
  verb->add_option("--max-slowdown", options->max_slowdown, "Least memory within this factor of the time with all sites off: 1.5");
  add_wishes(*verb, options->model);
  verb->add_option("--list-length", options->list_length, "At most so many sites (callees) off, those that gain most");
  verb->add_option("--gain", options->gain, "The shortest list with this share of the gain: 95%");
  verb->add_option("-o,--output", options->output, "Placement file; - is standard output")->capture_default_str();
  verb->add_option("--rows", options->rows, "Sites shown")->capture_default_str();
  verb->add_flag("--json", options->json, "Print the placement file as well, instead of tables");
  verb->callback([options, &action] { action = [options](Io &io) { return suggest(*options, io); }; });
}

} // namespace adprof::cli
