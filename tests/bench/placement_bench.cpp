// The figures of docs/placement.md: placement_bench ways|proofs|large|evaluate. All ratios and times of one run.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <sys/resource.h>

#include "optimizer/placement/greedy.h"
#include "optimizer/placement/solve.h"
#include "tests/oracle/call_trees.h"

namespace {

using namespace adprof;
using model::Bits;
using model::CallTree;
using model::Placement;

constexpr const char *kShapeNames[] = {"layers", "library", "decades"};
constexpr oracle::Shape kShapes[] = {oracle::Shape::kLayers, oracle::Shape::kLibrary, oracle::Shape::kDecades};

double seconds_since(std::chrono::steady_clock::time_point start) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
}
std::chrono::steady_clock::time_point now() { return std::chrono::steady_clock::now(); }

/// Of this process: what a machine with other work does not change.
double cpu_seconds() { return static_cast<double>(std::clock()) / CLOCKS_PER_SEC; }

/// What existing profilers lead to: each site's effect alone, sorted by time per byte, added up until the sum is the budget.
Placement one_at_a_time(const CallTree &tree, Bits budget) {
  model::PeakModel peak(tree);
  const Placement all_on = model::uniform_placement(tree, true);
  model::IncrementalPeak state(peak, all_on);
  const Bits base = state.peaks()[0];
  struct Effect {
    std::uint32_t site;
    double gain;
    Bits bits;
  };
  std::vector<Effect> effects;
  for (std::uint32_t s = 0; s < tree.sites.size(); ++s)
    if (tree.sites[s].switchable) {
      state.flip(s);
      effects.push_back({s, tree.sites[s].recompute_ns, state.peaks()[0] - base});
      state.undo_to(0);
    }
  std::ranges::stable_sort(effects, std::greater{}, [](const Effect &e) { return e.gain / static_cast<double>(std::max<Bits>(e.bits, 1)); });
  Placement placement = all_on;
  Bits sum = base;
  for (const Effect &effect : effects)
    if (sum + effect.bits <= budget) {
      sum += effect.bits;
      placement.on[effect.site] = 0;
    }
  return placement;
}

/// The exact peak after every step, no proof and no second thoughts.
Placement greedy(const CallTree &tree, Bits budget) {
  placement::Problem problem = placement::make_problem(tree, {}, false, false);
  model::PeakModel peak(problem.tree);
  model::IncrementalPeak state(peak, {std::vector<std::uint8_t>(problem.size(), 1)});
  placement::Work work{std::int64_t{1} << 60};
  placement::greedy_off(problem, budget, state, work);
  return problem.expand(state.placement());
}

void ways() {
  std::printf("%-8s %-22s %14s %14s %10s\n", "shape", "way", "budget broken", "worst excess", "saving");
  for (std::size_t i = 0; i < 3; ++i) {
    struct Sum {
      int broken = 0;
      double worst = 1, share = 0;
      int fitting = 0;
    } sums[4];
    int instances = 0;
    for (std::uint64_t seed = 0; seed < 10; ++seed)
      for (double factor : {1.05, 1.5}) {
        CallTree tree = oracle::realistic_tree({kShapes[i], seed, 100, 0});
        placement::SolveOptions options;
        options.whole_process = false;
        placement::Solver solver(tree, options);
        const placement::Answer on = solver.evaluate(model::uniform_placement(tree, true));
        const auto budget = static_cast<std::int64_t>(factor * static_cast<double>(on.load_bytes));
        Result<placement::Answer> best = solver.fastest(budget);
        if (!best || best->time_ns >= on.time_ns)
          continue;
        ++instances;
        // Savings are shares of what the best known placement saves; only placements that fit save anything.
        const Placement found[] = {on.placement, one_at_a_time(tree, 8 * budget), greedy(tree, 8 * budget), best->placement};
        for (std::size_t w = 0; w < 4; ++w) {
          const placement::Answer answer = solver.evaluate(found[w]);
          if (answer.load_bytes > budget) {
            ++sums[w].broken;
            sums[w].worst = std::max(sums[w].worst, static_cast<double>(answer.load_bytes) / static_cast<double>(budget));
          } else {
            ++sums[w].fitting;
            sums[w].share += (on.time_ns - answer.time_ns) / (on.time_ns - best->time_ns);
          }
        }
      }
    const char *names[] = {"all on", "one at a time, added", "greedy, exact peak", "adprof suggest"};
    for (std::size_t w = 0; w < 4; ++w)
      std::printf("%-8s %-22s %12.0f %% %13.1fx %8.0f %%\n", kShapeNames[i], names[w], 100.0 * sums[w].broken / instances, sums[w].worst,
                  sums[w].fitting ? 100 * sums[w].share / sums[w].fitting : 0.0);
  }
}

void proofs() {
  std::printf("%-8s %6s %7s %10s %10s %10s %10s\n", "shape", "sites", "budget", "proved", "median CPU", "worst CPU", "worst gap");
  for (std::uint32_t sites : {100u, 250u})
    for (std::size_t i = 0; i < 3; ++i)
      for (double factor : {1.05, 1.5}) {
        std::vector<double> times;
        int proved = 0;
        double gap = 0;
        for (std::uint64_t seed = 0; seed < 10; ++seed) {
          CallTree tree = oracle::realistic_tree({kShapes[i], seed, sites, 0});
          placement::SolveOptions options;
          options.whole_process = false;
          const double start = cpu_seconds();
          placement::Solver solver(tree, options);
          const std::int64_t on = solver.evaluate(model::uniform_placement(tree, true)).load_bytes;
          Result<placement::Answer> best = solver.fastest(static_cast<std::int64_t>(factor * static_cast<double>(on)));
          times.push_back(cpu_seconds() - start);
          proved += best && best->certificate.optimal;
          gap = std::max(gap, best ? best->certificate.gap() : 1);
        }
        std::ranges::sort(times);
        std::printf("%-8s %6u %6.2fx %7d/10 %10.2f %10.2f %8.2f %%\n", kShapeNames[i], sites, factor, proved, times[times.size() / 2],
                    times.back(), 100 * gap);
        std::fflush(stdout);
      }
}

void large() {
  for (std::size_t i = 0; i < 3; ++i)
    for (double factor : {1.05, 1.5}) {
      CallTree tree = oracle::realistic_tree({kShapes[i], 1, 2000, 1000000});
      placement::SolveOptions options;
      options.whole_process = false;
      const auto start = now();
      double first = 0;
      options.progress = [&](const std::string &what) {
        if (first == 0 && what.starts_with("local search at"))
          first = seconds_since(start);
        if (std::getenv("VERBOSE"))
          std::printf("  %6.2f s %s\n", seconds_since(start), what.c_str());
      };
      placement::Solver solver(tree, options);
      const placement::Answer on = solver.evaluate(model::uniform_placement(tree, true));
      Result<placement::Answer> best = solver.fastest(static_cast<std::int64_t>(factor * static_cast<double>(on.load_bytes)));
      rusage usage{};
      getrusage(RUSAGE_SELF, &usage);
      if (!best) {
        std::printf("%s: %s\n", kShapeNames[i], best.error().what.c_str());
        continue;
      }
      std::printf("%-8s %zu sites %zu nodes %zu edges budget %.2fx: first answer %.2f s, ended %.2f s, gap %.2f %%, on %.4g best %.4g, "
                  "largest resident %.0f MiB, %s\n",
                  kShapeNames[i], tree.sites.size(), tree.nodes.size(), tree.edges.size(), factor, first, seconds_since(start),
                  100 * best->certificate.gap(), on.time_ns / 1e9, best->time_ns / 1e9, static_cast<double>(usage.ru_maxrss) / 1024,
                  best->certificate.method.c_str());
      std::fflush(stdout);
    }
}

void evaluate() {
  for (std::size_t i = 0; i < 3; ++i) {
    CallTree tree = oracle::realistic_tree({kShapes[i], 1, 2000, i == 1 ? 900000u : 720000u});
    model::PeakModel peak(tree);
    std::vector<model::NodeSize> sizes;
    Placement placement = model::uniform_placement(tree, false);
    std::vector<double> times;
    for (int round = 0; round < 30; ++round) {
      const auto start = now();
      peak.evaluate(placement, sizes);
      times.push_back(1e3 * seconds_since(start));
    }
    std::ranges::sort(times);
    std::printf("%-8s %zu nodes, %zu edges: %.2f ms least, %.2f ms median\n", kShapeNames[i], tree.nodes.size(), tree.edges.size(), times[0],
                times[times.size() / 2]);
  }
}

} // namespace

int main(int argc, char **argv) {
  const char *what = argc == 2 ? argv[1] : "";
  if (!std::strcmp(what, "ways"))
    ways();
  else if (!std::strcmp(what, "proofs"))
    proofs();
  else if (!std::strcmp(what, "large"))
    large();
  else if (!std::strcmp(what, "evaluate"))
    evaluate();
  else {
    std::fprintf(stderr, "usage: placement_bench ways|proofs|large|evaluate\n");
    return 2;
  }
  return 0;
}
