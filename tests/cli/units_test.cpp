#include "cli/units.h"

#include <gtest/gtest.h>

namespace adprof::cli {
namespace {

TEST(Units, bytes_have_three_digits_that_matter) {
  EXPECT_EQ(format_bytes(0), "0 B");
  EXPECT_EQ(format_bytes(1023), "1023 B");
  EXPECT_EQ(format_bytes(1024), "1.00 KiB");
  EXPECT_EQ(format_bytes(1536), "1.50 KiB");
  EXPECT_EQ(format_bytes(923ll << 20), "923 MiB");
  EXPECT_EQ(format_bytes((1ll << 20) - 1), "1.00 MiB");
  EXPECT_EQ(format_bytes(-2048), "-2.00 KiB");
  EXPECT_EQ(format_bytes(INT64_MAX), "8.00 EiB");
}

TEST(Units, bits_round_up_to_bytes) {
  EXPECT_EQ(bytes_of_bits(0), 0);
  EXPECT_EQ(bytes_of_bits(1), 1);
  EXPECT_EQ(bytes_of_bits(8), 1);
  EXPECT_EQ(bytes_of_bits(9), 2);
  EXPECT_EQ(bytes_of_bits(INT64_MAX), (INT64_MAX >> 3) + 1);
}

TEST(Units, times_from_ns_to_hours) {
  EXPECT_EQ(format_time(0), "0 s");
  EXPECT_EQ(format_time(853), "853 ns");
  EXPECT_EQ(format_time(1.5e6), "1.50 ms");
  EXPECT_EQ(format_time(12.34e9), "12.3 s");
  EXPECT_EQ(format_time(245e9), "4m05s");
  EXPECT_EQ(format_time(7380e9), "2h03m");
  EXPECT_EQ(format_time(-1.5e6), "-1.50 ms");
}

TEST(Units, counts_and_fractions) {
  EXPECT_EQ(format_count(0), "0");
  EXPECT_EQ(format_count(999), "999");
  EXPECT_EQ(format_count(-1000), "-1,000");
  EXPECT_EQ(format_count(6286900), "6,286,900");
  EXPECT_EQ(format_percent(0.4567), "45.7 %");
  EXPECT_EQ(format_change(0.02), "+2.00 %");
  EXPECT_EQ(format_change(-0.131), "-13.1 %");
}

TEST(Units, sizes_as_people_write_them) {
  EXPECT_EQ(parse_size("8G", "--budget")->bytes, 8ll << 30);
  EXPECT_EQ(parse_size("8GiB", "--budget")->bytes, 8ll << 30);
  EXPECT_EQ(parse_size("8 gib", "--budget")->bytes, 8ll << 30);
  EXPECT_EQ(parse_size("8GB", "--budget")->bytes, 8'000'000'000);
  EXPECT_EQ(parse_size("500M", "--budget")->bytes, 500ll << 20);
  EXPECT_EQ(parse_size("1.5K", "--budget")->bytes, 1536);
  EXPECT_EQ(parse_size("4096", "--budget")->bytes, 4096);
  EXPECT_EQ(parse_size("0", "--budget")->bytes, 0);
  Result<Size> multiple = parse_size("1.2x", "--budget");
  EXPECT_EQ(multiple->factor, 1.2);
  EXPECT_EQ(multiple->bytes_given(1000), 1200);
}

TEST(Units, what_is_not_a_size_is_named_with_what_is_accepted) {
  for (const char *text : {"", "G", "8Q", "8GG", "-1G", "1e999", "nan", "inf", "0x", "8G x", "9999999P"}) {
    Result<Size> size = parse_size(text, "--budget");
    ASSERT_FALSE(size) << text;
    EXPECT_EQ(size.error().kind, ErrorKind::kUsage);
    EXPECT_EQ(size.error().where, "--budget");
    EXPECT_TRUE(size.error().what.starts_with("`" + std::string(text) + "` is not a size")) << size.error().what;
  }
}

TEST(Units, percentages_need_their_sign) {
  EXPECT_DOUBLE_EQ(*parse_percent("+2%", "--max-peak"), 0.02);
  EXPECT_DOUBLE_EQ(*parse_percent("10 %", "--max-peak"), 0.1);
  EXPECT_DOUBLE_EQ(*parse_percent("-0.5%", "--max-peak"), -0.005);
  EXPECT_FALSE(parse_percent("2", "--max-peak"));
  EXPECT_FALSE(parse_percent("%", "--max-peak"));
}

TEST(Units, factors_and_times) {
  EXPECT_EQ(*parse_factor("1.5", "--max-slowdown"), 1.5);
  EXPECT_EQ(*parse_factor("1.5x", "--max-slowdown"), 1.5);
  EXPECT_FALSE(parse_factor("0", "--max-slowdown"));
  EXPECT_EQ(*parse_time("500ms", "--time-limit"), 500e6);
  EXPECT_EQ(*parse_time("10", "--time-limit"), 10e9);
  EXPECT_EQ(*parse_time("2m", "--time-limit"), 120e9);
  EXPECT_FALSE(parse_time("-1s", "--time-limit"));
  EXPECT_FALSE(parse_time("1 fortnight", "--time-limit"));
}

} // namespace
} // namespace adprof::cli
