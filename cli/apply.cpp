/// `adprof apply`: a placement in the words of the AD tool.
#include <CLI/CLI.hpp>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <ostream>

#include "cli/decisions.h"
#include "cli/model_options.h"
#include "cli/sources.h"
#include "cli/units.h"
#include "optimizer/feedback/forms.h"
#include "optimizer/feedback/options.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/load.h"

namespace adprof::cli {
namespace {

struct ApplyOptions {
  std::string placement = "placement.json", profile, format = "options", list = "nocheckpoint", form, output = "-";
  std::string min_match = "90%";
  SourceOptions sources;
  bool in_place = false, skip_unmatched = false;
};

Result<void> put(const ApplyOptions &options, const std::string &text, Io &io) {
  if (options.output != "-")
    return profile::write_file(options.output, text);
  io.out << text;
  return {};
}

int print_mismatches(const std::vector<feedback::Mismatch> &mismatches, bool skip, Io &io) {
  for (const feedback::Mismatch &mismatch : mismatches)
    io.talk << mismatch.at.file << ":" << mismatch.at.line << ": " << mismatch.site << ": " << mismatch.what << "\n";
  if (mismatches.empty() || skip)
    return kDone;
  io.talk << "adprof apply: " << mismatches.size()
          << " sites don't match the sources, so nothing was written; --skip-unmatched leaves those on\n";
  return kAnswerIsNo;
}

/// What a placement costs by the model of the profile, for decisions that the form can't tell apart.
class Costs {
public:
  static Result<std::unique_ptr<Costs>> make(const ApplyOptions &options, const placement::PlacementFile &placement,
                                             const std::vector<feedback::Decision> &decisions, Io &io) {
    auto costs = std::make_unique<Costs>();
    ModelOptions model_options;
    model_options.profiles = {options.profile};
    if (placement.limit.process_bytes < 0)
      model_options.tape_budget = "1x"; // bytes are counted for the AD stack alone
    Progress progress(io, "apply");
    Result<Model> model = load_model(model_options, progress);
    if (!model)
      return std::unexpected(model.error());
    model->solve.progress = nullptr;
    costs->model_ = std::move(*model);
    costs->solver_ = std::make_unique<placement::Solver>(costs->model_.tree, costs->model_.solve);
    costs->budget_ = std::max(placement.limit.process_bytes, placement.limit.tape_bytes);
    std::map<std::string, std::size_t> by_name;
    for (std::size_t s = 0; s < costs->model_.tree.sites.size(); ++s)
      by_name.emplace(costs->model_.tree.sites[s].name, s);
    for (const feedback::Decision &decision : decisions) {
      const auto found = by_name.find(decision.name());
      costs->sites_.push_back(found == by_name.end() ? std::nullopt : std::optional(found->second));
    }
    return costs;
  }

  feedback::Cost operator()(const std::vector<std::uint8_t> &on) const {
    model::Placement placement = model::uniform_placement(model_.tree, true);
    for (std::size_t d = 0; d < on.size(); ++d)
      if (sites_[d] && model_.tree.sites[*sites_[d]].switchable)
        placement.on[*sites_[d]] = on[d];
    const placement::Answer answer = solver_->evaluate(placement);
    return {answer.time_ns, answer.load_bytes, budget_ < 0 || answer.load_bytes <= budget_};
  }

private:
  Model model_;
  std::unique_ptr<placement::Solver> solver_;
  std::int64_t budget_ = -1;
  std::vector<std::optional<std::size_t>> sites_; ///< decision -> site of the tree
};

Result<int> apply_directives(const ApplyOptions &options, const std::vector<feedback::Decision> &decisions,
                             const feedback::CostFunction &cost, Io &io) {
  const Result<Sources> sources = read_sources(decisions, options.sources);
  if (!sources)
    return std::unexpected(sources.error());
  const Result<feedback::DirectivePatch> patch = feedback::patch_directives(sources->files, decisions, cost);
  if (!patch)
    return std::unexpected(patch.error());
  if (print_mismatches(patch->mismatches, options.skip_unmatched, io) != kDone)
    return kAnswerIsNo;
  print_losses(patch->losses, io);
  for (const std::string &note : patch->notes)
    io.talk << "note: " << note << "\n";

  std::string diff;
  std::uint32_t added = 0, removed = 0;
  for (const feedback::FilePatch &file : patch->files) {
    diff += file.diff;
    added += file.added;
    removed += file.removed;
  }
  if (options.in_place)
    for (const feedback::FilePatch &file : patch->files)
      if (const Result<void> written = profile::write_file(sources->opened.at(file.path), file.patched); !written)
        return std::unexpected(written.error());
  if (!options.in_place || options.output != "-")
    if (const Result<void> written = put(options, diff, io); !written)
      return std::unexpected(written.error());
  io.talk << (options.in_place ? "patched " : "the patch changes ") << patch->files.size() << " files: " << added
          << " directives added, " << removed << " removed, " << patch->already << " sites had theirs\n";
  io.talk << "next: "
          << (options.in_place || patch->files.empty() ? "" : "apply it with `patch -p1` in the source root, ")
          << "run the AD tool, rebuild, `adprof run -o new.json ...`, `adprof verify --placement " << options.placement
          << " new.json`\n";
  return kDone;
}

Result<int> apply_options(const ApplyOptions &options, const std::vector<feedback::Decision> &decisions,
                          const feedback::CostFunction &cost, Io &io) {
  const feedback::Options lists = feedback::option_lists(decisions, cost);
  print_losses(lists.losses, io);
  if (!lists.losses.empty())
    io.talk << "note: directives (--format directives) can tell the sites of one callee apart, and `adprof suggest "
               "--granularity callee` finds the best lists\n";
  if (options.list == "checkpoint")
    io.talk << "note: -defaultnocheckpoint also splits calls that the profile has never seen\n";
  const std::string &text = options.list == "checkpoint" ? lists.checkpoint : lists.nocheckpoint;
  if (text.empty())
    io.talk << "every site is on, which is the AD tool's default: no option is needed\n";
  if (const Result<void> written = put(options, text + "\n", io); !written)
    return std::unexpected(written.error());
  io.talk << "next: give this to the AD tool, rebuild, `adprof run -o new.json ...`, `adprof verify --placement "
          << options.placement << " new.json`\n";
  return kDone;
}

Result<int> apply(ApplyOptions options, Io &io) {
  const Result<double> least_share = parse_percent(options.min_match, "--min-match");
  if (!least_share)
    return std::unexpected(least_share.error());
  if (!options.form.empty()) {
    const Result<feedback::SourceForm> form = parse_form(options.form);
    if (!form)
      return std::unexpected(form.error());
    options.sources.form = *form;
  }
  if (options.in_place && options.format != "directives")
    return std::unexpected(
        Error{ErrorKind::kUsage, "--in-place", "only for --format directives: the other forms change no source"});
  const Result<placement::PlacementFile> placement = load_placement(options.placement);
  if (!placement)
    return std::unexpected(placement.error());
  std::optional<profile::Profile> profile;
  if (!options.profile.empty()) {
    Result<profile::Profile> loaded = profile::load(options.profile);
    if (!loaded)
      return std::unexpected(loaded.error());
    profile = std::move(*loaded);
    if (const Result<void> match =
            require_match(*placement, *profile, *least_share, options.placement, options.profile, io);
        !match)
      return std::unexpected(match.error());
  }
  const std::vector<feedback::Decision> decisions = decisions_of(*placement, profile ? &*profile : nullptr);
  std::unique_ptr<Costs> costs;
  if (profile && !profile->nodes.empty()) {
    Result<std::unique_ptr<Costs>> made = Costs::make(options, *placement, decisions, io);
    if (!made)
      return std::unexpected(made.error());
    costs = std::move(*made);
  }
  const feedback::CostFunction cost = costs ? feedback::CostFunction(std::cref(*costs)) : nullptr;
  if (options.format == "directives")
    return apply_directives(options, decisions, cost, io);
  if (options.format == "options")
    return apply_options(options, decisions, cost, io);
  const std::string text = options.format == "header"
                               ? feedback::c_header(decisions, placement->site_fingerprint)
                               : feedback::decisions_json(decisions, placement->site_fingerprint);
  if (const Result<void> written = put(options, text, io); !written)
    return std::unexpected(written.error());
  if (options.format == "header")
    io.talk << "next: include it where the adjoint is written by hand, rebuild, `adprof run -o new.json ...`, `adprof "
               "verify "
               "--placement "
            << options.placement << " new.json`\n";
  return kDone;
}

} // namespace

void add_apply(CLI::App &app, Action &action) {
  auto options = std::make_shared<ApplyOptions>();
  CLI::App *verb =
      app.add_subcommand("apply", "Hand a placement back to the AD tool: options, directives, JSON or a C header");
  verb->add_option(
      "PROFILE", options->profile,
      "Profile of the program it is for: checked against the placement, and newer source lines are taken from it");
  verb->add_option("--placement", options->placement, "Placement file")->capture_default_str();
  verb->add_option("--format", options->format, "options, directives, json or header")
      ->check(CLI::IsMember({"options", "directives", "json", "header"}))
      ->capture_default_str();
  verb->add_option("--list", options->list, "For options: nocheckpoint (what is off) or checkpoint (the inverse)")
      ->check(CLI::IsMember({"nocheckpoint", "checkpoint"}))
      ->capture_default_str();
  verb->add_option("-o,--output", options->output, "Where the result goes; - is standard output")
      ->capture_default_str();
  verb->add_flag("--in-place", options->in_place,
                 "For directives: change the sources, each written beside and renamed");
  verb->add_option("--source-root", options->sources.root, "Where the profile's source names are looked for")
      ->capture_default_str();
  verb->add_option("--source", options->sources.files,
                   "Source to patch instead, e.g. a preprocessed one with line markers; repeatable");
  verb->add_option("--form", options->form, "fixed, free or c, where the ending of a source's name misleads");
  verb->add_flag("--skip-unmatched", options->skip_unmatched,
                 "Leave sites on that the sources don't match, instead of refusing");
  verb->add_option("--min-match", options->min_match,
                   "Least share of the profile's time in sites that the placement knows")
      ->capture_default_str();
  verb->callback([options, &action] { action = [options](Io &io) { return apply(*options, io); }; });
}

} // namespace adprof::cli
