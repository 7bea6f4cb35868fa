/// Files as each version wrote them, and what they mean. Never regenerate a file here: a reader that no longer understands one is wrong.
/// raw_v1.hex: a raw profile, lines of "offset hex-bytes", zeros left out, and its size. raw_v1_runtime.hex: one that the runtime
/// wrote, of a loop of 3 steps with two calls each. The .json beside each is what it reads as.
#include <gtest/gtest.h>
#include <sstream>

#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/read_raw.h"

namespace adprof::profile {
namespace {

std::string contents(const std::string &name) {
  Result<std::string> text = read_file(std::string(GOLDEN_FOLDER) + "/" + name);
  EXPECT_TRUE(text) << name;
  return text.value_or("");
}

std::string bytes_of_hex(const std::string &text) {
  std::istringstream lines(text);
  std::string word, digits;
  size_t size = 0, offset = 0;
  lines >> word >> size;
  std::string bytes(size, '\0');
  while (lines >> offset >> digits)
    for (size_t i = 0; 2 * i < digits.size(); ++i)
      bytes.at(offset + i) = static_cast<char>(std::stoi(digits.substr(2 * i, 2), nullptr, 16));
  return bytes;
}

class Golden : public testing::TestWithParam<const char *> {};

TEST_P(Golden, raw_profile_reads_as_it_always_did) {
  Result<Profile> raw = read_raw(bytes_of_hex(contents(std::string(GetParam()) + ".hex")), GetParam());
  ASSERT_TRUE(raw) << raw.error().what;
  Result<Profile> json = read_json(contents(std::string(GetParam()) + ".json"), GetParam());
  ASSERT_TRUE(json) << json.error().what;
  EXPECT_EQ(write_json(*raw), write_json(*json));
  EXPECT_FALSE(raw->nodes.empty());
  EXPECT_FALSE(raw->contexts.empty());
}

INSTANTIATE_TEST_SUITE_P(Version1, Golden, testing::Values("raw_v1", "raw_v1_runtime"));

TEST(GoldenJson, version_1_reads_as_it_always_did) {
  Result<Profile> p = read_json(contents("profile_v1.json"), "profile_v1.json");
  ASSERT_TRUE(p) << p.error().what;
  EXPECT_EQ(p->sites.size(), 4u);
  EXPECT_EQ(p->nodes.size(), 6u);
  EXPECT_EQ(p->nodes[4].edges[0].kind, EdgeKind::kLoop);
  EXPECT_EQ(p->nodes[4].edges[0].count, 10);
  EXPECT_EQ(p->nodes[2].edges[1].snapshot_bits, 32);
  EXPECT_FALSE(p->nodes[2].edges[0].measured_on);
  EXPECT_EQ(p->contexts[3].unreversed, 3);
  EXPECT_EQ(p->processes[0].adstack_peak_bytes, 884);
}

} // namespace
} // namespace adprof::profile
