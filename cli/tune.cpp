/// `adprof tune`: measure, suggest, rebuild, measure again, until the prediction holds and nothing better is found. See
/// docs/tune.md.
///
/// The loop is deterministic: everything it decides follows from the files of finished steps. To go on after an
/// interruption it runs again from its start and takes finished steps from the state file.
#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <memory>
#include <nlohmann/json.hpp>
#include <ostream>
#include <set>

#include "cli/decisions.h"
#include "cli/model_options.h"
#include "cli/progress.h"
#include "cli/shell.h"
#include "cli/sources.h"
#include "cli/table.h"
#include "cli/tune_state.h"
#include "cli/units.h"
#include "optimizer/feedback/forms.h"
#include "optimizer/feedback/options.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/load.h"
#include "optimizer/profile/summary.h"
#include "optimizer/verify/culprits.h"
#include "optimizer/verify/gradient.h"
#include "optimizer/verify/modes.h"

namespace adprof::cli {
namespace {

namespace fs = std::filesystem;
using placement::PlacementFile;

/// A suggestion that promises less than this over the best measured is not worth a round: times scatter by as much.
constexpr double kWorthARound = 0.01;
/// Suggestions that race against all-on at the end.
constexpr std::size_t kRacing = 3;

struct TuneOptions {
  ModelOptions model;
  std::string build, run, plain_build, dir = "adprof-tune", gradient;
  double gradient_tolerance = 0;
  std::vector<std::string> programs;
  SourceOptions sources;
  int rounds = 6, repeats = 5;
  bool json = false;
};

double median(std::vector<double> values) {
  std::ranges::sort(values);
  const std::size_t n = values.size();
  return n == 0 ? 0 : n % 2 == 1 ? values[n / 2] : (values[n / 2 - 1] + values[n / 2]) / 2;
}

/// Replaces `to` by a copy of `from`, permissions included, written beside and renamed.
Result<void> copy_over(const fs::path &from, const fs::path &to) {
  std::error_code error;
  fs::path beside = to;
  beside += ".adprof-new";
  fs::copy_file(from, beside, fs::copy_options::overwrite_existing, error);
  if (!error)
    fs::rename(beside, to, error);
  if (error)
    return std::unexpected(Error{ErrorKind::kUnreadable, to.string(),
                                 "can't be written as a copy of " + from.string() + ": " + error.message()});
  return {};
}

/// A placement that was built, ran well and may be the answer.
struct Candidate {
  std::string folder;
  PlacementFile placement;
  bool within_budget = true;
};

class Tuner {
public:
  Tuner(const TuneOptions &options, Io &io) : options_(options), io_(io), dir_(options.dir) {}

  Result<int> run() {
    if (Result<void> ready = prepare(); !ready)
      return std::unexpected(ready.error());
    const Result<Trial> base = trial(PlacementFile{}, "all on", "round-00");
    if (!base)
      return std::unexpected(base.error());
    if (base->outcome != TrialOutcome::kGood)
      return std::unexpected(Error{ErrorKind::kUnreadable, file(*base, ""),
                                   "the first build and run, with the AD tool's defaults, " + base->detail +
                                       "; nothing can be tuned before that works"});
    if (Result<void> loaded = add_profile(*base); !loaded)
      return std::unexpected(loaded.error());
    if (Result<void> done = rounds(); !done)
      return std::unexpected(done.error());
    return finish();
  }

private:
  const TuneOptions &options_;
  Io &io_;
  const fs::path dir_;
  TuneState state_;
  bool uses_options_ = false, uses_directives_ = false;
  std::vector<profile::Profile> profiles_; ///< of every good trial so far, the all-on one first
  std::vector<std::string> profile_names_;
  std::map<std::string, std::string> kept_on_;    ///< site -> why it stays on
  std::optional<std::vector<std::string>> built_; ///< what the user's tree was built with last, in this process
  std::string stopped_because_;
  std::vector<fs::path> programs_;
  std::vector<Candidate> candidates_; ///< all-on first
  std::string best_folder_;           ///< known at the end

  std::string file(const Trial &t, const std::string &name) const { return (dir_ / t.folder / name).string(); }

  void say(const std::string &text) { io_.talk << "adprof tune: " << text << std::endl; }

  Result<void> save() { return profile::write_file((dir_ / "state.json").string(), write_state(state_)); }

  /// All that can be wrong with a limit before there is a profile.
  Result<void> check_limits() const {
    const ModelOptions &model = options_.model;
    if (model.budget.empty() && model.tape_budget.empty())
      return std::unexpected(
          Error{ErrorKind::kUsage, "--budget",
                "is missing: say how much memory the process may use, e.g. --budget 8G or --budget 1.1x; or "
                "--tape-budget for the AD stack alone"});
    const bool whole = !model.budget.empty();
    if (const Result<Size> size =
            parse_size(whole ? model.budget : model.tape_budget, whole ? "--budget" : "--tape-budget");
        !size)
      return std::unexpected(size.error());
    if (const Result<double> limit = parse_time(model.time_limit, "--time-limit"); !limit)
      return std::unexpected(limit.error());
    return {};
  }

  std::string wishes() const {
    const ModelOptions &model = options_.model;
    std::string text = "budget " + model.budget + ", tape budget " + model.tape_budget + ", " + model.granularity;
    const std::pair<const char *, const std::vector<std::string> *> lists[] = {
        {"on", &model.keep_on}, {"off", &model.keep_off}, {"only", &model.only}};
    for (const auto &[name, list] : lists)
      for (const std::string &one : *list)
        text += std::string(", ") + name + " " + one;
    return text;
  }

  Result<void> prepare() {
    uses_options_ = options_.build.find("{options}") != std::string::npos;
    uses_directives_ = options_.build.find("{directives}") != std::string::npos;
    const bool other =
        options_.build.find("{header}") != std::string::npos || options_.build.find("{placement}") != std::string::npos;
    if (!uses_options_ && !uses_directives_ && !other)
      return std::unexpected(
          Error{ErrorKind::kUsage, "--build",
                "'" + options_.build +
                    "' takes no placement; write {options}, {directives}, {header} or {placement} where "
                    "the AD tool's options, the patched source tree, the header or the placement file belong"});
    if (options_.rounds < 1 || options_.repeats < 1)
      return std::unexpected(Error{ErrorKind::kUsage, "--rounds, --repeats", "have to be 1 or more"});
    if (Result<void> valid = check_limits(); !valid)
      return valid;
    std::error_code error;
    fs::create_directories(dir_, error);
    if (error)
      return std::unexpected(Error{ErrorKind::kUnreadable, dir_.string(), "can't be made: " + error.message()});
    const std::map<std::string, std::string> settings = {
        {"build", options_.build},
        {"run", options_.run},
        {"plain_build", options_.plain_build},
        {"gradient", options_.gradient},
        {"gradient_tolerance", std::to_string(options_.gradient_tolerance)},
        {"source_root", options_.sources.root},
        {"limits and wishes", wishes()}};
    const fs::path state_file = dir_ / "state.json";
    if (!fs::exists(state_file)) {
      state_.settings = settings;
      return save();
    }
    const Result<std::string> text = profile::read_file(state_file.string());
    if (!text)
      return std::unexpected(text.error());
    Result<TuneState> state = read_state(*text, state_file.string());
    if (!state)
      return std::unexpected(state.error());
    for (const auto &[name, value] : settings)
      if (const std::string before = state->settings[name]; before != value)
        return std::unexpected(Error{ErrorKind::kUsage, dir_.string(),
                                     "holds a tuning with another " + name + " ('" + before + "', now '" + value +
                                         "'); name another folder with --dir"});
    state_ = std::move(*state);
    if (!state_.trials.empty())
      say("going on with " + dir_.string() + ", " + std::to_string(state_.trials.size()) + " builds are done");
    return {};
  }

  static std::vector<std::string> off_names(const PlacementFile &placement) {
    std::vector<std::string> off;
    for (const placement::PlacedSite &site : placement.sites)
      if (!site.on && site.switchable)
        off.push_back(site.name());
    std::ranges::sort(off);
    return off;
  }

  const Trial *find(const std::vector<std::string> &off) const {
    const auto found = std::ranges::find_if(
        state_.trials, [&](const Trial &t) { return t.off == off && t.purpose != "all on again"; });
    return found == state_.trials.end() ? nullptr : &*found;
  }

  /// What the build command can express of a placement. Site lines are those of the first profile, sources the user's
  /// own.
  Result<PlacementFile> expressible(PlacementFile placement, std::string *diff,
                                    std::vector<feedback::FilePatch> *patches) {
    const std::vector<feedback::Decision> decisions =
        decisions_of(placement, profiles_.empty() ? nullptr : &profiles_.front());
    std::vector<std::uint8_t> on;
    if (uses_directives_) {
      const Result<Sources> sources = read_sources(decisions, options_.sources);
      if (!sources)
        return std::unexpected(sources.error());
      Result<feedback::DirectivePatch> patch = feedback::patch_directives(sources->files, decisions);
      if (!patch)
        return std::unexpected(patch.error());
      for (const feedback::Mismatch &mismatch : patch->mismatches)
        if (kept_on_.emplace(mismatch.site, "no directive can be written for it: " + mismatch.what).second)
          say(mismatch.site + " stays on: " + mismatch.what);
      for (const feedback::FilePatch &one : patch->files) {
        if (diff)
          *diff += one.diff;
        if (patches)
          patches->push_back(one);
      }
      on = patch->on;
    } else if (uses_options_) {
      on = feedback::option_lists(decisions).on;
    } else {
      return placement;
    }
    std::map<std::string, bool> modes;
    for (std::size_t i = 0; i < decisions.size(); ++i)
      modes[decisions[i].name()] = on[i] != 0;
    for (placement::PlacedSite &site : placement.sites)
      if (const auto found = modes.find(site.name()); found != modes.end() && site.switchable)
        site.on = found->second;
    return placement;
  }

  /// The whole source tree with the patch in it.
  Result<std::string> patched_tree(const Trial &t, const std::vector<feedback::FilePatch> &patches) {
    const fs::path root(options_.sources.root), target = dir_ / t.folder / "source";
    std::error_code error;
    const fs::path own = fs::weakly_canonical(dir_);
    for (auto entry = fs::recursive_directory_iterator(root, error);
         !error && entry != fs::recursive_directory_iterator(); entry.increment(error)) {
      const fs::path relative = entry->path().lexically_relative(root);
      if (entry->is_directory() && (fs::weakly_canonical(entry->path()) == own || relative.filename() == ".git" ||
                                    fs::exists(entry->path() / "state.json"))) {
        entry.disable_recursion_pending();
        continue;
      }
      const fs::path to = target / relative;
      if (entry->is_directory())
        fs::create_directories(to, error);
      else if (entry->is_regular_file() && (!fs::exists(to) || !same_content(entry->path(), to)))
        fs::copy_file(entry->path(), to, fs::copy_options::overwrite_existing, error);
    }
    if (error)
      return std::unexpected(
          Error{ErrorKind::kUnreadable, target.string(), "the source tree can't be copied there: " + error.message()});
    for (const feedback::FilePatch &patch : patches)
      if (Result<void> written = profile::write_file((target / patch.path).string(), patch.patched); !written)
        return std::unexpected(written.error());
    return fs::absolute(target).string();
  }

  static bool same_content(const fs::path &a, const fs::path &b) {
    const Result<std::string> left = profile::read_file(a.string()), right = profile::read_file(b.string());
    return left && right && *left == *right;
  }

  /// The build command for a placement; writes every form of it into the trial's folder.
  Result<std::string> build_command(const Trial &t, const std::string &command, const PlacementFile &placement) {
    std::string diff;
    std::vector<feedback::FilePatch> patches;
    if (uses_directives_)
      if (Result<PlacementFile> done = expressible(placement, &diff, &patches); !done)
        return std::unexpected(done.error());
    const std::vector<feedback::Decision> decisions =
        decisions_of(placement, profiles_.empty() ? nullptr : &profiles_.front());
    for (const feedback::Decision &decision : decisions)
      for (const char c : decision.callee)
        if (!std::isalnum(static_cast<unsigned char>(c)) && c != '_' && c != '.')
          return std::unexpected(
              Error{ErrorKind::kInvalid, decision.name(),
                    "a callee's name with '" + std::string(1, c) + "' can't be put into a command line"});
    const std::string options = feedback::option_lists(decisions).nocheckpoint;
    std::map<std::string, std::string> values = {{"options", options},
                                                 {"header", fs::absolute(file(t, "placement.h")).string()},
                                                 {"placement", fs::absolute(file(t, "placement.json")).string()}};
    const std::pair<const char *, std::string> files[] = {
        {"options.txt", options + "\n"},
        {"placement.h", feedback::c_header(decisions, placement.site_fingerprint)},
        {"placement.json", placement::write_placement(placement)},
        {"directives.diff", diff}};
    for (const auto &[name, text] : files)
      if (Result<void> written = profile::write_file(file(t, name), text); !written)
        return std::unexpected(written.error());
    if (uses_directives_) {
      Result<std::string> tree = patched_tree(t, patches);
      if (!tree)
        return std::unexpected(tree.error());
      values["directives"] = *tree;
    }
    return fill_in(command, values);
  }

  Result<ProgramEnd> shell(const std::string &what, const Trial &t, const std::string &command, const std::string &log,
                           const std::string &raw) {
    const Result<ProgramEnd> end = run_shell(command, fs::absolute(file(t, log)).string(), raw);
    if (!end)
      return std::unexpected(end.error());
    if (end->status == 128 + SIGINT || end->status == 128 + SIGTERM)
      return std::unexpected(Error{ErrorKind::kInfeasible, what, "interrupted; the same command goes on from here"});
    return end;
  }

  /// Builds, runs and measures a placement, unless that was done before.
  Result<Trial> trial(const PlacementFile &placement, const std::string &purpose, const std::string &folder) {
    Trial t;
    t.off = off_names(placement);
    t.purpose = purpose;
    t.folder = folder;
    const auto same = [&](const Trial &one) { return one.folder == folder && one.off == t.off; };
    if (const auto done = std::ranges::find_if(state_.trials, same); done != state_.trials.end())
      return *done;
    if (purpose == "bisection")
      if (const Trial *done = find(t.off))
        return *done;
    t.predicted_tape_bytes = placement.predicted_tape_bytes;
    t.predicted_time_ns = placement.predicted_time_ns;
    std::error_code error;
    fs::create_directories(dir_ / folder, error);
    if (error)
      return std::unexpected(
          Error{ErrorKind::kUnreadable, (dir_ / folder).string(), "can't be made: " + error.message()});
    if (Result<void> done = measure(t, placement); !done)
      return std::unexpected(done.error());
    std::string text = folder + ": " + to_string(t.outcome);
    if (t.outcome == TrialOutcome::kGood)
      text += ", adjoint " + format_time(t.time_ns) + ", AD stack peak " + format_bytes(t.tape_bytes);
    else
      text += ": " + t.detail;
    say(text);
    state_.trials.push_back(t);
    if (Result<void> saved = save(); !saved)
      return std::unexpected(saved.error());
    return t;
  }

  Result<void> measure(Trial &t, const PlacementFile &placement) {
    const Result<std::string> command = build_command(t, options_.build, placement);
    if (!command)
      return std::unexpected(command.error());
    say(t.folder + " (" + t.purpose + ", " + std::to_string(t.off.size()) + " sites off): building");
    const Result<ProgramEnd> built = shell("--build", t, *command, "build.log", "");
    if (!built)
      return std::unexpected(built.error());
    built_ = t.off;
    if (built->status != 0) {
      t.outcome = TrialOutcome::kBuildFailed;
      t.detail = "failed with status " + std::to_string(built->status) + ", see " + file(t, "build.log");
      return {};
    }
    say(t.folder + ": built in " + format_time(built->wall_ns) + ", running");
    std::error_code error;
    const auto gradient_before = fs::last_write_time(options_.gradient.empty() ? "." : options_.gradient, error);
    const bool gradient_existed = !error;
    const Result<RawFolder> raw = RawFolder::make((dir_ / t.folder).string());
    if (!raw)
      return std::unexpected(raw.error());
    const Result<ProgramEnd> ran = shell("--run", t, fill_in(options_.run, {}), "run.log", raw->output());
    if (!ran)
      return std::unexpected(ran.error());
    const auto failed = [&](const std::string &what) {
      t.outcome = TrialOutcome::kRunFailed;
      t.detail = what + ", see " + file(t, "run.log");
    };
    if (ran->status != 0) {
      failed("failed with status " + std::to_string(ran->status));
      return {};
    }
    if (raw->files().empty()) {
      failed("left no profile: is it built with `adprof cc`?");
      return {};
    }
    Result<profile::Profile> profile = profile::load_merged(raw->files());
    if (!profile)
      return std::unexpected(profile.error());
    if (Result<void> written = profile::write_file(file(t, "profile.json"), profile::write_json(*profile)); !written)
      return written;
    const Measured measured = measured_of(*profile);
    t.tape_bytes = measured.tape_bytes;
    t.process_bytes = measured.process_bytes;
    t.time_ns = measured.time_ns;
    std::vector<verify::AskedMode> asked;
    for (const placement::PlacedSite &site : placement.sites)
      asked.push_back({site.name(), site.on, site.switchable});
    for (const verify::SiteMode &mode : verify::compare_modes(asked, *profile))
      if (mode.switchable &&
          (mode.verdict == verify::ModeVerdict::kOtherMode || mode.verdict == verify::ModeVerdict::kMixed))
        t.disobeyed.push_back(mode.name);
    if (Result<void> kept = keep_programs(t.folder, "program-"); !kept)
      return kept;
    if (options_.gradient.empty())
      return {};
    const auto gradient_after = fs::last_write_time(options_.gradient, error);
    if (error || (gradient_existed && gradient_after == gradient_before))
      return std::unexpected(
          Error{ErrorKind::kUnreadable, options_.gradient,
                "was not written by '" + options_.run + "'; --gradient names the file that the run writes"});
    if (Result<void> copied = copy_over(options_.gradient, dir_ / t.folder / "gradient"); !copied)
      return copied;
    if (state_.trials.empty())
      return {};
    const Result<verify::GradientDifference> difference = gradient_difference(state_.trials.front(), t);
    if (!difference && difference.error().kind != ErrorKind::kInfeasible)
      return std::unexpected(difference.error());
    if (!difference || !verify::within(*difference, options_.gradient_tolerance)) {
      t.outcome = TrialOutcome::kGradientDiffers;
      t.detail = difference ? verify::describe(*difference) : difference.error().what;
    }
    return {};
  }

  Result<verify::GradientDifference> gradient_difference(const Trial &a, const Trial &b) const {
    verify::Gradient gradients[2];
    const Trial *trials[2] = {&a, &b};
    for (int i = 0; i < 2; ++i) {
      const std::string path = file(*trials[i], "gradient");
      const Result<std::string> bytes = profile::read_file(path);
      if (!bytes)
        return std::unexpected(bytes.error());
      Result<verify::Gradient> gradient = verify::read_gradient(*bytes, path);
      if (!gradient)
        return std::unexpected(gradient.error());
      gradients[i] = std::move(*gradient);
    }
    return verify::compare_gradients(gradients[0], gradients[1]);
  }

  /// The programs that the run starts: those named, else the executables among its words. They are exchanged later on,
  /// so only binaries that lie below the current folder are taken for the user's own: never an interpreter or a
  /// launcher.
  void find_programs() {
    if (!programs_.empty())
      return;
    if (!options_.programs.empty()) {
      programs_.assign(options_.programs.begin(), options_.programs.end());
      return;
    }
    const fs::path here = fs::weakly_canonical(fs::current_path());
    std::string word;
    for (const char c : options_.run + " ") {
      if (!std::isspace(static_cast<unsigned char>(c)) && !std::string_view("'\"`;&|()<>").contains(c)) {
        word += c;
        continue;
      }
      std::error_code error;
      const fs::path path = word.find('/') == std::string::npos ? fs::path() : fs::weakly_canonical(word, error);
      const fs::path below = path.lexically_relative(here);
      word.clear();
      if (path.empty() || error || below.empty() || *below.begin() == ".." || !fs::is_regular_file(path, error) ||
          std::ranges::find(programs_, path) != programs_.end())
        continue;
      char magic[4] = {};
      std::ifstream(path, std::ios::binary).read(magic, sizeof magic);
      if (std::string_view(magic, sizeof magic) == "\x7f"
                                                   "ELF")
        programs_.push_back(path);
    }
  }

  Result<void> keep_programs(const std::string &folder, const std::string &prefix) {
    find_programs();
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (Result<void> copied = copy_over(programs_[i], dir_ / folder / (prefix + std::to_string(i))); !copied)
        return copied;
    return {};
  }

  Result<void> put_programs(const std::string &folder, const std::string &prefix) {
    for (std::size_t i = 0; i < programs_.size(); ++i)
      if (Result<void> copied = copy_over(dir_ / folder / (prefix + std::to_string(i)), programs_[i]); !copied)
        return copied;
    return {};
  }

  Result<void> add_profile(const Trial &t) {
    Result<profile::Profile> profile = profile::load(file(t, "profile.json"));
    if (!profile)
      return std::unexpected(profile.error());
    profiles_.push_back(std::move(*profile));
    profile_names_.push_back(file(t, "profile.json"));
    return {};
  }

  bool within_budget(const Trial &t, const PlacementFile &placement) const {
    return (placement.limit.tape_bytes < 0 || t.tape_bytes <= placement.limit.tape_bytes) &&
           (placement.limit.process_bytes < 0 || t.process_bytes <= placement.limit.process_bytes);
  }

  /// The fastest placement within the budget by all that was measured.
  Result<PlacementFile> suggest() {
    ModelOptions wanted = options_.model;
    wanted.profiles = profile_names_;
    for (const auto &[site, why] : kept_on_)
      wanted.keep_on.push_back(site);
    if (uses_options_)
      wanted.granularity = "callee";
    Progress progress(io_, "searching");
    const Result<Model> model = load_model(wanted, progress);
    if (!model)
      return std::unexpected(model.error());
    placement::Solver solver(model->tree, model->solve);
    const Result<std::int64_t> budget = budget_bytes(wanted, solver, *model);
    if (!budget)
      return std::unexpected(budget.error());
    const Result<placement::Answer> answer = solver.fastest(*budget);
    if (!answer)
      return std::unexpected(answer.error().kind == ErrorKind::kInfeasible
                                 ? too_little(wanted, *budget, solver.least_memory(), model->solve.whole_process)
                                 : answer.error());
    placement::Limit limit;
    (model->solve.whole_process ? limit.process_bytes : limit.tape_bytes) = *budget;
    return placement_file(*model, *answer, limit);
  }

  Result<void> rounds() {
    find_programs();
    for (int round = 1; round <= options_.rounds; ++round) {
      const Result<PlacementFile> suggested = suggest();
      if (!suggested)
        return std::unexpected(suggested.error());
      const Result<PlacementFile> next = expressible(*suggested, nullptr, nullptr);
      if (!next)
        return std::unexpected(next.error());
      if (candidates_.empty()) {
        PlacementFile all_on = *next;
        for (placement::PlacedSite &site : all_on.sites)
          site.on = site.on || site.switchable;
        candidates_.push_back({"round-00", all_on, within_budget(state_.trials.front(), *next)});
      }
      const std::string folder = "round-" + std::string(round < 10 ? "0" : "") + std::to_string(round);
      if (const Trial *before = find(off_names(*next)); before && before->folder != folder) {
        const bool taken = std::ranges::find(candidates_, before->folder, &Candidate::folder) != candidates_.end();
        if (!taken && before->outcome == TrialOutcome::kGood) { // a step of a bisection
          candidates_.push_back({before->folder, *next, within_budget(*before, *next)});
          if (Result<void> added = add_profile(*before); !added)
            return added;
          continue;
        }
        stopped_because_ = "the best placement by all that was measured is " + before->folder + ", which was tried";
        return {};
      }
      if (const Trial *fastest = fastest_so_far();
          fastest && suggested->predicted_time_ns > (1 - kWorthARound) * fastest->time_ns) {
        stopped_because_ = "nothing is predicted to be faster than " + fastest->folder + " by 1 % or more";
        return {};
      }
      const Result<Trial> tried = trial(*next, "suggested", folder);
      if (!tried)
        return std::unexpected(tried.error());
      for (const std::string &site : tried->disobeyed)
        if (kept_on_.emplace(site, "the AD tool did not take it").second)
          say(site +
              " did not run in the mode asked for (an unknown name, or no split version); it stays on from here");
      if (tried->outcome != TrialOutcome::kGood) {
        if (Result<void> found = find_bad_sites(*next, *tried, folder); !found)
          return found;
        continue;
      }
      if (Result<void> added = add_profile(*tried); !added)
        return added;
      candidates_.push_back({tried->folder, *next, within_budget(*tried, *next)});
    }
    stopped_because_ = "that were all rounds (--rounds)";
    return {};
  }

  /// Under measurement, of the suggestions within the budget; null before the first.
  const Trial *fastest_so_far() const {
    const Trial *fastest = nullptr;
    for (const Candidate &candidate : candidates_)
      if (candidate.within_budget && candidate.folder != "round-00")
        if (const Trial &t = by_folder(candidate.folder); !fastest || t.time_ns < fastest->time_ns)
          fastest = &t;
    return fastest;
  }

  const Trial &by_folder(const std::string &folder) const {
    return *std::ranges::find_if(state_.trials, [&](const Trial &t) { return t.folder == folder; });
  }

  /// A gradient that differs from one run to the next says nothing about placements.
  Result<void> require_reproducible() {
    const Result<Trial> again = trial(PlacementFile{}, "all on again", "round-00-again");
    if (!again)
      return std::unexpected(again.error());
    if (again->outcome == TrialOutcome::kGood)
      return {};
    return std::unexpected(
        Error{ErrorKind::kInfeasible, options_.gradient.empty() ? "--run" : options_.gradient,
              "the all-on program, built and run again, " + again->detail +
                  ": its result is not the same from run to run. Make it reproducible, or accept a difference with "
                  "--gradient-tolerance"});
  }

  /// Finds which of the sites that are off break the build, the run or the gradient; they stay on.
  Result<void> find_bad_sites(const PlacementFile &placement, const Trial &bad, const std::string &folder) {
    if (bad.outcome == TrialOutcome::kGradientDiffers)
      if (Result<void> same = require_reproducible(); !same)
        return same;
    // What can be switched one by one: callees for option lists, else sites.
    std::vector<std::vector<std::string>> units;
    std::map<std::string, std::size_t> unit_of;
    for (const placement::PlacedSite &site : placement.sites) {
      if (site.on || !site.switchable)
        continue;
      const auto [found, is_new] =
          unit_of.emplace(uses_options_ && !uses_directives_ ? site.callee : site.name(), units.size());
      if (is_new)
        units.emplace_back();
      units[found->second].push_back(site.name());
    }
    say(bad.folder + " is bad; looking for the cause among " + std::to_string(units.size()) + " choices, about " +
        std::to_string(1 + static_cast<int>(std::ceil(std::log2(std::max<std::size_t>(units.size(), 1))))) +
        " builds each");
    int step = 0;
    const auto bad_with = [&](const std::vector<std::uint8_t> &off) -> Result<bool> {
      PlacementFile part = placement;
      part.predicted_tape_bytes = 0;
      part.predicted_time_ns = 0;
      std::set<std::string> names;
      for (std::size_t u = 0; u < units.size(); ++u)
        if (off[u])
          names.insert(units[u].begin(), units[u].end());
      for (placement::PlacedSite &site : part.sites)
        if (site.switchable)
          site.on = !names.contains(site.name());
      ++step;
      const Result<Trial> tried =
          trial(part, "bisection", folder + "-bisect-" + std::string(step < 10 ? "0" : "") + std::to_string(step));
      if (!tried)
        return std::unexpected(tried.error());
      return tried->outcome != TrialOutcome::kGood;
    };
    const Result<std::vector<std::size_t>> culprits = verify::find_culprits(units.size(), bad_with);
    if (!culprits)
      return std::unexpected(culprits.error());
    for (const std::size_t u : *culprits)
      for (const std::string &site : units[u]) {
        kept_on_[site] = to_string(bad.outcome) + " when it is off";
        say(site + " stays on: " + kept_on_[site]);
      }
    return {};
  }

  // The result
  // -------------------------------------------------------------------------------------------------------------

  Result<void> build_again(const Candidate &candidate, const std::string &command, const std::string &log) {
    const Trial &t = by_folder(candidate.folder);
    const Result<std::string> filled = build_command(t, command, candidate.placement);
    if (!filled)
      return std::unexpected(filled.error());
    const Result<ProgramEnd> end = shell("--build", t, *filled, log, "");
    if (!end)
      return std::unexpected(end.error());
    built_ = t.off;
    if (end->status != 0)
      return std::unexpected(
          Error{ErrorKind::kUnreadable, file(t, log), "the build ended with status " + std::to_string(end->status)});
    return {};
  }

  Result<void> plain_run(const Candidate &candidate) {
    const Trial &t = by_folder(candidate.folder);
    const Result<ProgramEnd> end = shell("--run", t, options_.run, "plain-run.log", "");
    if (!end)
      return std::unexpected(end.error());
    if (end->status != 0)
      return std::unexpected(Error{ErrorKind::kUnreadable, file(t, "plain-run.log"),
                                   "the run at full speed ended with status " + std::to_string(end->status)});
    state_.plain_runs.push_back({t.folder, end->wall_ns});
    return save();
  }

  std::vector<double> plain_times(const std::string &folder) const {
    std::vector<double> times;
    for (const PlainRun &run : state_.plain_runs)
      if (run.folder == folder)
        times.push_back(run.wall_ns);
    return times;
  }

  /// Runs all-on and the latest suggestions in turn at full speed, and picks the fastest within the budget.
  /// Instrumented times decide which placements are tried, not which one is taken.
  Result<void> pick_best() {
    std::vector<const Candidate *> racing = {&candidates_.front()};
    for (std::size_t i = candidates_.size() - std::min(candidates_.size() - 1, kRacing); i < candidates_.size(); ++i)
      if (candidates_[i].within_budget)
        racing.push_back(&candidates_[i]);
    if (racing.size() > 1)
      if (Result<void> done = race(racing); !done)
        return done;
    for (const Candidate *candidate : racing)
      if (candidate->within_budget &&
          (best_folder_.empty() || median(plain_times(candidate->folder)) < median(plain_times(best_folder_))))
        best_folder_ = candidate->folder;
    return {};
  }

  Result<void> race(const std::vector<const Candidate *> &racing) {
    const auto enough = [&](const Candidate *one, int count) {
      return plain_times(one->folder).size() >= static_cast<std::size_t>(count);
    };
    if (std::ranges::all_of(racing, [&](const Candidate *one) { return enough(one, options_.repeats); }))
      return {};
    const bool plain = !options_.plain_build.empty();
    const std::string &build = plain ? options_.plain_build : options_.build;
    const std::string prefix = plain ? "plain-program-" : "program-";
    if (plain && !programs_.empty())
      for (const Candidate *one : racing) {
        say(one->folder + ": building for full speed");
        if (Result<void> done = build_again(*one, build, "plain-build.log"); !done)
          return done;
        if (Result<void> kept = keep_programs(one->folder, prefix); !kept)
          return kept;
      }
    say("running all-on and " + std::to_string(racing.size() - 1) + " suggestions in turn at full speed, " +
        std::to_string(options_.repeats) + " times each");
    if (programs_.empty()) { // nothing to exchange: build in turn instead, in two blocks each
      const int half = (options_.repeats + 1) / 2;
      for (const int goal : {half, options_.repeats})
        for (const Candidate *one : racing) {
          if (enough(one, goal))
            continue;
          if (Result<void> done = build_again(*one, build, "plain-build.log"); !done)
            return done;
          while (!enough(one, goal))
            if (Result<void> done = plain_run(*one); !done)
              return done;
        }
      return {};
    }
    for (int repeat = 1; repeat <= options_.repeats; ++repeat)
      for (const Candidate *one : racing) {
        if (enough(one, repeat))
          continue;
        if (Result<void> put = put_programs(one->folder, prefix); !put)
          return put;
        if (Result<void> done = plain_run(*one); !done)
          return done;
      }
    return {};
  }

  Result<int> finish() {
    if (Result<void> picked = pick_best(); !picked)
      return std::unexpected(picked.error());
    if (best_folder_.empty()) {
      print_table();
      return std::unexpected(
          Error{ErrorKind::kInfeasible, "--budget", "no placement that was measured keeps it; " + stopped_because_});
    }
    const Candidate &best = *std::ranges::find(candidates_, best_folder_, &Candidate::folder);
    // The user's tree is left as the best placement builds it, with its instrumented program.
    if (!built_ || *built_ != off_names(best.placement) || !options_.plain_build.empty())
      if (Result<void> done = build_again(best, options_.build, "build.log"); !done)
        return std::unexpected(done.error());
    if (Result<void> put = put_programs(best_folder_, "program-"); !put)
      return std::unexpected(put.error());
    const std::string result = (dir_ / "placement.json").string();
    if (Result<void> written = profile::write_file(result, placement::write_placement(best.placement)); !written)
      return std::unexpected(written.error());
    const double before = median(plain_times("round-00")), after = median(plain_times(best_folder_));
    const double speed_up = after > 0 ? before / after : 1;
    const std::string options = feedback::option_lists(decisions_of(best.placement, &profiles_.front())).nocheckpoint;

    if (options_.json) {
      using Json = nlohmann::ordered_json;
      const Json state = Json::parse(write_state(state_));
      const Json document = {
          {"format", "adprof-tune"},
          {"version", 1},
          {"placement", result},
          {"best", best_folder_},
          {"stopped", stopped_because_},
          {"options", options},
          {"kept_on", kept_on_},
          {"trials", state["trials"]},
          {"plain",
           {{"all_on_ns", before}, {"best_ns", after}, {"speed_up", speed_up}, {"repeats", options_.repeats}}}};
      io_.out << document.dump(1, ' ', false, Json::error_handler_t::replace) << "\n";
      return kDone;
    }
    print_table();
    io_.out << "\nstopped: " << stopped_because_ << "\n";
    for (const auto &[site, why] : kept_on_)
      io_.out << "kept on: " << site << ": " << why << "\n";
    if (best_folder_ == "round-00") {
      io_.out << "best: all on; no placement within the budget was measured to be faster\n";
      return kDone;
    }
    io_.out << "best: " << best_folder_ << ", " << off_names(best.placement).size() << " sites off\n";
    if (uses_options_)
      io_.out << "options: " << options << "\n";
    if (uses_directives_)
      io_.out << "patch: " << file(by_folder(best_folder_), "directives.diff") << "\n";
    io_.out << "placement: " << result << "\n"
            << "measured at full speed, medians of " << options_.repeats << " runs in turn: all on "
            << format_time(before) << ", best " << format_time(after) << ", speed-up " << format_ratio(speed_up)
            << "\n";
    io_.talk << "next: keep the " << (uses_directives_ ? "patch" : "options")
             << " in your build; `adprof check --baseline " << file(by_folder(best_folder_), "profile.json")
             << " NEW` watches it in CI\n";
    return kDone;
  }

  void print_table() {
    if (options_.json)
      return;
    Table table({{"round", false, true},
                 {"off", true},
                 {"peak predicted", true},
                 {"measured", true},
                 {"time predicted", true},
                 {"measured", true},
                 {"full speed", true},
                 {"result"}});
    for (const Trial &t : state_.trials) {
      const bool good = t.outcome == TrialOutcome::kGood;
      table.add_row(
          {t.folder,
           std::to_string(t.off.size()),
           t.predicted_tape_bytes > 0 ? format_bytes(t.predicted_tape_bytes) : "",
           t.tape_bytes > 0 ? format_bytes(t.tape_bytes) : "",
           t.predicted_time_ns > 0 ? format_time(t.predicted_time_ns) : "",
           t.time_ns > 0 ? format_time(t.time_ns) : "",
           plain_times(t.folder).empty() ? "" : format_time(median(plain_times(t.folder))),
           {to_string(t.outcome) + (t.folder == best_folder_ ? ", best" : ""), good ? Style::kPlain : Style::kBad}});
    }
    io_.out << table.text(io_.width, io_.colour_out());
  }
};

} // namespace

void add_tune(CLI::App &app, Action &action) {
  auto options = std::make_shared<TuneOptions>();
  CLI::App *verb =
      app.add_subcommand("tune", "Measure, suggest, rebuild and measure again until the best placement is found");
  verb->add_option("--build", options->build,
                   "Command that regenerates and builds the adjoint with `adprof cc`; {options}, {directives}, "
                   "{header} or {placement} stand for the placement")
      ->required();
  verb->add_option("--run", options->run, "Command that runs it")->required();
  verb->add_option("--gradient", options->gradient,
                   "File with the gradient that the run writes: compared in each round");
  verb->add_option("--gradient-tolerance", options->gradient_tolerance,
                   "Largest relative difference that is accepted; 0: to the bit")
      ->check(CLI::NonNegativeNumber)
      ->capture_default_str();
  verb->add_option("--rounds", options->rounds, "At most this many suggestions are tried")->capture_default_str();
  verb->add_option("--repeats", options->repeats, "Runs of each program in the final race at full speed")
      ->capture_default_str();
  verb->add_option("--plain-build", options->plain_build,
                   "Command that builds without adprof, for the final measurement; the same placeholders");
  verb->add_option(
      "--program", options->programs,
      "Program or library that the build writes and the run uses, where --run doesn't name it; repeatable");
  verb->add_option("--source-root", options->sources.root, "Source tree that {directives} is a patched copy of")
      ->capture_default_str();
  verb->add_option("--dir", options->dir,
                   "Folder for the files of all rounds; going on after an interruption needs nothing else")
      ->capture_default_str();
  add_budgets(*verb, options->model);
  add_wishes(*verb, options->model);
  verb->add_flag("--json", options->json, "The result as JSON");
  verb->callback([options, &action] { action = [options](Io &io) { return Tuner(*options, io).run(); }; });
}

} // namespace adprof::cli
