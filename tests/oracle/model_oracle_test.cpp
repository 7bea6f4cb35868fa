#include <gtest/gtest.h>

#include "optimizer/model/peak.h"
#include "optimizer/model/replay.h"
#include "tests/oracle/call_trees.h"

namespace adprof::model {
namespace {

Placement placement_of_mask(const CallTree &tree, std::uint64_t mask) {
  Placement placement;
  for (std::size_t s = 0; s < tree.sites.size(); ++s)
    placement.on.push_back(mask >> s & 1);
  return placement;
}

TEST(ModelOracle, peak_equals_replay_on_random_trees) {
  int complete = 0;
  for (std::uint64_t seed = 0; seed < 5000; ++seed) {
    CallTree tree = oracle::random_tree(seed, 16);
    ASSERT_TRUE(check_tree(tree)) << seed;
    PeakModel model(tree);
    for (std::uint64_t mask : {0ull, ~0ull, 0x9e3779b97f4a7c15ull * (seed + 1), 0xbf58476d1ce4e5b9ull * (seed + 1)}) {
      Placement placement = placement_of_mask(tree, mask);
      Replay walked = replay(tree, placement, 20000);
      ASSERT_TRUE(walked.balanced) << seed;
      std::vector<Bits> peaks = model.peaks(placement);
      if (walked.complete) {
        ASSERT_EQ(peaks, walked.peaks) << seed;
        ++complete;
      } else {
        for (std::size_t p = 0; p < peaks.size(); ++p)
          ASSERT_LE(walked.peaks[p], peaks[p]) << seed;
      }
    }
  }
  EXPECT_GT(complete, 15000);
}

TEST(ModelOracle, flips_and_undo_agree_with_a_fresh_evaluation) {
  for (std::uint64_t seed = 0; seed < 2000; ++seed) {
    CallTree tree = oracle::random_tree(seed, 16);
    PeakModel model(tree);
    IncrementalPeak incremental(model, uniform_placement(tree, true));
    for (std::uint64_t i = 0; i < 30; ++i) {
      std::uint64_t draw = (seed * 31 + i + 1) * 0x9e3779b97f4a7c15u >> 33;
      if (draw % 4 == 0)
        incremental.undo_to(incremental.depth() / 2);
      else if (draw % 9 == 0)
        incremental.commit();
      else
        incremental.flip(static_cast<std::uint32_t>(draw % tree.sites.size()));
      ASSERT_EQ(incremental.peaks(), model.peaks(incremental.placement())) << seed << " step " << i;
    }
  }
}

TEST(ModelOracle, what_stands_at_the_binding_turn_adds_up_to_the_peak) {
  for (std::uint64_t seed = 0; seed < 3000; ++seed) {
    CallTree tree = oracle::random_tree(seed, 16);
    PeakModel model(tree);
    Placement placement = placement_of_mask(tree, 0x9e3779b97f4a7c15ull * (seed + 1));
    for (std::size_t p = 0; p < tree.processes.size(); ++p) {
      BindingTurn turn = binding_turn(tree, placement, p);
      Bits sum = 0;
      for (const StandingBits &standing : turn.standing)
        sum += standing.snapshots + standing.tape;
      ASSERT_EQ(sum, turn.peak) << seed;
      std::vector<NodeSize> sizes;
      model.evaluate(placement, sizes);
      ASSERT_EQ(turn.peak, sizes[tree.processes[p].roots[turn.thread]].peak) << seed;
    }
  }
}

TEST(ModelOracle, realistic_trees_are_valid_and_have_the_sites_asked_for) {
  for (auto shape : {oracle::Shape::kLayers, oracle::Shape::kLibrary, oracle::Shape::kDecades})
    for (std::uint64_t seed = 0; seed < 30; ++seed) {
      CallTree tree = oracle::realistic_tree({shape, seed, 100, 0});
      ASSERT_TRUE(check_tree(tree)) << seed << ": " << check_tree(tree).error().what;
      EXPECT_EQ(tree.sites.size(), 100u);
      EXPECT_GT(PeakModel(tree).peaks(uniform_placement(tree, false))[0], PeakModel(tree).peaks(uniform_placement(tree, true))[0]);
    }
}

} // namespace
} // namespace adprof::model
