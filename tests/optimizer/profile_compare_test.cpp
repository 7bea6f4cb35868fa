#include "optimizer/profile/compare.h"

#include <gtest/gtest.h>

#include "tests/optimizer/sample_profile.h"

namespace adprof::profile {
namespace {

TEST(Summary, times_of_contexts_add_up) {
  Profile p = sample_profile();
  std::vector<ContextTimes> times = context_times(p);
  EXPECT_DOUBLE_EQ(times[2].inclusive_ns, 0.2e9);
  EXPECT_DOUBLE_EQ(times[3].inclusive_ns, 0.05e9);
  EXPECT_DOUBLE_EQ(times[1].inclusive_ns, 0.7e9 + 0.5e9 + 3e6); // sweeps, primal runs, snapshots
  EXPECT_DOUBLE_EQ(times[1].own_ns, times[1].inclusive_ns - 0.25e9);
  EXPECT_DOUBLE_EQ(times[0].inclusive_ns, 1.5e9);
  EXPECT_DOUBLE_EQ(times[0].own_ns, 1.5e9 - times[1].inclusive_ns);
}

TEST(Summary, numbers_at_a_glance) {
  Summary s = summarize(sample_profile());
  EXPECT_EQ(s.adjoint_ns, 1.5e9);
  EXPECT_DOUBLE_EQ(s.recompute_ns, 0.5e9 + 3e6 + 0.05e9);
  EXPECT_EQ(s.sites, 3);
  EXPECT_EQ(s.sites_on, 2);
  EXPECT_EQ(s.sites_off, 1);
  EXPECT_EQ(s.opaque_sites, 1);
  EXPECT_EQ(s.invocations, 30);
  EXPECT_EQ(s.roots, 1);
  EXPECT_EQ(s.stack_peak_bytes, 884);
  // step ran 10 times as primal in 0.5 s; the root's own forward sweep is 0.7 s less that and the snapshots' writing.
  EXPECT_DOUBLE_EQ(s.primal_ns, 0.5e9 + (0.7e9 - 0.5e9 - 1e6));
}

TEST(Summary, a_count_that_differs_from_the_adstacks_own_is_told) {
  Profile p = sample_profile();
  EXPECT_TRUE(disagreements(p).empty());
  p.processes[0].adstack_peak_bytes = 883;
  ASSERT_EQ(disagreements(p).size(), 1u);
  EXPECT_EQ(disagreements(p)[0], "AD stack peak counted from pushes is 884 bytes, the AD stack's own count is 883");
  p.processes[0].adstack_peak_bytes = -1;
  EXPECT_TRUE(disagreements(p).empty());
}

TEST(Compare, equal_profiles_have_no_change) {
  Profile p = sample_profile();
  for (const SiteChange &change : compare(p, p).sites) {
    EXPECT_FALSE(change.exact) << change.name;
    EXPECT_EQ(change.effect, 0) << change.name;
  }
  EXPECT_TRUE(regressions(p, {p}, {0, 0}).empty());
}

TEST(Compare, changes_are_sorted_by_effect_and_exact_ones_come_first) {
  Profile a = sample_profile(), b = sample_profile();
  b.contexts[1].backward_ns += 0.3e9; // much time, perhaps noise
  b.contexts[2].tape_bits.largest += 1;
  Comparison c = compare(a, b);
  ASSERT_GE(c.sites.size(), 2u);
  EXPECT_EQ(c.sites[0].name, "step:flux:0");
  EXPECT_TRUE(c.sites[0].exact);
  EXPECT_EQ(c.sites[1].name, "model:step:0");
  EXPECT_DOUBLE_EQ(c.sites[1].time_change_ns, 0.3e9);
}

const Regression *find(const std::vector<Regression> &all, const std::string &what, const std::string &site) {
  for (const Regression &r : all)
    if (r.what == what && r.site == site)
      return &r;
  return nullptr;
}

TEST(Check, a_larger_tape_is_caught_to_the_bit) {
  Profile a = sample_profile(), b = sample_profile();
  b.contexts[2].tape_bits.largest += 1;
  std::vector<Regression> worse = regressions(a, {b}, {});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_TRUE(find(worse, "tape", "step:flux:0"));
  EXPECT_EQ(worse[0].after, 101);
  EXPECT_TRUE(regressions(b, {a}, {}).empty()) << "smaller is not worse";
  EXPECT_TRUE(regressions(a, {b}, {0.02, {}}).empty()) << "within its tolerance";
}

TEST(Check, a_lost_split_is_caught) {
  Profile a = sample_profile(), b = sample_profile();
  std::swap(b.contexts[2].invocations_off, b.contexts[2].invocations_on);
  std::vector<Regression> worse = regressions(a, {b}, {1.0, 10.0});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_EQ(worse[0].what, "mode");
  EXPECT_EQ(worse[0].site, "step:flux:0");
  EXPECT_EQ(worse[0].before_mode, "off");
  EXPECT_EQ(worse[0].after_mode, "on");
  EXPECT_TRUE(regressions(b, {a}, {}).empty()) << "a new split is not worse";
}

TEST(Check, more_invocations_are_caught_whatever_the_tolerance) {
  Profile a = sample_profile(), b = sample_profile();
  b.contexts[1].invocations_on += 1;
  EXPECT_TRUE(find(regressions(a, {b}, {1.0, 10.0}), "invocations", "model:step:0"));
}

TEST(Check, a_new_site_is_more_invocations_and_a_lost_one_is_nothing) {
  Profile a = sample_profile(), b = sample_profile();
  b.sites[2].ordinal = 1;
  std::vector<Regression> worse = regressions(a, {b}, {});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_TRUE(find(worse, "invocations", "step:flux:1"));
}

TEST(Check, peak_has_its_own_tolerance) {
  Profile a = sample_profile(), b = sample_profile();
  b.threads[0].stack_peak_bits += 80;
  EXPECT_TRUE(find(regressions(a, {b}, {}), "AD stack peak", ""));
  EXPECT_TRUE(regressions(a, {b}, {0.02, {}}).empty());
}

TEST(Check, time_gates_only_where_asked_and_by_the_fastest_run) {
  Profile a = sample_profile(), slow = sample_profile(), slower = sample_profile();
  slow.processes[0].adjoint_ns *= 1.2;
  slower.processes[0].adjoint_ns *= 3;
  EXPECT_TRUE(regressions(a, {slower}, {}).empty());
  EXPECT_TRUE(regressions(a, {slower, slow}, {0, 0.25}).empty());
  std::vector<Regression> worse = regressions(a, {slower, slow}, {0, 0.1});
  ASSERT_EQ(worse.size(), 1u);
  EXPECT_EQ(worse[0].what, "adjoint time");
  EXPECT_EQ(worse[0].after, 1.8e9);
}

} // namespace
} // namespace adprof::profile
