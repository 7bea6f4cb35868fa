#include "optimizer/placement/solve.h"

#include <algorithm>
#include <chrono>
#include <cmath>

#include "optimizer/placement/exact.h"
#include "optimizer/placement/room.h"
#include "optimizer/placement/search.h"

namespace adprof::placement {

namespace {

// Work limits. Node evaluations take 5 to 20 ns each: the climb ends within a second on any machine, the search at the
// budget within a few.
constexpr std::int64_t kClimbWork = 30'000'000, kFinalWork = 8'000'000;
constexpr double kRung = 1.25;
constexpr std::size_t kLargestProgram = 40'000; // rows and columns: beyond, the solver's first relaxation takes longer than people wait
constexpr double kGivenUp = 0.01; // of the time, where a program has to be made smaller
constexpr std::int64_t kSolverNodes = 20'000;
constexpr std::int64_t kLeastMemoryNodes = 400;
constexpr std::int64_t kProbeWork = 20'000'000; // edges looked at while trying single decisions against the budget

double now_ns() {
  return static_cast<double>(
      std::chrono::duration_cast<std::chrono::nanoseconds>(std::chrono::steady_clock::now().time_since_epoch()).count());
}

std::int64_t bytes_of(Bits bits) { return bits / 8 + (bits % 8 != 0); }
Bits bits_of(std::int64_t bytes) { return bytes >= model::kLargestBits / 8 ? model::kLargestBits : 8 * bytes; }

/// Depth first over what is left to decide when only memory counts.
class LeastMemory {
public:
  LeastMemory(Bits known, std::int64_t node_limit) : best(known), left_(node_limit) {}

  void search(const Problem &problem) {
    std::vector<SizeBounds> bounds;
    bound_sizes(problem.tree, std::vector<Mode>(problem.size(), kFree), bounds);
    const Bits least = least_load(problem, bounds);
    if (least >= best)
      return;
    if (problem.size() == 0) {
      best = least;
      placement = problem.decided;
      return;
    }
    if (left_-- <= 0) {
      open = std::min(open, least);
      return;
    }
    for (Mode mode : {kOn, kOff}) {
      std::vector<Mode> fixed(problem.size(), kFree);
      fixed[0] = mode;
      search(drop_settled(narrow(problem, fixed)));
    }
  }

  Bits best;
  Bits open = 2 * model::kLargestBits; ///< least load of what was not looked at
  model::Placement placement;          ///< of all sites; empty where nothing better than what was known turned up

private:
  std::int64_t left_;
};

} // namespace

Solver::Solver(const model::CallTree &tree, SolveOptions options)
    : tree_(tree), options_(std::move(options)),
      problem_(drop_settled(make_problem(tree, options_.wishes, options_.by_callee, options_.whole_process))), peak_(problem_.tree),
      full_peak_(tree), all_off_ns_(problem_.tree.base_ns) {
  deadline_ns_ = now_ns() + 1e9 * options_.seconds;
}

bool Solver::out_of_time() const { return now_ns() > deadline_ns_; }

void Solver::say(const std::string &what) const {
  if (options_.progress)
    options_.progress(what);
}

Answer Solver::evaluate(const model::Placement &placement) const {
  Answer answer;
  answer.placement = placement;
  answer.peaks = full_peak_.peaks(placement);
  answer.load_bytes = 0;
  for (std::size_t p = 0; p < answer.peaks.size(); ++p)
    answer.load_bytes = std::max(answer.load_bytes,
                                 bytes_of(answer.peaks[p]) + (options_.whole_process ? tree_.processes[p].other_bytes : 0));
  answer.time_ns = model::time_ns(tree_, placement);
  return answer;
}

void Solver::remember(const model::Placement &decisions) {
  Known fresh{decisions, problem_.load(peak_.peaks(decisions)), problem_.time_ns(decisions)};
  for (const Known &known : known_)
    if (known.load <= fresh.load && known.time_ns <= fresh.time_ns)
      return;
  std::erase_if(known_, [&](const Known &known) { return known.load >= fresh.load && known.time_ns >= fresh.time_ns; });
  known_.insert(std::ranges::lower_bound(known_, fresh.load, {}, &Known::load), std::move(fresh));
}

const Solver::Known *Solver::best_within(Bits budget) const {
  auto above = std::ranges::upper_bound(known_, budget, {}, &Known::load);
  return above == known_.begin() ? nullptr : &*std::prev(above);
}

void Solver::start_search() {
  if (started_)
    return;
  started_ = true;
  say("looking for the least memory");
  const model::Placement all_on{std::vector<std::uint8_t>(problem_.size(), 1)}, all_off{std::vector<std::uint8_t>(problem_.size(), 0)};
  remember(all_on);
  remember(all_off);
  // Where only memory counts, most decisions settle by themselves.
  Problem memory = problem_;
  for (model::SiteInfo &site : memory.tree.sites)
    site.recompute_ns = 0;
  memory = drop_settled(std::move(memory));
  auto remember_all = [&](const model::Placement &placement) {
    model::Placement decisions;
    for (const std::vector<std::uint32_t> &members : problem_.members)
      decisions.on.push_back(placement.on[members[0]]);
    remember(decisions);
  };
  model::PeakModel peak(memory.tree);
  model::IncrementalPeak state(peak, {std::vector<std::uint8_t>(memory.size(), 1)});
  Work work{kClimbWork, [](const void *solver) { return static_cast<const Solver *>(solver)->out_of_time(); }, this};
  greedy_shrink(memory, 0, state, work);
  remember_all(memory.expand(state.placement()));
  LeastMemory least(known_.front().load, std::min<std::int64_t>(kLeastMemoryNodes, kProbeWork / static_cast<std::int64_t>(memory.tree.edges.size() + 1) + 2));
  least.search(memory);
  if (!least.placement.on.empty())
    remember_all(least.placement);
  least_bound_ = std::min(least.open, known_.front().load);
  clock_stopped_ |= work.stopped_by_clock;
  climbed_to_ = known_.front().load;
}

// From rung to rung of budgets that depend on the tree alone, so that what is known under a budget is also known under every
// larger one.
void Solver::climb(Bits budget) {
  const double least = static_cast<double>(std::max<Bits>(known_.front().load, 1));
  const double most = static_cast<double>(std::max<Bits>(known_.back().load, 1));
  const auto rungs = static_cast<std::int64_t>(std::log(most / least) / std::log(kRung)) + 1;
  for (std::int64_t rung = 0; rung <= rungs; ++rung) {
    const Bits at = static_cast<Bits>(least * std::pow(kRung, static_cast<double>(rung)));
    if (at > budget || out_of_time())
      return;
    if (at < climbed_to_ || !best_within(at))
      continue;
    say("local search, rung " + std::to_string(rung) + " of " + std::to_string(rungs));
    Work work{kClimbWork / (rungs + 1), [](const void *solver) { return static_cast<const Solver *>(solver)->out_of_time(); }, this};
    model::IncrementalPeak state(peak_, best_within(at)->decisions);
    greedy_off(problem_, at, state, work);
    improve(problem_, at, state, work);
    remember(state.placement());
    moves_ += kClimbWork / (rungs + 1) - work.left;
    clock_stopped_ |= work.stopped_by_clock;
    climbed_to_ = at + 1;
  }
}

const Answer &Solver::least_memory() {
  start_search();
  if (least_.placement.on.empty()) {
    least_ = evaluate(problem_.expand(known_.front().decisions));
    least_.certificate.value = static_cast<double>(least_.load_bytes);
    least_.certificate.lower_bound = static_cast<double>(bytes_of(least_bound_));
    least_.certificate.optimal = bytes_of(least_bound_) == least_.load_bytes;
    least_.certificate.method = "least memory";
  }
  return least_;
}

Result<Answer> Solver::fastest(std::int64_t budget_bytes) {
  const Bits budget = bits_of(budget_bytes);
  start_search();
  if (!best_within(budget)) {
    const Answer &least = least_memory();
    return std::unexpected(Error{ErrorKind::kInfeasible, "budget",
                                 std::to_string(budget_bytes) + " bytes are too little: the smallest " +
                                     (least.certificate.optimal ? "possible" : "known to be possible") + " is " +
                                     std::to_string(least.load_bytes) + " bytes"});
  }
  auto finish = [&](bool optimal, double lower_bound, std::int64_t nodes, const char *method) {
    Answer answer = evaluate(problem_.expand(best_within(budget)->decisions));
    answer.certificate.value = answer.time_ns;
    answer.certificate.optimal = optimal;
    answer.certificate.lower_bound = optimal ? answer.time_ns : std::min(lower_bound, answer.time_ns);
    answer.certificate.solver_nodes = nodes;
    answer.certificate.moves = moves_;
    answer.certificate.stopped_by_clock = !optimal && clock_stopped_;
    answer.certificate.method = method;
    return answer;
  };
  auto all_gained = [&] { return best_within(budget)->time_ns <= problem_.tree.base_ns; };
  if (problem_.size() == 0 || all_gained())
    return finish(true, 0, 0, "everything fits");
  climb(budget);
  {
    say("local search at the budget");
    // The proof finds better placements than more of this would, so it has to be left time.
    const double end = deadline_ns_;
    deadline_ns_ = std::min(end, now_ns() + 0.3e9 * options_.seconds);
    Work work{kFinalWork, [](const void *solver) { return static_cast<const Solver *>(solver)->out_of_time(); }, this};
    model::IncrementalPeak state(peak_, best_within(budget)->decisions);
    greedy_off(problem_, budget, state, work);
    improve(problem_, budget, state, work);
    remember(state.placement());
    deadline_ns_ = end;
    moves_ += kFinalWork - work.left;
    clock_stopped_ |= work.stopped_by_clock;
  }
  if (all_gained())
    return finish(true, 0, 0, "local search");

  // What a placement at least as fast as the best known must do; then what is left as a program.
  Problem rest = problem_;
  for (bool narrowed = true; narrowed;) {
    narrowed = false;
    const double best_ns = best_within(budget)->time_ns;
    std::vector<Mode> fixed(rest.size(), kFree);
    for (std::size_t d = 0; d < rest.size(); ++d)
      if (rest.tree.base_ns + rest.gain_ns(d) > best_ns * (1 + 1e-12)) {
        fixed[d] = kOff;
        narrowed = true;
      }
    const auto probes = kProbeWork / static_cast<std::int64_t>(4 * rest.tree.edges.size() + 1);
    std::vector<SizeBounds> bounds;
    for (std::size_t d = 0; d < rest.size() && static_cast<std::int64_t>(rest.size()) <= probes; ++d)
      if (fixed[d] == kFree) {
        for (Mode mode : {kOff, kOn}) {
          fixed[d] = mode;
          bound_sizes(rest.tree, fixed, bounds);
          if (least_load(rest, bounds) > budget) {
            fixed[d] = mode == kOff ? kOn : kOff;
            narrowed = true;
            break;
          }
          fixed[d] = kFree;
        }
      }
    if (narrowed)
      rest = drop_settled(narrow(rest, fixed));
  }
  if (rest.size() == 0 && best_within(budget)->time_ns <= rest.tree.base_ns * (1 + 1e-12))
    return finish(true, 0, 0, "every decision follows from the budget");
  double lower_bound = std::min(rest.tree.base_ns, best_within(budget)->time_ns);
  // Too large: the sites that save least count as saving nothing. That makes every time smaller, so that the bound holds, and
  // most of them settle.
  const bool relaxed = options_.exact && exact_size(rest) > kLargestProgram;
  if (relaxed) {
    std::vector<std::uint32_t> by_gain(rest.size());
    for (std::uint32_t d = 0; d < rest.size(); ++d)
      by_gain[d] = d;
    std::ranges::stable_sort(by_gain, {}, [&](std::uint32_t d) { return rest.gain_ns(d); });
    double left = kGivenUp * lower_bound;
    for (std::uint32_t d : by_gain)
      if (left -= rest.gain_ns(d); left >= 0)
        rest.tree.sites[d].recompute_ns = 0;
    rest = drop_settled(std::move(rest));
  }
  if (!options_.exact || exact_size(rest) > kLargestProgram || out_of_time()) {
    clock_stopped_ |= options_.exact && out_of_time();
    return finish(false, lower_bound, 0, "local search");
  }
  say("proving: " + std::to_string(rest.size()) + " decisions left");
  const model::Placement best = problem_.expand(best_within(budget)->decisions);
  model::Placement start;
  for (const std::vector<std::uint32_t> &members : rest.members)
    start.on.push_back(best.on[members[0]]);
  const bool start_fits = rest.load(model::PeakModel(rest.tree).peaks(start)) <= budget;
  ExactLimits limits{kSolverNodes, std::max(0.05, (deadline_ns_ - now_ns()) / 1e9)};
  ExactResult exact = solve_exact(rest, budget, start_fits ? &start : nullptr, limits);
  if (exact.best) {
    const model::Placement all = rest.expand(*exact.best);
    model::Placement decisions;
    for (const std::vector<std::uint32_t> &members : problem_.members)
      decisions.on.push_back(all.on[members[0]]);
    remember(decisions);
    if (relaxed) { // what was left on to make the program smaller
      Work work{kClimbWork, [](const void *solver) { return static_cast<const Solver *>(solver)->out_of_time(); }, this};
      model::IncrementalPeak state(peak_, best_within(budget)->decisions);
      greedy_off(problem_, budget, state, work);
      remember(state.placement());
    }
  }
  clock_stopped_ |= exact.stopped_by_clock;
  // The proof is about `rest`, which holds a placement as fast as the best known.
  const bool optimal = exact.proved && exact.best && best_within(budget)->time_ns <= exact.lower_bound_ns * (1 + 1e-12);
  return finish(optimal, std::max(lower_bound, exact.lower_bound_ns), exact.nodes, "exact");
}

Result<Answer> Solver::smallest(double time_limit_ns) {
  start_search();
  if (time_limit_ns < problem_.tree.base_ns * (1 - 1e-12))
    return std::unexpected(Error{ErrorKind::kInfeasible, "time limit",
                                 "no placement is that fast: with every site off the adjoint still takes " +
                                     std::to_string(problem_.tree.base_ns / 1e9) + " s"});
  auto within = [&](double ns) { return ns <= time_limit_ns * (1 + 1e-12); };
  auto smallest_known = [&] { return *std::ranges::find_if(known_, [&](const Known &known) { return within(known.time_ns); }); };
  std::int64_t low = bytes_of(least_bound_); // nothing below is possible
  std::int64_t nodes = 0;
  bool proved = true;
  while (low < bytes_of(smallest_known().load)) {
    const std::int64_t high = bytes_of(smallest_known().load);
    // Halving the exponent first, as memory spans orders of magnitude.
    const std::int64_t middle = low > 0 && high / low >= 2
                                    ? std::clamp(static_cast<std::int64_t>(std::sqrt(static_cast<double>(low) * static_cast<double>(high))), low, high - 1)
                                    : low + (high - low) / 2;
    if (out_of_time()) {
      proved = false;
      clock_stopped_ = true;
      break;
    }
    Result<Answer> answer = fastest(middle);
    if (answer) {
      nodes += answer->certificate.solver_nodes;
      if (within(answer->time_ns))
        continue;
      if (within(answer->certificate.lower_bound)) {
        proved = false; // perhaps there is one, perhaps not
        break;
      }
    }
    low = middle + 1;
  }
  Answer answer = evaluate(problem_.expand(smallest_known().decisions));
  answer.certificate.value = static_cast<double>(answer.load_bytes);
  answer.certificate.optimal = proved && low >= answer.load_bytes;
  answer.certificate.lower_bound = static_cast<double>(std::min(low, answer.load_bytes));
  answer.certificate.solver_nodes = nodes;
  answer.certificate.moves = moves_;
  answer.certificate.stopped_by_clock = !answer.certificate.optimal && clock_stopped_;
  answer.certificate.method = "exact";
  return answer;
}

std::vector<Answer> Solver::front(std::size_t points) {
  start_search();
  std::vector<Answer> answers;
  const double end = deadline_ns_;
  const auto least = static_cast<double>(std::max<std::int64_t>(1, least_memory().load_bytes));
  const auto most = static_cast<double>(bytes_of(known_.back().load));
  const std::size_t steps = most > least && points > 1 ? points - 1 : 0;
  for (std::size_t i = 0; i <= steps; ++i) {
    const double budget = steps ? least * std::pow(most / least, static_cast<double>(i) / static_cast<double>(steps)) : least;
    const double start = now_ns();
    deadline_ns_ = start + std::max(0.0, end - start) / static_cast<double>(steps + 1 - i);
    clock_stopped_ = false;
    say("budget " + std::to_string(i + 1) + " of " + std::to_string(steps + 1));
    // The ends exactly: floating point may round the largest budget down.
    const std::int64_t bytes = i == 0 ? least_memory().load_bytes : i == steps ? bytes_of(known_.back().load) : static_cast<std::int64_t>(budget);
    if (Result<Answer> answer = fastest(bytes))
      answers.push_back(*std::move(answer));
  }
  deadline_ns_ = end;
  std::vector<Answer> front;
  for (Answer &answer : answers)
    if (front.empty() || answer.time_ns < front.back().time_ns) {
      if (!front.empty() && answer.load_bytes <= front.back().load_bytes)
        front.pop_back();
      front.push_back(std::move(answer));
    }
  return front;
}

} // namespace adprof::placement
