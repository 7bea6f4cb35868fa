#include "tests/oracle/call_trees.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace adprof::oracle {

using model::Bits;
using model::CallTree;
using model::Edge;
using model::EdgeKind;
using model::Node;
using model::SiteInfo;

namespace {

/// SplitMix64; the standard's distributions differ between libraries, seeds must not.
class Random {
public:
  explicit Random(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15u);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9u;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebu;
    return z ^ (z >> 31);
  }
  std::uint32_t below(std::uint64_t bound) { return static_cast<std::uint32_t>(next() % bound); }
  std::int64_t between(std::int64_t least, std::int64_t largest) {
    return least + static_cast<std::int64_t>(next() % static_cast<std::uint64_t>(largest - least + 1));
  }
  double unit() { return static_cast<double>(next() >> 11) * 0x1p-53; }
  bool chance(double probability) { return unit() < probability; }
  /// Log-uniform.
  double scale(double least, double largest) { return least * std::pow(largest / least, unit()); }

private:
  std::uint64_t state_;
};

SiteInfo site_info(const std::string &caller, const std::string &callee, std::uint32_t ordinal, std::uint32_t line) {
  SiteInfo site;
  site.caller = caller;
  site.callee = callee;
  site.ordinal = ordinal;
  site.name = caller + ":" + callee + ":" + std::to_string(ordinal);
  site.file = caller + ".f90";
  site.line = line;
  return site;
}

} // namespace

CallTree random_tree(std::uint64_t seed, std::uint32_t sites) {
  Random random(seed);
  CallTree tree;
  const std::uint32_t site_count = 1 + random.below(sites);
  const std::uint32_t node_count = 2 + random.below(2 * site_count + 4);
  const Bits largest = random.chance(0.3) ? Bits{1} << random.between(3, 40) : random.between(4, 200);
  auto size = [&] { return random.chance(0.2) ? 0 : random.chance(0.5) ? random.between(0, largest) : random.between(0, largest / 8 + 1); };
  for (std::uint32_t s = 0; s < site_count; ++s) {
    SiteInfo site = site_info("p" + std::to_string(s / 3), "q" + std::to_string(random.below(site_count)), s, s + 1);
    site.recompute_ns = random.chance(0.15) ? 0 : static_cast<double>(random.between(1, 60));
    site.switchable = !random.chance(0.08);
    site.on_when_fixed = random.chance(0.8);
    tree.sites.push_back(site);
  }
  std::vector<bool> used(node_count);
  for (std::uint32_t v = 0; v < node_count; ++v) {
    Node node;
    node.first_edge = static_cast<std::uint32_t>(tree.edges.size());
    node.own_after = size();
    std::uint32_t calls = v == 0 ? 0 : random.below(5);
    for (std::uint32_t i = 0; i < calls; ++i) {
      Edge edge;
      edge.own_before = size();
      edge.node = random.chance(0.6) && v > 3 ? v - 1 - random.below(3) : random.below(v);
      used[edge.node] = true;
      double kind = random.unit();
      if (kind < 0.12) {
        edge.kind = EdgeKind::kLoop;
        edge.count = random.between(1, 5);
      } else if (kind < 0.2) {
        edge.kind = EdgeKind::kBlock;
      } else {
        edge.site = random.chance(0.95) ? random.below(site_count) : model::kNoSite;
        edge.snapshot = size();
        edge.kept = random.chance(0.2) ? size() : 0;
        if (random.chance(0.1))
          edge.split_node = random.below(v);
      }
      tree.edges.push_back(edge);
    }
    node.edge_count = static_cast<std::uint32_t>(tree.edges.size()) - node.first_edge;
    tree.nodes.push_back(node);
  }
  // The highest nodes are the threads' roots, so that most of what was made is reached.
  std::uint32_t root = node_count;
  for (std::uint32_t p = 0, processes = random.chance(0.8) ? 1 : 2; p < processes; ++p) {
    model::Process process;
    for (std::uint32_t t = 0, threads = random.chance(0.8) ? 1 : 2; t < threads; ++t)
      process.roots.push_back(root > 1 ? --root : root);
    process.other_bytes = random.between(0, 100);
    tree.processes.push_back(process);
  }
  tree.base_ns = static_cast<double>(random.between(1, 200));
  return tree;
}

CallTree realistic_tree(const TreeSpec &spec) {
  Random random(spec.seed * 0x9e3779b97f4a7c15u + static_cast<std::uint64_t>(spec.shape) + spec.sites);
  const bool library = spec.shape == Shape::kLibrary, decades = spec.shape == Shape::kDecades;
  const std::uint32_t levels = library ? 12 : 5;
  // Procedures: each calls 2.5 others; each level is wider than the one above, the last ones shared by many.
  const std::uint32_t procedures = std::max(levels, static_cast<std::uint32_t>(spec.sites / (library ? 3.0 : 2.2)));
  std::vector<std::vector<std::uint32_t>> level(levels);
  std::vector<std::uint32_t> level_of(procedures);
  for (std::uint32_t p = 0; p < procedures; ++p) {
    std::uint32_t l = p < levels ? p : 1 + static_cast<std::uint32_t>((levels - 1) * std::sqrt(random.unit()));
    level_of[p] = std::min(l, levels - 1);
    level[level_of[p]].push_back(p);
  }
  struct Call {
    std::uint32_t callee, site;
    std::int64_t rounds;
  };
  std::vector<std::vector<Call>> calls(procedures);
  CallTree tree;
  auto add_call = [&](std::uint32_t caller, std::uint32_t callee) {
    std::int64_t rounds = 1;
    if (level_of[caller] == 0)
      rounds = random.between(20, 200);
    else if (random.chance(library ? 0.06 : 0.2))
      rounds = random.chance(0.3) ? 36 : random.between(2, 12);
    calls[caller].push_back({callee, static_cast<std::uint32_t>(tree.sites.size()), rounds});
    auto ordinal = static_cast<std::uint32_t>(
        std::ranges::count_if(calls[caller], [&](const Call &c) { return c.callee == callee; }) - 1);
    SiteInfo site = site_info("proc_" + std::to_string(caller), "proc_" + std::to_string(callee), ordinal,
                              static_cast<std::uint32_t>(10 + 5 * calls[caller].size()));
    if (random.chance(0.04)) {
      site.switchable = false;
      site.fixed_reason = "no split version";
    }
    tree.sites.push_back(site);
  };
  for (std::uint32_t p = 1; p < procedures; ++p) {
    const auto &above = level[level_of[p] - 1];
    add_call(level_of[p] == 1 ? 0 : above[random.below(above.size())], p);
  }
  while (tree.sites.size() < spec.sites) {
    std::uint32_t caller = 1 + random.below(procedures - 1);
    if (level_of[caller] == levels - 1)
      continue;
    std::uint32_t down = random.chance(library ? 0.5 : 0.8) ? level_of[caller] + 1 : levels - 1;
    add_call(caller, level[down][random.below(level[down].size())]);
  }
  for (auto &list : calls)
    for (std::size_t i = list.size(); i > 1; --i)
      std::swap(list[i - 1], list[random.below(i)]);

  // Behaviours, leaves first. One behaviour differs from the next in its sizes and in those of its callees.
  struct Behaviour {
    double primal_ns;
    Bits tape_all_on;
  };
  std::vector<std::vector<std::uint32_t>> nodes_of(procedures);
  std::vector<Behaviour> behaviour;
  // Snapshots against the callee's tape: a small part of it near the root, where tapes are long; up to many times as much at
  // the leaves, whose arguments are whole fields.
  std::vector<double> site_sigma(tree.sites.size());
  for (std::uint32_t p = 0; p < procedures; ++p)
    for (const Call &call : calls[p]) {
      double depth = static_cast<double>(level_of[p]) / (levels - 1);
      site_sigma[call.site] = decades ? std::pow(10, -1.5 + 2 * depth) * random.scale(0.1, 10) : std::pow(10, -1.5 + 1.3 * depth) * random.scale(0.25, 4);
    }
  std::vector<std::uint32_t> order(procedures);
  for (std::uint32_t p = 0; p < procedures; ++p)
    order[p] = p;
  std::ranges::stable_sort(order, std::greater{}, [&](std::uint32_t p) { return level_of[p]; });
  for (std::uint32_t p : order) {
    std::uint32_t variants = p == 0 ? 1 : spec.nodes ? std::max(1u, spec.nodes / procedures) : 1 + random.below(2);
    const double base = decades ? random.scale(512, 512e6) : random.scale(2e3, 2e6); // bits of its own between two calls
    const double ns_per_bit = random.scale(0.01, 0.3);
    for (std::uint32_t i = 0; i < variants; ++i) {
      const double factor = 1 + 0.5 * random.unit();
      Node node;
      node.first_edge = static_cast<std::uint32_t>(tree.edges.size());
      Behaviour self{0, 0};
      // Loop bodies stand before the procedure's own node.
      std::vector<Edge> edges;
      auto own = [&] { return random.chance(0.2) ? 0 : static_cast<Bits>(base * factor * random.unit()) / 64 * 64; };
      for (const Call &call : calls[p]) {
        const auto &callee_nodes = nodes_of[call.callee];
        Edge edge;
        // Neighbouring behaviours call neighbouring behaviours, as in time.
        edge.node = callee_nodes[(i + random.below(3)) % callee_nodes.size()];
        edge.site = call.site;
        edge.own_before = own();
        edge.kept = random.chance(0.1) ? 64 : 0;
        edge.snapshot = static_cast<Bits>(site_sigma[call.site] * static_cast<double>(behaviour[edge.node].tape_all_on)) / 64 * 64 + 64;
        self.primal_ns += static_cast<double>(call.rounds) * behaviour[edge.node].primal_ns + ns_per_bit * static_cast<double>(edge.own_before);
        self.tape_all_on += edge.own_before + call.rounds * (edge.kept + edge.snapshot);
        if (call.rounds > 1) {
          Node body;
          Edge inner = edge;
          inner.own_before = 64;
          self.tape_all_on += call.rounds * 64;
          body.first_edge = static_cast<std::uint32_t>(tree.edges.size());
          body.edge_count = 1;
          tree.edges.push_back(inner);
          tree.nodes.push_back(body);
          behaviour.push_back({0, 0});
          Edge loop;
          loop.own_before = edge.own_before;
          loop.kind = EdgeKind::kLoop;
          loop.count = call.rounds;
          loop.node = static_cast<std::uint32_t>(tree.nodes.size() - 1);
          edge = loop;
        }
        edges.push_back(edge);
      }
      node.first_edge = static_cast<std::uint32_t>(tree.edges.size());
      node.edge_count = static_cast<std::uint32_t>(edges.size());
      tree.edges.insert(tree.edges.end(), edges.begin(), edges.end());
      node.own_after = calls[p].empty() ? static_cast<Bits>(base * factor) / 64 * 64 + 64 : own();
      self.primal_ns += ns_per_bit * static_cast<double>(node.own_after) + 50;
      self.tape_all_on += node.own_after;
      nodes_of[p].push_back(static_cast<std::uint32_t>(tree.nodes.size()));
      tree.nodes.push_back(node);
      behaviour.push_back(self);
    }
  }
  model::Process process;
  process.roots = {static_cast<std::uint32_t>(tree.nodes.size() - 1)};
  process.other_bytes = std::int64_t{40} << 20;
  tree.processes.push_back(process);

  // How often each node runs, top-down, and with it the time each site spends on recomputation.
  std::vector<double> runs(tree.nodes.size());
  runs.back() = 1;
  for (std::size_t v = tree.nodes.size(); v-- > 0;)
    for (std::uint32_t e = tree.nodes[v].first_edge; e < tree.nodes[v].first_edge + tree.nodes[v].edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      runs[edge.node] += runs[v] * static_cast<double>(edge.count);
      if (edge.kind == EdgeKind::kCall)
        tree.sites[edge.site].recompute_ns += runs[v] * (behaviour[edge.node].primal_ns + 0.02 * static_cast<double>(edge.snapshot));
    }
  tree.base_ns = 2.5 * behaviour.back().primal_ns;
  return tree;
}

profile::Profile as_profile(const CallTree &tree) {
  profile::Profile result;
  result.adprof_version = "generated";
  result.procedures = {"model"};
  auto procedure_of = [&](const std::string &name) {
    auto at = std::ranges::find(result.procedures, name);
    if (at == result.procedures.end())
      at = result.procedures.insert(at, name);
    return static_cast<std::uint32_t>(at - result.procedures.begin());
  };
  std::vector<double> runs(tree.nodes.size());
  for (const model::Process &process : tree.processes)
    for (std::uint32_t root : process.roots)
      runs[root] += 1;
  std::vector<std::int64_t> invocations(tree.sites.size());
  for (std::size_t v = tree.nodes.size(); v-- > 0;)
    for (std::uint32_t e = tree.nodes[v].first_edge; e < tree.nodes[v].first_edge + tree.nodes[v].edge_count; ++e) {
      runs[tree.edges[e].node] += runs[v] * static_cast<double>(tree.edges[e].count);
      if (tree.edges[e].site != model::kNoSite)
        invocations[tree.edges[e].site] += static_cast<std::int64_t>(std::min(runs[v], 1e12));
    }
  profile::Site root_site{"main", "model", 0, {"main.f90", 1}, {"main_b.f90", 1}, true, "", ""};
  profile::Context root_context;
  root_context.site = static_cast<std::uint32_t>(tree.sites.size());
  root_context.procedure = 0;
  root_context.invocations_on = 1;
  result.contexts.push_back(root_context);
  double adjoint_ns = tree.base_ns;
  for (std::size_t s = 0; s < tree.sites.size(); ++s) {
    const SiteInfo &site = tree.sites[s];
    result.sites.push_back({site.caller, site.callee, site.ordinal, {site.file, site.line}, {}, false, site.fixed_reason, ""});
    profile::Context context;
    context.parent = 0;
    context.site = static_cast<std::uint32_t>(s);
    context.procedure = procedure_of(site.callee);
    context.invocations_on = context.primal_calls = invocations[s];
    context.primal_ns = 0.9 * site.recompute_ns;
    context.snapshot_write_ns = 0.06 * site.recompute_ns;
    context.snapshot_read_ns = 0.04 * site.recompute_ns;
    result.contexts.push_back(context);
    adjoint_ns += site.recompute_ns;
  }
  result.sites.push_back(root_site);
  for (const Node &from : tree.nodes) {
    profile::Node node;
    node.own_after_bits = from.own_after;
    for (std::uint32_t e = from.first_edge; e < from.first_edge + from.edge_count; ++e) {
      const Edge &edge = tree.edges[e];
      profile::Edge to;
      to.own_before_bits = edge.own_before;
      to.kind = edge.kind == EdgeKind::kLoop ? profile::EdgeKind::kLoop : edge.kind == EdgeKind::kBlock ? profile::EdgeKind::kBlock : profile::EdgeKind::kCall;
      to.site = edge.kind == EdgeKind::kCall ? edge.site : profile::kNoIndex;
      to.node = edge.node;
      to.count = edge.count;
      to.snapshot_bits = edge.snapshot;
      to.kept_bits = edge.kept;
      node.edges.push_back(to);
    }
    result.nodes.push_back(node);
  }
  for (std::size_t p = 0; p < tree.processes.size(); ++p) {
    profile::Process process;
    process.command = "generated";
    process.finished = true;
    process.adjoint_ns = process.wall_ns = process.cpu_ns = adjoint_ns;
    process.resident_other_bytes = tree.processes[p].other_bytes;
    for (std::uint32_t root : tree.processes[p].roots) {
      profile::Node ordinary;
      profile::Edge call;
      call.site = static_cast<std::uint32_t>(tree.sites.size());
      call.node = root;
      ordinary.edges.push_back(call);
      result.threads.push_back({static_cast<std::uint32_t>(p), static_cast<std::uint32_t>(result.nodes.size()), 0, 0});
      result.nodes.push_back(ordinary);
    }
    result.processes.push_back(process);
  }
  return result;
}

} // namespace adprof::oracle
