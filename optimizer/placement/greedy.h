/// Switches off one decision after the other, the one with most time per byte first, each with the exact peak of what stands by
/// then. Fast, without proof; starts the local search.
#pragma once

#include "optimizer/placement/problem.h"

namespace adprof::placement {

/// What a search may do: node evaluations count, so that limits mean the same on every machine.
struct Work {
  std::int64_t left = 0;
  bool (*out_of_time)(const void *) = nullptr; ///< only caps
  const void *clock = nullptr;
  bool stopped_by_clock = false;
  bool exhausted() {
    if (out_of_time && out_of_time(clock))
      stopped_by_clock = true;
    return left <= 0 || stopped_by_clock;
  }
};

/// Flips decisions of `state`, whose load is within `budget` and stays so, off while one that gains time fits.
void greedy_off(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work);

/// Flips whatever lowers the load most, until nothing does or it is at most `budget`.
void greedy_shrink(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work);

} // namespace adprof::placement
