/// `adprof explain SITE`: why a site is on or off.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <unordered_map>

#include "cli/decisions.h"
#include "cli/model_options.h"
#include "cli/table.h"
#include "cli/units.h"

namespace adprof::cli {
namespace {

struct ExplainOptions {
  ModelOptions model;
  std::string site, placement = "placement.json";
  bool json = false;
};

struct Change {
  std::uint32_t site;
  bool to_on;
};

Result<int> explain(ExplainOptions options, Io &io) {
  Result<placement::PlacementFile> file = load_placement(options.placement);
  if (!file)
    return std::unexpected(file.error());
  // The budget is the placement's own unless another is given; a placement made for a time limit is explained at its own memory.
  const bool given = !options.model.budget.empty() || !options.model.tape_budget.empty();
  if (!given && file->limit.tape_bytes >= 0)
    options.model.tape_budget = std::to_string(file->limit.tape_bytes);
  else if (!given)
    options.model.budget = std::to_string(file->limit.process_bytes >= 0 ? file->limit.process_bytes : file->predicted_process_bytes);
  Progress progress(io, "explain");
  Result<Model> model = load_model(options.model, progress);
  if (!model)
    return std::unexpected(model.error());
  if (Result<void> match = require_match(*file, model->profiles[0], 0.5, options.placement, model->profile_name, io); !match)
    return std::unexpected(match.error());
  const model::CallTree &tree = model->tree;
  Result<std::vector<std::uint32_t>> sites = sites_named(tree, options.site, "SITE");
  if (!sites)
    return std::unexpected(sites.error());
  if (sites->size() > 1) {
    std::string names;
    for (std::size_t i = 0; i < std::min<std::size_t>(sites->size(), 6); ++i)
      names += (i ? ", " : "") + tree.sites[(*sites)[i]].name;
    return std::unexpected(Error{ErrorKind::kUsage, options.site, "names " + std::to_string(sites->size()) + " sites (" + names +
                                                                      (sites->size() > 6 ? ", ..." : "") + "); name one"});
  }
  const std::uint32_t site = sites->front();
  const model::SiteInfo &info = tree.sites[site];
  model::Placement now = model->measured;
  std::unordered_map<std::string, const placement::PlacedSite *> placed;
  for (const placement::PlacedSite &p : file->sites)
    placed[p.name()] = &p;
  for (std::size_t s = 0; s < tree.sites.size(); ++s)
    if (auto at = placed.find(tree.sites[s].name); at != placed.end() && tree.sites[s].switchable)
      now.on[s] = at->second->on;
  const bool on = now.on[site];
  placement::Solver solver(tree, model->solve);
  Result<std::int64_t> budget = budget_bytes(options.model, solver, *model);
  if (!budget)
    return std::unexpected(budget.error());
  const placement::Answer current = solver.evaluate(now);
  model::Placement flipped_placement = now;
  flipped_placement.on[site] ^= 1;
  const placement::Answer flipped = solver.evaluate(flipped_placement);
  const model::BindingTurn turn_now = model::binding_turn(tree, now, need_of(tree, current.peaks).process);
  const model::BindingTurn turn_then = model::binding_turn(tree, flipped_placement, need_of(tree, flipped.peaks).process);
  const bool fits = flipped.load_bytes <= *budget;

  // The best placement with the site in its other mode says what has to change for it.
  std::vector<Change> changes;
  Result<placement::Answer> other = std::unexpected(Error{});
  if (info.switchable) {
    placement::SolveOptions forced = model->solve;
    forced.wishes.resize(tree.sites.size(), placement::kFree);
    forced.wishes[site] = on ? placement::kOff : placement::kOn;
    other = placement::Solver(tree, forced).fastest(*budget);
    if (!other && other.error().kind != ErrorKind::kInfeasible)
      return std::unexpected(other.error());
    for (std::uint32_t s = 0; other && s < tree.sites.size(); ++s)
      if (s != site && other->placement.on[s] != now.on[s])
        changes.push_back({s, other->placement.on[s] != 0});
  }

  if (options.json) {
    nlohmann::ordered_json json{{"site", info.name},
                                {"on", on},
                                {"switchable", info.switchable},
                                {"fixed_reason", info.fixed_reason},
                                {"gain_ns", info.recompute_ns},
                                {"estimated", info.estimated},
                                {"budget_bytes", *budget},
                                {"bytes", current.load_bytes},
                                {"bytes_if_flipped", flipped.load_bytes},
                                {"turn", path_text(tree, turn_now)},
                                {"turn_if_flipped", path_text(tree, turn_then)},
                                {"fits_if_flipped", fits},
                                {"time_ns", current.time_ns}};
    if (other) {
      json["best_time_ns_if_flipped"] = other->time_ns;
      json["changes"] = nlohmann::ordered_json::array();
      for (const Change &change : changes)
        json["changes"].push_back({{"site", tree.sites[change.site].name}, {"on", change.to_on}, {"gain_ns", tree.sites[change.site].recompute_ns}});
    }
    io.out << json.dump(2, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return kDone;
  }

  io.out << info.name << (info.file.empty() ? "" : "  " + info.file + ":" + std::to_string(info.line)) << "\n"
         << "is " << (on ? "on (checkpointed)" : "off (split)") << " in " << options.placement << "\n";
  if (!info.switchable) {
    io.out << "it cannot be switched: " << info.fixed_reason << "\n";
    io.talk << "next: `adprof explain` another site; `adprof report --sites` lists them\n";
    return kDone;
  }
  if (info.recompute_ns <= 0)
    io.out << "off gains nothing: no recomputation was measured at it\n";
  else
    io.out << "off saves " << format_time(info.recompute_ns) << (info.estimated ? " (estimated)" : "") << " of "
           << format_time(current.time_ns) << "\n";
  const std::int64_t change = flipped.load_bytes - current.load_bytes;
  io.out << "alone " << (on ? "off" : "on") << ", it would " << (change > 0 ? "raise" : change < 0 ? "lower" : "leave") << " the peak "
         << (change ? "by " + format_bytes(std::abs(change)) + " to " : "at ") << format_bytes(flipped.load_bytes) << ", "
         << (fits ? "within" : "over") << " the budget of " << format_bytes(*budget) << "\n"
         << "highest turn then: " << path_text(tree, turn_then) << "\n";
  if (path_text(tree, turn_then) != path_text(tree, turn_now))
    io.out << "highest turn now:  " << path_text(tree, turn_now) << "\n";
  if (!other) {
    io.out << "no placement with it " << (on ? "off" : "on") << " is within the budget\n";
  } else {
    const double loss = other->time_ns - current.time_ns;
    io.out << "the best placement with it " << (on ? "off" : "on") << " takes " << format_time(other->time_ns) << ", "
           << (std::abs(loss) <= 1e-9 * current.time_ns ? "as long as this one" : format_time(std::abs(loss)) + (loss > 0 ? " more" : " less"))
           << " (" << placement::in_words(other->certificate) << ")\n";
    if (changes.empty()) {
      io.out << "nothing else has to change for it\n";
    } else {
      Table table({{"what changes with it", false, true}, {"to"}, {"time", true}});
      constexpr std::size_t kShown = 15;
      std::ranges::stable_sort(changes, std::greater{}, [&](const Change &c) { return tree.sites[c.site].recompute_ns; });
      for (std::size_t i = 0; i < std::min(kShown, changes.size()); ++i)
        table.add_row({tree.sites[changes[i].site].name, changes[i].to_on ? "on" : "off",
                       (changes[i].to_on ? "+" : "-") + format_time(tree.sites[changes[i].site].recompute_ns)});
      io.out << table.text(io.width, io.colour_out());
      if (changes.size() > kShown)
        io.out << "and " << changes.size() - kShown << " more\n";
    }
  }
  print_turn(tree, turn_now, 5, io);
  io.talk << "next: `adprof suggest --keep-" << (on ? "off" : "on") << " " << info.name << " ...` tries it the other way\n";
  return kDone;
}

} // namespace

void add_explain(CLI::App &app, Action &action) {
  auto options = std::make_shared<ExplainOptions>();
  CLI::App *verb = app.add_subcommand("explain", "Why a site is on or off, and what would make room for the other");
  verb->add_option("SITE", options->site, "caller:callee:ordinal, or a pattern that only it fits")->required();
  add_profiles(*verb, options->model);
  verb->add_option("--placement", options->placement, "Placement file that is explained")->capture_default_str();
  add_budgets(*verb, options->model);
  add_wishes(*verb, options->model);
  verb->add_flag("--json", options->json, "As JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return explain(*options, io); }; });
}

} // namespace adprof::cli
