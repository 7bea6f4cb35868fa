/// The exact peak of a placement: the recursion of call_tree.h, in one bottom-up pass, and incrementally under flips of single
/// sites. Called by every search and by the verbs that say "what if"; replay.h judges it and shares no code with it.
#pragma once

#include <cstdint>
#include <vector>

#include "optimizer/model/call_tree.h"
#include "optimizer/model/placement.h"
#include "optimizer/profile/error.h"

namespace adprof::model {

/// Indices in range, children before parents, no negative size, no sum above kLargestBits under any placement. Everything
/// below expects a tree that passed.
Result<void> check_tree(const CallTree &tree);

/// T(x) in ns.
double time_ns(const CallTree &tree, const Placement &placement);
/// Sites that cannot be switched as they are fixed, all others as `on` says.
Placement uniform_placement(const CallTree &tree, bool on);

struct NodeSize {
  Bits tape = 0; ///< of the whole forward sweep
  Bits peak = 0; ///< above the node's base
};

/// A CallTree packed for evaluation. Sizes that do not fit into 32 bits stand in a side table: a pass over a million nodes is
/// bound by memory, and 16 bytes an edge instead of 48 made it three times as fast.
class PeakModel {
public:
  explicit PeakModel(const CallTree &tree);

  std::size_t node_count() const { return first_edge_.size() - 1; }
  std::size_t process_count() const { return process_first_.size() - 1; }
  std::size_t site_count() const { return site_count_; }

  /// Tape and peak of every node; `sizes` is resized. Linear.
  void evaluate(const Placement &placement, std::vector<NodeSize> &sizes) const;
  /// Peak of one process: its threads' peaks together.
  Bits process_peak(std::size_t process, const std::vector<NodeSize> &sizes) const;
  std::vector<Bits> peaks(const Placement &placement) const;

private:
  friend class IncrementalPeak;
  struct PackedEdge {
    std::uint32_t node;
    std::uint32_t site;  ///< with kLoopBit, kWideBit; site_count_ for always off, site_count_ + 1 for always on
    std::uint32_t own;
    std::uint32_t value; ///< snapshot, or count of a loop; index into wide_ with kWideBit
  };
  static constexpr std::uint32_t kLoopBit = 1u << 31, kWideBit = 1u << 30;

  /// `on` has two elements more than there are sites: 0 and 1.
  NodeSize evaluate_node(std::size_t node, const std::uint8_t *on, const NodeSize *sizes) const;
  std::vector<std::uint8_t> padded(const Placement &placement) const;

  std::vector<PackedEdge> edges_;
  std::vector<std::uint32_t> first_edge_; ///< one more than nodes
  std::vector<Bits> own_after_;
  std::vector<Edge> wide_;
  std::size_t site_count_ = 0;
  std::vector<std::uint32_t> process_first_, roots_; ///< roots_[process_first_[p] ... process_first_[p + 1])
};

/// A placement whose sites are flipped one at a time. A flip touches the nodes that call the site and those of their
/// ancestors whose sizes change.
class IncrementalPeak {
public:
  IncrementalPeak(const PeakModel &model, const Placement &placement);

  const Placement &placement() const { return placement_; }
  const std::vector<Bits> &peaks() const { return peaks_; } ///< per process
  void flip(std::uint32_t site);
  /// Takes the latest flips back, down to `depth` of them.
  void undo_to(std::size_t depth);
  std::size_t depth() const { return flips_.size(); }
  /// Forgets how to undo.
  void commit();
  std::int64_t nodes_visited() const { return nodes_visited_; }

private:
  struct Change {
    std::uint32_t node;
    NodeSize before;
  };
  struct Flip {
    std::uint32_t site;
    std::size_t first_change;
    std::vector<Bits> peaks;
  };
  void mark(std::uint32_t node);

  const PeakModel &model_;
  Placement placement_;
  std::vector<std::uint8_t> on_; ///< padded
  std::vector<NodeSize> sizes_;
  std::vector<Bits> peaks_;
  std::vector<std::uint32_t> parent_first_, parents_; ///< nodes that hold an edge to a node
  std::vector<std::uint32_t> site_first_, site_nodes_; ///< nodes that hold an edge of a site
  std::vector<std::uint64_t> dirty_;                   ///< a bit per node; all zero between flips
  std::size_t lowest_dirty_word_ = 0, highest_dirty_word_ = 0;
  std::vector<Change> changes_;
  std::vector<Flip> flips_;
  std::int64_t nodes_visited_ = 0;
};

/// One step of the call path on which the peak stands.
struct TurnStep {
  std::uint32_t node = 0;       ///< that is left
  std::uint32_t edge = 0;       ///< index into CallTree::edges
  std::uint32_t site = kNoSite; ///< kNoSite for loops, blocks, and calls the pass did not see
  std::int64_t iteration = 0;   ///< of a loop: the last one, counted from 1; else 0
};

struct StandingBits {
  std::uint32_t site = kNoSite; ///< kNoSite: ordinary code, and calls the pass did not see
  Bits snapshots = 0;           ///< taken at the site
  Bits tape = 0;                ///< pushed by the site's invocations themselves
};

/// The turn at which one thread's stack is highest.
struct BindingTurn {
  std::size_t process = 0, thread = 0;
  Bits peak = 0;
  std::vector<TurnStep> path;         ///< from the thread's root to the node that turns
  std::uint32_t turning_node = 0;
  std::vector<StandingBits> standing; ///< largest first; adds up to `peak`
};

/// The highest thread of one process.
BindingTurn binding_turn(const CallTree &tree, const Placement &placement, std::size_t process);

} // namespace adprof::model
