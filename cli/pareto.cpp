/// `adprof pareto`: what each amount of memory buys.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/model_options.h"
#include "cli/table.h"
#include "cli/units.h"

namespace adprof::cli {
namespace {

struct ParetoOptions {
  ModelOptions model;
  std::size_t points = 16;
  bool tape = false, csv = false, json = false;
};

/// The point farthest below the straight line between the ends, memory by its logarithm.
std::size_t knee_of(const std::vector<placement::Answer> &front) {
  std::size_t knee = 0;
  double farthest = -1;
  auto memory = [](const placement::Answer &a) { return std::log(static_cast<double>(std::max<std::int64_t>(1, a.load_bytes))); };
  const double width = memory(front.back()) - memory(front.front()), height = front.front().time_ns - front.back().time_ns;
  for (std::size_t i = 0; i < front.size() && width > 0 && height > 0; ++i) {
    const double along = (memory(front[i]) - memory(front.front())) / width;
    const double below = 1 - along - (front[i].time_ns - front.back().time_ns) / height;
    if (below > farthest) {
      farthest = below;
      knee = i;
    }
  }
  return knee;
}

Result<int> pareto(const ParetoOptions &options, Io &io) {
  Progress progress(io, "pareto");
  Result<Model> model = load_model(options.model, progress);
  if (!model)
    return std::unexpected(model.error());
  model->solve.whole_process = !options.tape;
  placement::Solver solver(model->tree, model->solve);
  const std::vector<placement::Answer> front = solver.front(options.points);
  const std::size_t knee = knee_of(front);
  const double fastest = solver.time_all_off();
  auto sites_off = [&](const placement::Answer &answer) {
    std::size_t off = 0;
    for (std::size_t s = 0; s < answer.placement.on.size(); ++s)
      off += model->tree.sites[s].switchable && !answer.placement.on[s];
    return off;
  };
  if (options.json) {
    nlohmann::ordered_json json;
    json["budget_is_of"] = options.tape ? "tape" : "process";
    json["knee"] = knee;
    json["points"] = nlohmann::ordered_json::array();
    for (const placement::Answer &answer : front) {
      nlohmann::ordered_json point{{"bytes", answer.load_bytes},
                                   {"time_ns", answer.time_ns},
                                   {"optimal", answer.certificate.optimal},
                                   {"gap", answer.certificate.gap()},
                                   {"off", nlohmann::ordered_json::array()}};
      for (std::size_t s = 0; s < answer.placement.on.size(); ++s)
        if (!answer.placement.on[s])
          point["off"].push_back(model->tree.sites[s].name);
      json["points"].push_back(point);
    }
    io.out << json.dump(1, ' ', false, nlohmann::ordered_json::error_handler_t::replace) << "\n";
    return kDone;
  }
  if (options.csv) {
    io.out << "bytes,time_ns,slowdown,sites_off,optimal,gap,knee\n";
    for (std::size_t i = 0; i < front.size(); ++i)
      io.out << front[i].load_bytes << "," << nlohmann::json(front[i].time_ns).dump() << ","
             << nlohmann::json(fastest > 0 ? front[i].time_ns / fastest : 1).dump() << "," << sites_off(front[i]) << ","
             << front[i].certificate.optimal << "," << nlohmann::json(front[i].certificate.gap()).dump() << "," << (i == knee) << "\n";
    return kDone;
  }
  Table table({{options.tape ? "AD stack" : "process", true}, {"adjoint", true}, {"slowdown", true}, {"sites off", true}, {"certificate"}, {""}});
  for (std::size_t i = 0; i < front.size(); ++i) {
    const placement::Certificate &certificate = front[i].certificate;
    table.add_row({format_bytes(front[i].load_bytes), format_time(front[i].time_ns),
                   format_ratio(fastest > 0 ? front[i].time_ns / fastest : 1), format_count(static_cast<std::int64_t>(sites_off(front[i]))),
                   certificate.optimal ? "optimal" : "within " + format_percent(certificate.gap()), i == knee ? "<- knee" : ""});
  }
  io.out << table.text(io.width, io.colour_out());
  io.out << "slowdown: against all sites off; knee: where more memory begins to buy less\n";
  io.talk << "next: `adprof suggest " << (options.tape ? "--tape-budget " : "--budget ") << front[knee].load_bytes << " "
          << model->profile_name << "`\n";
  return kDone;
}

} // namespace

void add_pareto(CLI::App &app, Action &action) {
  auto options = std::make_shared<ParetoOptions>();
  CLI::App *verb = app.add_subcommand("pareto", "What each amount of memory buys: the front of memory and time");
  add_profiles(*verb, options->model);
  add_wishes(*verb, options->model);
  verb->add_option("--points", options->points, "Budgets tried, from the least memory to the least time")
      ->check(CLI::Range(2, 1000))
      ->capture_default_str();
  verb->add_flag("--tape", options->tape, "Memory of the AD stack alone, not of the whole process");
  verb->add_flag("--csv", options->csv, "As CSV");
  verb->add_flag("--json", options->json, "As JSON, with the sites that are off");
  verb->callback([options, &action] { action = [options](Io &io) { return pareto(*options, io); }; });
}

} // namespace adprof::cli
