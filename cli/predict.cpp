/// `adprof predict`: what another placement would cost.
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
#include "optimizer/profile/file.h"

namespace adprof::cli {
namespace {

struct PredictOptions {
  ModelOptions model;
  std::string placement, output;
  std::vector<std::string> on, off;
  bool json = false;
};

/// The placement asked for: the file's, or the measured one, with what --on and --off change.
Result<model::Placement> asked_for(const PredictOptions &options, const Model &model, Io &io) {
  model::Placement placement = model.measured;
  if (!options.placement.empty()) {
    Result<placement::PlacementFile> file = load_placement(options.placement);
    if (!file)
      return std::unexpected(file.error());
    if (Result<void> match = require_match(*file, model.profiles[0], 0.5, options.placement, model.profile_name, io); !match)
      return std::unexpected(match.error());
    std::unordered_map<std::string, bool> mode;
    for (const placement::PlacedSite &site : file->sites)
      mode[site.name()] = site.on;
    for (std::size_t s = 0; s < model.tree.sites.size(); ++s)
      if (auto at = mode.find(model.tree.sites[s].name); at != mode.end() && model.tree.sites[s].switchable)
        placement.on[s] = at->second;
  }
  for (auto [given, option, value] : {std::tuple{&options.on, "--on", 1}, {&options.off, "--off", 0}}) {
    Result<std::vector<std::string>> patterns = patterns_of(*given);
    if (!patterns)
      return std::unexpected(patterns.error());
    for (const std::string &pattern : *patterns) {
      Result<std::vector<std::uint32_t>> sites = sites_named(model.tree, pattern, option);
      if (!sites)
        return std::unexpected(sites.error());
      bool any = false;
      for (std::uint32_t s : *sites)
        if (model.tree.sites[s].switchable) {
          placement.on[s] = static_cast<std::uint8_t>(value);
          any = true;
        }
      if (!any)
        return std::unexpected(Error{ErrorKind::kUsage, option,
                                     "'" + pattern + "' cannot be switched: " + model.tree.sites[sites->front()].fixed_reason});
    }
  }
  return placement;
}

Result<int> predict(const PredictOptions &options, Io &io) {
  if (options.placement.empty() && options.on.empty() && options.off.empty())
    return std::unexpected(Error{ErrorKind::kUsage, "--placement",
                                 "is missing: give a placement file, or --off f,g and --on h as changes to the measured placement"});
  Progress progress(io, "predict");
  Result<Model> model = load_model(options.model, progress);
  if (!model)
    return std::unexpected(model.error());
  Result<model::Placement> placement = asked_for(options, *model, io);
  if (!placement)
    return std::unexpected(placement.error());
  placement::Solver solver(model->tree, model->solve);
  Result<std::int64_t> budget = budget_bytes(options.model, solver, *model);
  if (!budget)
    return std::unexpected(budget.error());
  const placement::Answer asked = solver.evaluate(*placement), measured = solver.evaluate(model->measured);
  placement::Limit limit;
  if (*budget >= 0)
    (model->solve.whole_process ? limit.process_bytes : limit.tape_bytes) = *budget;
  placement::PlacementFile file = placement_file(*model, asked, limit);
  file.certificate.value = asked.time_ns;
  file.certificate.method = "as asked for";
  const bool fits = *budget < 0 || asked.load_bytes <= *budget;
  if (!options.output.empty())
    if (Result<void> written = profile::write_file(options.output, placement::write_placement(file)); !written)
      return std::unexpected(written.error());
  const Need need = need_of(model->tree, asked.peaks);
  const model::BindingTurn turn = model::binding_turn(model->tree, *placement, need.process);
  if (options.json) {
    nlohmann::ordered_json json;
    auto costs = [&](const placement::Answer &answer) {
      const Need n = need_of(model->tree, answer.peaks);
      return nlohmann::ordered_json{{"time_ns", answer.time_ns}, {"tape_bytes", n.tape_bytes}, {"process_bytes", n.process_bytes}};
    };
    json["predicted"] = costs(asked);
    json["model_of_measured"] = costs(measured);
    json["within_budget"] = fits;
    json["turn"] = path_text(model->tree, turn);
    json["standing"] = nlohmann::ordered_json::array();
    for (const model::StandingBits &standing : turn.standing)
      json["standing"].push_back({{"site", standing.site == model::kNoSite ? "" : model->tree.sites[standing.site].name},
                                  {"snapshot_bits", standing.snapshots},
                                  {"tape_bits", standing.tape}});
    io.out << json.dump(2) << "\n";
    return fits ? kDone : kAnswerIsNo;
  }
  Table table({{""}, {"adjoint", true}, {"AD stack", true}, {"process", true}});
  auto row = [&](const char *title, const placement::Answer &answer) {
    const Need n = need_of(model->tree, answer.peaks);
    table.add_row({title, format_time(answer.time_ns), format_bytes(n.tape_bytes), format_bytes(n.process_bytes)});
  };
  row("as measured", measured);
  row("predicted", asked);
  io.out << table.text(io.width, io.colour_out());
  if (measured.time_ns > 0)
    io.out << "predicted change of the adjoint's time: " << format_change(asked.time_ns / measured.time_ns - 1) << "\n";
  std::size_t changed = 0, estimated = 0;
  for (std::size_t s = 0; s < file.sites.size(); ++s)
    if (placement->on[s] != model->measured.on[s]) {
      ++changed;
      estimated += !file.sites[s].measured;
    }
  io.out << changed << " sites in another mode than measured";
  if (estimated)
    io.out << ", " << estimated << " of them never seen in it: estimated";
  io.out << "\n";
  print_turn(model->tree, turn, 10, io);
  if (!fits)
    io.talk << "adprof predict: " << format_bytes(asked.load_bytes) << " is over the budget of " << format_bytes(*budget) << "\n";
  io.talk << "next: `adprof suggest " << (model->solve.whole_process ? "--budget " : "--tape-budget ") << asked.load_bytes << "` finds the fastest placement that needs no more\n";
  return fits ? kDone : kAnswerIsNo;
}

} // namespace

void add_predict(CLI::App &app, Action &action) {
  auto options = std::make_shared<PredictOptions>();
  CLI::App *verb = app.add_subcommand("predict", "What if: time and memory of another placement");
  add_profiles(*verb, options->model);
  add_budgets(*verb, options->model);
  verb->add_option("--placement", options->placement, "Placement file; else the measured placement is the start");
  verb->add_option("--on", options->on, "Then these on: sites, callees, files or patterns; @FILE reads one a line")
      ->delimiter(',')
      ->take_all()
      ->allow_extra_args(false);
  verb->add_option("--off", options->off, "Then these off, likewise")->delimiter(',')->take_all()->allow_extra_args(false);
  verb->add_option("-o,--output", options->output, "Write the placement to this file");
  verb->add_flag("--json", options->json, "Figures as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return predict(*options, io); }; });
}

} // namespace adprof::cli
