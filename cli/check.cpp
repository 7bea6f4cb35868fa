/// `adprof check`: a gate for continuous integration. See docs/check.md.
#include <CLI/CLI.hpp>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/application.h"
#include "cli/table.h"
#include "cli/units.h"
#include "optimizer/profile/compare.h"
#include "optimizer/profile/load.h"

namespace adprof::cli {

namespace {

using profile::Regression;

struct CheckOptions {
  std::string baseline;
  std::vector<std::string> current{"adprof.json"};
  std::string max_peak = "+0%", max_time;
  bool markdown = false, json = false;
};

std::string shown(const Regression &r, double value, const std::string &mode) {
  switch (r.unit) {
  case Regression::Unit::kBits:
    return std::to_string(bytes_of_bits(static_cast<std::int64_t>(value))) + " B";
  case Regression::Unit::kBytes:
    return std::to_string(static_cast<std::int64_t>(value)) + " B";
  case Regression::Unit::kNs:
    return format_time(value);
  case Regression::Unit::kCount:
    return format_count(static_cast<std::int64_t>(value));
  case Regression::Unit::kMode:
    break;
  }
  return mode;
}

Result<int> check(const CheckOptions &options, Io &io) {
  profile::Tolerance tolerance;
  Result<double> peak = parse_percent(options.max_peak, "--max-peak");
  if (!peak)
    return std::unexpected(peak.error());
  tolerance.bytes = *peak;
  if (!options.max_time.empty()) {
    Result<double> time = parse_percent(options.max_time, "--max-time");
    if (!time)
      return std::unexpected(time.error());
    tolerance.time = *time;
  }
  Result<profile::Profile> baseline = profile::load(options.baseline);
  if (!baseline)
    return std::unexpected(baseline.error());
  std::vector<profile::Profile> current;
  for (const std::string &file : options.current) {
    Result<profile::Profile> p = profile::load(file);
    if (!p)
      return std::unexpected(p.error());
    current.push_back(std::move(*p));
  }
  // A baseline without a measured adjoint would let everything pass.
  for (const profile::Profile *p : {&*baseline, &current.front()})
    if (profile::summarize(*p).roots == 0)
      return std::unexpected(Error{ErrorKind::kInvalid, p == &*baseline ? options.baseline : options.current.front(),
                                   "holds no run of an adjoint; take it again with `adprof run`"});
  std::vector<Regression> worse = profile::regressions(*baseline, current, tolerance);
  if (options.json) {
    using Json = nlohmann::ordered_json;
    Json list = Json::array();
    static constexpr const char *kUnits[] = {"bits", "bytes", "ns", "count", "mode"};
    for (const Regression &r : worse) {
      bool mode = r.unit == Regression::Unit::kMode;
      list.push_back({{"what", r.what},
                      {"site", r.site.empty() ? Json() : Json(r.site)},
                      {"unit", kUnits[static_cast<int>(r.unit)]},
                      {"baseline", mode ? Json(r.before_mode) : Json(r.before)},
                      {"current", mode ? Json(r.after_mode) : Json(r.after)}});
    }
    io.out << Json{{"format", "adprof-check"}, {"version", 1}, {"passed", worse.empty()}, {"worse", list}}.dump(1, ' ', false,
                                                                                                           Json::error_handler_t::replace)
           << "\n";
  } else if (!worse.empty()) {
    Table table({{"worse"}, {"site", false, true}, {"baseline", true}, {"current", true}, {"change", true}});
    for (const Regression &r : worse) {
      std::string change = r.unit == Regression::Unit::kMode ? "split lost" : r.before == 0 ? "new" : format_change(r.after / r.before - 1);
      table.add_row({r.what, r.site.empty() ? "(run)" : r.site, shown(r, r.before, r.before_mode), shown(r, r.after, r.after_mode), Cell(change, Style::kBad)});
    }
    io.out << (options.markdown ? "### adprof: the adjoint got worse\n\n" + table.markdown() : table.text(io.width, io.colour_out()));
  } else if (options.markdown) {
    io.out << "### adprof: nothing got worse\n";
  }
  if (worse.empty()) {
    io.talk << "adprof: nothing got worse than in " << options.baseline << "\n";
    return kDone;
  }
  io.talk << "adprof: " << worse.size() << " things got worse; see adprof diff " << options.baseline << " " << options.current.front()
          << ", or take " << options.current.front() << " as the new baseline if this is meant\n";
  return kAnswerIsNo;
}

} // namespace

void add_check(CLI::App &app, Action &action) {
  auto options = std::make_shared<CheckOptions>();
  CLI::App *verb = app.add_subcommand("check", "Fail where a profile got worse than a baseline");
  verb->add_option("--baseline", options->baseline, "The profile to compare with")->required();
  verb->add_option("CURRENT", options->current, "The new profile; of several runs, the fastest counts for time")->capture_default_str();
  verb->add_option("--max-peak", options->max_peak, "How much peak, tapes and snapshots may grow, as +2%")->capture_default_str();
  verb->add_option("--max-time", options->max_time, "How much the adjoint's time may grow, as +10%; without it time does not gate");
  verb->add_flag("--markdown", options->markdown, "The table as Markdown");
  verb->add_flag("--json", options->json, "The answer as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return check(*options, io); }; });
}

} // namespace adprof::cli
