// Binomial checkpointing, executed on a simulated program: the state is right at each action, snapshots come back in
// stack order, and the advances are as few as the closed form says.
#include "runtime/adstack/adStack.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdint>
#include <random>
#include <thread>
#include <vector>

namespace {

struct Outcome {
  int64_t advances = 0;
  int most_snapshots = 0;
};

/// Runs a loop of `length` steps that leaves at step `exit_step` (-1: it does not) and checks every action.
Outcome reverse_loop(int length, int snapshots, int first, int exit_step = -1) {
  Outcome out;
  std::vector<int> held;
  int state = first;            // the step that would run next; -1 after a turn
  int to_turn = first + length; // steps from here on are turned
  bool turned = false;
  adBinomial_init(length, snapshots, first);
  int action = 0, step = 0;
  while (adBinomial_next(&action, &step)) {
    switch (action) {
    case ADBINOMIAL_PUSH_SNAPSHOT:
      EXPECT_EQ(step, state);
      held.push_back(state);
      out.most_snapshots = std::max(out.most_snapshots, int(held.size()));
      break;
    case ADBINOMIAL_LOOK_SNAPSHOT:
    case ADBINOMIAL_POP_SNAPSHOT:
      if (held.empty()) {
        ADD_FAILURE() << "no snapshot";
        return out;
      }
      EXPECT_EQ(step, held.back());
      state = held.back();
      if (action == ADBINOMIAL_POP_SNAPSHOT)
        held.pop_back();
      break;
    case ADBINOMIAL_ADVANCE:
      EXPECT_EQ(step, state);
      EXPECT_LT(step, to_turn - 1);
      out.advances++;
      if (step == exit_step && !turned) {
        adBinomial_resize();
        to_turn = step + 1;
      } else {
        state++;
      }
      break;
    case ADBINOMIAL_FIRST_TURN:
    case ADBINOMIAL_TURN:
      EXPECT_EQ(action == ADBINOMIAL_FIRST_TURN, !turned);
      EXPECT_EQ(step, state);
      EXPECT_EQ(step, to_turn - 1);
      turned = true;
      to_turn--;
      state = -1;
      break;
    default:
      ADD_FAILURE() << "action " << action;
      return out;
    }
    if (::testing::Test::HasFailure())
      return out;
  }
  EXPECT_EQ(action, -1);
  EXPECT_EQ(step, -1);
  EXPECT_EQ(to_turn, first) << "every step is turned";
  EXPECT_TRUE(held.empty());
  return out;
}

int64_t binomial(int64_t n, int64_t k) {
  if (k < 0)
    return 0;
  int64_t c = 1;
  for (int64_t i = 1; i <= k; i++)
    c = c * (n - k + i) / i;
  return c;
}

/// Griewank and Walther, proposition 12.3.
int64_t least_advances(int64_t l, int64_t s) {
  int64_t r = 0;
  while (binomial(s + r, r) < l)
    r++;
  return r * l - binomial(s + r, r - 1);
}

TEST(binomial, advances_equal_the_closed_form) {
  for (int s = 1; s <= 12; s++)
    for (int l = 1; l <= 150; l++) {
      const Outcome out = reverse_loop(l, s, 1);
      ASSERT_EQ(out.advances, least_advances(l, s)) << l << " steps, " << s << " snapshots";
      ASSERT_LE(out.most_snapshots, s);
    }
  for (auto [l, s] : {std::pair{1000, 3}, {4096, 10}, {20000, 7}, {365, 30}, {99, 98}, {100, 98}, {10, 1000000}})
    ASSERT_EQ(reverse_loop(l, s, 0).advances, least_advances(l, s)) << l << " steps, " << s << " snapshots";
}

TEST(binomial, the_closed_form_is_the_optimum_of_the_recursion) {
  std::vector<std::vector<int64_t>> t(9, std::vector<int64_t>(81, 0));
  for (int l = 2; l <= 80; l++)
    t[1][l] = t[1][l - 1] + l - 1;
  for (int s = 2; s <= 8; s++)
    for (int l = 2; l <= 80; l++) {
      t[s][l] = INT64_MAX;
      for (int m = 1; m < l; m++)
        t[s][l] = std::min(t[s][l], m + t[s - 1][l - m] + t[s][m]);
    }
  for (int s = 1; s <= 8; s++)
    for (int l = 1; l <= 80; l++)
      ASSERT_EQ(t[s][l], least_advances(l, s)) << l << " steps, " << s << " snapshots";
}

TEST(binomial, the_ocean_model_year_advances_258473_steps) {
  const Outcome out = reverse_loop(87841, 98, 1);
  EXPECT_EQ(out.advances, 258473);
  EXPECT_EQ(out.most_snapshots, 98);
}

TEST(binomial, one_step_needs_no_snapshot) {
  EXPECT_EQ(reverse_loop(1, 0, 5).most_snapshots, 0);
}

TEST(binomial, a_loop_that_ends_early_turns_the_step_it_left_in_first) {
  std::mt19937 random(7);
  for (int i = 0; i < 2000; i++) {
    const int length = 2 + int(random() % 60), snapshots = 1 + int(random() % 8), first = int(random() % 3);
    reverse_loop(length, snapshots, first, first + int(random() % unsigned(length - 1)));
    ASSERT_FALSE(HasFailure()) << length << " steps, " << snapshots << " snapshots";
  }
}

TEST(binomial, loops_nest_and_go_on_where_they_were) {
  adBinomial_init(3, 2, 1);
  int action = 0, step = 0, inner_turns = 0, outer_turns = 0;
  while (adBinomial_next(&action, &step))
    if (action == ADBINOMIAL_TURN || action == ADBINOMIAL_FIRST_TURN) {
      outer_turns++;
      const int outer_step = step;
      adBinomial_init(4, 1, 1);
      while (adBinomial_next(&action, &step))
        inner_turns += action == ADBINOMIAL_TURN || action == ADBINOMIAL_FIRST_TURN;
      EXPECT_EQ(outer_step, 4 - outer_turns);
    }
  EXPECT_EQ(outer_turns, 3);
  EXPECT_EQ(inner_turns, 12);
}

TEST(binomial, each_thread_has_its_own_loops) {
  adBinomial_init(5, 2, 1);
  std::thread([] {
    EXPECT_EQ(reverse_loop(30, 3, 1).advances, least_advances(30, 3));
    adBinomial_init(9, 2, 1); // left open: freed with the thread
  }).join();
  int action = 0, step = 0, turns = 0;
  while (adBinomial_next(&action, &step))
    turns += action == ADBINOMIAL_TURN || action == ADBINOMIAL_FIRST_TURN;
  EXPECT_EQ(turns, 5);
}

TEST(binomial, fortran_bindings_take_references) {
  const int length = 10, snapshots = 3, first = 1;
  adbinomial_init_(&length, &snapshots, &first);
  int action = 0, step = 0, advances = 0;
  while (adbinomial_next_(&action, &step))
    advances += action == ADBINOMIAL_ADVANCE;
  EXPECT_EQ(advances, least_advances(10, 3));
}

TEST(binomial_death, wrong_use_ends_with_one_line_that_names_the_call) {
  int action = 0, step = 0;
  EXPECT_EXIT(adBinomial_init(0, 1, 1), testing::ExitedWithCode(1),
              "^adstack: adBinomial_init: cannot reverse 0 steps: at least 1\n$");
  EXPECT_EXIT(adBinomial_init(2, 0, 1), testing::ExitedWithCode(1),
              "^adstack: adBinomial_init: cannot reverse 2 steps with 0 snapshots: at least 1\n$");
  EXPECT_EXIT(adBinomial_next(&action, &step), testing::ExitedWithCode(1),
              "^adstack: adBinomial_next: no loop is open");
  EXPECT_EXIT(adBinomial_resize(), testing::ExitedWithCode(1), "^adstack: adBinomial_resize: ");
}

} // namespace
