/// Local search from a placement within a budget: one decision is forced into its other mode, the others make room for it or
/// use what it leaves. Deterministic; without proof.
#pragma once

#include "optimizer/placement/greedy.h"

namespace adprof::placement {

/// `state` is within `budget` and stays so; its time never grows. Ends at a local optimum or when work is exhausted.
void improve(const Problem &problem, Bits budget, model::IncrementalPeak &state, Work &work);

} // namespace adprof::placement
