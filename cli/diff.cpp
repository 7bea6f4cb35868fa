/// `adprof diff`: what changed between two profiles, by site, sorted by effect. See docs/diff.md.
#include <CLI/CLI.hpp>
#include <cmath>
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

using profile::Comparison;
using profile::SiteChange;
using profile::SiteTotals;
using profile::Summary;

struct DiffOptions {
  std::string before, after;
  bool json = false, markdown = false, all = false;
  std::size_t limit = 20;
};

/// Times below this share of the adjoint are taken for noise and not listed by themselves.
constexpr double kNoiseShare = 0.01;

std::string change_of(double before, double after) {
  if (before == after)
    return "=";
  if (before == 0)
    return "new";
  return format_change(after / before - 1);
}

std::string signed_time(double ns) { return (ns > 0 ? "+" : "") + format_time(ns); }

std::string from_to(const std::string &before, const std::string &after) { return before == after ? before : before + "->" + after; }

Style worse_is_red(double before, double after) { return after > before ? Style::kBad : after < before ? Style::kGood : Style::kPlain; }

Table summary_table(const Comparison &c) {
  Table table({{"run"}, {"before", true}, {"after", true}, {"change", true}});
  auto row = [&](const char *what, double before, double after, auto &&format) {
    table.add_row({what, format(before), format(after), Cell(change_of(before, after), worse_is_red(before, after))});
  };
  auto bytes = [](double value) { return format_bytes(static_cast<std::int64_t>(value)); };
  auto count = [](double value) { return format_count(static_cast<std::int64_t>(value)); };
  auto both = [&](std::int64_t Summary::*member) {
    return std::pair(static_cast<double>(c.before.*member), static_cast<double>(c.after.*member));
  };
  row("adjoint time", c.before.adjoint_ns, c.after.adjoint_ns, format_time);
  row("adjoint/primal", c.before.adjoint_per_primal(), c.after.adjoint_per_primal(), format_ratio);
  row("recomputation", c.before.recompute_ns, c.after.recompute_ns, format_time);
  for (auto [what, member] : {std::pair{"AD stack peak", &Summary::stack_peak_bytes}, {"AD stack traffic", &Summary::traffic_bytes},
                              {"resident peak", &Summary::resident_peak_bytes}})
    row(what, both(member).first, both(member).second, bytes);
  for (auto [what, member] : {std::pair{"invocations", &Summary::invocations}, {"sites on", &Summary::sites_on}, {"sites off", &Summary::sites_off}})
    row(what, both(member).first, both(member).second, count);
  return table;
}

Result<int> diff(const DiffOptions &options, Io &io) {
  Result<profile::Profile> before = profile::load(options.before);
  if (!before)
    return std::unexpected(before.error());
  Result<profile::Profile> after = profile::load(options.after);
  if (!after)
    return std::unexpected(after.error());
  Comparison c = profile::compare(*before, *after);
  double noise = kNoiseShare * std::max(c.before.adjoint_ns, c.after.adjoint_ns);
  if (options.json) {
    using Json = nlohmann::ordered_json;
    auto summary = [](const Summary &s) {
      return Json{{"adjoint_ns", s.adjoint_ns},       {"adjoint_per_primal", s.adjoint_per_primal()},
                  {"recompute_ns", s.recompute_ns},   {"stack_peak_bytes", s.stack_peak_bytes},
                  {"traffic_bytes", s.traffic_bytes}, {"resident_peak_bytes", s.resident_peak_bytes},
                  {"invocations", s.invocations},     {"sites_on", s.sites_on},
                  {"sites_off", s.sites_off}};
    };
    auto totals = [](const SiteTotals &t, bool present) {
      return present ? Json{{"mode", t.mode()},
                            {"invocations_on", t.invocations_on},
                            {"invocations_off", t.invocations_off},
                            {"own_ns", t.own_ns},
                            {"recompute_ns", t.recompute_ns()},
                            {"tape_bits", t.tape_bits.largest},
                            {"snapshot_bits", t.snapshot_bits.largest}}
                     : Json();
    };
    Json sites = Json::array();
    for (const SiteChange &s : c.sites)
      if (options.all || s.exact || std::fabs(s.time_change_ns) > noise)
        sites.push_back({{"site", s.name}, {"exact", s.exact}, {"before", totals(s.before, s.in_before)}, {"after", totals(s.after, s.in_after)}});
    io.out << Json{{"format", "adprof-diff"}, {"version", 1}, {"before", summary(c.before)}, {"after", summary(c.after)}, {"sites", sites}}.dump(
                  1, ' ', false, Json::error_handler_t::replace)
           << "\n";
    return kDone;
  }
  auto print = [&](const Table &table) { io.out << (options.markdown ? table.markdown() : table.text(io.width, io.colour_out())); };
  print(summary_table(c));
  Table table({{"site", false, true}, {"mode"}, {"calls", true}, {"own time", true}, {"tape", true}, {"snapshot", true}});
  std::size_t hidden = 0, unchanged = 0, exact = 0;
  for (const SiteChange &s : c.sites) {
    exact += s.exact;
    if (!options.all && !s.exact && std::fabs(s.time_change_ns) <= noise) {
      ++unchanged;
      continue;
    }
    if (options.limit > 0 && table.rows() >= options.limit) {
      ++hidden;
      continue;
    }
    auto cell = [](double a, double b) { return Cell(change_of(a, b), worse_is_red(a, b)); };
    auto bits = [&](const profile::Range &a, const profile::Range &b) { return cell(static_cast<double>(a.largest), static_cast<double>(b.largest)); };
    std::string mode = s.root ? "root" : from_to(s.in_before ? s.before.mode() : "none", s.in_after ? s.after.mode() : "none");
    table.add_row({s.name, mode, cell(static_cast<double>(s.before.invocations()), static_cast<double>(s.after.invocations())),
                   Cell(signed_time(s.time_change_ns), worse_is_red(0, s.time_change_ns)), bits(s.before.tape_bits, s.after.tape_bits),
                   bits(s.before.snapshot_bits, s.after.snapshot_bits)});
  }
  if (!table.empty()) {
    io.out << "\n";
    print(table);
  }
  if (exact == 0)
    io.talk << "adprof: no site differs in bytes, invocations or mode\n";
  if (hidden + unchanged > 0)
    io.talk << "adprof: " << hidden << " more changes, see --limit; " << unchanged << " sites without a change beyond noise, see --all\n";
  io.talk << "adprof: next: adprof check --baseline " << options.before << " " << options.after << " gates on this\n";
  return kDone;
}

} // namespace

void add_diff(CLI::App &app, Action &action) {
  auto options = std::make_shared<DiffOptions>();
  CLI::App *verb = app.add_subcommand("diff", "Show what changed between two profiles, by site");
  verb->add_option("BEFORE", options->before, "A profile, JSON or raw")->required();
  verb->add_option("AFTER", options->after, "Another profile of the same program")->required();
  verb->add_option("--limit", options->limit, "Sites to show; 0 for all")->capture_default_str();
  verb->add_flag("--all", options->all, "Also sites without a change");
  verb->add_flag("--markdown", options->markdown, "Tables as Markdown");
  verb->add_flag("--json", options->json, "Everything as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return diff(*options, io); }; });
}

} // namespace adprof::cli
