#include "optimizer/model/from_profile.h"

#include <gtest/gtest.h>

#include "optimizer/model/peak.h"
#include "tests/optimizer/sample_profile.h"

namespace adprof::model {
namespace {

Bits peak_of(const CallTree &tree, const Placement &placement) { return PeakModel(tree).peaks(placement)[0]; }

/// The sample with `step` in split mode: other own bits in the callee, and 24 bits of what looked like its snapshot stay.
profile::Profile sample_with_step_off() {
  profile::Profile p = profile::sample_profile();
  p.nodes[2].own_after_bits = 48;
  profile::Edge &step = p.nodes[3].edges[0];
  step.measured_on = false;
  step.snapshot_bits = 0;
  step.kept_bits = 64;
  step.own_before_bits = 24;
  p.contexts[1].invocations_on = 0;
  p.contexts[1].invocations_off = 10;
  p.contexts[1].primal_ns = p.contexts[1].snapshot_write_ns = p.contexts[1].snapshot_read_ns = 0;
  p.processes[0].adjoint_ns = 1.1e9;
  return p;
}

TEST(FromProfile, the_measured_placement_has_the_measured_peak) {
  profile::Profile p = profile::sample_profile();
  auto tree = from_profiles({{&p, "a.json"}});
  ASSERT_TRUE(tree) << tree.error().what;
  Placement placement = measured_placement(*tree, p);
  EXPECT_EQ(placement.on, (std::vector<std::uint8_t>{1, 1, 0, 1}));
  // tau: 1 before the loop; ten snapshots of 640 with 64 kept; 7 behind. The turn of the model stands highest.
  EXPECT_EQ(peak_of(*tree, placement), 1 + 10 * (640 + 64) + 7);
}

TEST(FromProfile, roots_opaque_callees_and_fixed_sites_are_not_switchable) {
  profile::Profile p = profile::sample_profile();
  p.sites[3].fixed_reason.clear();
  auto tree = from_profiles({{&p, "a.json"}});
  ASSERT_TRUE(tree);
  EXPECT_FALSE(tree->sites[0].switchable);
  EXPECT_TRUE(tree->sites[1].switchable);
  EXPECT_FALSE(tree->sites[3].switchable);
  EXPECT_EQ(tree->sites[3].fixed_reason, "its adjoint was not compiled with adprof");
}

TEST(FromProfile, recomputation_is_measured_where_on_and_estimated_where_off) {
  profile::Profile p = profile::sample_profile();
  auto tree = from_profiles({{&p, "a.json"}});
  ASSERT_TRUE(tree);
  EXPECT_DOUBLE_EQ(tree->sites[1].recompute_ns, 0.503e9);
  EXPECT_FALSE(tree->sites[1].estimated);
  EXPECT_DOUBLE_EQ(tree->sites[2].recompute_ns, 0.1e9);
  EXPECT_TRUE(tree->sites[2].estimated);
  EXPECT_NEAR(time_ns(*tree, measured_placement(*tree, p)), 1.5e9, 1);
}

TEST(FromProfile, runs_of_one_shape_give_each_mode_what_was_measured_in_it) {
  profile::Profile joint = profile::sample_profile(), split = sample_with_step_off();
  auto alone = from_profiles({{&split, "b.json"}});
  ASSERT_TRUE(alone);
  for (bool swapped : {false, true}) {
    auto both = swapped ? from_profiles({{&split, "b.json"}, {&joint, "a.json"}}) : from_profiles({{&joint, "a.json"}, {&split, "b.json"}});
    ASSERT_TRUE(both) << both.error().what;
    ASSERT_EQ(both->processes.size(), 1u);
    Placement on = measured_placement(*both, joint), off = measured_placement(*both, split);
    EXPECT_EQ(peak_of(*both, on), 7048);
    EXPECT_EQ(peak_of(*both, off), peak_of(*alone, off));
    EXPECT_TRUE(both->sites[1].measured_on);
    EXPECT_TRUE(both->sites[1].measured_off);
    EXPECT_FALSE(both->sites[1].estimated);
  }
}

TEST(FromProfile, runs_of_other_shape_stand_beside_each_other) {
  profile::Profile small = profile::sample_profile(), large = profile::sample_profile();
  large.nodes[4].edges[0].count = 20;
  auto tree = from_profiles({{&small, "a.json"}, {&large, "b.json"}});
  ASSERT_TRUE(tree);
  ASSERT_EQ(tree->processes.size(), 2u);
  std::vector<Bits> peaks = PeakModel(*tree).peaks(measured_placement(*tree, small));
  EXPECT_EQ(peaks[0], 7048);
  EXPECT_EQ(peaks[1], 1 + 20 * 704 + 7);
}

TEST(FromProfile, another_program_and_an_empty_run_are_errors) {
  profile::Profile p = profile::sample_profile(), other = profile::sample_profile(), empty;
  for (profile::Site &site : other.sites)
    site.caller += "_of_another";
  EXPECT_NE(from_profiles({{&p, "a.json"}, {&other, "b.json"}}).error().what.find("no site in common with a.json"), std::string::npos);
  EXPECT_NE(from_profiles({{&empty, "e.json"}}).error().what.find("shows no adjoint"), std::string::npos);
}

TEST(FromProfile, a_call_without_site_that_ran_in_joint_mode_leaves_its_snapshot) {
  profile::Profile p = profile::sample_profile();
  p.nodes[3].edges[0].site = profile::kNoIndex;
  auto tree = from_profiles({{&p, "a.json"}});
  ASSERT_TRUE(tree);
  EXPECT_EQ(peak_of(*tree, measured_placement(*tree, p)), 7048);
}

} // namespace
} // namespace adprof::model
