#include "optimizer/model/peak.h"

#include <algorithm>
#include <bit>

namespace adprof::model {

namespace {

constexpr Bits kTooLarge = kLargestBits + 1;

Bits add(Bits a, Bits b) { return std::min<Bits>(a + b, kTooLarge); } // both at most kTooLarge
Bits multiply(Bits a, Bits b) {
  Bits product;
  return __builtin_mul_overflow(a, b, &product) ? kTooLarge : std::min(product, kTooLarge);
}

std::unexpected<Error> broken(const std::string &where, std::size_t index, const std::string &what) {
  return std::unexpected(Error{ErrorKind::kInvalid, where + "[" + std::to_string(index) + "]", what});
}

/// Bits pushed by the node itself: no calls, but the bodies of its loops.
std::vector<Bits> self_bits(const CallTree &tree) {
  std::vector<Bits> self(tree.nodes.size());
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    const Node &node = tree.nodes[v];
    self[v] = node.own_after;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      self[v] += edge.own_before;
      if (edge.kind == EdgeKind::kCall)
        self[v] += edge.kept;
      else if (edge.kind == EdgeKind::kLoop)
        self[v] += edge.count * self[edge.node];
    }
  }
  return self;
}

/// Collects what stands on the stack: whole tapes by count per node, resolved top-down at the end.
class Attribution {
public:
  Attribution(const CallTree &tree, const Placement &placement)
      : tree_(tree), placement_(placement), self_(self_bits(tree)), weight_(tree.nodes.size()), by_site_(tree.sites.size() + 1) {
    for (std::size_t s = 0; s < by_site_.size(); ++s)
      by_site_[s].site = s < tree.sites.size() ? static_cast<std::uint32_t>(s) : kNoSite;
  }

  void tape(std::uint32_t owner, Bits bits) { of(owner).tape += bits; }

  /// What edge leaves standing behind it, `times` over, in a frame of `owner`.
  void keep(const Edge &edge, std::uint32_t owner, std::int64_t times) {
    if (edge.kind == EdgeKind::kCall) {
      tape(owner, times * edge.kept);
      if (edge.site != kNoSite && placement_.on[edge.site]) {
        of(edge.site).snapshots += times * edge.snapshot;
      } else {
        tape(edge.site, times * self_[edge.node_when_off()]);
        weigh(edge.node_when_off(), times);
      }
    } else if (edge.kind == EdgeKind::kLoop) {
      tape(owner, multiply(times, edge.count) * self_[edge.node]);
      weigh(edge.node, multiply(times, edge.count));
    }
  }

  std::vector<StandingBits> finish() {
    // The own bits of a weighted node are counted already; left are the calls in it.
    for (std::size_t v = tree_.nodes.size(); v-- > 0;) {
      if (!weight_[v])
        continue;
      const Node &node = tree_.nodes[v];
      for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
        const Edge &edge = tree_.edges[e];
        if (edge.kind == EdgeKind::kCall && edge.site != kNoSite && placement_.on[edge.site]) {
          of(edge.site).snapshots += weight_[v] * edge.snapshot;
        } else if (edge.kind == EdgeKind::kCall) {
          tape(edge.site, weight_[v] * self_[edge.node_when_off()]);
          weigh(edge.node_when_off(), weight_[v]);
        } else if (edge.kind == EdgeKind::kLoop) {
          weigh(edge.node, multiply(weight_[v], edge.count));
        }
      }
    }
    std::erase_if(by_site_, [](const StandingBits &s) { return s.snapshots == 0 && s.tape == 0; });
    std::ranges::stable_sort(by_site_, std::greater{}, [](const StandingBits &s) { return s.snapshots + s.tape; });
    return std::move(by_site_);
  }

private:
  /// Saturates: nested loops over nothing can run more often than 64 bits count, and what is saturated weighs nothing.
  void weigh(std::uint32_t node, std::int64_t times) { weight_[node] = add(weight_[node], times); }
  StandingBits &of(std::uint32_t site) { return by_site_[site == kNoSite ? by_site_.size() - 1 : site]; }

  const CallTree &tree_;
  const Placement &placement_;
  std::vector<Bits> self_;
  std::vector<std::int64_t> weight_; ///< tapes of the node that stand on the stack
  std::vector<StandingBits> by_site_;
};

} // namespace

Result<void> check_tree(const CallTree &tree) {
  std::vector<Bits> tape_bound(tree.nodes.size()), peak_bound(tree.nodes.size());
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    const Node &node = tree.nodes[v];
    if (std::uint64_t{node.first_edge} + node.edge_count > tree.edges.size())
      return broken("nodes", v, "edges up to " + std::to_string(std::uint64_t{node.first_edge} + node.edge_count) + ", there are only " +
                                    std::to_string(tree.edges.size()));
    if (node.own_after < 0 || node.own_after > kLargestBits)
      return broken("nodes", v, "own_after is " + std::to_string(node.own_after) + ", accepted are 0 to 2^60 bits");
    Bits sum = 0, peak = 0;
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      for (std::uint32_t child : {edge.node, edge.node_when_off()})
        if (child >= v)
          return broken("edges", e, "leads from node " + std::to_string(v) + " to node " + std::to_string(child) +
                                        ", which does not stand before it: a cycle");
      if (edge.site != kNoSite && edge.site >= tree.sites.size())
        return broken("edges", e, "site " + std::to_string(edge.site) + ", there are only " + std::to_string(tree.sites.size()));
      for (Bits value : {edge.own_before, edge.snapshot, edge.kept})
        if (value < 0 || value > kLargestBits)
          return broken("edges", e, "a size is " + std::to_string(value) + ", accepted are 0 to 2^60 bits");
      if (edge.count < 1 || edge.count > kLargestBits)
        return broken("edges", e, "count is " + std::to_string(edge.count) + ", accepted are 1 to 2^60");
      Bits tape = std::max(tape_bound[edge.node], tape_bound[edge.node_when_off()]);
      Bits above = std::max(peak_bound[edge.node], peak_bound[edge.node_when_off()]);
      sum = add(sum, edge.own_before);
      if (edge.kind == EdgeKind::kLoop) {
        above = add(above, multiply(edge.count - 1, tape));
        tape = multiply(edge.count, tape);
      } else if (edge.kind == EdgeKind::kCall) {
        above = add(above, edge.kept);
        tape = add(std::max(edge.snapshot, tape), edge.kept);
      } else {
        tape = 0;
      }
      peak = std::max(peak, add(sum, above));
      sum = add(sum, tape);
    }
    tape_bound[v] = add(sum, node.own_after);
    peak_bound[v] = std::max(peak, tape_bound[v]);
    if (peak_bound[v] > kLargestBits)
      return broken("nodes", v, "more than 2^60 bits can stand on the stack in it; sizes of the profile are damaged");
  }
  for (std::size_t p = 0; p < tree.processes.size(); ++p) {
    Bits sum = 0;
    for (std::uint32_t root : tree.processes[p].roots) {
      if (root >= tree.nodes.size())
        return broken("processes", p, "root node " + std::to_string(root) + ", there are only " + std::to_string(tree.nodes.size()));
      sum = add(sum, peak_bound[root]);
    }
    if (sum > kLargestBits || tree.processes[p].other_bytes < 0 || tree.processes[p].other_bytes > kLargestBits)
      return broken("processes", p, "memory is negative or above 2^60 bits");
  }
  return {};
}

double time_ns(const CallTree &tree, const Placement &placement) {
  double time = tree.base_ns;
  for (std::size_t s = 0; s < tree.sites.size(); ++s)
    if (placement.on[s])
      time += tree.sites[s].recompute_ns;
  return time;
}

Placement uniform_placement(const CallTree &tree, bool on) {
  Placement placement;
  for (const SiteInfo &site : tree.sites)
    placement.on.push_back(site.switchable ? on : site.on_when_fixed);
  return placement;
}

PeakModel::PeakModel(const CallTree &tree) : site_count_(tree.sites.size()) {
  edges_.reserve(tree.edges.size());
  first_edge_.reserve(tree.nodes.size() + 1);
  own_after_.reserve(tree.nodes.size());
  constexpr std::uint64_t kNarrow = 0xffffffffu;
  const auto off = static_cast<std::uint32_t>(site_count_), on = off + 1;
  for (const Node &node : tree.nodes) {
    first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));
    own_after_.push_back(node.own_after);
    for (std::uint32_t e = node.first_edge; e < node.first_edge + node.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      std::uint32_t site = edge.kind == EdgeKind::kBlock ? on : edge.site == kNoSite || edge.kind == EdgeKind::kLoop ? off : edge.site;
      Bits value = edge.kind == EdgeKind::kLoop ? edge.count : edge.kind == EdgeKind::kBlock ? 0 : edge.snapshot;
      Bits kept = edge.kind == EdgeKind::kCall ? edge.kept : 0;
      PackedEdge packed{edge.node, site, static_cast<std::uint32_t>(edge.own_before), static_cast<std::uint32_t>(value)};
      if (edge.kind == EdgeKind::kLoop)
        packed.site |= kLoopBit;
      if (kept || edge.node_when_off() != edge.node || static_cast<std::uint64_t>(value) > kNarrow ||
          static_cast<std::uint64_t>(edge.own_before) > kNarrow) {
        packed.site |= kWideBit;
        packed.value = static_cast<std::uint32_t>(wide_.size());
        wide_.push_back(edge);
        Edge &wide = wide_.back();
        wide.kept = kept;
        wide.snapshot = edge.kind == EdgeKind::kCall ? edge.snapshot : 0;
        wide.count = edge.kind == EdgeKind::kLoop ? edge.count : 1;
        wide.split_node = edge.node_when_off();
      }
      edges_.push_back(packed);
    }
  }
  first_edge_.push_back(static_cast<std::uint32_t>(edges_.size()));
  for (const Process &process : tree.processes) {
    process_first_.push_back(static_cast<std::uint32_t>(roots_.size()));
    roots_.insert(roots_.end(), process.roots.begin(), process.roots.end());
  }
  process_first_.push_back(static_cast<std::uint32_t>(roots_.size()));
}

// One formula serves calls, loops and blocks, so that the branch predictor has nothing to guess: a call is a loop of one
// round, a block a call that is on with an empty snapshot. `sizes` needs no overflow checks: check_tree bounded every sum.
inline NodeSize PeakModel::evaluate_node(std::size_t node, const std::uint8_t *on, const NodeSize *sizes) const {
  Bits sum = 0, peak = 0;
  for (const PackedEdge *edge = edges_.data() + first_edge_[node], *end = edges_.data() + first_edge_[node + 1]; edge != end; ++edge) {
    if (edge->site & kWideBit) [[unlikely]] {
      const Edge &wide = wide_[edge->value];
      bool is_on = on[edge->site & ~(kWideBit | kLoopBit)];
      NodeSize child = sizes[is_on ? wide.node : wide.split_node];
      sum += wide.own_before;
      peak = std::max(peak, sum + (is_on ? 0 : wide.kept) + (wide.count - 1) * child.tape + child.peak);
      sum += wide.kept + (is_on ? wide.snapshot : wide.count * child.tape);
      continue;
    }
    NodeSize child = sizes[edge->node];
    std::uint32_t site = edge->site & ~kLoopBit;
    Bits count = edge->site & kLoopBit ? edge->value : 1;
    Bits tapes = count * child.tape;
    sum += edge->own;
    peak = std::max(peak, sum + tapes - child.tape + child.peak);
    sum += on[site] ? edge->value : tapes;
  }
  sum += own_after_[node];
  return {sum, std::max(peak, sum)};
}

std::vector<std::uint8_t> PeakModel::padded(const Placement &placement) const {
  std::vector<std::uint8_t> on = placement.on;
  on.push_back(0);
  on.push_back(1);
  return on;
}

void PeakModel::evaluate(const Placement &placement, std::vector<NodeSize> &sizes) const {
  std::vector<std::uint8_t> on = padded(placement);
  sizes.resize(node_count());
  for (std::size_t v = 0; v < node_count(); ++v)
    sizes[v] = evaluate_node(v, on.data(), sizes.data());
}

Bits PeakModel::process_peak(std::size_t process, const std::vector<NodeSize> &sizes) const {
  Bits sum = 0;
  for (std::uint32_t i = process_first_[process]; i < process_first_[process + 1]; ++i)
    sum += sizes[roots_[i]].peak;
  return sum;
}

std::vector<Bits> PeakModel::peaks(const Placement &placement) const {
  std::vector<NodeSize> sizes;
  evaluate(placement, sizes);
  std::vector<Bits> peaks(process_count());
  for (std::size_t p = 0; p < peaks.size(); ++p)
    peaks[p] = process_peak(p, sizes);
  return peaks;
}

IncrementalPeak::IncrementalPeak(const PeakModel &model, const Placement &placement)
    : model_(model), placement_(placement), on_(model.padded(placement)), dirty_(model.node_count() / 64 + 1) {
  model_.evaluate(placement_, sizes_);
  peaks_.resize(model_.process_count());
  for (std::size_t p = 0; p < peaks_.size(); ++p)
    peaks_[p] = model_.process_peak(p, sizes_);

  // Two passes, count and fill; a node that holds several edges of one child or site stands there once.
  auto each_link = [&](auto &&of_child, auto &&of_site) {
    constexpr std::uint32_t kNone = 0xffffffffu;
    std::vector<std::uint32_t> child_seen(model_.node_count(), kNone), site_seen(model_.site_count_ + 2, kNone);
    for (std::uint32_t v = 0; v < model_.node_count(); ++v)
      for (std::uint32_t e = model_.first_edge_[v]; e < model_.first_edge_[v + 1]; ++e) {
        const PeakModel::PackedEdge &edge = model_.edges_[e];
        auto link_child = [&](std::uint32_t child) {
          if (child_seen[child] != v) {
            child_seen[child] = v;
            of_child(child, v);
          }
        };
        link_child(edge.node);
        if (edge.site & PeakModel::kWideBit)
          link_child(model_.wide_[edge.value].split_node);
        std::uint32_t site = edge.site & ~(PeakModel::kWideBit | PeakModel::kLoopBit);
        if (site < model_.site_count_ && site_seen[site] != v) {
          site_seen[site] = v;
          of_site(site, v);
        }
      }
  };
  parent_first_.assign(model_.node_count() + 1, 0);
  site_first_.assign(model_.site_count_ + 1, 0);
  each_link([&](std::uint32_t child, std::uint32_t) { ++parent_first_[child + 1]; },
            [&](std::uint32_t site, std::uint32_t) { ++site_first_[site + 1]; });
  for (std::size_t i = 1; i < parent_first_.size(); ++i)
    parent_first_[i] += parent_first_[i - 1];
  for (std::size_t i = 1; i < site_first_.size(); ++i)
    site_first_[i] += site_first_[i - 1];
  parents_.resize(parent_first_.back());
  site_nodes_.resize(site_first_.back());
  std::vector<std::uint32_t> parent_next = parent_first_, site_next = site_first_;
  each_link([&](std::uint32_t child, std::uint32_t v) { parents_[parent_next[child]++] = v; },
            [&](std::uint32_t site, std::uint32_t v) { site_nodes_[site_next[site]++] = v; });
}

void IncrementalPeak::mark(std::uint32_t node) {
  dirty_[node / 64] |= std::uint64_t{1} << (node % 64);
  lowest_dirty_word_ = std::min<std::size_t>(lowest_dirty_word_, node / 64);
  highest_dirty_word_ = std::max<std::size_t>(highest_dirty_word_, node / 64);
}

void IncrementalPeak::flip(std::uint32_t site) {
  flips_.push_back({site, changes_.size(), peaks_});
  placement_.on[site] ^= 1;
  on_[site] ^= 1;
  lowest_dirty_word_ = dirty_.size();
  highest_dirty_word_ = 0;
  for (std::uint32_t i = site_first_[site]; i < site_first_[site + 1]; ++i)
    mark(site_nodes_[i]);
  // Parents stand behind their children, so one sweep upwards visits every node after all it depends on.
  for (std::size_t word = lowest_dirty_word_; word <= highest_dirty_word_ && word < dirty_.size(); ++word)
    while (dirty_[word]) {
      auto node = static_cast<std::uint32_t>(64 * word + static_cast<std::size_t>(std::countr_zero(dirty_[word])));
      dirty_[word] &= dirty_[word] - 1;
      ++nodes_visited_;
      NodeSize size = model_.evaluate_node(node, on_.data(), sizes_.data());
      if (size.tape == sizes_[node].tape && size.peak == sizes_[node].peak)
        continue;
      changes_.push_back({node, sizes_[node]});
      sizes_[node] = size;
      for (std::uint32_t i = parent_first_[node]; i < parent_first_[node + 1]; ++i)
        mark(parents_[i]);
    }
  for (std::size_t p = 0; p < peaks_.size(); ++p)
    peaks_[p] = model_.process_peak(p, sizes_);
}

void IncrementalPeak::undo_to(std::size_t depth) {
  while (flips_.size() > depth) {
    Flip &flip = flips_.back();
    placement_.on[flip.site] ^= 1;
    on_[flip.site] ^= 1;
    for (std::size_t i = changes_.size(); i-- > flip.first_change;)
      sizes_[changes_[i].node] = changes_[i].before;
    changes_.resize(flip.first_change);
    peaks_ = std::move(flip.peaks);
    flips_.pop_back();
  }
}

void IncrementalPeak::commit() {
  changes_.clear();
  flips_.clear();
}

BindingTurn binding_turn(const CallTree &tree, const Placement &placement, std::size_t process) {
  PeakModel model(tree);
  std::vector<NodeSize> sizes;
  model.evaluate(placement, sizes);
  BindingTurn turn;
  turn.process = process;
  const std::vector<std::uint32_t> &roots = tree.processes[process].roots;
  if (roots.empty())
    return turn;
  for (std::size_t i = 1; i < roots.size(); ++i)
    if (sizes[roots[i]].peak > sizes[roots[turn.thread]].peak)
      turn.thread = i;
  std::uint32_t v = roots[turn.thread];
  turn.peak = sizes[v].peak;
  Attribution standing(tree, placement);
  std::uint32_t owner = kNoSite;
  for (;;) {
    const Node &node = tree.nodes[v];
    const std::uint32_t end = node.first_edge + node.edge_count;
    // Where the node's peak stands: at its own turn, or in the edge `binding`.
    std::uint32_t binding = end;
    Bits sum = 0;
    for (std::uint32_t e = node.first_edge; e < end && sizes[v].peak != sizes[v].tape; ++e) {
      const Edge &edge = tree.edges[e];
      bool on = edge.kind == EdgeKind::kCall && edge.site != kNoSite && placement.on[edge.site];
      const NodeSize &child = sizes[on ? edge.node : edge.node_when_off()];
      sum += edge.own_before;
      bool call = edge.kind == EdgeKind::kCall, loop = edge.kind == EdgeKind::kLoop;
      Bits above = child.peak + (call && !on ? edge.kept : 0) + (loop ? (edge.count - 1) * child.tape : 0);
      if (sum + above == sizes[v].peak) {
        binding = e;
        break;
      }
      sum += call ? edge.kept + (on ? edge.snapshot : child.tape) : loop ? edge.count * child.tape : 0;
    }
    for (std::uint32_t e = node.first_edge; e < binding; ++e) {
      standing.tape(owner, tree.edges[e].own_before);
      standing.keep(tree.edges[e], owner, 1);
    }
    if (binding == end) {
      standing.tape(owner, node.own_after);
      turn.turning_node = v;
      break;
    }
    const Edge &edge = tree.edges[binding];
    standing.tape(owner, edge.own_before);
    bool call = edge.kind == EdgeKind::kCall, loop = edge.kind == EdgeKind::kLoop;
    bool on = call && edge.site != kNoSite && placement.on[edge.site];
    if (call && !on)
      standing.tape(owner, edge.kept);
    if (loop) {
      Edge before = edge;
      before.count = edge.count - 1;
      standing.keep(before, owner, 1);
    }
    turn.path.push_back({v, binding, call ? edge.site : kNoSite, loop ? edge.count : 0});
    if (call)
      owner = edge.site;
    v = on ? edge.node : edge.node_when_off();
  }
  turn.standing = standing.finish();
  return turn;
}

} // namespace adprof::model
