#include "optimizer/profile/module_text.h"

#include <gtest/gtest.h>

namespace adprof::profile {
namespace {

/// A module whose caller `f` calls `g` once per signature, in adjoint and primal source. Adjoint lines are 100 + ordinal.
std::map<std::uint32_t, std::uint32_t> joined(const std::vector<std::string> &adjoint, const std::vector<std::string> &primal,
                                              const std::string &copy = "") {
  std::string text = "adprof\t1\tf_b.c\tclang\n";
  for (size_t i = 0; i < adjoint.size(); ++i)
    text += "call\t0\t" + std::to_string(i + 1) + "\tprimal\tf\tg\t" + std::to_string(i) + "\t0\tf_b.c\t" + std::to_string(100 + i) +
            "\tg\tf_b\t" + adjoint[i] + "\n";
  for (size_t i = 0; i < primal.size(); ++i)
    text += "source\tf\tg\t" + std::to_string(i) + "\tf.c\t" + std::to_string(10 + i) + "\t" + primal[i] + copy + "\n";
  ModuleTexts modules;
  Result<void> added = modules.add(text, "raw.1");
  EXPECT_TRUE(added) << added.error().what;
  modules.join_sources();
  std::map<std::uint32_t, std::uint32_t> lines;
  for (const auto &[key, call] : modules.calls())
    lines[call.site.ordinal] = call.site.primal.line;
  return lines;
}

using Lines = std::map<std::uint32_t, std::uint32_t>;

TEST(ModuleText, as_many_calls_join_by_ordinal_whatever_their_signatures) {
  EXPECT_EQ(joined({"a", "b"}, {"x", "y"}), (Lines{{0, 10}, {1, 11}}));
}

TEST(ModuleText, an_inactive_call_is_skipped_by_signature) {
  EXPECT_EQ(joined({"a", "c"}, {"a", "b", "c"}), (Lines{{0, 10}, {1, 12}}));
}

TEST(ModuleText, what_signatures_cannot_decide_stays_open) {
  EXPECT_EQ(joined({"a", "c"}, {"a", "a", "c"}), (Lines{{0, 0}, {1, 12}}));
  EXPECT_EQ(joined({"a"}, {"b", "c"}), (Lines{{0, 0}}));
  // Either of the two could be the one that is left out.
  EXPECT_EQ(joined({"a", "b"}, {"b", "a", "z"}), (Lines{{0, 0}, {1, 0}}));
}

TEST(ModuleText, copies_in_generated_code_are_no_place_for_a_directive) {
  EXPECT_EQ(joined({"a"}, {"a"}, "\tcopy"), (Lines{{0, 0}}));
}

TEST(ModuleText, fields_may_hold_tabs_and_newlines) {
  ModuleTexts modules;
  ASSERT_TRUE(modules.add("adprof\t1\ta\\\\b.c\tx\ndoubt\tcall\tf\\tg\t3\tone\\ntwo\n", "raw.1"));
  EXPECT_EQ(modules.doubts()[0].function, "f\tg");
  EXPECT_EQ(modules.doubts()[0].text, "one\ntwo");
  EXPECT_EQ(modules.doubts()[0].at, (SourceLine{"a\\b.c", 3}));
}

TEST(ModuleText, other_versions_and_short_lines_are_errors) {
  for (const char *text : {"adprof\t2\tf.c\n", "adprof\n", "proc\t1\n", "call\t1\t2\n", "source\tf\tg\tx\ty\tz\tw\n", "doubt\ta\n"})
    EXPECT_FALSE(ModuleTexts().add(text, "raw.1")) << text;
  EXPECT_TRUE(ModuleTexts().add("", "raw.1"));
  EXPECT_TRUE(ModuleTexts().add("\n\nunknown\tline", "raw.1"));
}

} // namespace
} // namespace adprof::profile
