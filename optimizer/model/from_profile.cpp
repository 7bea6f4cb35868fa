#include "optimizer/model/from_profile.h"

#include <algorithm>
#include <map>
#include <unordered_map>

#include "optimizer/model/peak.h"

namespace adprof::model {

namespace {

using profile::Profile;

constexpr std::uint32_t kNone = profile::kNoIndex;

/// What is known of an edge while profiles are merged. Parallel to CallTree::edges.
struct Seen {
  bool on = false, off = false;
};

class Builder {
public:
  Result<CallTree> build(const std::vector<NamedProfile> &profiles) {
    collect_sites(profiles);
    for (const NamedProfile &named : profiles) {
      const std::uint32_t first_node = append_nodes(*named.profile);
      add_processes(named, first_node);
    }
    drop_unreachable();
    estimate_snapshots();
    measure_times(profiles);
    if (Result<void> checked = check_tree(tree_); !checked)
      return std::unexpected(checked.error());
    return std::move(tree_);
  }

private:
  std::uint32_t site_of(const profile::Site &site) const { return site_index_.at(site.name()); }

  void collect_sites(const std::vector<NamedProfile> &profiles) {
    for (const NamedProfile &named : profiles) {
      const Profile &profile = *named.profile;
      for (const profile::Site &site : profile.sites) {
        auto [found, added] = site_index_.try_emplace(site.name(), static_cast<std::uint32_t>(tree_.sites.size()));
        if (added) {
          SiteInfo info;
          info.name = site.name();
          info.caller = site.caller;
          info.callee = site.callee;
          info.ordinal = site.ordinal;
          const profile::SourceLine &at = site.primal.line ? site.primal : site.adjoint;
          info.file = at.file;
          info.line = at.line;
          info.measured_on = false;
          tree_.sites.push_back(info);
        }
        SiteInfo &info = tree_.sites[found->second];
        if (site.root)
          fix(info, "root: called from ordinary code");
        else if (!site.fixed_reason.empty())
          fix(info, site.fixed_reason);
      }
      for (const profile::Node &node : profile.nodes)
        for (const profile::Edge &edge : node.edges) {
          if (edge.kind != profile::EdgeKind::kCall || edge.site == kNone)
            continue;
          SiteInfo &info = tree_.sites[site_of(profile.sites[edge.site])];
          (edge.measured_on ? info.measured_on : info.measured_off) = true;
          if (edge.opaque)
            fix(info, "its adjoint was not compiled with adprof");
        }
    }
    for (SiteInfo &info : tree_.sites)
      info.on_when_fixed = info.measured_on || !info.measured_off;
  }
  static void fix(SiteInfo &info, const std::string &reason) {
    info.switchable = false;
    if (info.fixed_reason.empty())
      info.fixed_reason = reason;
  }

  std::uint32_t append_nodes(const Profile &profile) {
    const auto first_node = static_cast<std::uint32_t>(tree_.nodes.size());
    for (const profile::Node &from : profile.nodes) {
      Node node;
      node.first_edge = static_cast<std::uint32_t>(tree_.edges.size());
      Bits carried = 0; ///< left standing by an edge that is a block here
      for (const profile::Edge &measured : from.edges) {
        Edge edge;
        edge.own_before = measured.own_before_bits + carried;
        carried = 0;
        edge.node = first_node + measured.node;
        Seen seen{measured.measured_on, !measured.measured_on};
        if (measured.kind == profile::EdgeKind::kLoop) {
          edge.kind = EdgeKind::kLoop;
          edge.count = measured.count;
        } else if (measured.kind == profile::EdgeKind::kBlock) {
          edge.kind = EdgeKind::kBlock;
        } else {
          edge.site = measured.site == kNone ? kNoSite : site_of(profile.sites[measured.site]);
          edge.kept = measured.kept_bits;
          edge.snapshot = measured.snapshot_bits;
          const bool fixed = edge.site == kNoSite || !tree_.sites[edge.site].switchable;
          const bool fixed_on = edge.site != kNoSite && tree_.sites[edge.site].on_when_fixed;
          if (fixed && measured.measured_on != fixed_on) {
            // A call that is no decision and runs otherwise than its site is marked, or has no site. On is a block that leaves
            // its snapshot standing.
            if (measured.measured_on) {
              edge.kind = EdgeKind::kBlock;
              carried = edge.kept + edge.snapshot;
              edge.kept = edge.snapshot = 0;
            }
            edge.site = kNoSite;
          }
          if (edge.site != kNoSite && measured.estimate)
            tree_.sites[edge.site].estimated = true;
        }
        tree_.edges.push_back(edge);
        seen_.push_back(seen);
      }
      node.edge_count = static_cast<std::uint32_t>(tree_.edges.size()) - node.first_edge;
      node.own_after = from.own_after_bits + carried;
      tree_.nodes.push_back(node);
    }
    return first_node;
  }

  void add_processes(const NamedProfile &named, std::uint32_t first_node) {
    const Profile &profile = *named.profile;
    std::vector<Process> processes(profile.processes.size());
    for (std::size_t p = 0; p < processes.size(); ++p) {
      processes[p].other_bytes = profile.processes[p].resident_other_bytes;
      processes[p].label = named.name + (profile.processes[p].rank.empty() ? "" : " rank " + profile.processes[p].rank);
    }
    for (const profile::Thread &thread : profile.threads)
      if (thread.root != kNone)
        processes[thread.process].roots.push_back(first_node + thread.root);
    const std::size_t known = tree_.processes.size();
    for (std::size_t p = 0; p < processes.size(); ++p) {
      bool merged = false;
      for (std::size_t q = 0; q < known && !merged; ++q)
        merged = merge_process(tree_.processes[q], processes[p]);
      // Ranks that behave alike stand there once.
      for (std::size_t q = known; q < tree_.processes.size() && !merged; ++q)
        if (tree_.processes[q].roots == processes[p].roots) {
          tree_.processes[q].other_bytes = std::max(tree_.processes[q].other_bytes, processes[p].other_bytes);
          merged = true;
        }
      if (!merged)
        tree_.processes.push_back(processes[p]);
    }
  }

  /// A node of the tree so far and one of the new profile that behave alike. `replaces`: the old one was measured in the
  /// callee's other mode only, so that its own bits do not count.
  struct Pair {
    std::uint32_t old_node, new_node;
    bool replaces;
    auto operator<=>(const Pair &) const = default;
  };
  struct PairHash {
    std::size_t operator()(const Pair &p) const {
      return (std::size_t{p.old_node} * 0x9e3779b97f4a7c15u ^ p.new_node) * 0xbf58476d1ce4e5b9u + p.replaces;
    }
  };

  static Pair child_pair(const Edge &old_edge, const Seen &old_seen, const Edge &new_edge, const Seen &new_seen) {
    if (old_edge.kind != EdgeKind::kCall || old_edge.site == kNoSite)
      return {old_edge.node, new_edge.node, false};
    return {new_seen.on ? old_edge.node : old_edge.node_when_off(), new_edge.node, new_seen.on ? !old_seen.on : !old_seen.off};
  }

  /// True where both have the same calls in the same order all the way down; then `known` holds the sizes of both.
  bool merge_process(Process &known, const Process &fresh) {
    if (known.roots.size() != fresh.roots.size())
      return false;
    std::unordered_map<Pair, std::uint32_t, PairHash> merged;
    std::vector<Pair> pairs;
    auto visit = [&](Pair pair) {
      if (merged.try_emplace(pair, 0).second)
        pairs.push_back(pair);
    };
    for (std::size_t t = 0; t < known.roots.size(); ++t)
      visit({known.roots[t], fresh.roots[t], false});
    const std::size_t limit = 4 * tree_.nodes.size() + 16; // trees of the same shape make few pairs
    for (std::size_t i = 0; i < pairs.size(); ++i) {
      const Node &a = tree_.nodes[pairs[i].old_node], &b = tree_.nodes[pairs[i].new_node];
      if (a.edge_count != b.edge_count || pairs.size() > limit)
        return false;
      for (std::uint32_t e = 0; e < a.edge_count; ++e) {
        const Edge &x = tree_.edges[a.first_edge + e], &y = tree_.edges[b.first_edge + e];
        if (x.kind != y.kind || x.site != y.site || x.count != y.count)
          return false;
        visit(child_pair(x, seen_[a.first_edge + e], y, seen_[b.first_edge + e]));
      }
    }
    std::ranges::sort(pairs); // children have smaller numbers than their parents
    for (const Pair &pair : pairs)
      merged[pair] = merge_node(pair, merged);
    for (std::size_t t = 0; t < known.roots.size(); ++t)
      known.roots[t] = merged[{known.roots[t], fresh.roots[t], false}];
    known.other_bytes = std::max(known.other_bytes, fresh.other_bytes);
    return true;
  }

  std::uint32_t merge_node(const Pair &pair, const std::unordered_map<Pair, std::uint32_t, PairHash> &merged) {
    const Node a = tree_.nodes[pair.old_node], b = tree_.nodes[pair.new_node];
    Node node;
    node.first_edge = static_cast<std::uint32_t>(tree_.edges.size());
    node.edge_count = a.edge_count;
    auto own = [&](Bits before, Bits now) { return pair.replaces ? now : std::max(before, now); };
    node.own_after = own(a.own_after, b.own_after);
    for (std::uint32_t e = 0; e < a.edge_count; ++e) {
      const Edge x = tree_.edges[a.first_edge + e], y = tree_.edges[b.first_edge + e];
      const Seen xs = seen_[a.first_edge + e], ys = seen_[b.first_edge + e];
      const std::uint32_t child = merged.at(child_pair(x, xs, y, ys));
      Edge edge = x;
      edge.own_before = own(x.own_before, y.own_before);
      edge.kept = own(x.kept, y.kept);
      if (x.kind != EdgeKind::kCall || x.site == kNoSite) {
        edge.node = child;
      } else {
        edge.split_node = ys.on && xs.off ? x.node_when_off() : child;
        edge.node = !ys.on && xs.on ? x.node : child;
        if (ys.on)
          edge.snapshot = xs.on ? own(x.snapshot, y.snapshot) : y.snapshot;
        if (xs.on != ys.on) {
          // One run shows what joint mode leaves standing, the other what split mode does: values of the caller that the first
          // could not tell from the snapshot stand in the second as well.
          const Edge &joint = ys.on ? y : x, &split = ys.on ? x : y;
          const Bits difference = (split.own_before + split.kept) - (joint.own_before + joint.kept);
          if (difference >= 0 && difference <= joint.snapshot) {
            edge.own_before = joint.own_before;
            edge.kept = joint.kept + difference;
            edge.snapshot = joint.snapshot - difference;
          }
        }
      }
      tree_.edges.push_back(edge);
      seen_.push_back({xs.on || ys.on, xs.off || ys.off});
    }
    tree_.nodes.push_back(node);
    return static_cast<std::uint32_t>(tree_.nodes.size() - 1);
  }

  /// Joint mode that was never seen: the largest snapshot of the site elsewhere, of its callee, of its caller, of anything; or as
  /// much as its tape, which promises nothing.
  void estimate_snapshots() {
    std::map<std::string, Bits> by_site, by_callee, by_caller;
    Bits largest = -1;
    auto raise = [](std::map<std::string, Bits> &map, const std::string &key, Bits value) {
      auto [at, added] = map.try_emplace(key, value);
      at->second = std::max(at->second, value);
    };
    for (std::size_t e = 0; e < tree_.edges.size(); ++e)
      if (const Edge &edge = tree_.edges[e]; edge.kind == EdgeKind::kCall && edge.site != kNoSite && seen_[e].on) {
        const SiteInfo &site = tree_.sites[edge.site];
        raise(by_site, site.name, edge.snapshot);
        raise(by_callee, site.callee, edge.snapshot);
        raise(by_caller, site.caller, edge.snapshot);
        largest = std::max(largest, edge.snapshot);
      }
    std::vector<NodeSize> sizes;
    for (std::size_t e = 0; e < tree_.edges.size(); ++e) {
      Edge &edge = tree_.edges[e];
      if (edge.kind != EdgeKind::kCall || edge.site == kNoSite || seen_[e].on)
        continue;
      SiteInfo &site = tree_.sites[edge.site];
      site.estimated = true;
      if (auto at = by_site.find(site.name); at != by_site.end())
        edge.snapshot = at->second;
      else if (at = by_callee.find(site.callee); at != by_callee.end())
        edge.snapshot = at->second;
      else if (at = by_caller.find(site.caller); at != by_caller.end())
        edge.snapshot = at->second;
      else if (largest >= 0)
        edge.snapshot = largest;
      else {
        if (sizes.empty())
          PeakModel(tree_).evaluate(Placement{std::vector<std::uint8_t>(tree_.sites.size(), 0)}, sizes);
        edge.snapshot = sizes[edge.node].tape;
      }
    }
  }

  void drop_unreachable() {
    std::vector<std::uint32_t> new_index(tree_.nodes.size(), 0);
    for (const Process &process : tree_.processes)
      for (std::uint32_t root : process.roots)
        new_index[root] = 1;
    for (std::size_t v = tree_.nodes.size(); v-- > 0;)
      if (new_index[v])
        for (std::uint32_t e = tree_.nodes[v].first_edge; e < tree_.nodes[v].first_edge + tree_.nodes[v].edge_count; ++e)
          new_index[tree_.edges[e].node] = new_index[tree_.edges[e].node_when_off()] = 1;
    std::vector<Node> nodes;
    std::vector<Edge> edges;
    std::vector<Seen> seen;
    for (std::size_t v = 0; v < tree_.nodes.size(); ++v) {
      if (!new_index[v])
        continue;
      Node node = tree_.nodes[v];
      const std::uint32_t first = node.first_edge;
      node.first_edge = static_cast<std::uint32_t>(edges.size());
      for (std::uint32_t e = first; e < first + node.edge_count; ++e) {
        Edge edge = tree_.edges[e];
        if (edge.split_node != kSameNode)
          edge.split_node = edge.split_node == edge.node ? kSameNode : new_index[edge.split_node];
        edge.node = new_index[edge.node];
        edges.push_back(edge);
        seen.push_back(seen_[e]);
      }
      new_index[v] = static_cast<std::uint32_t>(nodes.size());
      nodes.push_back(node);
    }
    for (Process &process : tree_.processes)
      for (std::uint32_t &root : process.roots)
        root = new_index[root];
    tree_.nodes = std::move(nodes);
    tree_.edges = std::move(edges);
    seen_ = std::move(seen);
  }

  /// R_s is the mean over the profiles that show the site in joint mode; T_0 the mean of what is left of each run.
  void measure_times(const std::vector<NamedProfile> &profiles) {
    struct Time {
      double on_ns = 0, off_ns = 0;
      int on_runs = 0, off_runs = 0;
    };
    std::vector<Time> times(tree_.sites.size());
    for (const NamedProfile &named : profiles) {
      const Profile &profile = *named.profile;
      const double processes = std::max<double>(1, static_cast<double>(profile.processes.size()));
      std::vector<Time> run(tree_.sites.size());
      for (const profile::Context &context : profile.contexts) {
        if (context.site == kNone)
          continue;
        Time &time = run[site_of(profile.sites[context.site])];
        if (context.invocations_on) {
          time.on_ns += context.primal_ns + context.snapshot_write_ns + context.snapshot_read_ns;
          time.on_runs = 1;
        }
        if (context.invocations_off) {
          time.off_ns += context.forward_ns;
          time.off_runs = 1;
        }
      }
      double measured = 0;
      for (const profile::Process &process : profile.processes)
        measured += process.adjoint_ns;
      for (std::size_t s = 0; s < run.size(); ++s) {
        // Roots run their primal nowhere: what was timed around one is no recomputation.
        if (tree_.sites[s].fixed_reason.starts_with("root"))
          continue;
        times[s].on_ns += run[s].on_ns / processes;
        times[s].on_runs += run[s].on_runs;
        times[s].off_ns += run[s].off_ns / processes;
        times[s].off_runs += run[s].off_runs;
        measured -= run[s].on_ns;
      }
      tree_.base_ns += std::max(0.0, measured / processes) / static_cast<double>(profiles.size());
    }
    for (std::size_t s = 0; s < times.size(); ++s) {
      SiteInfo &site = tree_.sites[s];
      const Time &time = times[s];
      if (time.on_runs)
        site.recompute_ns = time.on_ns / time.on_runs;
      else if (time.off_runs) {
        // The forward sweep does the primal's work and records besides: an upper estimate.
        site.recompute_ns = time.off_ns / time.off_runs;
        site.estimated = true;
      }
    }
  }

  CallTree tree_;
  std::vector<Seen> seen_;
  std::unordered_map<std::string, std::uint32_t> site_index_;
};

} // namespace

Result<CallTree> from_profiles(const std::vector<NamedProfile> &profiles) {
  for (const NamedProfile &named : profiles) {
    if (named.profile->threads.empty() || named.profile->nodes.empty())
      return std::unexpected(Error{ErrorKind::kInvalid, named.name,
                                   "shows no adjoint: no call tree was recorded; run the adjoint with `adprof run`, and see "
                                   "`adprof doctor` for what was recognised in it"});
    if (named.profile == profiles[0].profile)
      continue;
    auto is_known = [&](const profile::Site &site) {
      return std::ranges::any_of(profiles[0].profile->sites, [&](const profile::Site &s) { return s.name() == site.name(); });
    };
    if (std::ranges::none_of(named.profile->sites, is_known))
      return std::unexpected(Error{ErrorKind::kInvalid, named.name,
                                   "has no site in common with " + profiles[0].name + "; give profiles of one program"});
  }
  return Builder().build(profiles);
}

Placement measured_placement(const CallTree &tree, const profile::Profile &profile) {
  Placement placement = uniform_placement(tree, true);
  std::unordered_map<std::string, std::uint8_t> mode;
  for (const profile::Node &node : profile.nodes)
    for (const profile::Edge &edge : node.edges)
      if (edge.kind == profile::EdgeKind::kCall && edge.site != kNone)
        mode[profile.sites[edge.site].name()] |= edge.measured_on ? 1 : 0;
  for (std::size_t s = 0; s < tree.sites.size(); ++s)
    if (auto at = mode.find(tree.sites[s].name); at != mode.end())
      placement.on[s] = at->second;
  return placement;
}

} // namespace adprof::model
