#include "optimizer/placement/room.h"

#include <algorithm>

namespace adprof::placement {

using model::Edge;
using model::EdgeKind;
using model::kNoSite;
using model::Node;

Room room_under(const Problem &problem, const std::vector<Mode> &fixed, Bits budget) {
  const model::CallTree &tree = problem.tree;
  Room result;
  std::vector<SizeBounds> &bounds = result.bounds;
  bound_sizes(tree, fixed, bounds);
  constexpr Bits kUnknown = 2 * model::kLargestBits; // not known to be executed within the budget
  std::vector<Bits> room(tree.nodes.size(), kUnknown);
  for (std::size_t p = 0; p < tree.processes.size(); ++p) {
    Bits sum = problem.offsets[p];
    for (std::uint32_t root : tree.processes[p].roots)
      sum += bounds[root].least.peak;
    if (sum > budget)
      result.feasible = false;
    for (std::uint32_t root : tree.processes[p].roots)
      room[root] = std::min(room[root], budget - (sum - bounds[root].least.peak));
  }
  if (!result.feasible)
    return result;
  for (std::size_t v = tree.nodes.size(); v-- > 0;) {
    if (room[v] == kUnknown)
      continue;
    const Node &node = tree.nodes[v];
    Bits below = 0;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      below += edge.own_before;
      const SizeBounds &joint = bounds[edge.node], &split = bounds[edge.node_when_off()];
      auto lower = [&](std::uint32_t child, Bits more) { room[child] = std::min(room[child], room[v] - below - more); };
      if (edge.kind == EdgeKind::kLoop) {
        lower(edge.node, (edge.count - 1) * joint.least.tape);
        below += edge.count * joint.least.tape;
        continue;
      }
      if (edge.kind == EdgeKind::kBlock) {
        lower(edge.node, 0);
        continue;
      }
      const Mode mode = edge.site == kNoSite ? kOff : fixed[edge.site];
      if (mode == kOn)
        lower(edge.node, 0);
      else if (mode == kOff)
        lower(edge.node_when_off(), edge.kept);
      else if (edge.node == edge.node_when_off())
        lower(edge.node, 0);
      below += edge.kept + (mode == kOff ? split.least.tape : mode == kOn ? edge.snapshot : std::min(edge.snapshot, split.least.tape));
    }
  }
  // Largest sizes again, each no larger than its room.
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    const Node &node = tree.nodes[v];
    Bits tape = 0, peak = 0;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      const model::NodeSize &joint = bounds[edge.node].largest, &split = bounds[edge.node_when_off()].largest;
      tape += edge.own_before;
      if (edge.kind == EdgeKind::kLoop) {
        peak = std::max(peak, tape + (edge.count - 1) * joint.tape + joint.peak);
        tape += edge.count * joint.tape;
      } else if (edge.kind == EdgeKind::kBlock) {
        peak = std::max(peak, tape + joint.peak);
      } else {
        const Mode mode = edge.site == kNoSite ? kOff : fixed[edge.site];
        if (mode != kOff)
          peak = std::max(peak, tape + joint.peak);
        if (mode != kOn)
          peak = std::max(peak, tape + edge.kept + split.peak);
        tape += edge.kept + (mode == kOff ? split.tape : mode == kOn ? edge.snapshot : std::max(edge.snapshot, split.tape));
      }
    }
    tape += node.own_after;
    model::NodeSize &largest = bounds[v].largest;
    const model::NodeSize &least = bounds[v].least;
    largest.peak = std::max(least.peak, std::min({largest.peak, std::max(tape, peak), room[v]}));
    largest.tape = std::max(least.tape, std::min({largest.tape, tape, largest.peak}));
  }
  return result;
}

} // namespace adprof::placement
