#include "optimizer/profile/summary.h"

#include <algorithm>

#include "optimizer/profile/check.h"

namespace adprof::profile {

namespace {

double recompute_ns(const Context &c) { return c.primal_ns + c.snapshot_write_ns + c.snapshot_read_ns; }

std::int64_t invocations(const Context &c) { return c.invocations_on + c.invocations_off; }

/// Time of one primal run of everything below each context, all invocations together. Where a primal run was measured,
/// that; else the forward sweep itself, with the primal runs of the calls in it put in the place of what they did there.
std::vector<double> primal_estimates(const Profile &profile) {
  size_t count = profile.contexts.size();
  std::vector<double> estimate(count), in_forward(count), below(count);
  for (size_t i = count; i-- > 0;) {
    const Context &c = profile.contexts[i];
    double runs = static_cast<double>(invocations(c));
    double off_share = runs > 0 ? static_cast<double>(c.invocations_off) / runs : 0;
    if (c.primal_calls > 0)
      estimate[i] = c.primal_ns * (runs / static_cast<double>(c.primal_calls));
    else
      estimate[i] = std::max(c.forward_ns - in_forward[i], 0.0) + below[i];
    if (c.parent != kNoIndex) {
      below[c.parent] += estimate[i];
      in_forward[c.parent] += c.primal_ns + c.snapshot_write_ns + c.forward_ns * off_share;
    }
  }
  return estimate;
}

void add(Range &sum, const Range &range, bool first) {
  sum.total = saturating_add(sum.total, range.total);
  sum.least = first ? range.least : std::min(sum.least, range.least);
  sum.largest = std::max(sum.largest, range.largest);
}

template <std::int64_t Thread::*bits> std::int64_t bytes_of_threads(const Profile &profile, std::uint32_t process) {
  std::int64_t bytes = 0;
  for (const Thread &thread : profile.threads)
    if (thread.process == process)
      bytes += (thread.*bits + 7) / 8;
  return bytes;
}

} // namespace

std::vector<ContextTimes> context_times(const Profile &profile) {
  std::vector<ContextTimes> times(profile.contexts.size());
  for (size_t i = profile.contexts.size(); i-- > 0;) {
    const Context &c = profile.contexts[i];
    double sweeps = c.forward_ns + c.backward_ns;
    times[i].inclusive_ns = std::max(sweeps, times[i].inclusive_ns) + recompute_ns(c);
    // Until here own_ns holds what the children took: clocks are read at different moments, so it may exceed the sweeps.
    times[i].own_ns = std::max(sweeps - times[i].own_ns, 0.0) + recompute_ns(c);
    if (c.parent != kNoIndex) {
      times[c.parent].own_ns += times[i].inclusive_ns;
      times[c.parent].inclusive_ns += times[i].inclusive_ns;
    }
  }
  return times;
}

const char *SiteTotals::mode() const {
  if (invocations_on > 0)
    return invocations_off > 0 ? "mixed" : "on";
  return invocations_off > 0 ? "off" : "never";
}

std::vector<SiteTotals> site_totals(const Profile &profile) {
  std::vector<SiteTotals> totals(profile.sites.size());
  std::vector<ContextTimes> times = context_times(profile);
  for (size_t i = 0; i < profile.contexts.size(); ++i) {
    const Context &c = profile.contexts[i];
    if (c.site == kNoIndex)
      continue;
    SiteTotals &t = totals[c.site];
    if (invocations(c) > 0)
      add(t.tape_bits, c.tape_bits, t.invocations() == 0);
    if (c.invocations_on > 0)
      add(t.snapshot_bits, c.snapshot_bits, t.invocations_on == 0);
    t.invocations_on += c.invocations_on;
    t.invocations_off += c.invocations_off;
    t.invocations_sliced += c.invocations_sliced;
    t.repeats += c.repeats;
    t.unreversed += c.unreversed;
    t.primal_ns += c.primal_ns;
    t.snapshot_write_ns += c.snapshot_write_ns;
    t.snapshot_read_ns += c.snapshot_read_ns;
    t.snapshot_time_estimated |= c.snapshot_time_estimated;
    t.own_ns += times[i].own_ns;
    bool inside_itself = false;
    for (std::uint32_t outer = c.parent; outer != kNoIndex && !inside_itself; outer = profile.contexts[outer].parent)
      inside_itself = profile.contexts[outer].site == c.site;
    if (!inside_itself)
      t.inclusive_ns += times[i].inclusive_ns;
    t.stack_peak_bits = std::max(t.stack_peak_bits, c.stack_peak_bits);
    t.resident_peak_bytes = std::max(t.resident_peak_bytes, c.resident_peak_bytes);
  }
  return totals;
}

Summary summarize(const Profile &profile) {
  Summary s;
  for (std::uint32_t i = 0; i < profile.processes.size(); ++i) {
    const Process &p = profile.processes[i];
    s.wall_ns = std::max(s.wall_ns, p.wall_ns);
    s.adjoint_ns += p.adjoint_ns;
    s.hook_ns += p.hook_ns;
    s.traffic_bytes += counted_traffic_bytes(profile, i);
    s.resident_peak_bytes = std::max(s.resident_peak_bytes, p.resident_peak_bytes);
    if (std::int64_t peak = counted_peak_bytes(profile, i); i == 0 || peak > s.stack_peak_bytes) {
      s.stack_peak_bytes = peak;
      s.adstack_peak_bytes = p.adstack_peak_bytes;
    }
    for (auto member : {&Losses::reverse_calls, &Losses::matched_unique, &Losses::matched_static, &Losses::matched_latest,
                        &Losses::unmatched_sliced, &Losses::unmatched_unexplained, &Losses::unreversed_primal, &Losses::advance_calls,
                        &Losses::anomalies, &Losses::envelope_nodes})
      s.losses.*member = saturating_add(s.losses.*member, p.losses.*member);
  }
  std::vector<double> primal = primal_estimates(profile);
  // The time of the adjoint is that of the threads that call roots; the regions of their helpers run beside it.
  std::vector<bool> below_root(profile.contexts.size());
  for (size_t i = 0; i < profile.contexts.size(); ++i) {
    const Context &c = profile.contexts[i];
    bool root = c.parent == kNoIndex && c.site != kNoIndex && profile.sites[c.site].root;
    below_root[i] = root || (c.parent != kNoIndex && below_root[c.parent]);
    if (root) {
      s.primal_ns += primal[i];
      s.roots = saturating_add(s.roots, invocations(c));
      continue;
    }
    s.invocations = saturating_add(s.invocations, invocations(c));
    if (below_root[i])
      s.recompute_ns += recompute_ns(c);
  }
  std::vector<SiteTotals> totals = site_totals(profile);
  for (size_t i = 0; i < totals.size(); ++i) {
    if (profile.sites[i].root || totals[i].invocations() == 0)
      continue;
    ++s.sites;
    ++(totals[i].invocations_off == 0 ? s.sites_on : totals[i].invocations_on == 0 ? s.sites_off : s.sites_mixed);
    s.opaque_sites += !profile.sites[i].fixed_reason.empty();
  }
  return s;
}

std::int64_t counted_peak_bytes(const Profile &profile, std::uint32_t process) {
  return bytes_of_threads<&Thread::stack_peak_bits>(profile, process);
}

std::int64_t counted_traffic_bytes(const Profile &profile, std::uint32_t process) {
  return bytes_of_threads<&Thread::traffic_bits>(profile, process);
}

std::vector<std::string> disagreements(const Profile &profile) {
  std::vector<std::string> sentences;
  for (std::uint32_t i = 0; i < profile.processes.size(); ++i) {
    const Process &p = profile.processes[i];
    auto compare = [&](const char *what, std::int64_t counted, std::int64_t own) {
      if (own >= 0 && own != counted)
        sentences.push_back((profile.processes.size() > 1 ? "process " + std::to_string(i) + ": " : "") + std::string(what) + " counted from pushes is " +
                            std::to_string(counted) + " bytes, the AD stack's own count is " + std::to_string(own));
    };
    compare("AD stack peak", counted_peak_bytes(profile, i), p.adstack_peak_bytes);
    compare("AD stack traffic", counted_traffic_bytes(profile, i), p.adstack_traffic_bytes);
  }
  return sentences;
}

} // namespace adprof::profile
