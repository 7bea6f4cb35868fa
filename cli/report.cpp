/// `adprof report`: the call tree of a run, or its sites, with times and sizes. See docs/report.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <functional>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <ostream>

#include "cli/application.h"
#include "cli/table.h"
#include "cli/units.h"
#include "optimizer/profile/load.h"
#include "optimizer/profile/summary.h"

namespace adprof::cli {

namespace {

using profile::Context;
using profile::ContextTimes;
using profile::kNoIndex;
using profile::Profile;
using profile::SiteTotals;
using profile::Summary;

struct ReportOptions {
  std::string file = "adprof.json";
  bool sites = false, json = false;
  std::string sort = "recompute";
  std::size_t depth = 0, limit = 0; // 0: all
};

/// What --sort takes, and the number it sorts by, largest first; names sort by themselves.
struct SortKey {
  const char *name;
  std::function<double(const SiteTotals &)> value;
};
const std::vector<SortKey> &sort_keys() {
  static const std::vector<SortKey> keys{
      {"recompute", [](const SiteTotals &t) { return t.recompute_ns(); }},
      {"time", [](const SiteTotals &t) { return t.inclusive_ns; }},
      {"own", [](const SiteTotals &t) { return t.own_ns; }},
      {"calls", [](const SiteTotals &t) { return static_cast<double>(t.invocations()); }},
      {"tape", [](const SiteTotals &t) { return static_cast<double>(t.tape_bits.largest); }},
      {"snapshot", [](const SiteTotals &t) { return static_cast<double>(t.snapshot_bits.largest); }},
      {"peak", [](const SiteTotals &t) { return static_cast<double>(t.stack_peak_bits); }},
      {"name", nullptr}};
  return keys;
}

const char *mode_of(const Context &c) {
  SiteTotals t;
  t.invocations_on = c.invocations_on;
  t.invocations_off = c.invocations_off;
  return t.mode();
}

Cell mode_cell(const std::string &mode) { return {mode, mode == "off" ? Style::kGood : Style::kPlain}; }

/// The callee, with its ordinal where the caller has another call of it.
std::string label(const Profile &p, const Context &c) {
  if (c.site == kNoIndex)
    return c.procedure == kNoIndex ? "?" : p.procedures[c.procedure] + " (region)";
  const profile::Site &site = p.sites[c.site];
  bool several = std::ranges::any_of(
      p.sites, [&](const profile::Site &other) { return other.caller == site.caller && other.callee == site.callee && other.ordinal != site.ordinal; });
  return several ? site.callee + ":" + std::to_string(site.ordinal) : site.callee;
}

void print_tree(const Profile &p, const ReportOptions &options, Io &io) {
  std::vector<ContextTimes> times = profile::context_times(p);
  std::vector<std::vector<std::uint32_t>> children(p.contexts.size() + 1); // the last: roots
  for (std::uint32_t i = 0; i < p.contexts.size(); ++i)
    children[p.contexts[i].parent == kNoIndex ? p.contexts.size() : p.contexts[i].parent].push_back(i);
  for (std::vector<std::uint32_t> &list : children)
    std::ranges::stable_sort(list, std::greater(), [&](std::uint32_t i) { return times[i].inclusive_ns; });
  Table table({{"call", false, true}, {"calls", true}, {"mode"}, {"time", true}, {"own", true}, {"tape", true}, {"snapshot", true}, {"peak", true}});
  // An explicit stack: a profile may be deeper than ours.
  std::vector<std::pair<std::uint32_t, std::size_t>> open;
  auto push = [&](const std::vector<std::uint32_t> &list, std::size_t depth) {
    for (std::size_t i = list.size(); i-- > 0;)
      open.emplace_back(list[i], depth);
  };
  push(children.back(), 0);
  std::size_t hidden = 0;
  while (!open.empty()) {
    auto [i, depth] = open.back();
    open.pop_back();
    const Context &c = p.contexts[i];
    push(children[i], depth + 1);
    std::int64_t calls = c.invocations_on + c.invocations_off;
    if (calls == 0 && children[i].empty() && times[i].inclusive_ns == 0)
      continue; // seen, never reversed, took nothing
    if ((options.depth > 0 && depth >= options.depth) || (options.limit > 0 && table.rows() >= options.limit)) {
      ++hidden;
      continue;
    }
    bool root = c.site != kNoIndex && p.sites[c.site].root;
    // Deep trees keep room for names: one column a level, at most 12.
    table.add_row({std::string(std::min<std::size_t>(depth, 12), ' ') + label(p, c), format_count(calls), root ? Cell("root") : mode_cell(mode_of(c)),
                   format_time(times[i].inclusive_ns), format_time(times[i].own_ns), format_bits(c.tape_bits.largest),
                   c.invocations_on > 0 && !root ? format_bits(c.snapshot_bits.largest) : "", format_bits(c.stack_peak_bits)});
  }
  io.out << table.text(io.width, io.colour_out());
  if (hidden > 0)
    io.talk << "adprof: " << hidden << " deeper or later calls are not shown; see --depth and --limit\n";
}

void print_sites(const Profile &p, const ReportOptions &options, Io &io) {
  std::vector<SiteTotals> totals = profile::site_totals(p);
  std::vector<std::uint32_t> order(totals.size());
  std::iota(order.begin(), order.end(), 0u);
  const SortKey &key = *std::ranges::find_if(sort_keys(), [&](const SortKey &k) { return options.sort == k.name; });
  if (key.value)
    std::ranges::stable_sort(order, std::greater(), [&](std::uint32_t s) { return key.value(totals[s]); });
  else
    std::ranges::sort(order, std::less(), [&](std::uint32_t s) { return p.sites[s].name(); });
  Table table({{"site", false, true}, {"calls", true}, {"mode"}, {"recompute", true}, {"time", true}, {"tape", true}, {"snapshot", true}, {"peak", true}});
  std::size_t never = 0, hidden = 0;
  for (std::uint32_t s : order) {
    const SiteTotals &t = totals[s];
    if (t.invocations() == 0) {
      ++never;
      continue;
    }
    if (options.limit > 0 && table.rows() >= options.limit) {
      ++hidden;
      continue;
    }
    bool root = p.sites[s].root;
    table.add_row({p.sites[s].name(), format_count(t.invocations()), root ? Cell("root") : mode_cell(t.mode()),
                   t.invocations_on > 0 && !root ? format_time(t.recompute_ns()) : "", format_time(t.inclusive_ns), format_bits(t.tape_bits.largest),
                   t.invocations_on > 0 && !root ? format_bits(t.snapshot_bits.largest) : "", format_bits(t.stack_peak_bits)});
  }
  io.out << table.text(io.width, io.colour_out());
  if (hidden > 0)
    io.talk << "adprof: " << hidden << " more sites; see --limit\n";
  if (never > 0)
    io.talk << "adprof: " << never << " sites of the program were not reversed in this run\n";
}

nlohmann::ordered_json range_json(const profile::Range &range) {
  return {{"total", range.total}, {"least", range.least}, {"largest", range.largest}};
}

nlohmann::ordered_json place_json(const profile::SourceLine &at) {
  return at.line == 0 ? nlohmann::ordered_json() : nlohmann::ordered_json{{"file", at.file}, {"line", at.line}};
}

void print_json(const Profile &p, Io &io) {
  using Json = nlohmann::ordered_json;
  Summary s = profile::summarize(p);
  Json summary{{"wall_ns", s.wall_ns},
               {"adjoint_ns", s.adjoint_ns},
               {"primal_ns", s.primal_ns},
               {"primal_estimated", true},
               {"adjoint_per_primal", s.adjoint_per_primal()},
               {"recompute_ns", s.recompute_ns},
               {"recompute_share", s.recompute_share()},
               {"stack_peak_bytes", s.stack_peak_bytes},
               {"adstack_peak_bytes", s.adstack_peak_bytes < 0 ? Json() : Json(s.adstack_peak_bytes)},
               {"traffic_bytes", s.traffic_bytes},
               {"resident_peak_bytes", s.resident_peak_bytes},
               {"sites", s.sites},
               {"sites_on", s.sites_on},
               {"sites_off", s.sites_off},
               {"sites_mixed", s.sites_mixed},
               {"invocations", s.invocations},
               {"roots", s.roots}};
  Json sites = Json::array(), tree = Json::array();
  std::vector<SiteTotals> totals = profile::site_totals(p);
  for (std::size_t i = 0; i < totals.size(); ++i) {
    const SiteTotals &t = totals[i];
    const profile::Site &site = p.sites[i];
    sites.push_back({{"site", site.name()},
                     {"root", site.root},
                     {"mode", t.mode()},
                     {"primal", place_json(site.primal)},
                     {"adjoint", place_json(site.adjoint)},
                     {"fixed_reason", site.fixed_reason},
                     {"invocations_on", t.invocations_on},
                     {"invocations_off", t.invocations_off},
                     {"invocations_sliced", t.invocations_sliced},
                     {"recompute_ns", t.recompute_ns()},
                     {"primal_ns", t.primal_ns},
                     {"snapshot_write_ns", t.snapshot_write_ns},
                     {"snapshot_read_ns", t.snapshot_read_ns},
                     {"inclusive_ns", t.inclusive_ns},
                     {"own_ns", t.own_ns},
                     {"tape_bits", range_json(t.tape_bits)},
                     {"snapshot_bits", range_json(t.snapshot_bits)},
                     {"stack_peak_bits", t.stack_peak_bits},
                     {"resident_peak_bytes", t.resident_peak_bytes}});
  }
  std::vector<ContextTimes> times = profile::context_times(p);
  for (std::size_t i = 0; i < p.contexts.size(); ++i) {
    const Context &c = p.contexts[i];
    tree.push_back({{"parent", c.parent == kNoIndex ? Json() : Json(c.parent)},
                    {"site", c.site == kNoIndex ? Json() : Json(p.sites[c.site].name())},
                    {"procedure", c.procedure == kNoIndex ? Json() : Json(p.procedures[c.procedure])},
                    {"mode", mode_of(c)},
                    {"invocations", c.invocations_on + c.invocations_off},
                    {"inclusive_ns", times[i].inclusive_ns},
                    {"own_ns", times[i].own_ns},
                    {"tape_bits", range_json(c.tape_bits)},
                    {"snapshot_bits", range_json(c.snapshot_bits)},
                    {"stack_peak_bits", c.stack_peak_bits},
                    {"resident_peak_bytes", c.resident_peak_bytes}});
  }
  Json report{{"format", "adprof-report"}, {"version", 1}, {"summary", summary}, {"sites", sites}, {"tree", tree}};
  io.out << report.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
}

Result<int> report(const ReportOptions &options, Io &io) {
  std::vector<std::string> names;
  for (const SortKey &key : sort_keys())
    names.push_back(key.name);
  if (std::ranges::find(names, options.sort) == names.end()) {
    std::string near = closest(options.sort, names), all;
    for (const std::string &name : names)
      all += (all.empty() ? "" : ", ") + name;
    return std::unexpected(Error{ErrorKind::kUsage, "--sort", "`" + options.sort + "` is no column; " +
                                                                  (near.empty() ? "accepted are " + all : "did you mean " + near + "?")});
  }
  Result<Profile> p = profile::load(options.file);
  if (!p)
    return std::unexpected(p.error());
  if (options.json) {
    print_json(*p, io);
    return kDone;
  }
  if (options.sites)
    print_sites(*p, options, io);
  else
    print_tree(*p, options, io);
  Summary s = profile::summarize(*p);
  io.talk << "adprof: adjoint " << format_time(s.adjoint_ns) << ", recomputation " << format_percent(s.recompute_share()) << ", AD stack peak "
          << format_bytes(s.stack_peak_bytes) << "; next: adprof suggest --budget 1.1x" << (options.file == "adprof.json" ? "" : " " + options.file) << "\n";
  return kDone;
}

} // namespace

void add_report(CLI::App &app, Action &action) {
  auto options = std::make_shared<ReportOptions>();
  CLI::App *verb = app.add_subcommand("report", "Show the call tree of a run, or its sites, with times and sizes");
  verb->add_option("FILE", options->file, "A profile, JSON or raw")->capture_default_str();
  verb->add_flag("--sites", options->sites, "One line a site instead of the call tree");
  verb->add_option("--sort", options->sort, "Column to sort --sites by: recompute, time, own, calls, tape, snapshot, peak, name")->capture_default_str();
  verb->add_option("--depth", options->depth, "Levels of the call tree to show; 0 for all")->capture_default_str();
  verb->add_option("--limit", options->limit, "Lines to show; 0 for all")->capture_default_str();
  verb->add_flag("--json", options->json, "Everything as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return report(*options, io); }; });
}

} // namespace adprof::cli
