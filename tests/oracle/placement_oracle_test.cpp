#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstdio>

#include "optimizer/model/replay.h"
#include "optimizer/placement/solve.h"
#include "tests/oracle/call_trees.h"

namespace adprof::placement {
namespace {

using model::CallTree;
using model::Placement;

struct Point {
  std::int64_t load;
  double time;
  std::uint64_t mask;
};

/// Every placement of the sites that matter, by brute force. Smallest load first, only what is not dominated.
std::vector<Point> true_front(const CallTree &tree, bool by_callee) {
  Problem problem = make_problem(tree, {}, by_callee, true); // folds what is fixed; nothing is settled by argument
  model::PeakModel peak(problem.tree);
  Placement placement{std::vector<std::uint8_t>(problem.size(), 0)};
  model::IncrementalPeak state(peak, placement);
  std::vector<Point> points;
  double time = problem.tree.base_ns;
  std::uint64_t mask = 0;
  for (std::uint64_t i = 0;; ) {
    points.push_back({(problem.load(state.peaks()) + 7) / 8, time, mask});
    if (++i >> problem.size())
      break;
    auto d = static_cast<std::uint32_t>(std::countr_zero(i)); // Gray code: one flip between neighbours
    state.flip(d);
    state.commit();
    mask ^= std::uint64_t{1} << d;
    time += (mask >> d & 1 ? 1 : -1) * problem.gain_ns(d);
  }
  std::ranges::sort(points, [](const Point &a, const Point &b) { return a.load != b.load ? a.load < b.load : a.time < b.time; });
  std::vector<Point> front;
  for (const Point &point : points)
    if (front.empty() || point.time < front.back().time)
      front.push_back(point);
  return front;
}

struct Counts {
  int asked = 0, answered = 0, broken = 0, called_optimal = 0, wrong_optimal = 0, wrong_bound = 0, wrong_least = 0, slower_with_more = 0;
};

double best_time(const std::vector<Point> &front, std::int64_t budget) {
  double best = -1;
  for (const Point &point : front)
    if (point.load <= budget)
      best = point.time;
  return best;
}

void ask(const CallTree &tree, std::uint64_t seed, bool by_callee, const std::vector<double> &factors, Counts &counts) {
  std::vector<Point> front = true_front(tree, by_callee);
  SolveOptions options;
  options.by_callee = by_callee;
  Solver first(tree, options);
  const Answer all_on = first.evaluate(model::uniform_placement(tree, true));
  double previous = -1;
  for (double factor : factors) {
    const auto budget = static_cast<std::int64_t>(factor * static_cast<double>(all_on.load_bytes));
    Solver solver(tree, options);
    Result<Answer> answer = solver.fastest(budget);
    ++counts.asked;
    counts.answered += answer.has_value();
    const double truth = best_time(front, budget);
    const Answer &least = solver.least_memory();
    if (least.load_bytes < front[0].load || (least.certificate.optimal && least.load_bytes != front[0].load) ||
        least.certificate.lower_bound > static_cast<double>(front[0].load))
      ++counts.wrong_least;
    if (!answer) {
      EXPECT_EQ(answer.error().kind, ErrorKind::kInfeasible);
      if (least.certificate.optimal && truth >= 0)
        ++counts.broken;
      continue;
    }
    // The independent judge: what stands on a simulated stack.
    model::Replay walked = model::replay(tree, answer->placement, 200000);
    for (std::size_t p = 0; p < walked.peaks.size(); ++p)
      if ((walked.peaks[p] + 7) / 8 + tree.processes[p].other_bytes > budget || (walked.complete && walked.peaks[p] != answer->peaks[p]))
        ++counts.broken;
    for (std::size_t s = 0; s < tree.sites.size(); ++s)
      EXPECT_TRUE(tree.sites[s].switchable || answer->placement.on[s] == tree.sites[s].on_when_fixed) << seed;
    if (answer->load_bytes > budget)
      ++counts.broken;
    if (answer->certificate.optimal) {
      ++counts.called_optimal;
      if (std::abs(answer->time_ns - truth) > 1e-9 * truth) {
        ++counts.wrong_optimal;
        ADD_FAILURE() << "seed " << seed << " factor " << factor << ": " << answer->time_ns << " called optimal, optimum " << truth;
      }
    }
    if (answer->certificate.lower_bound > truth * (1 + 1e-9) || answer->time_ns < truth * (1 - 1e-9))
      ++counts.wrong_bound;
    if (previous >= 0 && answer->time_ns > previous * (1 + 1e-12))
      ++counts.slower_with_more;
    previous = answer->time_ns;
  }
}

void report(const Counts &counts) {
  std::printf("%d questions, %d of them possible: %d called optimal, %d budgets broken\n", counts.asked, counts.answered,
              counts.called_optimal, counts.broken);
  EXPECT_EQ(counts.broken, 0);
  EXPECT_EQ(counts.wrong_optimal, 0);
  EXPECT_EQ(counts.wrong_bound, 0);
  EXPECT_EQ(counts.wrong_least, 0);
  EXPECT_EQ(counts.slower_with_more, 0);
  EXPECT_GE(counts.called_optimal, counts.answered * 99 / 100);
}

TEST(PlacementOracle, ten_thousand_random_trees_against_brute_force) {
  Counts counts;
  for (std::uint64_t seed = 0; seed < 10000; ++seed) {
    // Few with all 16 sites, as brute force takes 65,536 placements for each.
    CallTree tree = oracle::random_tree(seed, seed % 16 == 0 ? 16 : 4 + seed % 8);
    const double low = 0.8 + 0.2 * static_cast<double>(seed % 3), high = 1.2 + 0.3 * static_cast<double>(seed % 7);
    ask(tree, seed, seed % 5 == 0, {low, high}, counts);
  }
  report(counts);
}

TEST(PlacementOracle, realistic_trees_of_sixteen_sites_against_brute_force) {
  Counts counts;
  for (auto shape : {oracle::Shape::kLayers, oracle::Shape::kLibrary, oracle::Shape::kDecades})
    for (std::uint64_t seed = 0; seed < 25; ++seed)
      ask(oracle::realistic_tree({shape, seed, 15, 0}), seed, false, {0.8, 1.0, 1.05, 1.5, 3}, counts);
  report(counts);
}

// CBC's preprocessing called worse values optimal on these.
TEST(PlacementOracle, the_solver_does_not_lose_the_placement_it_starts_from) {
  for (std::uint64_t seed : {1, 4, 8}) {
    CallTree tree = oracle::realistic_tree({oracle::Shape::kLayers, seed, 250, 0});
    SolveOptions options;
    options.whole_process = false;
    options.seconds = 120;
    Solver solver(tree, options);
    Result<Answer> answer = solver.fastest(solver.evaluate(model::uniform_placement(tree, true)).load_bytes * 3 / 2);
    ASSERT_TRUE(answer);
    EXPECT_TRUE(answer->certificate.optimal) << seed;
  }
}

TEST(PlacementOracle, the_same_question_has_the_same_answer) {
  CallTree tree = oracle::realistic_tree({oracle::Shape::kLayers, 2, 100, 0});
  SolveOptions options;
  options.seconds = 120;
  auto ask_again = [&] {
    Solver solver(tree, options);
    return solver.fastest(solver.evaluate(model::uniform_placement(tree, true)).load_bytes * 5 / 4);
  };
  Result<Answer> first = ask_again(), second = ask_again();
  ASSERT_TRUE(first && second);
  EXPECT_EQ(first->placement, second->placement);
  EXPECT_EQ(first->certificate.solver_nodes, second->certificate.solver_nodes);
  EXPECT_EQ(first->certificate.moves, second->certificate.moves);
}

TEST(PlacementOracle, a_million_sites_of_zero_gain_are_no_work) {
  CallTree tree;
  tree.nodes.push_back({0, 0, 64});
  for (std::uint32_t s = 0; s < 1000000; ++s) {
    model::SiteInfo site;
    site.name = std::to_string(s);
    tree.sites.push_back(site);
    model::Edge edge;
    edge.site = s;
    edge.snapshot = 8;
    tree.edges.push_back(edge);
  }
  tree.nodes.push_back({0, 1000000, 0});
  model::Process process;
  process.roots = {1};
  tree.processes.push_back(process);
  Solver solver(tree, {});
  Result<Answer> answer = solver.fastest(2000000);
  ASSERT_TRUE(answer);
  EXPECT_TRUE(answer->certificate.optimal);
  EXPECT_FALSE(solver.fastest(100));
}

TEST(PlacementOracle, least_memory_under_a_time_limit_is_the_true_one) {
  int proved = 0;
  for (std::uint64_t seed = 0; seed < 300; ++seed) {
    CallTree tree = oracle::random_tree(seed, 10);
    std::vector<Point> front = true_front(tree, false);
    Solver solver(tree, {});
    const double limit = solver.time_all_off() * (1 + 0.1 * static_cast<double>(seed % 10));
    Result<Answer> answer = solver.smallest(limit);
    ASSERT_TRUE(answer) << answer.error().what;
    std::int64_t truth = -1;
    for (const Point &point : front)
      if (truth < 0 && point.time <= limit * (1 + 1e-12))
        truth = point.load;
    ASSERT_LE(answer->time_ns, limit * (1 + 1e-9));
    ASSERT_GE(answer->load_bytes, truth) << seed;
    ASSERT_LE(answer->certificate.lower_bound, static_cast<double>(truth)) << seed;
    if (answer->certificate.optimal) {
      ++proved;
      ASSERT_EQ(answer->load_bytes, truth) << seed;
    }
  }
  EXPECT_GE(proved, 290);
}

TEST(PlacementOracle, the_front_is_made_of_optima_and_none_dominates_another) {
  for (std::uint64_t seed = 0; seed < 60; ++seed) {
    CallTree tree = oracle::realistic_tree({oracle::Shape::kLayers, seed, 12, 0});
    std::vector<Point> truth = true_front(tree, false);
    Solver solver(tree, {});
    std::vector<Answer> front = solver.front(8);
    ASSERT_FALSE(front.empty());
    EXPECT_EQ(front.front().load_bytes, truth.front().load);
    EXPECT_NEAR(front.back().time_ns, truth.back().time, 1e-9 * truth.back().time);
    for (std::size_t i = 0; i < front.size(); ++i) {
      EXPECT_NEAR(front[i].time_ns, best_time(truth, front[i].load_bytes), 1e-9 * front[i].time_ns) << seed;
      if (i > 0) {
        EXPECT_GT(front[i].load_bytes, front[i - 1].load_bytes);
        EXPECT_LT(front[i].time_ns, front[i - 1].time_ns);
      }
    }
  }
}

} // namespace
} // namespace adprof::placement
