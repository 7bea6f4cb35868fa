// The AD stack beside a plain growing array, each figure of the two in one run: `warm` sweeps over memory that was
// touched before, as in the second and later adjoint time steps; `cold` starts from nothing, as the first sweep of a
// program does.
#include "runtime/adstack/adStack.h"
#include "tests/bench/growing_array.h"

#include <benchmark/benchmark.h>

#include <algorithm>
#include <cstdint>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace {

constexpr std::int64_t kSweepValues = 1 << 20;
constexpr std::int64_t kColdValues = 1 << 23; // less than 64 MiB stay warm in malloc
constexpr std::int64_t kSweepBytes = 64 << 20;

struct AdStack {
  static void push(double x) { pushReal8(x); }
  static void pop(double *x) { popReal8(x); }
  static void push_control(int c) { pushControl1b(c); }
  static void pop_control(int *c) { popControl1b(c); }
  static void push(const char *x, std::int64_t bytes) { pushNArray(x, bytes); }
  static void pop(char *x, std::int64_t bytes) { popNArray(x, bytes); }
  static void release() {}
};

struct GrowingArray {
  static void push(double x) { growing_array_push_real8(x); }
  static void pop(double *x) { growing_array_pop_real8(x); }
  static void push_control(int c) { growing_array_push_control(c); }
  static void pop_control(int *c) { growing_array_pop_control(c); }
  static void push(const char *x, std::int64_t bytes) { growing_array_push(x, std::size_t(bytes)); }
  static void pop(char *x, std::int64_t bytes) { growing_array_pop(x, std::size_t(bytes)); }
  static void release() { growing_array_release(); }
};

template <typename Stack, std::int64_t kValues = kSweepValues> void sweep_reals() {
  double x = 0;
  for (std::int64_t i = 0; i < kValues; i++)
    Stack::push(double(i));
  for (std::int64_t i = 0; i < kValues; i++)
    Stack::pop(&x);
  benchmark::DoNotOptimize(x);
}

template <typename Stack, std::int64_t kValues = kSweepValues> void sweep_controls() {
  int c = 0;
  for (std::int64_t i = 0; i < kValues; i++)
    Stack::push_control(int(i & 1));
  for (std::int64_t i = 0; i < kValues; i++)
    Stack::pop_control(&c);
  benchmark::DoNotOptimize(c);
}

template <typename Stack> void sweep_arrays(std::vector<char> &x) {
  const auto bytes = std::int64_t(x.size());
  const std::int64_t count = std::max<std::int64_t>(1, kSweepBytes / bytes);
  for (std::int64_t i = 0; i < count; i++)
    Stack::push(x.data(), bytes);
  for (std::int64_t i = 0; i < count; i++)
    Stack::pop(x.data(), bytes);
  benchmark::DoNotOptimize(x.data());
}

template <typename Stack, typename Sweep> void warm(benchmark::State &state, Sweep sweep) {
  sweep();
  for (auto _ : state)
    sweep();
  Stack::release();
}

/// A thread starts with no stack and frees it at its end; the array is freed by hand, at the same place.
/// `faults`, page faults a sweep, shows that both are.
template <typename Stack, typename Sweep> void cold(benchmark::State &state, Sweep sweep) {
  rusage before{}, after{};
  getrusage(RUSAGE_SELF, &before);
  for (auto _ : state)
    std::thread([&] {
      sweep();
      Stack::release();
    }).join();
  getrusage(RUSAGE_SELF, &after);
  state.counters["faults"] =
      benchmark::Counter(double(after.ru_minflt - before.ru_minflt), benchmark::Counter::kAvgIterations);
}

template <typename Stack> void reals(benchmark::State &state) {
  warm<Stack>(state, sweep_reals<Stack>);
}
template <typename Stack> void reals_cold(benchmark::State &state) {
  cold<Stack>(state, sweep_reals<Stack, kColdValues>);
}
template <typename Stack> void controls_cold(benchmark::State &state) {
  cold<Stack>(state, sweep_controls<Stack, 2 * kColdValues>);
}
template <typename Stack> void controls(benchmark::State &state) {
  warm<Stack>(state, sweep_controls<Stack>);
}
template <typename Stack> void arrays(benchmark::State &state) {
  std::vector<char> x(std::size_t(state.range(0)), 1);
  warm<Stack>(state, [&] { sweep_arrays<Stack>(x); });
}
template <typename Stack> void arrays_cold(benchmark::State &state) {
  std::vector<char> x(std::size_t(state.range(0)), 1);
  cold<Stack>(state, [&] { sweep_arrays<Stack>(x); });
}

BENCHMARK(reals<AdStack>);
BENCHMARK(reals<GrowingArray>);
BENCHMARK(reals_cold<AdStack>)->UseRealTime();
BENCHMARK(reals_cold<GrowingArray>)->UseRealTime();
BENCHMARK(controls<AdStack>);
BENCHMARK(controls<GrowingArray>);
BENCHMARK(controls_cold<AdStack>)->UseRealTime();
BENCHMARK(controls_cold<GrowingArray>)->UseRealTime();
BENCHMARK(arrays<AdStack>)->RangeMultiplier(16)->Range(64, 64 << 20)->Unit(benchmark::kMicrosecond);
BENCHMARK(arrays<GrowingArray>)->RangeMultiplier(16)->Range(64, 64 << 20)->Unit(benchmark::kMicrosecond);
BENCHMARK(arrays_cold<AdStack>)->Arg(64)->Arg(65536)->Arg(64 << 20)->UseRealTime()->Unit(benchmark::kMicrosecond);
BENCHMARK(arrays_cold<GrowingArray>)->Arg(64)->Arg(65536)->Arg(64 << 20)->UseRealTime()->Unit(benchmark::kMicrosecond);

} // namespace

BENCHMARK_MAIN();
