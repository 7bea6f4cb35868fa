// Prints what a raw profile says apart from times, in a form that is the same for the same program at every
// optimisation level and under every compiler: losses, counts, sites by name, and the folded call tree with nodes
// numbered by first visit from the roots. For tests: they compare texts, and read the counts by name.
#include <cstdio>
#include <map>
#include <string>

#include "optimizer/profile/load.h"

using namespace adprof::profile;

namespace {

std::map<std::uint32_t, int> seen;

void print_node(const Profile &profile, std::uint32_t index) {
  if (seen.contains(index))
    return;
  const Node &node = profile.nodes[index];
  for (const Edge &edge : node.edges)
    print_node(profile, edge.node);
  int number = static_cast<int>(seen.size());
  seen[index] = number;
  std::printf("node %d %s%s%s\n", number, node.procedure == kNoIndex ? "-" : profile.procedures[node.procedure].c_str(),
              node.envelope ? " envelope" : "", node.abandoned ? " abandoned" : "");
  for (const Edge &edge : node.edges) {
    std::printf("  own %lld\n", static_cast<long long>(edge.own_before_bits));
    const char *kind = edge.kind == EdgeKind::kCall ? "call" : edge.kind == EdgeKind::kLoop ? "loop" : "block";
    std::printf("  %s %s node %d count %lld snapshot %lld kept %lld%s%s%s\n", kind,
                edge.site == kNoIndex ? "-" : profile.sites[edge.site].name().c_str(), seen[edge.node],
                static_cast<long long>(edge.count), static_cast<long long>(edge.snapshot_bits),
                static_cast<long long>(edge.kept_bits), edge.measured_on ? "" : " off",
                edge.has_primal ? "" : " no-primal", edge.opaque ? " opaque" : "");
  }
  std::printf("  own %lld\n", static_cast<long long>(node.own_after_bits));
}

} // namespace

int main(int argc, char **argv) {
  if (argc != 2) {
    std::fprintf(stderr, "usage: print_tree FILE\n");
    return 2;
  }
  auto loaded = load(argv[1]);
  if (!loaded) {
    std::fprintf(stderr, "%s: %s\n", loaded.error().where.c_str(), loaded.error().what.c_str());
    return 2;
  }
  const Profile &profile = *loaded;
  for (const Process &process : profile.processes) {
    const Losses &l = process.losses;
    const std::pair<const char *, std::int64_t> counts[] = {
        {"finished", process.finished},
        {"stack_peak_bits", process.stack_peak_bits},
        {"traffic_bits", process.traffic_bits},
        {"adstack_peak_bytes", process.adstack_peak_bytes},
        {"adstack_traffic_bytes", process.adstack_traffic_bytes},
        {"sites", static_cast<std::int64_t>(profile.sites.size())},
        {"threads", static_cast<std::int64_t>(profile.threads.size())},
        {"reverse_calls", l.reverse_calls},
        {"matched_unique", l.matched_unique},
        {"matched_static", l.matched_static},
        {"matched_latest", l.matched_latest},
        {"unmatched_sliced", l.unmatched_sliced},
        {"unmatched_unexplained", l.unmatched_unexplained},
        {"unreversed_primal", l.unreversed_primal},
        {"advance_calls", l.advance_calls},
        {"anomalies", l.anomalies},
        {"envelope_nodes", l.envelope_nodes},
    };
    for (const auto &[name, value] : counts)
      std::printf("%s %lld\n", name, static_cast<long long>(value));
    if (!process.stop_reason.empty())
      std::printf("stopped: %s\n", process.stop_reason.c_str());
  }
  for (const Site &site : profile.sites)
    std::printf("site %s%s%s%s at %u, primal at %u\n", site.name().c_str(), site.root ? " root" : "",
                site.fixed_reason.empty() ? "" : ": ", site.fixed_reason.c_str(), site.adjoint.line, site.primal.line);
  for (const Doubt &doubt : profile.doubts)
    std::printf("doubt %s %s %u: %s\n", doubt.kind.c_str(), doubt.function.c_str(), doubt.at.line, doubt.text.c_str());
  for (const Thread &thread : profile.threads) {
    std::printf("thread peak %lld traffic %lld\n", static_cast<long long>(thread.stack_peak_bits),
                static_cast<long long>(thread.traffic_bits));
    if (thread.root != kNoIndex) {
      print_node(profile, thread.root);
      std::printf("root %d\n", seen[thread.root]);
    }
  }
  return 0;
}
