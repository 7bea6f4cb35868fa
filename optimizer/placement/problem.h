/// A call tree with everything decided folded away: fixed sites and the parts of the tree without decisions become sizes, equal
/// nodes are one, decisions are sites or callees. Every search works on this; it knows nothing of how a search goes.
#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/model/call_tree.h"
#include "optimizer/model/peak.h"
#include "optimizer/model/placement.h"

namespace adprof::placement {

using model::Bits;

enum Mode : std::int8_t { kFree = -1, kOff = 0, kOn = 1 };

struct Problem {
  /// Its sites are the decisions; only their recompute_ns counts. Its base_ns is the time with every decision off.
  model::CallTree tree;
  std::vector<std::vector<std::uint32_t>> members; ///< sites of the original tree per decision
  model::Placement decided;                        ///< of the original tree; members of decisions hold any value
  std::vector<Bits> offsets;                       ///< per process: bits in its budget that are not AD stack

  std::size_t size() const { return members.size(); }
  double gain_ns(std::size_t decision) const { return tree.sites[decision].recompute_ns; }
  double time_ns(const model::Placement &decisions) const { return model::time_ns(tree, decisions); }
  /// Largest need of a process, compared with a budget in bits.
  Bits load(const std::vector<Bits> &peaks) const;
  model::Placement expand(const model::Placement &decisions) const;
};

/// `wishes` per site; sites that are not switchable are as they are fixed, whatever is wished. `by_callee`: sites of one callee are
/// one decision, fixed on if one of them is, else off if one of them is. `count_other_memory`: budgets are of the whole process.
Problem make_problem(const model::CallTree &tree, const std::vector<Mode> &wishes, bool by_callee, bool count_other_memory);

/// Fixes decisions and folds again. Linear.
Problem narrow(const Problem &problem, const std::vector<Mode> &fixed);

/// Fixes what is best in one mode whatever the others are: off where off takes no more memory, on where on takes no more and
/// off gains nothing, and what has no call left.
Problem drop_settled(Problem problem);

/// Bounds of every node's sizes over all completions of `fixed`.
struct SizeBounds {
  model::NodeSize least, largest;
};
void bound_sizes(const model::CallTree &tree, const std::vector<Mode> &fixed, std::vector<SizeBounds> &bounds);
/// Least load over all completions, as the bounds know it.
Bits least_load(const Problem &problem, const std::vector<SizeBounds> &bounds);

} // namespace adprof::placement
