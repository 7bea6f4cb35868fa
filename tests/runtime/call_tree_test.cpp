// Does the runtime rebuild a call tree that is known, whatever its shape, and count what an AD stack would count?
#include "tests/runtime/measure.h"
#include "tests/runtime/simulated_adjoint.h"

#include <barrier>
#include <signal.h>
#include <sys/mman.h>
#include <thread>

namespace adprof {
namespace {

using simulated::Program;

/// What an AD stack would have counted in the latest run; shared with the child.
struct Counted {
  std::int64_t peak_bits, traffic_bits;
};
Counted &counted() {
  static void *shared = mmap(nullptr, sizeof(Counted), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  return *static_cast<Counted *>(shared);
}

profile::Profile run(const Program &program, int roots, bool kill_at_the_end = false) {
  int status = 0;
  Counted &count = counted();
  auto profile = measure(
      [&] {
        simulated::Run simulate(program);
        simulate(roots);
        count = {simulate.peak_bits, simulate.traffic_bits};
        if (kill_at_the_end)
          kill(getpid(), SIGKILL);
      },
      &status);
  EXPECT_EQ(kill_at_the_end, !WIFEXITED(status));
  return profile;
}

void describe(const profile::Profile &profile, std::uint32_t node, std::int64_t &own, std::string &text) {
  for (const profile::Edge &edge : profile.nodes[node].edges) {
    own += edge.own_before_bits;
    if (edge.kind == profile::EdgeKind::kLoop) {
      for (std::int64_t i = 0; i < edge.count; i++)
        describe(profile, edge.node, own, text);
      continue;
    }
    ASSERT_EQ(edge.kind, profile::EdgeKind::kCall);
    std::string inner;
    std::int64_t inner_own = 0;
    describe(profile, edge.node, inner_own, inner);
    text += simulated::concat(own, " ", profile.sites[edge.site].ordinal, ":", !edge.measured_on ? "off" : edge.has_primal ? "on" : "sliced",
                              ":", edge.snapshot_bits, ":", edge.kept_bits, "{", profile.procedures[profile.nodes[edge.node].procedure], " ",
                              inner, inner_own, "} ");
    own = 0;
  }
  own += profile.nodes[node].own_after_bits;
}

/// Of the first root of a thread.
std::string actual_tree(const profile::Profile &profile, std::size_t thread = 0) {
  if (profile.threads.size() <= thread)
    return "no such thread";
  const profile::Node &ordinary = profile.nodes[profile.threads[thread].root];
  const profile::Edge *edge = &ordinary.edges.at(0);
  while (edge->kind == profile::EdgeKind::kLoop)
    edge = &profile.nodes[edge->node].edges.at(0);
  std::string text;
  std::int64_t own = 0;
  describe(profile, edge->node, own, text);
  return simulated::concat("{", profile.procedures[profile.nodes[edge->node].procedure], " ", text, own, "}");
}

TEST(CallTree, is_the_one_that_ran) {
  for (std::uint32_t seed = 0; seed < 200; seed++) {
    Program program = simulated::random_program(seed, 2 + seed % 5, 1 + seed % 4);
    profile::Profile profile = run(program, 1);
    ASSERT_EQ(actual_tree(profile), simulated::expected_tree(program)) << "seed " << seed;
    EXPECT_EQ(profile.processes.at(0).losses.unmatched_unexplained, 0) << "seed " << seed;
    EXPECT_EQ(profile.processes.at(0).losses.anomalies, 0) << "seed " << seed;
  }
}

TEST(CallTree, peak_and_traffic_are_those_of_the_stack) {
  for (std::uint32_t seed = 0; seed < 50; seed++) {
    Program program = simulated::random_program(1000 + seed, 2 + seed % 5, 1 + seed % 4);
    profile::Profile profile = run(program, 3);
    EXPECT_EQ(profile.threads.at(0).stack_peak_bits, counted().peak_bits) << "seed " << seed;
    EXPECT_EQ(profile.threads.at(0).traffic_bits, counted().traffic_bits) << "seed " << seed;
  }
}

TEST(CallTree, ten_times_as_many_steps_are_as_many_nodes) {
  for (std::uint32_t seed : {3u, 7u, 11u, 12u}) {
    Program few = simulated::random_program(seed, 5, 4), many = simulated::random_program(seed, 5, 40);
    EXPECT_EQ(run(few, 1).nodes.size(), run(many, 1).nodes.size()) << "seed " << seed;
  }
}

TEST(CallTree, equal_roots_are_stored_once) {
  Program program = simulated::random_program(5, 4, 3);
  EXPECT_EQ(run(program, 1).nodes.size() + 1, run(program, 50).nodes.size()); // one node for the loop over them
}

TEST(CallTree, every_thread_has_its_own) {
  Program program = simulated::random_program(21, 5, 3);
  profile::Profile profile = measure([&] {
    std::vector<std::thread> threads;
    std::barrier together(4);
    for (int i = 0; i < 4; i++)
      threads.emplace_back([&] {
        simulated::Run simulate(program);
        simulate(200);
        together.arrive_and_wait(); // a thread that has ended leaves its state to the next
      });
    for (auto &thread : threads)
      thread.join();
  });
  ASSERT_EQ(profile.threads.size(), 4u);
  for (std::size_t i = 0; i < 4; i++)
    EXPECT_EQ(actual_tree(profile, i), simulated::expected_tree(program));
}

TEST(CallTree, killed_program_leaves_all_that_was_finished) {
  Program program = simulated::random_program(8, 5, 3);
  profile::Profile profile = run(program, 1, true);
  EXPECT_FALSE(profile.processes.at(0).finished);
  EXPECT_EQ(actual_tree(profile), simulated::expected_tree(program));
}

} // namespace
} // namespace adprof
