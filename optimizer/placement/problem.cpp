#include "optimizer/placement/problem.h"

#include <algorithm>
#include <map>
#include <string>
#include <unordered_map>

namespace adprof::placement {

using model::CallTree;
using model::Edge;
using model::EdgeKind;
using model::kNoSite;
using model::Node;
using model::NodeSize;

namespace {

/// Copies a tree bottom-up and replaces what is decided by sizes.
class Folder {
public:
  Folder(const CallTree &from, const std::vector<Mode> &mode, const std::vector<std::uint32_t> &decision)
      : from_(from), mode_(mode), decision_(decision), image_(from.nodes.size()) {}

  void fold(CallTree &to) {
    to_ = &to;
    // Nodes only reached by the mode a call is not in are left out.
    std::vector<std::uint8_t> reached(from_.nodes.size());
    for (const model::Process &process : from_.processes)
      for (std::uint32_t root : process.roots)
        reached[root] = 1;
    for (std::size_t v = from_.nodes.size(); v-- > 0;)
      if (reached[v])
        for (std::uint32_t e = from_.nodes[v].first_edge; e < from_.nodes[v].first_edge + from_.nodes[v].edge_count; ++e) {
          const Edge &edge = from_.edges[e];
          const Mode mode = mode_of(edge);
          if (mode != kOff)
            reached[edge.node] = 1;
          if (mode != kOn)
            reached[edge.node_when_off()] = 1;
        }
    for (std::size_t v = 0; v < from_.nodes.size(); ++v)
      if (reached[v])
        fold_node(v);
    for (const model::Process &process : from_.processes) {
      model::Process folded = process;
      for (std::uint32_t &root : folded.roots)
        root = node_of(image_[root]);
      to.processes.push_back(folded);
    }
  }

private:
  /// A node without decisions is two sizes; it becomes a node of the new tree when something needs one.
  struct Image {
    bool constant = true;
    NodeSize size;
    std::uint32_t node = 0;
  };

  Mode mode_of(const Edge &edge) const {
    if (edge.kind == EdgeKind::kBlock)
      return kOn;
    return edge.kind == EdgeKind::kLoop || edge.site == kNoSite ? kOff : mode_[edge.site];
  }

  std::uint32_t node_of(const Image &image) {
    if (!image.constant)
      return image.node;
    auto [at, added] = constants_.try_emplace({image.size.tape, image.size.peak}, 0);
    if (!added)
      return at->second;
    std::vector<Edge> edges;
    if (image.size.peak > image.size.tape) {
      Edge block;
      block.kind = EdgeKind::kBlock;
      block.node = node_of({true, {image.size.peak, image.size.peak}, 0});
      edges.push_back(block);
    }
    return constants_[{image.size.tape, image.size.peak}] = add_node(edges, image.size.tape);
  }

  static bool same(const Edge &a, const Edge &b) {
    return a.own_before == b.own_before && a.snapshot == b.snapshot && a.kept == b.kept && a.count == b.count && a.node == b.node &&
           a.site == b.site && a.kind == b.kind && a.node_when_off() == b.node_when_off();
  }

  std::uint32_t add_node(const std::vector<Edge> &edges, Bits own_after) {
    std::uint64_t hash = static_cast<std::uint64_t>(own_after);
    auto mix = [&](auto value) { hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u, hash ^= hash >> 29; };
    for (const Edge &edge : edges) {
      mix(edge.own_before), mix(edge.snapshot), mix(edge.kept), mix(edge.count);
      mix(std::uint64_t{edge.node} << 32 | edge.site), mix(edge.node_when_off());
    }
    auto [first, last] = by_hash_.equal_range(hash);
    for (auto at = first; at != last; ++at) {
      const Node &known = to_->nodes[at->second];
      if (known.own_after == own_after && known.edge_count == edges.size() &&
          std::equal(edges.begin(), edges.end(), to_->edges.begin() + known.first_edge, same))
        return at->second;
    }
    const auto index = static_cast<std::uint32_t>(to_->nodes.size());
    to_->nodes.push_back({static_cast<std::uint32_t>(to_->edges.size()), static_cast<std::uint32_t>(edges.size()), own_after});
    to_->edges.insert(to_->edges.end(), edges.begin(), edges.end());
    by_hash_.emplace(hash, index);
    return index;
  }

  void fold_node(std::size_t v) {
    const Node &node = from_.nodes[v];
    edges_.clear();
    Bits own = 0;     ///< since the last edge that stays
    Bits highest = 0; ///< turn of a decided call since then, above that edge
    bool constant = true;
    auto emit = [&](Edge edge) {
      if (highest > own) {
        Edge block;
        block.kind = EdgeKind::kBlock;
        block.node = node_of({true, {highest, highest}, 0});
        edges_.push_back(block);
      }
      edge.own_before = own;
      edges_.push_back(edge);
      own = highest = 0;
      constant = false;
    };
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = from_.edges[e];
      const bool call = edge.kind == EdgeKind::kCall, loop = edge.kind == EdgeKind::kLoop;
      const Mode mode = mode_of(edge);
      own += edge.own_before;
      if (call && mode == kFree) {
        Edge copy = edge;
        copy.site = decision_[edge.site];
        copy.node = node_of(image_[edge.node]);
        copy.split_node = node_of(image_[edge.node_when_off()]);
        if (copy.split_node == copy.node)
          copy.split_node = model::kSameNode;
        emit(copy);
        continue;
      }
      const Image &child = image_[mode == kOn ? edge.node : edge.node_when_off()];
      if (call && mode == kOff)
        own += edge.kept;
      if (!child.constant) {
        Edge copy;
        copy.kind = mode == kOn ? EdgeKind::kBlock : edge.kind;
        copy.count = loop ? edge.count : 1;
        copy.node = child.node;
        emit(copy);
      } else {
        highest = std::max(highest, own + (loop ? (edge.count - 1) * child.size.tape : 0) + child.size.peak);
        own += mode == kOn ? 0 : loop ? edge.count * child.size.tape : child.size.tape;
      }
      if (call && mode == kOn)
        own += edge.kept + edge.snapshot;
    }
    own += node.own_after;
    Image &image = image_[v];
    image.constant = constant;
    if (constant) {
      image.size = {own, std::max(highest, own)};
      return;
    }
    if (highest > own) {
      Edge block;
      block.kind = EdgeKind::kBlock;
      block.node = node_of({true, {highest, highest}, 0});
      edges_.push_back(block);
    }
    image.node = add_node(edges_, own);
  }

  const CallTree &from_;
  const std::vector<Mode> &mode_;
  const std::vector<std::uint32_t> &decision_;
  CallTree *to_ = nullptr;
  std::vector<Image> image_;
  std::vector<Edge> edges_;
  std::map<std::pair<Bits, Bits>, std::uint32_t> constants_;
  std::unordered_multimap<std::uint64_t, std::uint32_t> by_hash_;
};

std::vector<std::uint8_t> sites_with_calls(const CallTree &tree) {
  std::vector<std::uint8_t> called(tree.sites.size());
  for (const Edge &edge : tree.edges)
    if (edge.kind == EdgeKind::kCall && edge.site != kNoSite)
      called[edge.site] = 1;
  return called;
}

} // namespace

Bits Problem::load(const std::vector<Bits> &peaks) const {
  Bits load = 0;
  for (std::size_t p = 0; p < peaks.size(); ++p)
    load = std::max(load, offsets[p] + peaks[p]);
  return load;
}

model::Placement Problem::expand(const model::Placement &decisions) const {
  model::Placement placement = decided;
  for (std::size_t d = 0; d < members.size(); ++d)
    for (std::uint32_t site : members[d])
      placement.on[site] = decisions.on[d];
  return placement;
}

Problem make_problem(const CallTree &tree, const std::vector<Mode> &wishes, bool by_callee, bool count_other_memory) {
  Problem problem;
  std::vector<Mode> mode(tree.sites.size(), kFree);
  for (std::size_t s = 0; s < mode.size(); ++s)
    mode[s] = !tree.sites[s].switchable ? (tree.sites[s].on_when_fixed ? kOn : kOff) : wishes.empty() ? kFree : wishes[s];
  std::vector<std::uint32_t> decision(tree.sites.size(), kNoSite);
  if (by_callee) {
    std::map<std::string, Mode> fixed;
    for (std::size_t s = 0; s < mode.size(); ++s)
      if (mode[s] != kFree && !tree.sites[s].fixed_reason.starts_with("root")) {
        auto [at, added] = fixed.try_emplace(tree.sites[s].callee, mode[s]);
        at->second = std::max(at->second, mode[s]);
      }
    std::map<std::string, std::uint32_t> groups;
    for (std::size_t s = 0; s < mode.size(); ++s) {
      if (mode[s] != kFree)
        continue;
      if (auto at = fixed.find(tree.sites[s].callee); at != fixed.end()) {
        mode[s] = at->second;
        continue;
      }
      auto [at, added] = groups.try_emplace(tree.sites[s].callee, static_cast<std::uint32_t>(problem.members.size()));
      if (added)
        problem.members.emplace_back();
      decision[s] = at->second;
      problem.members[at->second].push_back(static_cast<std::uint32_t>(s));
    }
  } else {
    for (std::size_t s = 0; s < mode.size(); ++s)
      if (mode[s] == kFree) {
        decision[s] = static_cast<std::uint32_t>(problem.members.size());
        problem.members.push_back({static_cast<std::uint32_t>(s)});
      }
  }
  problem.tree.sites.resize(problem.members.size());
  problem.tree.base_ns = tree.base_ns;
  for (std::size_t s = 0; s < mode.size(); ++s) {
    problem.decided.on.push_back(mode[s] == kOn);
    if (mode[s] == kFree)
      problem.tree.sites[decision[s]].recompute_ns += tree.sites[s].recompute_ns;
    else if (mode[s] == kOn)
      problem.tree.base_ns += tree.sites[s].recompute_ns;
  }
  Folder(tree, mode, decision).fold(problem.tree);
  for (const model::Process &process : tree.processes)
    problem.offsets.push_back(count_other_memory ? 8 * process.other_bytes : 0);
  return problem;
}

Problem narrow(const Problem &problem, const std::vector<Mode> &fixed) {
  Problem result;
  result.decided = problem.decided;
  result.offsets = problem.offsets;
  result.tree.base_ns = problem.tree.base_ns;
  std::vector<std::uint32_t> decision(problem.size(), kNoSite);
  for (std::size_t d = 0; d < problem.size(); ++d) {
    if (fixed[d] == kFree) {
      decision[d] = static_cast<std::uint32_t>(result.members.size());
      result.members.push_back(problem.members[d]);
      result.tree.sites.push_back(problem.tree.sites[d]);
      continue;
    }
    if (fixed[d] == kOn)
      result.tree.base_ns += problem.gain_ns(d);
    for (std::uint32_t site : problem.members[d])
      result.decided.on[site] = fixed[d] == kOn;
  }
  Folder(problem.tree, fixed, decision).fold(result.tree);
  return result;
}

Problem drop_settled(Problem problem) {
  std::vector<SizeBounds> bounds;
  for (;;) {
    std::vector<Mode> fixed(problem.size(), kFree);
    bound_sizes(problem.tree, fixed, bounds);
    std::vector<std::uint8_t> off_is_smaller(problem.size(), 1), on_is_smaller(problem.size(), 1);
    for (const Edge &edge : problem.tree.edges) {
      if (edge.kind != EdgeKind::kCall || edge.site == kNoSite)
        continue;
      const SizeBounds &joint = bounds[edge.node], &split = bounds[edge.node_when_off()];
      const bool alike = edge.node == edge.node_when_off();
      if (split.largest.tape > edge.snapshot || (alike ? edge.kept > 0 : edge.kept + split.largest.peak > joint.least.peak))
        off_is_smaller[edge.site] = 0;
      if (edge.snapshot > split.least.tape || (!alike && joint.largest.peak > edge.kept + split.least.peak))
        on_is_smaller[edge.site] = 0;
    }
    std::vector<std::uint8_t> called = sites_with_calls(problem.tree);
    bool settled = false;
    for (std::size_t d = 0; d < problem.size(); ++d) {
      if (!called[d])
        fixed[d] = problem.gain_ns(d) > 0 ? kOff : kOn;
      else if (on_is_smaller[d] && problem.gain_ns(d) == 0)
        fixed[d] = kOn;
      else if (off_is_smaller[d])
        fixed[d] = kOff;
      settled |= fixed[d] != kFree;
    }
    if (!settled)
      return problem;
    problem = narrow(problem, fixed);
  }
}

void bound_sizes(const CallTree &tree, const std::vector<Mode> &fixed, std::vector<SizeBounds> &bounds) {
  bounds.resize(tree.nodes.size());
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    const Node &node = tree.nodes[v];
    NodeSize least, largest;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      const SizeBounds &joint = bounds[edge.node];
      least.tape += edge.own_before;
      largest.tape += edge.own_before;
      if (edge.kind == EdgeKind::kLoop) {
        least.peak = std::max(least.peak, least.tape + (edge.count - 1) * joint.least.tape + joint.least.peak);
        largest.peak = std::max(largest.peak, largest.tape + (edge.count - 1) * joint.largest.tape + joint.largest.peak);
        least.tape += edge.count * joint.least.tape;
        largest.tape += edge.count * joint.largest.tape;
        continue;
      }
      if (edge.kind == EdgeKind::kBlock) {
        least.peak = std::max(least.peak, least.tape + joint.least.peak);
        largest.peak = std::max(largest.peak, largest.tape + joint.largest.peak);
        continue;
      }
      const SizeBounds &split = bounds[edge.node_when_off()];
      const Mode mode = edge.site == kNoSite ? kOff : fixed[edge.site];
      Bits least_above = mode == kOff ? edge.kept + split.least.peak
                         : mode == kOn ? joint.least.peak
                                       : std::min(joint.least.peak, edge.kept + split.least.peak);
      Bits largest_above = mode == kOff ? edge.kept + split.largest.peak
                           : mode == kOn ? joint.largest.peak
                                         : std::max(joint.largest.peak, edge.kept + split.largest.peak);
      least.peak = std::max(least.peak, least.tape + least_above);
      largest.peak = std::max(largest.peak, largest.tape + largest_above);
      least.tape += edge.kept + (mode == kOff ? split.least.tape : mode == kOn ? edge.snapshot : std::min(edge.snapshot, split.least.tape));
      largest.tape +=
          edge.kept + (mode == kOff ? split.largest.tape : mode == kOn ? edge.snapshot : std::max(edge.snapshot, split.largest.tape));
    }
    least.tape += node.own_after;
    largest.tape += node.own_after;
    bounds[v] = {{least.tape, std::max(least.peak, least.tape)}, {largest.tape, std::max(largest.peak, largest.tape)}};
  }
}

Bits least_load(const Problem &problem, const std::vector<SizeBounds> &bounds) {
  std::vector<Bits> peaks;
  for (const model::Process &process : problem.tree.processes) {
    Bits sum = 0;
    for (std::uint32_t root : process.roots)
      sum += bounds[root].least.peak;
    peaks.push_back(sum);
  }
  return problem.load(peaks);
}

} // namespace adprof::placement
