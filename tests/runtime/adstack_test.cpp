// The AD stack against a plain model of one, value by value and bit by bit.
#include "runtime/adstack/adStack.h"

#include <gtest/gtest.h>

#include <cstdint>
#include <cstdlib>
#include <functional>
#include <numeric>
#include <random>
#include <sys/resource.h>
#include <thread>
#include <vector>

namespace {

/// Threads start with an empty stack and fresh counters: each test body runs in its own.
void on_fresh_stack(const std::function<void()> &body) {
  std::thread(body).join();
}

TEST(adstack, values_of_every_type_come_back_in_reverse) {
  on_fresh_stack([] {
    pushInteger4(-7);
    pushInteger8(INT64_C(1) << 40);
    pushReal4(1.5F);
    pushReal8(-2.25);
    pushReal16(3.125L);
    adStack_complex8 c8;
    __real__ c8 = 1;
    __imag__ c8 = 2;
    pushComplex8(c8);
    adStack_complex16 c16;
    __real__ c16 = 3;
    __imag__ c16 = 4;
    pushComplex16(c16);
    pushCharacter('q');
    pushPointer4(reinterpret_cast<void *>(UINT64_C(0x1234567812345678)));
    int pointee = 0;
    pushPointer8(&pointee);
    EXPECT_EQ(adStack_getCurrentStackSize(), 4 + 8 + 4 + 8 + 16 + 8 + 16 + 1 + 4 + 8);

    void *p8 = nullptr, *p4 = nullptr;
    popPointer8(&p8);
    popPointer4(&p4);
    EXPECT_EQ(p8, &pointee);
    EXPECT_EQ(p4, reinterpret_cast<void *>(UINT64_C(0x12345678)));
    char c = 0;
    popCharacter(&c);
    EXPECT_EQ(c, 'q');
    adStack_complex16 d16;
    popComplex16(&d16);
    EXPECT_TRUE(__real__ d16 == 3 && __imag__ d16 == 4);
    adStack_complex8 d8;
    popComplex8(&d8);
    EXPECT_TRUE(__real__ d8 == 1 && __imag__ d8 == 2);
    long double r16 = 0;
    popReal16(&r16);
    EXPECT_EQ(r16, 3.125L);
    double r8 = 0;
    popReal8(&r8);
    EXPECT_EQ(r8, -2.25);
    float r4 = 0;
    popReal4(&r4);
    EXPECT_EQ(r4, 1.5F);
    int64_t i8 = 0;
    popInteger8(&i8);
    EXPECT_EQ(i8, INT64_C(1) << 40);
    int32_t i4 = 0;
    popInteger4(&i4);
    EXPECT_EQ(i4, -7);
    EXPECT_EQ(adStack_getCurrentStackSize(), 0);
    EXPECT_EQ(adStack_getPeakSize(), 77);
    EXPECT_EQ(adStack_getTotalTraffic(), 77);
  });
}

template <typename T> void array_round_trip(void (*push)(const T *, int64_t), void (*pop)(T *, int64_t)) {
  std::vector<T> in(1000), out(1000);
  for (int i = 0; i < 1000; i++)
    in[i] = static_cast<T>(i % 100);
  int64_t before = adStack_getCurrentStackSize();
  push(in.data(), 1000);
  push(in.data(), 0);
  push(in.data(), -3);
  EXPECT_EQ(adStack_getCurrentStackSize() - before, int64_t(1000 * sizeof(T)));
  pop(out.data(), -3);
  pop(out.data(), 0);
  pop(out.data(), 1000);
  EXPECT_TRUE(in == out);
  EXPECT_EQ(adStack_getCurrentStackSize(), before);
}

TEST(adstack, arrays_of_every_type_come_back_and_empty_ones_are_nothing) {
  on_fresh_stack([] {
    array_round_trip(pushInteger4Array, popInteger4Array);
    array_round_trip(pushInteger8Array, popInteger8Array);
    array_round_trip(pushReal4Array, popReal4Array);
    array_round_trip(pushReal8Array, popReal8Array);
    array_round_trip(pushReal16Array, popReal16Array);
    array_round_trip(pushCharacterArray, popCharacterArray);
    array_round_trip(pushNArray, popNArray);
    array_round_trip(pushComplex8Array, popComplex8Array);
    array_round_trip(pushComplex16Array, popComplex16Array);
  });
}

TEST(adstack, an_array_may_be_popped_in_pieces) {
  on_fresh_stack([] {
    double x[3] = {1, 2, 3}, y = 0;
    pushReal8Array(x, 3);
    for (int i = 2; i >= 0; i--) {
      popReal8(&y);
      EXPECT_EQ(y, x[i]);
    }
  });
}

TEST(adstack, controls_and_booleans_count_as_bits) {
  on_fresh_stack([] {
    pushBoolean(2);
    EXPECT_EQ(adStack_getCurrentStackSize(), 1);
    pushControl3b(5);
    pushControl4b(9);
    EXPECT_EQ(adStack_getCurrentStackSize(), 1);
    pushControl8b(200);
    pushReal8(1);
    pushControl1b(1);
    EXPECT_EQ(adStack_getCurrentStackSize(), 11) << "64 + 17 bits, rounded up once";
    EXPECT_EQ(adStack_getTotalTraffic(), 11);
    int c = 0;
    double x = 0;
    popControl1b(&c);
    EXPECT_EQ(c, 1);
    popReal8(&x);
    popControl8b(&c);
    EXPECT_EQ(c, 200);
    popControl4b(&c);
    EXPECT_EQ(c, 9);
    popControl3b(&c);
    EXPECT_EQ(c, 5);
    popBoolean(&c);
    EXPECT_EQ(c, 1);
    EXPECT_EQ(adStack_getCurrentStackSize(), 0);
    EXPECT_EQ(adStack_getPeakSize(), 11);
  });
}

TEST(adstack, a_control_keeps_only_its_own_bits) {
  on_fresh_stack([] {
    pushControl2b(0xff);
    pushControl1b(2);
    int c = -1;
    popControl1b(&c);
    EXPECT_EQ(c, 0);
    popControl2b(&c);
    EXPECT_EQ(c, 3);
  });
}

TEST(adstack, fortran_bindings_take_references) {
  on_fresh_stack([] {
    const int32_t n = 3, one = 1;
    const double x[3] = {1, 2, 3};
    pushreal8array_(x, &n);
    const int32_t flags[3] = {1, 0, -1};
    pushbooleanarray_(flags, &n);
    pushboolean_(&one);
    const int32_t width = 6;
    pushcontrol3b_(&width);
    const char text[3] = {'a', 'b', 'c'};
    pushcharacterarray_(text, &n);
    pushinteger4_(&n);
    int target = 0;
    void *address = &target;
    pushpointer8_(&address);
    pushnarray_(text, &n);
    EXPECT_EQ(adstack_getcurrentstacksize_(), 24 + 3 + 4 + 8 + 3 + 1 /* 3 + 1 + 3 bits */);
    char bytes[3] = {};
    popnarray_(bytes, &n);
    EXPECT_EQ(bytes[1], 'b');
    void *back = nullptr;
    poppointer8_(&back);
    EXPECT_EQ(back, &target);
    int32_t i = 0;
    popinteger4_(&i);
    EXPECT_EQ(i, 3);
    char t[3] = {};
    popcharacterarray_(t, &n);
    EXPECT_EQ(t[2], 'c');
    popcontrol3b_(&i);
    EXPECT_EQ(i, 6);
    popboolean_(&i);
    EXPECT_EQ(i, 1);
    int32_t f[3] = {9, 9, 9};
    popbooleanarray_(f, &n);
    EXPECT_EQ(f[0], 1);
    EXPECT_EQ(f[1], 0);
    EXPECT_EQ(f[2], 1);
    double y[3] = {};
    popreal8array_(y, &n);
    EXPECT_EQ(y[2], 3);
    EXPECT_EQ(adstack_getpeaksize_(), 43);
    EXPECT_EQ(adstack_gettotaltraffic_(), 43);
  });
}

TEST(adstack, a_repeat_level_reads_the_same_tape_again) {
  on_fresh_stack([] {
    for (int i = 0; i < 100000; i++) {
      pushInteger4(i);
      pushControl3b(i & 7);
    }
    const int64_t full = adStack_getCurrentStackSize(), traffic = adStack_getTotalTraffic();
    adStack_startRepeat();
    for (int round = 0; round < 3; round++) {
      for (int i = 99999; i >= 50000; i--) {
        int c = -1;
        int32_t x = -1;
        popControl3b(&c);
        popInteger4(&x);
        ASSERT_EQ(x, i);
        ASSERT_EQ(c, i & 7);
      }
      EXPECT_EQ(adStack_getCurrentStackSize(), (50000 * 35 + 7) / 8);
      if (round < 2) {
        adStack_resetRepeat();
        EXPECT_EQ(adStack_getCurrentStackSize(), full);
      }
    }
    adStack_endRepeat();
    EXPECT_EQ(adStack_getCurrentStackSize(), (50000 * 35 + 7) / 8) << "the level is dropped, the position stays";
    EXPECT_EQ(adStack_getPeakSize(), full);
    EXPECT_EQ(adStack_getTotalTraffic(), traffic);
    int32_t x = -1;
    popInteger4(&x);
    EXPECT_EQ(x, 49999);
  });
}

TEST(adstack, pushes_in_a_repeat_level_do_not_destroy_what_is_read_again) {
  on_fresh_stack([] {
    double tape[100], x[100];
    std::iota(tape, tape + 100, 0.0);
    pushReal8Array(tape, 100);
    adStack_startRepeat();
    popReal8Array(x, 60);
    double other[500] = {};
    pushReal8Array(other, 500);
    EXPECT_EQ(adStack_getCurrentStackSize(), 8 * 540);
    adStack_resetRepeat();
    popReal8Array(x, 100);
    EXPECT_EQ(x[70], 70.0);
    EXPECT_EQ(adStack_getPeakSize(), 8 * 540);
    adStack_endRepeat();
    EXPECT_EQ(adStack_getCurrentStackSize(), 0);
  });
}

TEST(adstack, an_array_pushed_around_a_repeat_level_is_popped_across_segments) {
  on_fresh_stack([] {
    double x[3] = {1, 2, 3}, y[5] = {};
    pushReal8Array(x, 3);
    adStack_startRepeat();
    popReal8(y);
    pushReal8Array(x, 3);
    adStack_endRepeat();
    popReal8Array(y, 5);
    const double expected[5] = {1, 2, 1, 2, 3};
    for (int i = 0; i < 5; i++)
      EXPECT_EQ(y[i], expected[i]);
    EXPECT_EQ(adStack_getCurrentStackSize(), 0);
  });
}

/// A stack of bytes and a stack of bits, copied as a whole at each level: what the AD stack must look like.
struct Model {
  struct State {
    std::vector<char> bytes;
    std::vector<char> bits;
    int64_t height() const { return int64_t(8 * bytes.size() + bits.size()); }
  } now;
  std::vector<State> levels;
  int64_t peak = 0, pushed = 0;
};

void random_walk(unsigned seed) {
  std::mt19937 random(seed);
  auto below = [&](int n) { return int(random() % unsigned(n)); };
  Model model;
  auto &now = model.now;
  for (int step = 0; step < 4000; step++) {
    switch (below(step < 2000 ? 10 : 14)) {
    case 0:
    case 1:
    case 2: { // bytes
      std::vector<char> x(1 + below(step % 100 == 0 ? 200000 : 40));
      for (char &c : x)
        c = char(random());
      pushNArray(x.data(), int64_t(x.size()));
      now.bytes.insert(now.bytes.end(), x.begin(), x.end());
      model.pushed += int64_t(8 * x.size());
      break;
    }
    case 3:
    case 4:
    case 5: { // five bits, highest first on the model
      const int c = below(32);
      pushControl5b(c);
      for (int b = 4; b >= 0; b--)
        now.bits.push_back(char(c >> b & 1));
      model.pushed += 5;
      break;
    }
    case 6: {
      if (model.levels.size() == 6)
        break;
      adStack_startRepeat();
      model.levels.push_back(now);
      break;
    }
    case 7: {
      if (model.levels.empty())
        break;
      adStack_resetRepeat();
      now = model.levels.back();
      break;
    }
    case 8: {
      if (model.levels.empty())
        break;
      adStack_endRepeat();
      model.levels.pop_back();
      break;
    }
    case 9:
    case 10:
    case 11: {
      const int64_t n = std::min<int64_t>(int64_t(now.bytes.size()), 1 + below(step % 50 == 0 ? 100000 : 60));
      std::vector<char> x(n);
      popNArray(x.data(), n);
      ASSERT_TRUE(std::equal(x.begin(), x.end(), now.bytes.end() - n)) << "seed " << seed << " step " << step;
      now.bytes.erase(now.bytes.end() - n, now.bytes.end());
      break;
    }
    default: {
      if (now.bits.size() < 7)
        break;
      int c = -1, expected = 0;
      popControl7b(&c);
      for (int b = 0; b < 7; b++) {
        expected |= now.bits.back() << b;
        now.bits.pop_back();
      }
      ASSERT_EQ(c, expected) << "seed " << seed << " step " << step;
    }
    }
    model.peak = std::max(model.peak, now.height());
    ASSERT_EQ(adStack_getCurrentStackSize(), (now.height() + 7) / 8) << "seed " << seed << " step " << step;
    ASSERT_EQ(adStack_getPeakSize(), (model.peak + 7) / 8);
    ASSERT_EQ(adStack_getTotalTraffic(), (model.pushed + 7) / 8);
  }
}

TEST(adstack, random_walks_with_nested_levels_agree_with_a_plain_model) {
  for (unsigned seed = 0; seed < 25; seed++)
    on_fresh_stack([seed] { random_walk(seed); });
}

TEST(adstack, each_thread_has_its_own_stack_and_ended_threads_stay_in_the_sums) {
  const int64_t peak_before = adStack_getProcessPeakSize(), traffic_before = adStack_getProcessTotalTraffic();
  std::vector<std::thread> threads;
  for (int t = 0; t < 4; t++)
    threads.emplace_back([t] {
      std::vector<int32_t> x(10000, t), y(10000);
      for (int round = 0; round < 50; round++)
        pushInteger4Array(x.data(), 10000);
      EXPECT_EQ(adStack_getPeakSize(), 2'000'000);
      for (int round = 0; round < 50; round++) {
        popInteger4Array(y.data(), 10000);
        EXPECT_EQ(x, y);
      }
      pushInteger4(t);
      EXPECT_EQ(adStack_getTotalTraffic(), 2'000'004);
    });
  for (auto &t : threads)
    t.join();
  EXPECT_EQ(adStack_getProcessPeakSize() - peak_before, 8'000'000);
  EXPECT_EQ(adStack_getProcessTotalTraffic() - traffic_before, 8'000'016);
}

int64_t mapped_pages() {
  long size = 0;
  if (FILE *f = fopen("/proc/self/statm", "r")) {
    EXPECT_EQ(fscanf(f, "%ld", &size), 1);
    fclose(f);
  }
  return size;
}

TEST(adstack, the_stack_of_an_ended_thread_is_freed) {
  auto body = [] {
    std::vector<char> x(1 << 20);
    for (int i = 0; i < 64; i++)
      pushNArray(x.data(), 1 << 20);
  };
  on_fresh_stack(body);
  const int64_t before = mapped_pages();
  for (int i = 0; i < 20; i++)
    on_fresh_stack(body);
  EXPECT_LT(mapped_pages() - before, 64 * 256) << "less than one stack of 20";
}

TEST(adstack, sums_may_be_read_while_another_thread_pushes) {
  std::thread other([] {
    for (int i = 0; i < 200000; i++)
      pushReal8(i);
  });
  int64_t last = 0;
  for (int i = 0; i < 1000; i++) {
    const int64_t now = adStack_getProcessTotalTraffic();
    EXPECT_GE(now, last);
    last = now;
  }
  other.join();
}

using adstack_death = ::testing::Test;

TEST(adstack_death, popping_an_empty_stack_ends_with_one_line_that_names_the_call) {
  double x = 0;
  EXPECT_EXIT(popReal8(&x), testing::ExitedWithCode(1),
              "^adstack: popReal8: pops 8 bytes, and the AD stack of this thread holds 0\n$");
  int c = 0;
  EXPECT_EXIT(popControl3b(&c), testing::ExitedWithCode(1),
              "^adstack: popControl3b: the AD stack of this thread holds no more bits\n$");
  EXPECT_EXIT(popboolean_(&c), testing::ExitedWithCode(1), "^adstack: popboolean: ");
}

TEST(adstack_death, popping_more_than_there_is_says_how_much_there_is) {
  double x[4] = {};
  auto body = [&] {
    pushReal8Array(x, 2);
    popReal8Array(x, 4);
  };
  EXPECT_EXIT(body(), testing::ExitedWithCode(1),
              "^adstack: popReal8Array: pops 32 bytes, and the AD stack of this thread holds 16\n$");
}

TEST(adstack_death, levels_out_of_order_are_named) {
  EXPECT_EXIT(adStack_resetRepeat(), testing::ExitedWithCode(1), "^adstack: adStack_resetRepeat: no repeat level");
  EXPECT_EXIT(adStack_endRepeat(), testing::ExitedWithCode(1), "^adstack: adStack_endRepeat: no repeat level");
}

#if !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) // they need the address space that is taken away
/// Pushes MiB after MiB with room for 100 of them.
void push_mebibytes(int count) {
  const auto room = rlim_t((mapped_pages() << 12) + (100 << 20));
  const rlimit limit{room, room};
  setrlimit(RLIMIT_AS, &limit);
  std::vector<double> x(1 << 17);
  for (int i = 0; i < count; i++)
    pushReal8Array(x.data(), 1 << 17);
  exit(7);
}

TEST(adstack_death, running_out_of_memory_ends_with_one_line_that_names_the_call) {
  EXPECT_EXIT(push_mebibytes(101), testing::ExitedWithCode(1),
              "^adstack: pushReal8Array: out of memory: the AD stack of this thread holds [0-9]+ bytes, .* refused\n$");
}

TEST(adstack_death, most_of_the_address_space_can_be_used_before_memory_is_out) {
  EXPECT_EXIT(push_mebibytes(95), testing::ExitedWithCode(7), "") << "doubling alone would end at 64";
}
#endif

TEST(adstack_death, a_count_too_large_for_memory_is_refused) {
  double x = 0;
  EXPECT_EXIT(pushReal8Array(&x, INT64_MAX), testing::ExitedWithCode(1), "^adstack: pushReal8Array: out of memory: ");
  EXPECT_EXIT(pushNArray("", INT64_MAX), testing::ExitedWithCode(1), "^adstack: pushNArray: out of memory: ");
}

TEST(adstack, reports_are_one_line_each) {
  testing::internal::CaptureStdout();
  adStack_showPeakSize();
  adStack_showTotalTraffic();
  const std::string text = testing::internal::GetCapturedStdout();
  EXPECT_TRUE(testing::internal::RE::PartialMatch(
      text, testing::internal::RE("^AD stack: peak size [0-9]+ bytes.*\nAD stack: total traffic [0-9]+ bytes.*\n$")))
      << text;
}

} // namespace
