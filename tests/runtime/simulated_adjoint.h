/// A made-up adjoint that calls the hooks by hand, with a call tree that is known: what the runtime writes can be compared with what must
/// come out. Knows nothing of the runtime's inside and nothing of raw profiles.
#pragma once

#include "runtime/abi/events.h"

#include <cstdint>
#include <deque>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace adprof::simulated {

/// All arguments, one after the other (g++ 12 has no std::format).
template <typename... Parts> std::string concat(const Parts &...parts) {
  std::ostringstream text;
  (text << ... << parts);
  return text.str();
}

enum class StepKind { kPush, kJoint, kSplit, kInactive, kSliced, kLoop };

/// One step of a procedure's forward sweep.
struct Step {
  StepKind kind = StepKind::kPush;
  std::int64_t bits = 0;     ///< pushed; snapshot of a joint call
  std::int64_t kept = 0;     ///< joint and split calls
  std::uint32_t site = 0;    ///< local to the program
  std::uint32_t callee = 0;  ///< index of the procedure
  std::uint32_t count = 1;   ///< loop
  std::vector<Step> body;    ///< loop
};

struct Procedure {
  std::vector<Step> steps;
};

/// Procedures call those of a larger index only; procedure 0 is the root.
struct Program {
  std::vector<Procedure> procedures;
  std::uint32_t site_count = 0;
};

/// `loops`: how often loops run. Sites are distinct calls.
Program random_program(std::uint32_t seed, std::uint32_t procedure_count, std::uint32_t loop_count);

/// Runs it under the hooks, as `main` calling the adjoint of procedure 0 `roots` times.
class Run {
public:
  explicit Run(const Program &program);
  void operator()(int roots);
  std::int64_t peak_bits = 0, traffic_bits = 0; ///< what an AD stack would have counted

private:
  struct Accumulators {
    std::int64_t pushed = 0, popped = 0, high = 0, low = 0;
  };
  void push(Accumulators &sums, std::int64_t bits);
  void pop(Accumulators &sums, std::int64_t bits);
  void forward_sweep(const std::vector<Step> &steps, std::uint32_t frame, Accumulators &sums);
  void backward_sweep(const std::vector<Step> &steps, std::uint32_t frame, Accumulators &sums);
  void joint(std::uint32_t procedure);
  std::uint32_t call(enum adprof_call_kind kind, const Step &step) const;

  const Program &program_;
  std::vector<adprof_procedure> procedures_;
  std::vector<adprof_call> calls_;
  std::vector<std::uint32_t> site_ids_, procedure_ids_;
  std::string text_;
  adprof_module module_{};
  std::int64_t height_bits_ = 0;
};

/// The call tree that must come out, as text: name[own site:mode:snapshot:kept{...} own ...].
std::string expected_tree(const Program &program);

} // namespace adprof::simulated
