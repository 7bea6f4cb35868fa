#include "optimizer/placement/search.h"

#include <algorithm>

namespace adprof::placement {

namespace {

class Improver {
public:
  Improver(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work)
      : problem_(problem), budget_(budget), state_(state), work_(work) {
    for (std::uint32_t d = 0; d < problem.size(); ++d)
      if (problem.gain_ns(d) > 0)
        by_gain_.push_back(d);
    std::ranges::stable_sort(by_gain_, std::greater{}, [&](std::uint32_t d) { return problem.gain_ns(d); });
  }

  void run() {
    bool better = true;
    while (better && !work_.exhausted()) {
      better = false;
      for (std::uint32_t d : by_gain_) {
        if (work_.exhausted())
          break;
        better |= state_.placement().on[d] ? force_off(d) : force_on(d);
      }
    }
  }

private:
  Bits load() const { return problem_.load(state_.peaks()); }

  void flip(std::uint32_t decision) {
    const std::int64_t before = state_.nodes_visited();
    state_.flip(decision);
    work_.left -= state_.nodes_visited() - before + 1;
  }

  /// Off, and others on in exchange, those that give most room for the time they cost.
  bool force_off(std::uint32_t forced) {
    const std::size_t depth = state_.depth();
    double left = problem_.gain_ns(forced);
    flip(forced);
    while (load() > budget_ && !work_.exhausted()) {
      const Bits before = load();
      double best_score = 0;
      std::uint32_t best = forced;
      for (auto at = by_gain_.rbegin(); at != by_gain_.rend() && problem_.gain_ns(*at) < left; ++at) {
        if (*at == forced || state_.placement().on[*at])
          continue;
        const std::size_t here = state_.depth();
        flip(*at);
        const double room = static_cast<double>(before - std::max(load(), budget_));
        state_.undo_to(here);
        if (const double score = room / problem_.gain_ns(*at); score > best_score) {
          best_score = score;
          best = *at;
        }
        if (work_.exhausted())
          break;
      }
      if (best == forced)
        break;
      flip(best);
      left -= problem_.gain_ns(best);
    }
    return settle(depth, left);
  }

  /// On, and others off with the room that gives.
  bool force_on(std::uint32_t forced) {
    const std::size_t depth = state_.depth();
    double gained = -problem_.gain_ns(forced);
    flip(forced);
    for (std::uint32_t d : by_gain_) {
      if (d == forced || !state_.placement().on[d])
        continue;
      const std::size_t here = state_.depth();
      flip(d);
      if (load() > budget_)
        state_.undo_to(here);
      else
        gained += problem_.gain_ns(d);
      if (work_.exhausted())
        break;
    }
    return settle(depth, gained);
  }

  bool settle(std::size_t depth, double gained) {
    if (load() > budget_ || gained <= 1e-12 * problem_.tree.base_ns) {
      state_.undo_to(depth);
      return false;
    }
    state_.commit();
    greedy_off(problem_, budget_, state_, work_);
    state_.commit();
    return true;
  }

  const Problem &problem_;
  Bits budget_;
  model::IncrementalPeak &state_;
  Work &work_;
  std::vector<std::uint32_t> by_gain_; ///< largest first
};

} // namespace

void improve(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work) {
  state.commit();
  Improver(problem, budget, state, work).run();
}

} // namespace adprof::placement
