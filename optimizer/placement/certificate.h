/// What is known about an answer of a search: proved best, or how far from the best it can be at most. Carried by every
/// answer and written into the placement file; must not know of solvers.
#pragma once

#include <cstdint>
#include <string>

namespace adprof::placement {

struct Certificate {
  bool optimal = false;         ///< no placement of this model within the limit is better
  double value = 0;             ///< what was minimised: ns when memory is limited, bytes when time is limited
  double lower_bound = 0;       ///< no placement within the limit has a smaller value
  bool stopped_by_clock = false; ///< the clock ended the search before its work limits: another machine may find better
  std::int64_t solver_nodes = 0; ///< of the branch and bound
  std::int64_t moves = 0;        ///< evaluated by the local search
  std::string method;           ///< "fixed sites only", "exact", "local search"

  /// At most this share of the best possible value is lost; 0 where optimal.
  double gap() const {
    if (optimal || value <= lower_bound)
      return 0;
    return lower_bound > 0 ? value / lower_bound - 1 : 1;
  }
};

/// One sentence for people: "optimal for this profile and this model", or the gap.
std::string in_words(const Certificate &certificate);

} // namespace adprof::placement
