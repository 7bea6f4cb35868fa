/// What a budget says about single nodes: in every placement within it, whatever stands on the stack when a node turns lies under the
/// budget. This is what makes the mixed-integer program and its relaxation tight.
#pragma once

#include <vector>

#include "optimizer/placement/problem.h"

namespace adprof::placement {

struct Room {
  bool feasible = true;           ///< false: no completion of `fixed` is within the budget
  std::vector<SizeBounds> bounds; ///< per node, over the completions that are within the budget; largest at least least
};

/// Linear; two rounds, the second with the first one's bounds.
Room room_under(const Problem &problem, const std::vector<Mode> &fixed, Bits budget);

} // namespace adprof::placement
