/// Placement as a mixed-integer program, solved by CBC. What the solver returns is a proposal: sizes are compared with the budget as
/// integers, by model/peak.h, before anything is called an answer.
#pragma once

#include <cstdint>
#include <optional>

#include "optimizer/placement/problem.h"

namespace adprof::placement {

struct ExactLimits {
  std::int64_t nodes = 20000; ///< of the branch and bound: the limit that counts
  double seconds = 10;        ///< only caps
};

struct ExactResult {
  std::optional<model::Placement> best; ///< decisions; within the budget
  double lower_bound_ns = 0;            ///< no placement within the budget is faster
  bool proved = false;                  ///< `best` is optimal, or nothing fits where there is none
  bool stopped_by_clock = false;
  std::int64_t nodes = 0;
};

/// Rows of the program for `problem`: callers compare it with what they think is solvable.
std::size_t exact_size(const Problem &problem);

/// `start`: a placement within the budget, or nullptr. `budget` in bits, compared with Problem::load.
ExactResult solve_exact(const Problem &problem, Bits budget, const model::Placement *start, const ExactLimits &limits);

} // namespace adprof::placement
