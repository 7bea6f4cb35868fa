#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <cstring>
#include <limits>

#include "optimizer/profile/match_sites.h"
#include "optimizer/verify/culprits.h"
#include "optimizer/verify/gradient.h"
#include "optimizer/verify/modes.h"

namespace {

using namespace adprof::verify;
namespace profile = adprof::profile;

std::string raw(const std::vector<double> &values) {
  std::string bytes(values.size() * 8, '\0');
  if (!values.empty())
    std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::string record(const std::string &data) {
  std::string mark(4, '\0');
  const auto length = static_cast<std::uint32_t>(data.size());
  std::memcpy(mark.data(), &length, 4);
  return mark + data + mark;
}

std::string npy(const std::string &type, const std::string &data, int major = 1) {
  const std::string header = "{'descr': '" + type + "', 'fortran_order': False, 'shape': (2,), }\n";
  std::string text = "\x93NUMPY";
  text += static_cast<char>(major);
  text += '\0';
  text += static_cast<char>(header.size());
  text += '\0';
  if (major > 1)
    text += std::string(2, '\0');
  return text + header + data;
}

Gradient gradient(const std::string &bytes) {
  const auto result = read_gradient(bytes, "g");
  EXPECT_TRUE(result) << (result ? "" : result.error().what);
  return result.value_or(Gradient{});
}

TEST(Gradient, every_form_is_read) {
  EXPECT_EQ(gradient(raw({1.5, -2e300})).values, (std::vector<double>{1.5, -2e300}));
  EXPECT_EQ(gradient(raw({1.5})).form, GradientForm::kRaw);
  const Gradient text = gradient("# dJ/dx\ng[0] = 1.5D+01, -2e-3;\n nan  Infinity 7\n");
  EXPECT_EQ(text.form, GradientForm::kText);
  ASSERT_EQ(text.values.size(), 6u);
  EXPECT_EQ(text.values[1], 15.0);
  EXPECT_EQ(text.values[2], -2e-3);
  EXPECT_TRUE(std::isnan(text.values[3]));
  const Gradient records = gradient(record(raw({1, 2})) + record(raw({3})));
  EXPECT_EQ(records.form, GradientForm::kFortranRecords);
  EXPECT_EQ(records.values, (std::vector<double>{1, 2, 3}));
  EXPECT_EQ(gradient(npy("<f8", raw({1, 2}))).values, (std::vector<double>{1, 2}));
  EXPECT_EQ(gradient(npy("<f8", raw({1, 2}), 2)).values, (std::vector<double>{1, 2}));
  std::string big = raw({1.25});
  std::reverse(big.begin(), big.end());
  EXPECT_EQ(gradient(npy(">f8", big)).values, std::vector<double>{1.25});
  const float single[] = {1.5f, 3.0f};
  std::string bytes(8, '\0');
  std::memcpy(bytes.data(), single, 8);
  EXPECT_EQ(gradient(npy("<f4", bytes)).values, (std::vector<double>{1.5, 3}));
}

TEST(Gradient, what_is_no_gradient_is_an_error) {
  for (const std::string &bytes :
       {std::string(), std::string("\x01\x02\x03"), npy("<i8", raw({1})), npy("<f8", "abc"),
        std::string("\x93NUMPY\x01"), npy("<f8", raw({1})).substr(0, 20), npy("<f8", raw({1}), 9)}) {
    const auto result = read_gradient(bytes, "g");
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().kind, adprof::ErrorKind::kUnreadable);
    EXPECT_EQ(result.error().where, "g");
  }
}

TEST(Gradient, differences_are_counted_to_the_bit) {
  const double inf = std::numeric_limits<double>::infinity(), nan = std::nan("");
  const auto d = compare_gradients({{}, {1, 2, 0.0, nan, 4, inf}}, {{}, {1, 2.5, -0.0, nan, 3, 1}});
  ASSERT_TRUE(d);
  EXPECT_FALSE(d->equal());
  EXPECT_EQ(d->different, 4u);
  EXPECT_EQ(d->first_different, 1u);
  EXPECT_EQ(d->largest_absolute, 1.0);
  EXPECT_EQ(d->largest_relative, 0.25);
  EXPECT_EQ(d->non_finite_a, 2u);
  EXPECT_EQ(d->non_finite_b, 1u);
  EXPECT_TRUE(compare_gradients({{}, {1, nan}}, {{}, {1, nan}})->equal());
  EXPECT_FALSE(compare_gradients({{}, {1}}, {{}, {1, 2}}));
}

TEST(Culprits, each_is_found_in_few_tests) {
  for (const std::vector<std::size_t> &bad : {std::vector<std::size_t>{0}, {99}, {42}, {7, 63}, {0, 1, 2}}) {
    int tests = 0;
    const auto found = find_culprits(100, [&](const std::vector<std::uint8_t> &off) -> adprof::Result<bool> {
      ++tests;
      for (std::size_t one : bad)
        if (off[one])
          return true;
      return false;
    });
    ASSERT_TRUE(found);
    EXPECT_EQ(*found, bad);
    EXPECT_LE(tests, static_cast<int>(bad.size()) * 8);
  }
}

TEST(Culprits, a_pair_that_is_bad_only_together_loses_one) {
  const auto bad = [](const std::vector<std::uint8_t> &off) -> adprof::Result<bool> { return off[3] && off[8]; };
  const auto found = find_culprits(10, bad);
  ASSERT_TRUE(found);
  EXPECT_EQ(*found, std::vector<std::size_t>{8});
}

TEST(Culprits, an_error_of_a_test_ends_the_search) {
  const auto found = find_culprits(
      4, [](const std::vector<std::uint8_t> &) -> adprof::Result<bool> { return std::unexpected(adprof::Error{}); });
  EXPECT_FALSE(found);
}

/// main calls a (root), a calls b twice and c.
profile::Profile small_profile() {
  profile::Profile p;
  p.sites = {{"main", "a", 0, {}, {}, true, "", ""},
             {"a", "b", 0, {}, {}, false, "", ""},
             {"a", "b", 1, {}, {}, false, "", ""},
             {"a", "c", 0, {}, {}, false, "", ""}};
  const auto add = [&](std::uint32_t parent, std::uint32_t site, std::int64_t on, std::int64_t off, double primal,
                       double forward) {
    profile::Context context;
    context.parent = parent;
    context.site = site;
    context.invocations_on = on;
    context.invocations_off = off;
    context.primal_ns = primal;
    context.forward_ns = forward;
    p.contexts.push_back(context);
  };
  add(profile::kNoIndex, 0, 1, 0, 0, 100);
  add(0, 1, 4, 0, 10, 20);
  add(0, 2, 0, 4, 0, 30);
  add(0, 3, 2, 2, 5, 5);
  return p;
}

TEST(Match, is_the_share_of_the_time_in_known_sites) {
  const profile::Profile p = small_profile();
  const auto all = profile::match_sites({"a:b:0", "a:b:1", "a:c:0"}, p);
  EXPECT_EQ(all.share, 1);
  EXPECT_TRUE(all.missing.empty() && all.added.empty());
  const auto some = profile::match_sites({"a:b:0", "x:y:0"}, p);
  EXPECT_DOUBLE_EQ(some.share, 30.0 / 70.0);
  EXPECT_EQ(some.missing, std::vector<std::string>{"x:y:0"});
  EXPECT_EQ(some.added, (std::vector<std::string>{"a:b:1", "a:c:0"}));
}

TEST(Match, without_times_sites_are_counted) {
  profile::Profile p = small_profile();
  for (auto &context : p.contexts)
    context.primal_ns = context.forward_ns = 0;
  EXPECT_DOUBLE_EQ(profile::match_sites({"a:b:0", "a:b:1"}, p).share, 2.0 / 3.0);
}

TEST(Modes, every_way_to_miss_a_mode_is_told) {
  const auto modes =
      compare_modes({{"a:b:0", false}, {"a:b:1", false}, {"a:c:0", true}, {"a:gone:0", true}}, small_profile());
  ASSERT_EQ(modes.size(), 4u);
  EXPECT_EQ(modes[0].verdict, ModeVerdict::kOtherMode);
  EXPECT_NE(describe(modes[0]).find("ignore names"), std::string::npos);
  EXPECT_EQ(modes[1].verdict, ModeVerdict::kAsAsked);
  EXPECT_EQ(modes[2].verdict, ModeVerdict::kMixed);
  EXPECT_EQ(modes[3].verdict, ModeVerdict::kGone);
  const auto fewer = compare_modes({{"a:b:1", true}}, small_profile());
  ASSERT_EQ(fewer.size(), 3u);
  EXPECT_EQ(fewer[0].verdict, ModeVerdict::kOtherMode);
  EXPECT_EQ(fewer[1].verdict, ModeVerdict::kNew);
  EXPECT_EQ(fewer[1].name, "a:b:0");
}

} // namespace
