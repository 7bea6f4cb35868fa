/// The folded call tree that peak, replay and every search work on: flat arrays, children before parents.
/// Built from one or several profiles (from_profile.h); must not know of files or AD tools.
///
/// The recursion, for a node v with edges c_1 ... c_k in forward order (all sizes in bits, x = 1 means on):
///   keep(c)  = kept(c) + (x(c) ? snapshot(c) : tape(split_node(c)))   for a call
///              count * tape(node)                                     for a loop
///              0                                                      for a block
///   above(c) = x(c) ? peak(node(c)) : kept(c) + peak(split_node(c))   for a call
///              (count - 1) * tape(node) + peak(node)                  for a loop
///              peak(node)                                             for a block
///   tape(v)  = sum of own bits + sum of keep
///   peak(v)  = max( tape(v), max over i of pre(i) + above(c_i) ),  pre(i) = own bits and keep of all before c_i, own_before(c_i) included
/// kept(c) was popped before callee_b runs in joint mode, hence not under its peak.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace adprof::model {

using Bits = std::int64_t;
inline constexpr std::uint32_t kNoSite = 0xffffffffu;
inline constexpr std::uint32_t kSameNode = 0xffffffffu;
/// No size, and no sum of sizes under any placement, is larger; larger trees are refused (check_tree).
inline constexpr Bits kLargestBits = Bits{1} << 60;

enum class EdgeKind : std::uint8_t { kCall, kLoop, kBlock };

struct Edge {
  Bits own_before = 0;
  Bits snapshot = 0;
  Bits kept = 0;
  std::int64_t count = 1;          ///< loops only
  std::uint32_t node = 0;          ///< less than the index of the node that holds the edge
  std::uint32_t site = kNoSite;    ///< kNoSite: always off, no decision
  EdgeKind kind = EdgeKind::kCall;
  /// Calls only: how the callee behaves in split mode, where another profile showed that it is not as in joint mode (other
  /// statements run, other values are pushed); kSameNode: as `node`.
  std::uint32_t split_node = kSameNode;

  std::uint32_t node_when_off() const { return split_node == kSameNode ? node : split_node; }
};

struct Node {
  std::uint32_t first_edge = 0, edge_count = 0; ///< edges[first_edge ... first_edge + edge_count)
  Bits own_after = 0;
};

/// What the search needs to know of a site.
struct SiteInfo {
  std::string name;           ///< "caller:callee:ordinal"
  std::string caller, callee, file;
  std::uint32_t ordinal = 0;
  std::uint32_t line = 0;
  double recompute_ns = 0;    ///< R_s: saved when off; 0 for sliced sites
  bool measured_on = true;    ///< seen in joint mode in some profile: snapshot and recomputation are measured
  bool measured_off = false;  ///< seen in split mode in some profile: tape in that mode is measured
  bool switchable = true;
  bool estimated = false;     ///< some number behind joint mode was not measured in it
  bool on_when_fixed = true;  ///< not switchable: the mode it stays in
  std::string fixed_reason;   ///< why it is not switchable
};

/// One process: threads' stacks stand beside each other, so their peaks add. A placement must fit in every process.
struct Process {
  std::vector<std::uint32_t> roots;  ///< node per thread
  std::int64_t other_bytes = 0;      ///< resident memory that is not AD stack
  std::string label;
};

struct CallTree {
  std::vector<Node> nodes;
  std::vector<Edge> edges;
  std::vector<SiteInfo> sites;
  std::vector<Process> processes;
  double base_ns = 0; ///< T_0: adjoint time with every site off
};

} // namespace adprof::model
