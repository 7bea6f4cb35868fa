/// Executes a placement event by event on a simulated stack: every push and pop of every invocation, forward sweep, turn and
/// backward sweep. Independent of peak.h, which it judges; also runs on what `suggest` returns. Walks the unfolded tree, hence a limit.
#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/model/call_tree.h"
#include "optimizer/model/placement.h"

namespace adprof::model {

struct Replay {
  std::vector<Bits> peaks;    ///< per process; lower bounds unless complete
  bool complete = true;       ///< false: the limit ended the walk
  bool balanced = true;       ///< every pop took what was pushed, and every thread's stack ended empty
  std::int64_t events = 0;    ///< pushes, pops and calls
};

/// At most `event_limit` events over all processes, each thread given an equal share of what is left.
Replay replay(const CallTree &tree, const Placement &placement, std::int64_t event_limit);

} // namespace adprof::model
