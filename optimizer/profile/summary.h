/// What a profile says at a glance, and per site: sums over contexts and processes. Read by the verbs that report and compare;
/// predicts nothing.
#pragma once

#include <string>
#include <vector>

#include "optimizer/profile/profile.h"

namespace adprof::profile {

/// One calling context, with times that add up: inclusive_ns of a context is its own_ns and its children's inclusive_ns.
struct ContextTimes {
  double inclusive_ns = 0; ///< sweeps, primal runs and snapshots of this context
  double own_ns = 0;
};
/// One per context.
std::vector<ContextTimes> context_times(const Profile &profile);

/// One site over all its contexts.
struct SiteTotals {
  std::int64_t invocations_on = 0, invocations_off = 0, invocations_sliced = 0, repeats = 0, unreversed = 0;
  Range tape_bits, snapshot_bits;
  double primal_ns = 0, snapshot_write_ns = 0, snapshot_read_ns = 0;
  bool snapshot_time_estimated = false;
  double inclusive_ns = 0; ///< a recursive call is not counted twice
  double own_ns = 0;
  std::int64_t stack_peak_bits = 0, resident_peak_bytes = 0;
  std::int64_t invocations() const { return invocations_on + invocations_off; }
  /// What switching the site off saves.
  double recompute_ns() const { return primal_ns + snapshot_write_ns + snapshot_read_ns; }
  /// "on", "off", "mixed", "never" (not reversed at all).
  const char *mode() const;
};
/// One per site.
std::vector<SiteTotals> site_totals(const Profile &profile);

struct Summary {
  double wall_ns = 0;      ///< of the longest process
  double adjoint_ns = 0;   ///< sum over processes
  double primal_ns = 0;    ///< of the roots, estimated: measured primal runs, and forward sweeps where there were none
  double recompute_ns = 0; ///< part of adjoint_ns: primal runs in joint mode, snapshots written and read
  double hook_ns = 0;
  std::int64_t stack_peak_bytes = 0;         ///< largest process; counted from pushes
  std::int64_t adstack_peak_bytes = -1;      ///< of the same process, by the AD stack's own count
  std::int64_t traffic_bytes = 0;            ///< sum over processes
  std::int64_t resident_peak_bytes = 0;      ///< largest process
  std::int64_t invocations = 0;
  std::int64_t sites = 0, sites_on = 0, sites_off = 0, sites_mixed = 0; ///< reversed at least once, roots left out
  std::int64_t opaque_sites = 0;
  std::int64_t roots = 0;                    ///< invocations of roots
  Losses losses;                             ///< sum over processes
  /// 0 where nothing was measured.
  double adjoint_per_primal() const { return primal_ns > 0 ? adjoint_ns / primal_ns : 0; }
  double recompute_share() const { return adjoint_ns > 0 ? recompute_ns / adjoint_ns : 0; }
};
Summary summarize(const Profile &profile);

/// Bytes that the stacks of a process held at most: each thread's peak, whole bytes, as AD stacks count them.
std::int64_t counted_peak_bytes(const Profile &profile, std::uint32_t process);
std::int64_t counted_traffic_bytes(const Profile &profile, std::uint32_t process);

/// One sentence for each process whose counted peak or traffic is not what its AD stack says.
std::vector<std::string> disagreements(const Profile &profile);

} // namespace adprof::profile
