#include "optimizer/profile/check.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <tuple>

namespace adprof::profile {

namespace {

constexpr std::int64_t kTooLarge = kLargestValue + 1;

/// Collects the first violation; later ones are consequences as often as not.
class Checker {
public:
  explicit Checker(std::string where) : where_(std::move(where)) {}

  bool good() const { return problem_.empty(); }
  Result<void> result() const {
    if (good())
      return {};
    return std::unexpected(Error{ErrorKind::kInvalid, where_, problem_ + "; take the profile again with `adprof run`"});
  }

  /// Where the following checks look: "nodes" 17.
  void at(const char *section, size_t index) {
    section_ = section;
    index_ = index;
  }
  void fail(const std::string &text) {
    if (good())
      problem_ = std::string(section_) + "[" + std::to_string(index_) + "]: " + text;
  }
  void size(const char *name, std::int64_t value) {
    if (value < 0 || value > kLargestValue)
      fail(std::string(name) + " is " + std::to_string(value) + ", accepted are 0 to 2^60");
  }
  void time(const char *name, double value) {
    if (!std::isfinite(value) || value < 0 || value > 1e24)
      fail(std::string(name) + " is " + std::to_string(value) + ", accepted are 0 to 1e24 ns");
  }
  void index(const char *name, std::uint32_t value, size_t count, bool optional = false) {
    if (value >= count && !(optional && value == kNoIndex))
      fail(std::string(name) + " is " + std::to_string(value) + ", but there are only " + std::to_string(count));
  }
  void range(const char *name, const Range &range) {
    size(name, range.total);
    size(name, range.least);
    size(name, range.largest);
    if (range.least > range.largest)
      fail(std::string(name) + ": least " + std::to_string(range.least) + " is above largest " + std::to_string(range.largest));
  }

private:
  std::string where_, problem_;
  const char *section_ = "";
  size_t index_ = 0;
};

void check_process(Checker &c, const Process &p) {
  for (auto [name, value] : {std::pair{"wall_ns", p.wall_ns}, {"cpu_ns", p.cpu_ns}, {"adjoint_ns", p.adjoint_ns}, {"hook_ns", p.hook_ns}, {"processor_wait_ns", p.processor_wait_ns}})
    c.time(name, value);
  const Losses &l = p.losses;
  for (auto [name, value] : {std::pair{"resident_peak_bytes", p.resident_peak_bytes},
                             {"resident_other_bytes", p.resident_other_bytes},
                             {"stack_peak_bits", p.stack_peak_bits},
                             {"traffic_bits", p.traffic_bits},
                             {"reverse_calls", l.reverse_calls},
                             {"matched_unique", l.matched_unique},
                             {"matched_static", l.matched_static},
                             {"matched_latest", l.matched_latest},
                             {"unmatched_sliced", l.unmatched_sliced},
                             {"unmatched_unexplained", l.unmatched_unexplained},
                             {"unreversed_primal", l.unreversed_primal},
                             {"advance_calls", l.advance_calls},
                             {"anomalies", l.anomalies},
                             {"envelope_nodes", l.envelope_nodes}})
    c.size(name, value);
  for (auto [name, value] : {std::pair{"adstack_peak_bytes", p.adstack_peak_bytes}, {"adstack_traffic_bytes", p.adstack_traffic_bytes}})
    if (value != -1)
      c.size(name, value);
}

void check_context(Checker &c, const Context &x, size_t own, const Profile &profile) {
  if (x.parent != kNoIndex && x.parent >= own)
    c.fail("parent is " + std::to_string(x.parent) + ", which does not stand before it: a cycle");
  c.index("site", x.site, profile.sites.size(), true);
  c.index("procedure", x.procedure, profile.procedures.size(), true);
  for (auto [name, value] : {std::pair{"invocations_on", x.invocations_on},
                             {"invocations_off", x.invocations_off},
                             {"invocations_sliced", x.invocations_sliced},
                             {"repeats", x.repeats},
                             {"primal_calls", x.primal_calls},
                             {"unreversed", x.unreversed},
                             {"kept_bits", x.kept_bits},
                             {"stack_peak_bits", x.stack_peak_bits},
                             {"resident_peak_bytes", x.resident_peak_bytes}})
    c.size(name, value);
  c.range("tape_bits", x.tape_bits);
  c.range("snapshot_bits", x.snapshot_bits);
  for (auto [name, value] : {std::pair{"primal_ns", x.primal_ns},
                             {"snapshot_write_ns", x.snapshot_write_ns},
                             {"snapshot_read_ns", x.snapshot_read_ns},
                             {"forward_ns", x.forward_ns},
                             {"backward_ns", x.backward_ns}})
    c.time(name, value);
}

/// `bounds[n]` becomes an upper bound of everything that can stand on the tape during node n, under any placement.
void check_node(Checker &c, const Profile &profile, size_t own, std::vector<std::int64_t> &bounds) {
  const Node &node = profile.nodes[own];
  c.index("procedure", node.procedure, profile.procedures.size(), true);
  c.size("own_after_bits", node.own_after_bits);
  std::int64_t bound = std::clamp<std::int64_t>(node.own_after_bits, 0, kTooLarge);
  for (const Edge &edge : node.edges) {
    if (edge.node >= own) {
      c.fail("edge leads to node " + std::to_string(edge.node) + ", which does not stand before it: a cycle");
      return;
    }
    c.size("own_before_bits", edge.own_before_bits);
    c.size("snapshot_bits", edge.snapshot_bits);
    c.size("kept_bits", edge.kept_bits);
    c.index("site", edge.site, profile.sites.size(), true);
    if (edge.count < 1 || edge.count > kLargestValue || (edge.kind != EdgeKind::kLoop && edge.count != 1))
      c.fail("count is " + std::to_string(edge.count) + ", accepted are 1 for a call or block, 1 to 2^60 for a loop");
    if (!c.good())
      return;
    std::int64_t child = saturating_multiply(std::max(bounds[edge.node], edge.snapshot_bits), edge.count);
    bound = saturating_add(bound, saturating_add(edge.own_before_bits, saturating_add(edge.kept_bits, child)));
  }
  if (bound > kLargestValue)
    c.fail("the sizes in it add up to more than 2^60 bits");
  bounds[own] = bound;
}

} // namespace

std::int64_t saturating_add(std::int64_t a, std::int64_t b) { return std::min(std::min(a, kTooLarge) + std::min(b, kTooLarge), kTooLarge); }

std::int64_t saturating_multiply(std::int64_t a, std::int64_t b) {
  std::int64_t product = 0;
  return __builtin_mul_overflow(a, b, &product) ? kTooLarge : std::min(product, kTooLarge);
}

Result<void> check(const Profile &profile, const std::string &where) {
  Checker c(where);
  auto each = [&c](const char *section, size_t count, auto &&body) {
    for (size_t i = 0; i < count && c.good(); ++i) {
      c.at(section, i);
      body(i);
    }
  };
  // Indices are 32 bits wide, and the largest means "none".
  for (auto [name, count] : {std::pair{"sites", profile.sites.size()}, {"nodes", profile.nodes.size()}, {"contexts", profile.contexts.size()},
                             {"procedures", profile.procedures.size()}})
    if (count >= kNoIndex) {
      c.at(name, count);
      c.fail("too many entries");
    }
  each("processes", profile.processes.size(), [&](size_t i) { check_process(c, profile.processes[i]); });
  each("threads", profile.threads.size(), [&](size_t i) {
    const Thread &thread = profile.threads[i];
    c.index("process", thread.process, profile.processes.size());
    c.index("root", thread.root, profile.nodes.size(), true);
    c.size("stack_peak_bits", thread.stack_peak_bits);
    c.size("traffic_bits", thread.traffic_bits);
  });
  std::set<std::tuple<std::string, std::string, std::uint32_t>> seen;
  each("sites", profile.sites.size(), [&](size_t i) {
    const Site &site = profile.sites[i];
    if (site.callee.empty())
      c.fail("callee is empty");
    if (!seen.emplace(site.caller, site.callee, site.ordinal).second)
      c.fail("site " + site.name() + " stands there twice");
  });
  each("contexts", profile.contexts.size(), [&](size_t i) { check_context(c, profile.contexts[i], i, profile); });
  std::vector<std::int64_t> bounds(profile.nodes.size());
  each("nodes", profile.nodes.size(), [&](size_t i) { check_node(c, profile, i, bounds); });
  return c.result();
}

} // namespace adprof::profile
