#include "optimizer/model/peak.h"

#include <gtest/gtest.h>

#include "optimizer/model/replay.h"

namespace adprof::model {
namespace {

/// Root calls A (which calls B), then C. Sizes in halves, so that C's snapshot of 0.5 is whole.
CallTree issue_tree() {
  CallTree tree;
  tree.sites.resize(3); // A, B, C
  tree.nodes = {{0, 0, 20}, {0, 0, 20}, {0, 1, 2}, {1, 2, 0}}; // B, C, A, root
  tree.edges.resize(3);
  tree.edges[0] = {0, 2, 0, 1, 0, 1};
  tree.edges[1] = {0, 4, 0, 1, 2, 0};
  tree.edges[2] = {0, 1, 0, 1, 1, 2};
  Process process;
  process.roots = {3};
  tree.processes = {process};
  return tree;
}

Bits peak_of(const CallTree &tree, std::vector<std::uint8_t> on) {
  Placement placement{std::move(on)};
  Bits peak = PeakModel(tree).peaks(placement)[0];
  EXPECT_EQ(replay(tree, placement, 1000).peaks[0], peak);
  return peak;
}

TEST(Peak, effects_of_two_sites_do_not_add) {
  CallTree tree = issue_tree();
  EXPECT_EQ(peak_of(tree, {1, 1, 1}), 24); // 12
  EXPECT_EQ(peak_of(tree, {0, 1, 1}), 24); // 12, A off
  EXPECT_EQ(peak_of(tree, {1, 0, 1}), 24); // 12, B off
  EXPECT_EQ(peak_of(tree, {0, 0, 1}), 42); // 21, both off
}

TEST(Peak, binding_turn_names_the_path_and_what_stands) {
  BindingTurn turn = binding_turn(issue_tree(), {{0, 0, 1}}, 0);
  EXPECT_EQ(turn.peak, 42);
  ASSERT_EQ(turn.path.size(), 1u);
  EXPECT_EQ(turn.path[0].site, 2u);
  EXPECT_EQ(turn.turning_node, 1u);
  ASSERT_EQ(turn.standing.size(), 3u);
  EXPECT_EQ(turn.standing[0].tape + turn.standing[1].tape, 40); // B and C
  EXPECT_EQ(turn.standing[2].site, 0u);
  EXPECT_EQ(turn.standing[2].tape, 2); // A's own
}

TEST(Peak, sizes_beyond_32_bits_and_kept_values_count) {
  CallTree tree = issue_tree();
  tree.edges[1].kept = Bits{5} << 40;
  tree.edges[2].own_before = Bits{1} << 50;
  EXPECT_EQ(peak_of(tree, {1, 1, 1}), (Bits{5} << 40) + 4 + (Bits{1} << 50) + 20);
}

TEST(Peak, a_replay_that_meets_its_limit_says_so) {
  CallTree tree = issue_tree();
  Node outer;
  outer.first_edge = 3;
  outer.edge_count = 1;
  Edge loop;
  loop.kind = EdgeKind::kLoop;
  loop.node = 3;
  loop.count = 1000000;
  tree.edges.push_back(loop);
  tree.nodes.push_back(outer);
  tree.processes[0].roots = {4};
  Placement placement{{1, 1, 1}};
  Replay walked = replay(tree, placement, 5000);
  EXPECT_FALSE(walked.complete);
  EXPECT_LE(walked.peaks[0], PeakModel(tree).peaks(placement)[0]);
  EXPECT_LE(walked.events, 5010);
}

TEST(CheckTree, cycles_negative_and_overflowing_sizes_are_errors) {
  CallTree cycle = issue_tree();
  cycle.edges[0].node = 2;
  EXPECT_NE(check_tree(cycle).error().what.find("cycle"), std::string::npos);
  CallTree negative = issue_tree();
  negative.edges[1].snapshot = -1;
  EXPECT_NE(check_tree(negative).error().what.find("a size is -1"), std::string::npos);
  CallTree large = issue_tree();
  large.edges[0].kind = EdgeKind::kLoop;
  large.edges[0].count = Bits{1} << 59;
  EXPECT_NE(check_tree(large).error().what.find("more than 2^60 bits"), std::string::npos);
  EXPECT_TRUE(check_tree(issue_tree()));
}

} // namespace
} // namespace adprof::model
