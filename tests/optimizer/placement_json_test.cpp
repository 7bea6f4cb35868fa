#include "optimizer/placement/placement_json.h"

#include <gtest/gtest.h>

namespace adprof::placement {
namespace {

PlacementFile sample() {
  PlacementFile file;
  file.adprof_version = "0.1.0";
  file.profile = "adprof.json";
  file.site_fingerprint = "0123456789abcdef";
  file.limit.process_bytes = 1 << 30;
  file.predicted_tape_bytes = 900;
  file.predicted_process_bytes = 1000;
  file.predicted_time_ns = 1.5e9;
  file.measured_time_ns = 2.5e9;
  file.measured_tape_bytes = 800;
  file.certificate = {false, 1.5e9, 1.25e9, true, 12, 34, "exact"};
  file.sites = {{"main", "model", 0, "main.c", 3, true, false, "root", 0, true},
                {"step", "flux", 1, "step.f90", 40, false, true, "", 2.5e8, false}};
  return file;
}

TEST(PlacementJson, what_is_written_is_read_back) {
  PlacementFile file = sample();
  std::string text = write_placement(file);
  auto back = read_placement(text, "p.json");
  ASSERT_TRUE(back) << back.error().what;
  EXPECT_EQ(back->sites, file.sites);
  EXPECT_EQ(back->limit, file.limit);
  EXPECT_EQ(write_placement(*back), text);
  EXPECT_NE(text.find("\"gap\":0.19999999999999996,"), std::string::npos) << text;
}

TEST(PlacementJson, every_truncation_is_an_error) {
  std::string text = write_placement(sample());
  for (size_t length = 0; length + 2 < text.size(); ++length) {
    auto back = read_placement(std::string_view(text).substr(0, length), "p.json");
    ASSERT_FALSE(back) << length;
    EXPECT_EQ(back.error().kind, ErrorKind::kUnreadable);
  }
}

struct Damage {
  const char *from, *to, *message;
};

TEST(PlacementJson, bad_values_are_named) {
  const Damage damages[] = {
      {"adprof-placement", "adprof-profile", "accepted is \"adprof-placement\""},
      {"\"oldest_reader\": 1", "\"oldest_reader\": 2", "use a newer adprof"},
      {"\"ordinal\":1", "\"ordinal\":-1", "sites[1].ordinal is -1"},
      {"\"ordinal\":1", "\"ordinal\":4294967296", "sites[1].ordinal is 4294967296"},
      {"\"gain_ns\":250000000.0", "\"gain_ns\":-1", "sites[1].gain_ns is -1"},
      {"\"on\":false", "\"on\":0", "sites[1].on is 0, accepted are true and false"},
      {"step:flux:1", "step:flux:2", "caller, callee and ordinal say \"step:flux:1\""},
      {"\"process_bytes\":1000", "\"process_bytes\":18446744073709551615", "predicted.process_bytes is 18446744073709551615"},
      {"\"site_fingerprint\"", "\"fingerprint\"", "site_fingerprint is missing"},
  };
  for (const Damage &damage : damages) {
    std::string text = write_placement(sample());
    size_t at = text.find(damage.from);
    ASSERT_NE(at, std::string::npos) << damage.from;
    text.replace(at, std::string(damage.from).size(), damage.to);
    auto back = read_placement(text, "p.json");
    ASSERT_FALSE(back) << damage.to;
    EXPECT_NE(back.error().what.find(damage.message), std::string::npos) << back.error().what;
  }
}

TEST(PlacementJson, a_repeated_site_is_an_error) {
  PlacementFile file = sample();
  file.sites.push_back(file.sites[1]);
  auto back = read_placement(write_placement(file), "p.json");
  ASSERT_FALSE(back);
  EXPECT_NE(back.error().what.find("repeats the site step:flux:1"), std::string::npos) << back.error().what;
}

TEST(Certificate, words_say_optimal_or_the_gap) {
  EXPECT_EQ(in_words({true, 1, 1, false, 0, 0, ""}), "optimal for this profile and this model");
  EXPECT_EQ(in_words({false, 1.02, 1, true, 0, 0, ""}),
            "within 2 % of the optimum for this profile and this model; the time limit ended the search");
}

} // namespace
} // namespace adprof::placement
