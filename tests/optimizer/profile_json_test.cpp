#include "optimizer/profile/json.h"

#include <gtest/gtest.h>

#include "optimizer/profile/check.h"
#include "tests/optimizer/sample_profile.h"

namespace adprof::profile {
namespace {

std::string replaced(std::string text, const std::string &from, const std::string &to) {
  size_t at = text.find(from);
  EXPECT_NE(at, std::string::npos) << from;
  return text.replace(at, from.size(), to);
}

void expect_error(const std::string &text, ErrorKind kind, const std::string &what) {
  Result<Profile> read = read_json(text, "p.json");
  ASSERT_FALSE(read) << what;
  EXPECT_EQ(read.error().kind, kind);
  EXPECT_EQ(read.error().where, "p.json");
  EXPECT_NE(read.error().what.find(what), std::string::npos) << read.error().what;
}

TEST(ProfileJson, what_is_written_is_read_back) {
  std::string text = write_json(sample_profile());
  Result<Profile> read = read_json(text, "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(write_json(*read), text);
  // Every member took part: none of the sample's values is the default.
  EXPECT_EQ(read->nodes, sample_profile().nodes);
  EXPECT_EQ(read->sites[3].fixed_reason, sample_profile().sites[3].fixed_reason);
  EXPECT_EQ(read->contexts[3].unreversed, 3);
  EXPECT_TRUE(read->contexts[3].snapshot_time_estimated);
  EXPECT_EQ(read->contexts[1].snapshot_read_ns, 2e6);
  EXPECT_EQ(read->processes[0].adstack_peak_bytes, 884);
  EXPECT_EQ(read->processes[0].losses.matched_static, 1);
  EXPECT_EQ(read->threads[0].root, 5u);
  EXPECT_EQ(read->doubts[0].at.line, 7u);
}

TEST(ProfileJson, an_empty_profile_is_a_profile) {
  Result<Profile> read = read_json(R"({"format": "adprof-profile", "version": 1, "oldest_reader": 1})", "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_TRUE(read->nodes.empty());
}

TEST(ProfileJson, every_truncation_is_an_error) {
  std::string text = write_json(sample_profile());
  size_t last = text.find_last_of('}');
  for (size_t length = 0; length <= last; ++length)
    ASSERT_FALSE(read_json(text.substr(0, length), "p.json")) << length;
  expect_error(text.substr(0, 500), ErrorKind::kUnreadable, "ends in the middle of the JSON, after 500 bytes: truncated");
}

TEST(ProfileJson, a_newer_version_is_named) {
  std::string text = write_json(sample_profile());
  // A newer writer whose files this reader still understands.
  EXPECT_TRUE(read_json(replaced(text, "\"version\": 1", "\"version\": 2"), "p.json"));
  expect_error(replaced(text, "\"oldest_reader\": 1", "\"oldest_reader\": 7"), ErrorKind::kUnreadable,
               "needs an adprof that reads version 7, this one reads up to 1");
}

TEST(ProfileJson, members_of_later_versions_are_ignored) {
  std::string text = replaced(write_json(sample_profile()), "\"dialect\":", "\"novelty\": [{\"x\": [1, {}]}],\n\"dialect\":");
  Result<Profile> read = read_json(text, "p.json");
  ASSERT_TRUE(read) << read.error().what;
  EXPECT_EQ(write_json(*read), write_json(sample_profile()));
}

TEST(ProfileJson, other_files_are_named_for_what_they_are) {
  expect_error("", ErrorKind::kUnreadable, "truncated");
  expect_error("hello", ErrorKind::kUnreadable, "neither a raw nor a JSON profile");
  expect_error("[1, 2]", ErrorKind::kUnreadable, "no adprof profile");
  expect_error("{\"a\": 1}", ErrorKind::kUnreadable, "it has no \"format\"");
  expect_error(R"({"format": "adprof-placement", "version": 1})", ErrorKind::kUnreadable,
               "its format is \"adprof-placement\", a profile (\"adprof-profile\") is expected");
}

TEST(ProfileJson, wrong_types_name_their_place) {
  std::string text = write_json(sample_profile());
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":\"100\""), ErrorKind::kUnreadable,
               "nodes[0].own_after_bits is \"100\", an integer");
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":1.5"), ErrorKind::kUnreadable, "an integer");
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":99999999999999999999"), ErrorKind::kUnreadable,
               "an integer of 63 bits");
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":9223372036854775808"), ErrorKind::kUnreadable,
               "an integer of 63 bits");
  expect_error(replaced(text, "\"kind\":\"loop\"", "\"kind\":\"spiral\""), ErrorKind::kUnreadable, "accepted are \"call\"");
  expect_error(replaced(text, "\"callee\":\"step\"", "\"kallee\":\"step\""), ErrorKind::kUnreadable,
               "sites[1] has no member \"callee\"");
  expect_error(replaced(text, "\"primal_ns\":500000000.0", "\"primal_ns\":1e999"), ErrorKind::kUnreadable,
               "number overflow parsing '1e999'");
  expect_error(R"({"format": "adprof-profile", "version": 1, "oldest_reader": 1, "nodes": [3]})", ErrorKind::kUnreadable,
               "nodes is no array of objects");
  expect_error(R"({"format": "adprof-profile", "version": 1, "oldest_reader": 1, "procedures": [3]})", ErrorKind::kUnreadable,
               "procedures is no array of strings");
}

TEST(ProfileJson, deep_nesting_does_not_exhaust_the_stack) {
  expect_error(std::string(1'000'000, '['), ErrorKind::kUnreadable, "nested more than 16 deep");
}

TEST(ProfileCheck, content_that_contradicts_itself_is_named) {
  std::string text = write_json(sample_profile());
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":-100"), ErrorKind::kInvalid,
               "nodes[0]: own_after_bits is -100, accepted are 0 to 2^60");
  expect_error(replaced(text, "\"own_after_bits\":100", "\"own_after_bits\":1152921504606846970"), ErrorKind::kInvalid,
               "the sizes in it add up to more than 2^60 bits");
  expect_error(replaced(text, "\"count\":10", "\"count\":1152921504606846970"), ErrorKind::kInvalid, "nodes[4]");
  expect_error(replaced(text, "\"count\":10", "\"count\":0"), ErrorKind::kInvalid, "nodes[4]: count is 0");
  expect_error(replaced(text, "\"node\":3", "\"node\":4"), ErrorKind::kInvalid, "edge leads to node 4, which does not stand before it: a cycle");
  expect_error(replaced(text, "\"parent\":1", "\"parent\":2"), ErrorKind::kInvalid, "contexts[2]: parent is 2");
  expect_error(replaced(text, "\"site\":3,\"node\"", "\"site\":9,\"node\""), ErrorKind::kInvalid, "nodes[2]: site is 9, but there are only 4");
  expect_error(replaced(text, "\"primal_ns\":500000000.0", "\"primal_ns\":-1.0"), ErrorKind::kInvalid, "contexts[1]: primal_ns is -1");
  expect_error(replaced(text, "\"callee\":\"flux\"", "\"callee\":\"solve\""), ErrorKind::kInvalid, "step:solve:0 stands there twice");
  expect_error(replaced(text, "\"root\":5", "\"root\":6"), ErrorKind::kInvalid, "threads[0]: root is 6");
}

TEST(ProfileCheck, loops_inside_loops_cannot_overflow) {
  Profile p;
  p.nodes.resize(1);
  p.nodes[0].own_after_bits = 1;
  for (std::uint32_t depth = 0; depth < 40; ++depth) {
    Node node;
    Edge edge;
    edge.kind = EdgeKind::kLoop;
    edge.node = depth;
    edge.count = 1000;
    node.edges = {edge, edge};
    p.nodes.push_back(node);
  }
  Result<void> checked = check(p, "p.json");
  ASSERT_FALSE(checked);
  EXPECT_NE(checked.error().what.find("add up to more than 2^60 bits"), std::string::npos) << checked.error().what;
}

TEST(ProfileJson, the_fingerprint_is_of_the_sites_alone) {
  Profile p = sample_profile(), q = sample_profile();
  std::swap(q.sites[0], q.sites[2]);
  q.sites[1].primal.line = 99;
  q.contexts.clear();
  EXPECT_EQ(site_fingerprint(p), site_fingerprint(q));
  q.sites[1].signature = "ptr,i64";
  EXPECT_NE(site_fingerprint(p), site_fingerprint(q));
}

TEST(ProfileJson, names_that_are_no_utf8_do_not_stop_the_writer) {
  Profile p = sample_profile();
  p.processes[0].command = "./model \xff\xfe";
  EXPECT_TRUE(read_json(write_json(p), "p.json"));
}

} // namespace
} // namespace adprof::profile
