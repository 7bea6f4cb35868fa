#include "tests/runtime/simulated_adjoint.h"

#include "optimizer/profile/hash.h"

#include <algorithm>
#include <functional>
#include <iomanip>

namespace adprof::simulated {
namespace {

constexpr adprof_call_kind kKinds[] = {ADPROF_CALL_PRIMAL, ADPROF_CALL_ADJOINT, ADPROF_CALL_FORWARD, ADPROF_CALL_BACKWARD};

std::vector<Step> random_steps(std::mt19937 &random, Program &program, std::uint32_t procedure, std::uint32_t procedure_count,
                               std::uint32_t loop_count, int depth) {
  auto below = [&](std::uint32_t bound) { return std::uint32_t(random() % bound); };
  std::vector<Step> steps;
  std::uint32_t length = 1 + below(5);
  for (std::uint32_t i = 0; i < length; i++) {
    Step step;
    std::uint32_t choice = below(10);
    bool leaf = procedure + 1 >= procedure_count;
    if (choice < 4 || leaf) {
      step.kind = StepKind::kPush;
      step.bits = below(3) == 0 ? 1 + below(8) : 64 * (1 + below(20));
    } else if (choice == 9 && depth < 2 && loop_count > 1) {
      step.kind = StepKind::kLoop;
      step.count = loop_count;
      step.body = random_steps(random, program, procedure, procedure_count, loop_count, depth + 1);
    } else {
      step.kind = choice < 6 ? StepKind::kJoint : choice < 8 ? StepKind::kSplit : below(2) ? StepKind::kInactive : StepKind::kSliced;
      step.callee = procedure + 1 + below(procedure_count - procedure - 1);
      step.site = program.site_count++;
      if (step.kind == StepKind::kJoint)
        step.bits = below(4) == 0 ? 0 : 64 * (1 + below(30));
      if (step.kind == StepKind::kJoint || step.kind == StepKind::kSplit)
        step.kept = below(3) == 0 ? 64 : 0;
    }
    steps.push_back(std::move(step));
  }
  return steps;
}

std::uint64_t primal_hash(std::size_t procedure) { return profile::fnv1a(concat("p", procedure)); }

std::string key_text(std::uint64_t key) {
  std::ostringstream text;
  text << std::hex << std::setw(16) << std::setfill('0') << key;
  return text.str();
}

void for_each_call(const std::vector<Step> &steps, const std::function<void(const Step &)> &visit) {
  for (const Step &step : steps)
    if (step.kind == StepKind::kLoop)
      for_each_call(step.body, visit);
    else if (step.kind != StepKind::kPush)
      visit(step);
}

} // namespace

Program random_program(std::uint32_t seed, std::uint32_t procedure_count, std::uint32_t loop_count) {
  std::mt19937 random(seed);
  Program program;
  for (std::uint32_t i = 0; i < procedure_count; i++)
    program.procedures.push_back({random_steps(random, program, i, procedure_count, loop_count, 0)});
  return program;
}

Run::Run(const Program &program) : program_(program) {
  for (std::size_t i = 0; i < program.procedures.size(); i++)
    for (auto role : {ADPROF_ROLE_JOINT, ADPROF_ROLE_FORWARD, ADPROF_ROLE_BACKWARD})
      procedures_.push_back({primal_hash(i), std::uint32_t(role), 0});
  calls_.resize((program.site_count + 1) * std::size(kKinds));
  text_ = "adprof\t1\tsimulated.c\ttest\n";
  for (std::size_t i = 0; i < program.procedures.size(); i++) {
    auto add = [&](const Step &step) {
      for (auto kind : kKinds) {
        std::uint32_t flags = step.kind == StepKind::kSliced     ? std::uint32_t(ADPROF_CALL_SLICED)
                              : step.kind == StepKind::kInactive ? std::uint32_t(ADPROF_CALL_UNPAIRED)
                                                                 : 0;
        std::uint32_t index = call(kind, step);
        calls_[index] = {1 + step.site, primal_hash(step.callee), std::uint32_t(kind), flags};
        text_ += concat("call\t", index, "\t", key_text(1 + step.site), "\t",
                        kind == ADPROF_CALL_PRIMAL    ? "primal"
                        : kind == ADPROF_CALL_ADJOINT ? "adjoint"
                        : kind == ADPROF_CALL_FORWARD ? "forward"
                                                      : "backward",
                        "\tp", i, "\tp", step.callee, "\t", step.site, "\t", flags, "\tsimulated.c\t1\tf\tg\t\n");
      }
    };
    for_each_call(program.procedures[i].steps, add);
    for (int role = 0; role < 3; role++)
      text_ += concat("proc\t", 3 * i + std::size_t(role), "\tp", i, "\t", role == 0 ? "joint" : role == 1 ? "forward" : "backward",
                      "\tf\tsimulated.c\t1\n");
  }
  std::size_t root = std::size_t(program.site_count) * std::size(kKinds) + 1;
  calls_[root] = {999999, primal_hash(0), ADPROF_CALL_ADJOINT, ADPROF_CALL_ROOT};
  text_ += concat("call\t", root, "\t", key_text(999999), "\tadjoint\tmain\tp0\t0\t", int(ADPROF_CALL_ROOT), "\tmain.c\t1\tf\tmain\t\n");
  site_ids_.resize(2 * calls_.size());
  procedure_ids_.resize(procedures_.size());
  module_ = {.abi_version = ADPROF_ABI_VERSION,
             .procedure_count = std::uint32_t(procedures_.size()),
             .call_count = std::uint32_t(calls_.size()),
             .state = 0,
             .procedures = procedures_.data(),
             .calls = calls_.data(),
             .site_ids = site_ids_.data(),
             .procedure_ids = procedure_ids_.data(),
             .text = text_.data(),
             .text_bytes = text_.size(),
             .next = nullptr};
  __adprof_register(&module_);
}

std::uint32_t Run::call(enum adprof_call_kind kind, const Step &step) const {
  return std::uint32_t(step.site * std::size(kKinds) + std::size_t(kind) - 1);
}

void Run::push(Accumulators &sums, std::int64_t bits) {
  height_bits_ += bits;
  traffic_bits += bits;
  peak_bits = std::max(peak_bits, height_bits_);
  sums.pushed += bits;
  sums.high = std::max(sums.high, sums.pushed - sums.popped);
}

void Run::pop(Accumulators &sums, std::int64_t bits) {
  height_bits_ -= bits;
  sums.popped += bits;
  sums.low = std::min(sums.low, sums.pushed - sums.popped);
}

#define TAKE(sums) sums.pushed, sums.popped, sums.high, sums.low

void Run::forward_sweep(const std::vector<Step> &steps, std::uint32_t frame, Accumulators &sums) {
  for (const Step &step : steps) {
    switch (step.kind) {
    case StepKind::kPush:
      push(sums, step.bits);
      break;
    case StepKind::kLoop:
      for (std::uint32_t i = 0; i < step.count; i++)
        forward_sweep(step.body, frame, sums);
      break;
    case StepKind::kSliced:
      break;
    case StepKind::kJoint:
    case StepKind::kInactive:
      push(sums, step.kept);
      push(sums, step.bits);
      __adprof_primal_begin(&module_, call(ADPROF_CALL_PRIMAL, step), frame, TAKE(sums), step.kept);
      sums = {};
      __adprof_primal_end(&module_, call(ADPROF_CALL_PRIMAL, step), frame);
      break;
    case StepKind::kSplit: {
      push(sums, step.kept);
      __adprof_forward_begin(&module_, call(ADPROF_CALL_FORWARD, step), frame, TAKE(sums), step.kept);
      sums = {};
      std::uint32_t inner = __adprof_enter(&module_, 3 * step.callee + 1);
      Accumulators inner_sums;
      forward_sweep(program_.procedures[step.callee].steps, inner, inner_sums);
      __adprof_leave(inner, TAKE(inner_sums));
      __adprof_forward_end(&module_, call(ADPROF_CALL_FORWARD, step), frame);
      break;
    }
    }
  }
}

void Run::backward_sweep(const std::vector<Step> &steps, std::uint32_t frame, Accumulators &sums) {
  for (auto step = steps.rbegin(); step != steps.rend(); ++step) {
    switch (step->kind) {
    case StepKind::kPush:
      pop(sums, step->bits);
      break;
    case StepKind::kLoop:
      for (std::uint32_t i = 0; i < step->count; i++)
        backward_sweep(step->body, frame, sums);
      break;
    case StepKind::kInactive:
      pop(sums, step->bits);
      pop(sums, step->kept);
      break;
    case StepKind::kJoint:
    case StepKind::kSliced:
      pop(sums, step->bits);
      pop(sums, step->kept);
      __adprof_adjoint_begin(&module_, call(ADPROF_CALL_ADJOINT, *step), frame, TAKE(sums));
      sums = {};
      joint(step->callee);
      __adprof_adjoint_end(&module_, call(ADPROF_CALL_ADJOINT, *step), frame);
      break;
    case StepKind::kSplit: {
      __adprof_backward_begin(&module_, call(ADPROF_CALL_BACKWARD, *step), frame, TAKE(sums));
      sums = {};
      std::uint32_t inner = __adprof_enter(&module_, 3 * step->callee + 2);
      Accumulators inner_sums;
      backward_sweep(program_.procedures[step->callee].steps, inner, inner_sums);
      __adprof_leave(inner, TAKE(inner_sums));
      __adprof_backward_end(&module_, call(ADPROF_CALL_BACKWARD, *step), frame);
      pop(sums, step->kept);
      break;
    }
    }
  }
}

void Run::joint(std::uint32_t procedure) {
  std::uint32_t frame = __adprof_enter(&module_, 3 * procedure);
  Accumulators sums;
  forward_sweep(program_.procedures[procedure].steps, frame, sums);
  if (procedure % 2) { // the pass can't always place it
    __adprof_turn(frame, TAKE(sums));
    sums = {};
  }
  backward_sweep(program_.procedures[procedure].steps, frame, sums);
  __adprof_leave(frame, TAKE(sums));
}

void Run::operator()(int roots) {
  std::uint32_t root = std::uint32_t(std::size_t(program_.site_count) * std::size(kKinds) + 1);
  for (int i = 0; i < roots; i++) {
    __adprof_adjoint_begin(&module_, root, ADPROF_NO_FRAME, 0, 0, 0, 0);
    joint(0);
    __adprof_adjoint_end(&module_, root, ADPROF_NO_FRAME);
  }
}

namespace {

void describe(const Program &program, const std::vector<Step> &steps, std::int64_t &own, std::string &text) {
  for (const Step &step : steps) {
    switch (step.kind) {
    case StepKind::kPush:
      own += step.bits;
      break;
    case StepKind::kInactive:
      own += step.bits + step.kept;
      break;
    case StepKind::kLoop:
      for (std::uint32_t i = 0; i < step.count; i++)
        describe(program, step.body, own, text);
      break;
    default: {
      bool split = step.kind == StepKind::kSplit;
      text += concat(own, " ", step.site, ":", split ? "off" : step.kind == StepKind::kSliced ? "sliced" : "on", ":", split ? 0 : step.bits,
                     ":", step.kept);
      own = 0;
      std::string inner;
      std::int64_t inner_own = 0;
      describe(program, program.procedures[step.callee].steps, inner_own, inner);
      text += concat("{p", step.callee, " ", inner, inner_own, "} ");
    }
    }
  }
}

} // namespace

std::string expected_tree(const Program &program) {
  std::string text;
  std::int64_t own = 0;
  describe(program, program.procedures[0].steps, own, text);
  return concat("{p0 ", text, own, "}");
}

} // namespace adprof::simulated
