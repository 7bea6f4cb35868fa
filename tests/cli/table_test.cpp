#include "cli/table.h"

#include <gtest/gtest.h>

namespace adprof::cli {
namespace {

TEST(Table, numbers_stand_right_and_lines_end_without_blanks) {
  Table table({{"site", false, true}, {"calls", true}, {"note"}});
  table.add_row({"a:b:0", "1,234", "x"});
  table.add_row({"longer:name:1", "5", ""});
  EXPECT_EQ(table.text(), "site           calls  note\n"
                          "a:b:0          1,234  x\n"
                          "longer:name:1      5\n");
}

TEST(Table, names_give_way_to_the_width_in_the_middle) {
  Table table({{"site", false, true}, {"calls", true}});
  table.add_row({"a_very_long_caller_name:a_very_long_callee_name:12", "1,234,567"});
  EXPECT_EQ(table.text(40), "site                               calls\n"
                            "a_very_long_c...allee_name:12  1,234,567\n");
  EXPECT_EQ(shorten("abcdefghij", 7), "ab...ij");
  EXPECT_EQ(shorten("abc", 2), "abc");
}

TEST(Table, colour_only_where_asked_for_and_does_not_move_columns) {
  Table table({{"a"}, {"b", true}});
  table.add_row({Cell("x", Style::kBad), "1"});
  EXPECT_EQ(table.text(), "a  b\nx  1\n");
  EXPECT_EQ(table.text(80, true), "\x1b[1ma\x1b[0m  \x1b[1mb\x1b[0m\n\x1b[31mx\x1b[0m  1\n");
}

TEST(Table, markdown_marks_numbers_and_escapes_bars) {
  Table table({{"site"}, {"calls", true}});
  table.add_row({"a|b", "1"});
  EXPECT_EQ(table.markdown(), "| site | calls |\n| --- | ---: |\n| a\\|b | 1 |\n");
}

TEST(Table, code_points_are_counted_once) {
  EXPECT_EQ(display_width("\xc3\xa9t\xc3\xa9"), 3u);
  EXPECT_EQ(shorten("\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9\xc3\xa9", 5), "\xc3\xa9...\xc3\xa9");
}

} // namespace
} // namespace adprof::cli
