#include "optimizer/profile/merge.h"

#include <algorithm>
#include <map>
#include <string>
#include <tuple>
#include <unordered_map>

#include "optimizer/profile/check.h"

namespace adprof::profile {

namespace {

struct NodeHash {
  size_t operator()(const Node &node) const {
    std::uint64_t hash = node.procedure;
    auto add = [&hash](auto value) {
      hash = (hash ^ static_cast<std::uint64_t>(value)) * 0x9e3779b97f4a7c15u;
      hash ^= hash >> 32;
    };
    add(node.own_after_bits);
    add(node.envelope * 2 + node.abandoned);
    for (const Edge &edge : node.edges) {
      add(edge.own_before_bits);
      add(edge.site);
      add(edge.node);
      add(edge.count);
      add(edge.snapshot_bits);
      add(edge.kept_bits);
      add(static_cast<int>(edge.kind) * 16 + edge.measured_on * 8 + edge.has_primal * 4 + edge.opaque * 2 + edge.estimate);
    }
    return hash;
  }
};

void add_to(std::int64_t &sum, std::int64_t value) { sum = saturating_add(sum, value); }

void add_to(Range &sum, const Range &range, bool sum_is_empty, bool range_is_empty) {
  if (range_is_empty)
    return;
  add_to(sum.total, range.total);
  sum.least = sum_is_empty ? range.least : std::min(sum.least, range.least);
  sum.largest = std::max(sum.largest, range.largest);
}

void add_to(Context &sum, const Context &x) {
  add_to(sum.tape_bits, x.tape_bits, sum.invocations_on + sum.invocations_off == 0, x.invocations_on + x.invocations_off == 0);
  add_to(sum.snapshot_bits, x.snapshot_bits, sum.invocations_on == 0, x.invocations_on == 0);
  add_to(sum.invocations_on, x.invocations_on);
  add_to(sum.invocations_off, x.invocations_off);
  add_to(sum.invocations_sliced, x.invocations_sliced);
  add_to(sum.repeats, x.repeats);
  add_to(sum.primal_calls, x.primal_calls);
  add_to(sum.unreversed, x.unreversed);
  add_to(sum.kept_bits, x.kept_bits);
  sum.primal_ns += x.primal_ns;
  sum.snapshot_write_ns += x.snapshot_write_ns;
  sum.snapshot_read_ns += x.snapshot_read_ns;
  sum.snapshot_time_estimated |= x.snapshot_time_estimated;
  sum.forward_ns += x.forward_ns;
  sum.backward_ns += x.backward_ns;
  sum.stack_peak_bits = std::max(sum.stack_peak_bits, x.stack_peak_bits);
  sum.resident_peak_bytes = std::max(sum.resident_peak_bytes, x.resident_peak_bytes);
}

class Merger {
public:
  void add(const Profile &p) {
    if (out_.adprof_version.empty())
      out_.adprof_version = p.adprof_version;
    if (out_.dialect.empty())
      out_.dialect = p.dialect;
    std::vector<std::uint32_t> procedures, sites, nodes, contexts;
    for (const std::string &name : p.procedures)
      procedures.push_back(position(procedures_, out_.procedures, name, name));
    for (const Site &site : p.sites)
      sites.push_back(add_site(site));
    for (Node node : p.nodes) {
      node.procedure = mapped(procedures, node.procedure);
      for (Edge &edge : node.edges) {
        edge.site = mapped(sites, edge.site);
        edge.node = nodes[edge.node];
      }
      nodes.push_back(position(nodes_, out_.nodes, node, node));
    }
    for (Context context : p.contexts) {
      context.parent = mapped(contexts, context.parent);
      context.site = mapped(sites, context.site);
      context.procedure = mapped(procedures, context.procedure);
      size_t before = out_.contexts.size();
      std::uint32_t at = position(contexts_, out_.contexts, std::tuple(context.parent, context.site, context.procedure), context);
      if (at < before)
        add_to(out_.contexts[at], context);
      contexts.push_back(at);
    }
    for (Thread thread : p.threads) {
      thread.process += static_cast<std::uint32_t>(out_.processes.size());
      thread.root = mapped(nodes, thread.root);
      out_.threads.push_back(thread);
    }
    out_.processes.insert(out_.processes.end(), p.processes.begin(), p.processes.end());
    for (const Doubt &doubt : p.doubts)
      if (doubts_.emplace(std::tuple(doubt.kind, doubt.function, doubt.text, doubt.at.file, doubt.at.line), 0).second)
        out_.doubts.push_back(doubt);
  }
  Profile take() { return std::move(out_); }

private:
  template <typename Map, typename Key, typename T> static std::uint32_t position(Map &map, std::vector<T> &all, const Key &key, const T &value) {
    auto [found, is_new] = map.try_emplace(key, static_cast<std::uint32_t>(all.size()));
    if (is_new)
      all.push_back(value);
    return found->second;
  }
  static std::uint32_t mapped(const std::vector<std::uint32_t> &to, std::uint32_t index) { return index == kNoIndex ? kNoIndex : to[index]; }

  std::uint32_t add_site(const Site &site) {
    size_t before = out_.sites.size();
    std::uint32_t at = position(sites_, out_.sites, std::tuple(site.caller, site.callee, site.ordinal), site);
    if (at == before)
      return at;
    Site &known = out_.sites[at];
    if (known.primal.line == 0)
      known.primal = site.primal;
    if (known.adjoint.line == 0)
      known.adjoint = site.adjoint;
    if (known.signature.empty())
      known.signature = site.signature;
    known.root |= site.root;
    if (site.fixed_reason.empty())
      known.fixed_reason.clear(); // seen switchable somewhere
    return at;
  }

  Profile out_;
  std::map<std::string, std::uint32_t> procedures_;
  std::map<std::tuple<std::string, std::string, std::uint32_t>, std::uint32_t> sites_;
  std::map<std::tuple<std::uint32_t, std::uint32_t, std::uint32_t>, std::uint32_t> contexts_;
  std::map<std::tuple<std::string, std::string, std::string, std::string, std::uint32_t>, int> doubts_;
  std::unordered_map<Node, std::uint32_t, NodeHash> nodes_;
};

} // namespace

Profile merge(const std::vector<Profile> &profiles) {
  Merger merger;
  for (const Profile &profile : profiles)
    merger.add(profile);
  return merger.take();
}

void fix_opaque_sites(Profile &profile) {
  enum : std::uint8_t { kUnseen, kOpaque, kSeen };
  std::vector<std::uint8_t> state(profile.sites.size(), kUnseen);
  for (const Node &node : profile.nodes)
    for (const Edge &edge : node.edges)
      if (edge.kind == EdgeKind::kCall && edge.site != kNoIndex)
        state[edge.site] = std::max<std::uint8_t>(state[edge.site], edge.opaque ? kOpaque : kSeen);
  for (size_t s = 0; s < profile.sites.size(); ++s)
    if (Site &site = profile.sites[s]; state[s] == kOpaque && !site.root && site.fixed_reason.empty())
      site.fixed_reason = "no split version: the adjoint of " + site.callee + " was not compiled with adprof";
}

} // namespace adprof::profile
