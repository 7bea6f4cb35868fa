#include "optimizer/placement/greedy.h"

#include <algorithm>
#include <queue>

namespace adprof::placement {

namespace {

/// Load after a flip; the flip is taken back.
Bits load_with_flip(const Problem &problem, model::IncrementalPeak &state, std::uint32_t decision, Work &work) {
  const std::int64_t before = state.nodes_visited();
  const std::size_t depth = state.depth();
  state.flip(decision);
  Bits load = problem.load(state.peaks());
  state.undo_to(depth);
  work.left -= state.nodes_visited() - before + 1;
  return load;
}

} // namespace

void greedy_off(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work) {
  struct Candidate {
    double ratio;
    std::uint32_t decision;
    bool operator<(const Candidate &other) const {
      return ratio != other.ratio ? ratio < other.ratio : decision > other.decision;
    }
  };
  std::priority_queue<Candidate> queue;
  auto ratio = [&](std::uint32_t decision, Bits load) {
    const Bits growth = std::max<Bits>(load - problem.load(state.peaks()), 0);
    return problem.gain_ns(decision) / (static_cast<double>(growth) + 1e-4 * static_cast<double>(budget) + 1);
  };
  for (std::uint32_t d = 0; d < problem.size() && !work.exhausted(); ++d)
    if (state.placement().on[d] && problem.gain_ns(d) > 0)
      if (Bits load = load_with_flip(problem, state, d, work); load <= budget)
        queue.push({ratio(d, load), d});
  // Ratios grow stale as others are switched off: one is looked at again before it is believed.
  while (!queue.empty() && !work.exhausted()) {
    const Candidate top = queue.top();
    queue.pop();
    const Bits load = load_with_flip(problem, state, top.decision, work);
    if (load > budget)
      continue;
    const double now = ratio(top.decision, load);
    if (!queue.empty() && now < queue.top().ratio)
      queue.push({now, top.decision});
    else
      state.flip(top.decision);
  }
}

void greedy_shrink(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work) {
  for (;;) {
    const Bits load = problem.load(state.peaks());
    if (load <= budget)
      return;
    Bits best_load = load;
    std::uint32_t best = 0;
    for (std::uint32_t d = 0; d < problem.size() && !work.exhausted(); ++d)
      if (Bits flipped = load_with_flip(problem, state, d, work); flipped < best_load) {
        best_load = flipped;
        best = d;
      }
    if (best_load == load)
      return;
    state.flip(best);
  }
}

} // namespace adprof::placement
