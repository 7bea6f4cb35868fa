/// Adjoints written as a list of hook calls, for shapes that random programs do not have. Procedures and sites by name.
#pragma once

#include "optimizer/profile/hash.h"
#include "runtime/abi/events.h"

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <vector>

namespace adprof::scripted {

/// One object file. Fill `procedure` and `call` first, then `start`.
class Object {
public:
  std::uint32_t procedure(const std::string &primal, adprof_procedure_role role, std::uint32_t flags = 0) {
    procedures_.push_back({hash(primal), std::uint32_t(role), flags});
    std::uint32_t index = std::uint32_t(procedures_.size() - 1);
    const char *const kRoles[] = {"", "joint", "forward", "backward", "region_forward", "region_backward"};
    text_ += "proc\t" + std::to_string(index) + "\t" + primal + "\t" + kRoles[role] + "\t" + primal + "_b\tf.c\t1\n";
    return index;
  }
  std::uint32_t call(adprof_call_kind kind, const std::string &caller, const std::string &callee, int ordinal = 0, std::uint32_t flags = 0) {
    std::uint64_t key = hash(caller + "/" + callee + "/" + std::to_string(ordinal));
    calls_.push_back({key, hash(callee), std::uint32_t(kind), flags});
    std::uint32_t index = std::uint32_t(calls_.size() - 1);
    const char *const kKinds[] = {"", "primal", "adjoint", "forward", "backward"};
    char hex[17];
    std::snprintf(hex, sizeof hex, "%016llx", static_cast<unsigned long long>(key));
    text_ += "call\t" + std::to_string(index) + "\t" + hex + "\t" + kKinds[kind] + "\t" + caller + "\t" + callee + "\t" +
             std::to_string(ordinal) + "\t" + std::to_string(flags) + "\tf.c\t1\t" + callee + "\t" + caller + "_b\t\n";
    return index;
  }
  void start() {
    text_ = "adprof\t1\tf.c\ttest\n" + text_;
    site_ids_.resize(2 * calls_.size());
    procedure_ids_.resize(procedures_.size());
    module = {ADPROF_ABI_VERSION, std::uint32_t(procedures_.size()), std::uint32_t(calls_.size()), 0, procedures_.data(), calls_.data(),
              site_ids_.data(), procedure_ids_.data(), text_.data(), text_.size(), nullptr};
    __adprof_register(&module);
  }
  adprof_module module{};

private:
  static std::uint64_t hash(const std::string &text) { return profile::fnv1a(text); }
  std::vector<adprof_procedure> procedures_;
  std::vector<adprof_call> calls_;
  std::vector<std::uint32_t> site_ids_, procedure_ids_;
  std::string text_;
};

/// The code of one function: what it pushes goes into the next hook it calls.
class Function {
public:
  Function(Object &object, std::uint32_t procedure) : object_(object), frame_(__adprof_enter(&object.module, procedure)) {}
  explicit Function(Object &object) : object_(object) {} ///< ordinary code
  void push(std::int64_t bits) {
    pushed_ += bits;
    if (pushed_ - popped_ > high_)
      high_ = pushed_ - popped_;
  }
  void pop(std::int64_t bits) {
    popped_ += bits;
    if (pushed_ - popped_ < low_)
      low_ = pushed_ - popped_;
  }
  void primal(std::uint32_t call, std::int64_t kept = 0) {
    take([&](auto... sums) { __adprof_primal_begin(&object_.module, call, frame_, sums..., kept); });
    __adprof_primal_end(&object_.module, call, frame_);
  }
  template <typename Body> void adjoint(std::uint32_t call, Body body) {
    take([&](auto... sums) { __adprof_adjoint_begin(&object_.module, call, frame_, sums...); });
    body();
    __adprof_adjoint_end(&object_.module, call, frame_);
  }
  template <typename Body> void forward(std::uint32_t call, Body body, std::int64_t kept = 0) {
    take([&](auto... sums) { __adprof_forward_begin(&object_.module, call, frame_, sums..., kept); });
    body();
    __adprof_forward_end(&object_.module, call, frame_);
  }
  template <typename Body> void backward(std::uint32_t call, Body body) {
    take([&](auto... sums) { __adprof_backward_begin(&object_.module, call, frame_, sums...); });
    body();
    __adprof_backward_end(&object_.module, call, frame_);
  }
  void repeat_start() {
    take([&](auto... sums) { __adprof_repeat_start(frame_, sums...); });
  }
  void repeat_reset() {
    take([&](auto... sums) { __adprof_repeat_reset(frame_, sums...); });
  }
  void repeat_end() {
    take([&](auto... sums) { __adprof_repeat_end(frame_, sums...); });
  }
  void binomial_init() {
    take([&](auto... sums) { __adprof_binomial_init(frame_, sums..., 0, 0); });
  }
  void binomial_next(int action) {
    take([&](auto... sums) { __adprof_binomial_next(frame_, sums..., action != 0, action); });
  }
  void turn() {
    take([&](auto... sums) { __adprof_turn(frame_, sums...); });
  }
  void leave() {
    take([&](auto... sums) { __adprof_leave(frame_, sums...); });
  }
  std::uint32_t frame() const { return frame_; }

private:
  template <typename Hook> void take(Hook hook) {
    hook(pushed_, popped_, high_, low_);
    pushed_ = popped_ = high_ = low_ = 0;
  }
  Object &object_;
  std::uint32_t frame_ = ADPROF_NO_FRAME;
  std::int64_t pushed_ = 0, popped_ = 0, high_ = 0, low_ = 0;
};

} // namespace adprof::scripted
