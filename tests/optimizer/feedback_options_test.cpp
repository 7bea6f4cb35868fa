#include <gtest/gtest.h>

#include "optimizer/feedback/options.h"

namespace {

using namespace adprof::feedback;

Decision site(const std::string &caller, const std::string &callee, std::uint32_t ordinal, bool on, double gain = 1) {
  return {caller, callee, ordinal, {"m.c", 1}, on, true, gain};
}

TEST(Options, callees_that_are_off_everywhere_are_listed_in_both_words) {
  const Options o = option_lists(
      {site("a", "g", 0, false), site("b", "g", 0, false), site("a", "f", 0, false), site("a", "h", 0, true)});
  EXPECT_EQ(o.nocheckpoint, "-nocheckpoint \"f g\"");
  EXPECT_EQ(o.checkpoint, "-defaultnocheckpoint -checkpoint \"h\"");
  EXPECT_TRUE(o.losses.empty());
  EXPECT_EQ(o.on, (std::vector<std::uint8_t>{0, 0, 0, 1}));
}

TEST(Options, nothing_off_is_an_empty_list) {
  const Options o = option_lists({site("a", "f", 0, true)});
  EXPECT_EQ(o.nocheckpoint, "");
  EXPECT_EQ(o.checkpoint, "-defaultnocheckpoint -checkpoint \"f\"");
}

TEST(Options, a_callee_that_cannot_be_switched_stays_on_in_both_words) {
  Decision fixed = site("a", "solve", 0, false);
  fixed.switchable = false;
  const Options o = option_lists({fixed, site("a", "f", 0, false)});
  EXPECT_EQ(o.nocheckpoint, "-nocheckpoint \"f\"");
  EXPECT_EQ(o.checkpoint, "-defaultnocheckpoint -checkpoint \"solve\"");
}

TEST(Options, without_costs_a_torn_callee_stays_on_and_the_loss_names_the_sites) {
  const Options o = option_lists({site("a", "f", 0, false), site("a", "f", 1, true), site("b", "f", 0, false)});
  EXPECT_EQ(o.nocheckpoint, "");
  ASSERT_EQ(o.losses.size(), 1u);
  EXPECT_EQ(o.losses[0].group, "callee f");
  EXPECT_TRUE(o.losses[0].chosen_on);
  EXPECT_EQ(o.losses[0].changed, (std::vector<std::string>{"a:f:0", "b:f:0"}));
  EXPECT_FALSE(o.losses[0].if_on.has_value());
}

TEST(Options, with_costs_the_cheaper_choice_within_the_budget_is_taken) {
  const std::vector<Decision> decisions = {site("a", "f", 0, false, 10), site("a", "f", 1, true, 1),
                                           site("a", "g", 0, false, 100), site("a", "g", 1, true, 1)};
  // Being off costs 1 byte each; the budget is 3 bytes: g (the larger gain) is settled first and goes off, then f
  // can't.
  const auto cost = [&](const std::vector<std::uint8_t> &on) {
    Cost c;
    for (std::size_t i = 0; i < on.size(); ++i) {
      c.time_ns += on[i] ? decisions[i].recompute_ns : 0;
      c.peak_bytes += on[i] ? 0 : 1;
    }
    c.within_budget = c.peak_bytes <= 3;
    return c;
  };
  const Options o = option_lists(decisions, cost);
  EXPECT_EQ(o.on, (std::vector<std::uint8_t>{1, 1, 0, 0}));
  ASSERT_EQ(o.losses.size(), 2u);
  EXPECT_EQ(o.losses[0].group, "callee g");
  EXPECT_FALSE(o.losses[0].chosen_on);
  EXPECT_EQ(o.losses[0].changed, std::vector<std::string>{"a:g:1"});
  EXPECT_TRUE(o.losses[1].chosen_on);
  EXPECT_FALSE(o.losses[1].if_off->within_budget);
  EXPECT_EQ(o.losses[1].if_off->peak_bytes, 4);
}

} // namespace
