/// Seeded mutations of good files: the readers must answer each with a profile that passes check, or with an error, never by a crash,
/// an exception or minutes of work. tests/fuzz holds the same question for libFuzzer.
#include <gtest/gtest.h>
#include <random>

#include "optimizer/profile/check.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/read_raw.h"
#include "tests/optimizer/raw_builder.h"
#include "tests/optimizer/sample_profile.h"

namespace adprof::profile {
namespace {

template <typename Read> void mutate(const std::string &good, size_t most_bytes, int rounds, Read &&read) {
  std::mt19937_64 random(20261201);
  int accepted = 0, refused = 0;
  for (int round = 0; round < rounds; ++round) {
    std::string bytes = good;
    for (std::uint64_t edits = 1 + random() % 4; edits-- > 0;) {
      size_t at = random() % std::min(bytes.size(), most_bytes);
      switch (random() % 5) {
      case 0:
        bytes[at] = static_cast<char>(random());
        break;
      case 1:
        bytes[at] = static_cast<char>(bytes[at] ^ 1 << random() % 8);
        break;
      case 2: // a large or small number where a number may stand
        for (size_t i = 0; i < 8 && at + i < bytes.size(); ++i)
          bytes[at + i] = static_cast<char>(i ? 0xff * (round & 1) : random());
        break;
      case 3:
        bytes.erase(at, 1 + random() % 16);
        break;
      case 4:
        bytes.insert(at, bytes.substr(random() % bytes.size(), 1 + random() % 16));
        break;
      }
      if (bytes.empty())
        break;
    }
    Result<Profile> p = read(bytes);
    if (!p) {
      ++refused;
      ASSERT_NE(p.error().kind, ErrorKind::kInternal);
      ASSERT_FALSE(p.error().what.empty());
      continue;
    }
    ++accepted;
    ASSERT_TRUE(check(*p, "mutated"));
    ASSERT_TRUE(read_json(write_json(*p), "written")) << "what was accepted can be written and read again";
  }
  EXPECT_GT(accepted, 0);
  EXPECT_GT(refused, rounds / 10);
}

TEST(Mutation, raw_profiles) {
  // The thread's state is 640 KiB of zeros behind what matters.
  mutate(sample_raw().bytes(), 33000, 3000, [](const std::string &bytes) { return read_raw(bytes, "mutated"); });
}

TEST(Mutation, json_profiles) {
  mutate(write_json(sample_profile()), SIZE_MAX, 20000, [](const std::string &text) { return read_json(text, "mutated"); });
}

} // namespace
} // namespace adprof::profile
