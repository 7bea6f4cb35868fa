/// `adprof verify`: did the regenerated adjoint do what the placement asked for, and is its gradient the same? See
/// docs/verify.md.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>

#include "cli/decisions.h"
#include "cli/shell.h"
#include "cli/table.h"
#include "cli/units.h"
#include "optimizer/model/from_profile.h"
#include "optimizer/model/peak.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/load.h"
#include "optimizer/profile/summary.h"
#include "optimizer/verify/gradient.h"
#include "optimizer/verify/modes.h"
#include "optimizer/verify/prediction.h"

namespace adprof::cli {
namespace {

using Json = nlohmann::ordered_json;

struct VerifyOptions {
  std::string placement = "placement.json", profile, compare;
  std::vector<std::string> references, gradients;
  std::string min_match = "90%", peak_tolerance = "1%", time_tolerance;
  double gradient_tolerance = 0;
  bool json = false, all = false;
};

/// What is collected while the questions are asked one after the other.
struct Verdict {
  std::vector<std::string> differs; ///< each is a reason for exit status 1
  std::vector<std::string> notes;
  Json json = Json::object();
};

double relative(double predicted, double measured) {
  return predicted > 0 ? measured / predicted - 1 : 0;
}

void check_modes(const placement::PlacementFile &placement, const profile::Profile &profile, Verdict &verdict) {
  std::vector<verify::AskedMode> asked;
  for (const placement::PlacedSite &site : placement.sites)
    asked.push_back({site.name(), site.on, site.switchable});
  Json json = Json::array();
  std::size_t compared = 0, as_asked = 0;
  for (const verify::SiteMode &mode : verify::compare_modes(asked, profile)) {
    using enum verify::ModeVerdict;
    if (mode.verdict == kGone && !mode.switchable)
      continue; // a root, or a site that nobody decides on
    const bool wrong = mode.verdict == kOtherMode || mode.verdict == kMixed;
    compared += mode.verdict != kNew;
    as_asked += mode.verdict == kAsAsked;
    if (mode.verdict == kAsAsked)
      continue;
    const std::string text = mode.name + ": " + verify::describe(mode);
    (wrong && mode.switchable ? verdict.differs : verdict.notes).push_back(text);
    json.push_back({{"site", mode.name},
                    {"asked", mode.asked_on ? "on" : "off"},
                    {"invocations_on", mode.invocations_on},
                    {"invocations_off", mode.invocations_off},
                    {"wrong", wrong && mode.switchable},
                    {"text", verify::describe(mode)}});
  }
  verdict.json["modes"] = {{"sites", compared}, {"as_asked", as_asked}, {"others", json}};
}

void check_budget(const placement::PlacementFile &placement, const profile::Profile &profile,
                  const VerifyOptions &options, double peak_tolerance, double time_tolerance, Verdict &verdict) {
  const Measured measured = measured_of(profile);
  const double peak_change =
      relative(static_cast<double>(placement.predicted_tape_bytes), static_cast<double>(measured.tape_bytes));
  const double time_change = relative(placement.predicted_time_ns, measured.time_ns);
  if (placement.limit.tape_bytes >= 0 && measured.tape_bytes > placement.limit.tape_bytes)
    verdict.differs.push_back("AD stack peak " + format_bytes(measured.tape_bytes) + " is over the tape budget of " +
                              format_bytes(placement.limit.tape_bytes));
  if (placement.limit.process_bytes >= 0 && measured.process_bytes > placement.limit.process_bytes)
    verdict.differs.push_back("AD stack and other memory together, " + format_bytes(measured.process_bytes) +
                              ", are over the budget of " + format_bytes(placement.limit.process_bytes));
  if (placement.predicted_tape_bytes > 0 && std::fabs(peak_change) > peak_tolerance)
    verdict.differs.push_back("AD stack peak " + format_bytes(measured.tape_bytes) + " is " +
                              format_change(peak_change) + " off the predicted " +
                              format_bytes(placement.predicted_tape_bytes));
  if (!options.time_tolerance.empty() && placement.predicted_time_ns > 0 && std::fabs(time_change) > time_tolerance)
    verdict.differs.push_back("adjoint time " + format_time(measured.time_ns) + " is " + format_change(time_change) +
                              " off the predicted " + format_time(placement.predicted_time_ns));
  verdict.json["peak"] = {{"predicted_bytes", placement.predicted_tape_bytes},
                          {"measured_bytes", measured.tape_bytes},
                          {"measured_process_bytes", measured.process_bytes}};
  verdict.json["time"] = {{"predicted_ns", placement.predicted_time_ns}, {"measured_ns", measured.time_ns}};
}

Result<std::vector<verify::SiteComparison>> check_sites(const profile::Profile &profile, const VerifyOptions &options,
                                                        Verdict &verdict) {
  std::vector<profile::Profile> references;
  for (const std::string &path : options.references) {
    Result<profile::Profile> loaded = profile::load(path);
    if (!loaded)
      return std::unexpected(loaded.error());
    references.push_back(std::move(*loaded));
  }
  std::vector<model::NamedProfile> named;
  for (std::size_t i = 0; i < references.size(); ++i)
    named.push_back({&references[i], options.references[i]});
  const Result<model::CallTree> tree = model::from_profiles(named);
  if (!tree)
    return std::unexpected(tree.error());
  // The modes that really ran: what is asked is told elsewhere, here the model is on trial.
  const model::Placement as_built = model::measured_placement(*tree, profile);
  std::vector<verify::SiteComparison> sites = verify::compare_sites(*tree, as_built, profile);
  Json json = Json::array();
  for (const verify::SiteComparison &site : sites)
    json.push_back(
        {{"site", site.name},
         {"mode", site.on ? "on" : "off"},
         {"estimated", site.estimated},
         {"tape_bits", {{"predicted", site.predicted_tape_bits}, {"measured", site.measured_tape_bits}}},
         {"snapshot_bits", {{"predicted", site.predicted_snapshot_bits}, {"measured", site.measured_snapshot_bits}}},
         {"recompute_ns", {{"predicted", site.predicted_recompute_ns}, {"measured", site.measured_recompute_ns}}}});
  verdict.json["sites"] = json;
  return sites;
}

Result<void> check_gradients(const VerifyOptions &options, Verdict &verdict) {
  verify::Gradient gradients[2];
  for (int i = 0; i < 2; ++i) {
    const Result<std::string> bytes = profile::read_file(options.gradients[static_cast<std::size_t>(i)]);
    if (!bytes)
      return std::unexpected(bytes.error());
    Result<verify::Gradient> gradient = verify::read_gradient(*bytes, options.gradients[static_cast<std::size_t>(i)]);
    if (!gradient)
      return std::unexpected(gradient.error());
    gradients[i] = std::move(*gradient);
  }
  const Result<verify::GradientDifference> difference = verify::compare_gradients(gradients[0], gradients[1]);
  if (!difference) {
    verdict.differs.push_back("gradients: " + difference.error().what);
    verdict.json["gradient"] = {{"equal", false}, {"text", difference.error().what}};
    return {};
  }
  const std::string text = verify::describe(*difference);
  const bool accepted = verify::within(*difference, options.gradient_tolerance);
  (accepted ? verdict.notes : verdict.differs).push_back("gradients: " + text);
  verdict.json["gradient"] = {{"equal", difference->equal()},
                              {"accepted", accepted},
                              {"values", difference->count},
                              {"different", difference->different},
                              {"largest_absolute", difference->largest_absolute},
                              {"largest_relative", difference->largest_relative},
                              {"non_finite", {difference->non_finite_a, difference->non_finite_b}}};
  return {};
}

/// Sites whose bytes are not as predicted, the worst first; then those with most recomputation.
void print_sites(std::vector<verify::SiteComparison> sites, bool all, Io &io) {
  const auto off_by = [](const verify::SiteComparison &s) {
    return std::max(std::llabs(s.measured_tape_bits - s.predicted_tape_bits),
                    std::llabs(s.measured_snapshot_bits - s.predicted_snapshot_bits));
  };
  std::ranges::stable_sort(sites, [&](const auto &a, const auto &b) {
    return std::pair(-off_by(a), -a.measured_recompute_ns) < std::pair(-off_by(b), -b.measured_recompute_ns);
  });
  constexpr std::size_t kShown = 12;
  const std::size_t shown = all ? sites.size() : std::min(sites.size(), kShown);
  const auto bits = [](std::int64_t predicted, std::int64_t measured) {
    const std::string text = format_bits(predicted);
    return predicted == measured ? Cell(text) : Cell(text + " -> " + format_bits(measured), Style::kBad);
  };
  Table table({{"site", false, true}, {"mode"}, {"tape", true}, {"snapshot", true}, {"recomputation", true}});
  for (std::size_t i = 0; i < shown; ++i) {
    const verify::SiteComparison &s = sites[i];
    table.add_row({s.name, std::string(s.on ? "on" : "off") + (s.estimated ? "*" : ""),
                   bits(s.predicted_tape_bits, s.measured_tape_bits),
                   s.on ? bits(s.predicted_snapshot_bits, s.measured_snapshot_bits) : Cell(),
                   s.on ? format_time(s.predicted_recompute_ns) + " -> " + format_time(s.measured_recompute_ns) : ""});
  }
  io.out << "\npredicted -> measured, in the mode that really ran: largest invocation, time of the whole run (* "
            "estimated)\n"
         << table.text(io.width, io.colour_out());
  if (shown < sites.size())
    io.out << "... " << sites.size() - shown << " more (--all)\n";
}

Result<int> run_verify(const VerifyOptions &options, Io &io) {
  const Result<double> min_match = parse_percent(options.min_match, "--min-match");
  const Result<double> peak_tolerance = parse_percent(options.peak_tolerance, "--peak-tolerance");
  const Result<double> time_tolerance =
      options.time_tolerance.empty() ? Result<double>(0.0) : parse_percent(options.time_tolerance, "--time-tolerance");
  for (const Result<double> *parsed : {&min_match, &peak_tolerance, &time_tolerance})
    if (!*parsed)
      return std::unexpected(parsed->error());
  const Result<placement::PlacementFile> placement = load_placement(options.placement);
  if (!placement)
    return std::unexpected(placement.error());
  const Result<profile::Profile> profile = profile::load(options.profile);
  if (!profile)
    return std::unexpected(profile.error());
  if (const Result<void> match =
          require_match(*placement, *profile, *min_match, options.placement, options.profile, io);
      !match)
    return std::unexpected(match.error());

  Verdict verdict;
  verdict.json["accepted"] = true; // the first member; set below
  check_modes(*placement, *profile, verdict);
  check_budget(*placement, *profile, options, *peak_tolerance, *time_tolerance, verdict);
  std::vector<verify::SiteComparison> sites;
  if (!options.references.empty()) {
    Result<std::vector<verify::SiteComparison>> compared = check_sites(*profile, options, verdict);
    if (!compared)
      return std::unexpected(compared.error());
    sites = std::move(*compared);
  }
  if (!options.gradients.empty())
    if (const Result<void> done = check_gradients(options, verdict); !done)
      return std::unexpected(done.error());
  if (!options.compare.empty()) {
    const Result<ProgramEnd> end = run_shell(options.compare + (options.json ? " >&2" : ""), "", "");
    if (!end)
      return std::unexpected(end.error());
    if (end->status != 0)
      verdict.differs.push_back("'" + options.compare + "' ended with status " + std::to_string(end->status));
    verdict.json["compare"] = {{"command", options.compare}, {"status", end->status}};
  }

  const bool accepted = verdict.differs.empty();
  verdict.json["accepted"] = accepted;
  verdict.json["differs"] = verdict.differs;
  verdict.json["notes"] = verdict.notes;
  if (options.json) {
    io.out << verdict.json.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
    return accepted ? kDone : kAnswerIsNo;
  }
  const Measured measured = measured_of(*profile);
  io.out << "sites in the mode asked for: " << verdict.json["modes"]["as_asked"] << " of "
         << verdict.json["modes"]["sites"] << "\n";
  Table table({{""}, {"predicted", true}, {"measured", true}, {"change", true}});
  table.add_row({"AD stack peak", format_bytes(placement->predicted_tape_bytes), format_bytes(measured.tape_bytes),
                 format_change(relative(static_cast<double>(placement->predicted_tape_bytes),
                                        static_cast<double>(measured.tape_bytes)))});
  table.add_row({"adjoint time", format_time(placement->predicted_time_ns), format_time(measured.time_ns),
                 format_change(relative(placement->predicted_time_ns, measured.time_ns))});
  io.out << table.text(io.width, io.colour_out());
  if (!sites.empty())
    print_sites(std::move(sites), options.all, io);
  for (const std::string &note : verdict.notes)
    io.out << "note: " << note << "\n";
  for (const std::string &difference : verdict.differs)
    io.out << styled("differs: ", Style::kBad, io.colour_out()) << difference << "\n";
  if (accepted)
    io.talk << "the placement does what it promised\nnext: keep " << options.placement
            << " with the sources; `adprof check --baseline " << options.profile << " NEW` watches it in CI\n";
  else
    io.talk << "next: `adprof suggest` on " << options.profile
            << " and the profile before takes what was measured into account; "
            << "`adprof tune` does the whole loop\n";
  return accepted ? kDone : kAnswerIsNo;
}

} // namespace

void add_verify(CLI::App &app, Action &action) {
  auto options = std::make_shared<VerifyOptions>();
  CLI::App *verb = app.add_subcommand("verify", "Did the regenerated adjoint keep what the placement promised?");
  verb->add_option("NEW_PROFILE", options->profile, "Profile of the regenerated program")->required();
  verb->add_option("--placement", options->placement, "Placement it was regenerated with")->capture_default_str();
  verb->add_option("--reference", options->references,
                   "Profile that the placement was made from (repeatable): compares bytes and time of every site");
  auto *compare = verb->add_option("--compare", options->compare,
                                   "Command whose exit status says whether the results are the same");
  verb->add_option("--gradient", options->gradients,
                   "Two files: gradient before and after (raw doubles, text, Fortran records or .npy)")
      ->expected(2)
      ->excludes(compare);
  verb->add_option("--gradient-tolerance", options->gradient_tolerance,
                   "Largest relative difference that is accepted; 0: to the bit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--peak-tolerance", options->peak_tolerance, "Accepted distance of the peak from the prediction")
      ->capture_default_str();
  verb->add_option("--time-tolerance", options->time_tolerance,
                   "The same for the time; without it, time is only reported");
  verb->add_option("--min-match", options->min_match,
                   "Least share of the profile's time in sites that the placement knows")
      ->capture_default_str();
  verb->add_flag("--all", options->all, "Every site in the table");
  verb->add_flag("--json", options->json, "Everything as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return run_verify(*options, io); }; });
}

} // namespace adprof::cli
