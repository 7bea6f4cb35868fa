/// The profile: what one run of an instrumented adjoint showed. Read from a raw profile (read_raw.h) or from the documented JSON
/// (json.h); everything downstream, and other people's scripts, see only this. Must not know of models or placements.
///
/// Sizes of tape are in bits, because the AD stack stores controls and booleans as bits: `bytes = ceil(bits / 8)` only
/// where a number is shown. Times are in nanoseconds. All indices are positions in the vectors of the same Profile.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace adprof::profile {

inline constexpr std::uint32_t kNoIndex = 0xffffffffu;

/// A place in a source file; line 0 where unknown.
struct SourceLine {
  std::string file;
  std::uint32_t line = 0;
  bool operator==(const SourceLine &) const = default;
};

/// One call of one procedure in the primal source. Identity is (caller, callee, ordinal).
struct Site {
  std::string caller;
  std::string callee;
  std::uint32_t ordinal = 0;     ///< of this call among the caller's calls of the callee, from 0
  SourceLine primal;             ///< in the user's source, where the primal was compiled in the same build
  SourceLine adjoint;            ///< in the generated code
  bool root = false;             ///< called from ordinary code: always runs, is no decision
  std::string fixed_reason;      ///< empty: can be switched; else why not, e.g. "no split version: sw_solve_b is not instrumented"
  std::string signature;         ///< argument signature recorded by the pass; may be empty
  /// "caller:callee:ordinal", how a site is named in text and in placements.
  std::string name() const { return caller + ":" + callee + ":" + std::to_string(ordinal); }
};

struct Range {
  std::int64_t total = 0, least = 0, largest = 0;
};

/// What was measured in one calling context (a path of sites from a root).
struct Context {
  std::uint32_t parent = kNoIndex; ///< index into Profile::contexts, less than its own; kNoIndex at a root
  std::uint32_t site = kNoIndex;   ///< kNoIndex: entered by a call the pass did not see, or a parallel region
  std::uint32_t procedure = kNoIndex; ///< the callee, index into Profile::procedures
  std::int64_t invocations_on = 0;     ///< reversed in joint mode
  std::int64_t invocations_off = 0;    ///< reversed in split mode
  std::int64_t invocations_sliced = 0; ///< of invocations_on: no primal call, hence no recomputation
  std::int64_t repeats = 0;            ///< further reversals of the same invocation (repeated reading of the tape)
  std::int64_t primal_calls = 0;       ///< that primal_ns covers
  std::int64_t unreversed = 0;         ///< primal or forward calls that were never reversed
  Range tape_bits;                     ///< per invocation, of the whole forward sweep
  Range snapshot_bits;                 ///< per invocation in joint mode
  std::int64_t kept_bits = 0;          ///< total; pushed before the call, stays in split mode
  double primal_ns = 0;                ///< of primal calls reversed in joint mode, each once, callees included
  double snapshot_write_ns = 0;
  double snapshot_read_ns = 0;
  bool snapshot_time_estimated = false;
  double forward_ns = 0;               ///< forward sweeps, nested calls included, hook time taken off
  double backward_ns = 0;              ///< backward sweeps, nested calls included
  std::int64_t stack_peak_bits = 0;    ///< highest AD stack seen in it, absolute
  std::int64_t resident_peak_bytes = 0;
};

enum class EdgeKind : std::uint8_t {
  kCall,  ///< invocation of a site
  kLoop,  ///< `count` runs of a sequence node, one after the other
  kBlock, ///< pushed and popped within the backward sweep: adds to the peak while it lasts, keeps nothing
};

/// A call within the forward sweep of a node, in forward order.
struct Edge {
  std::int64_t own_before_bits = 0; ///< pushed by the caller itself between the previous edge (or its start) and this one
  EdgeKind kind = EdgeKind::kCall;
  std::uint32_t site = kNoIndex;    ///< kCall: which site; kNoIndex if the pass did not see the call
  std::uint32_t node = 0;           ///< callee's behaviour, index into Profile::nodes, less than the node's own
  std::int64_t count = 1;           ///< kLoop: iterations, at least 1
  std::int64_t snapshot_bits = 0;   ///< kCall, measured on: bits popped before callee_b that split mode would not push
  std::int64_t kept_bits = 0;       ///< kCall: pushed before the call and popped before callee_b, in either mode
  bool measured_on = true;          ///< false: measured in split mode, snapshot_bits is unknown (0)
  bool has_primal = true;           ///< false: sliced away, the site recomputes nothing
  bool opaque = false;              ///< the adjoint was not instrumented
  bool estimate = false;            ///< snapshot and own bits could not be told apart exactly
  bool operator==(const Edge &) const = default;
};

/// One distinct behaviour of a procedure's forward sweep, folded: equal behaviours are one node.
struct Node {
  std::uint32_t procedure = kNoIndex; ///< index into Profile::procedures; kNoIndex for loop bodies, blocks and ordinary code
  std::vector<Edge> edges;
  std::int64_t own_after_bits = 0;    ///< pushed by the caller itself behind the last edge, up to the turn
  bool envelope = false;              ///< sizes are upper bounds of several behaviours
  bool abandoned = false;             ///< left before its end
  bool operator==(const Node &) const = default;
};

struct Thread {
  std::uint32_t process = 0; ///< index into Profile::processes
  std::uint32_t root = kNoIndex; ///< node of the thread's ordinary code: its edges are the roots
  std::int64_t stack_peak_bits = 0;
  std::int64_t traffic_bits = 0;
};

/// Counted, never hidden.
struct Losses {
  std::int64_t reverse_calls = 0, matched_unique = 0, matched_static = 0, matched_latest = 0;
  std::int64_t unmatched_sliced = 0, unmatched_unexplained = 0, unreversed_primal = 0, advance_calls = 0;
  std::int64_t anomalies = 0, envelope_nodes = 0;
};

/// One process (one rank).
struct Process {
  std::string command, executable, build_id, host, rank;
  bool finished = false;         ///< ended by exit; false after a signal or kill
  std::string stop_reason;       ///< empty where collection went on to the end
  std::int64_t exit_status = 0;
  double wall_ns = 0, cpu_ns = 0;
  double adjoint_ns = 0;         ///< time inside roots, hook time taken off
  double hook_ns = 0;            ///< estimated cost of measuring
  double processor_wait_ns = 0;  ///< of the main thread: ready, but without a processor; its share is taken off all times but wall_ns
  std::int64_t resident_peak_bytes = 0;
  std::int64_t resident_other_bytes = 0; ///< largest resident memory that was not AD stack
  std::int64_t stack_peak_bits = 0;      ///< sum over threads of their peaks
  std::int64_t traffic_bits = 0;
  std::int64_t adstack_peak_bytes = -1;  ///< the AD stack's own count; -1 where it has none
  std::int64_t adstack_traffic_bytes = -1;
  Losses losses;
};

struct Doubt {
  std::string kind, function, text;
  SourceLine at;
};

/// Value type; no invariants beyond the index rules above, which `check` (check.h) tests for any profile that comes from a file.
struct Profile {
  std::string adprof_version, dialect;
  std::vector<Process> processes;
  std::vector<Thread> threads;
  std::vector<std::string> procedures; ///< names of primals
  std::vector<Site> sites;
  std::vector<Context> contexts;
  std::vector<Node> nodes;             ///< children before parents
  std::vector<Doubt> doubts;
};

} // namespace adprof::profile
