#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>

#include "optimizer/feedback/directives.h"

namespace {

using namespace adprof::feedback;

constexpr SourceForm kFixed = SourceForm::kFixed, kFree = SourceForm::kFree, kC = SourceForm::kC;

Decision off(const std::string &callee, std::uint32_t line, std::uint32_t ordinal = 0,
             const std::string &file = "m.src") {
  return {"caller", callee, ordinal, {file, line}, false, true, 1};
}
Decision on(const std::string &callee, std::uint32_t line, std::uint32_t ordinal = 0) {
  Decision decision = off(callee, line, ordinal);
  decision.on = true;
  return decision;
}

DirectivePatch patch(SourceForm form, const std::string &text, const std::vector<Decision> &decisions) {
  adprof::Result<DirectivePatch> result = patch_directives({{"m.src", "m.src", text, form}}, decisions);
  if (!result) {
    ADD_FAILURE() << result.error().what;
    return {};
  }
  return *result;
}

/// The new text; the old one where nothing changes. Fails on any mismatch.
std::string patched(SourceForm form, const std::string &text, const std::vector<Decision> &decisions) {
  const DirectivePatch result = patch(form, text, decisions);
  for (const Mismatch &mismatch : result.mismatches)
    ADD_FAILURE() << mismatch.site << " line " << mismatch.at.line << ": " << mismatch.what;
  if (result.files.empty())
    return text;
  return result.files[0].patched;
}

std::string what_is_wrong(SourceForm form, const std::string &text, const Decision &decision) {
  const DirectivePatch result = patch(form, text, {decision});
  EXPECT_TRUE(result.files.empty());
  EXPECT_EQ(result.mismatches.size(), 1u);
  EXPECT_EQ(result.on, std::vector<std::uint8_t>{1});
  return result.mismatches.empty() ? "" : result.mismatches[0].what;
}

// Free form -----------------------------------------------------------------------------------------------------------

TEST(FreeForm, a_call_gets_an_indented_directive) {
  EXPECT_EQ(patched(kFree, "subroutine a\n  call f(x)\nend\n", {off("f", 2)}),
            "subroutine a\n  !$AD NOCHECKPOINT\n  call f(x)\nend\n");
}

TEST(FreeForm, tabs_and_crlf_are_kept) {
  EXPECT_EQ(patched(kFree, "subroutine a\r\n\tCALL F(X)\r\nend\r\n", {off("f", 2)}),
            "subroutine a\r\n\t!$AD NOCHECKPOINT\r\n\tCALL F(X)\r\nend\r\n");
}

TEST(FreeForm, a_continued_statement_gets_it_before_its_first_row) {
  const std::string text = "  y = g(x) + & ! first\n"
                           "  ! between\n"
                           "\n"
                           "      & f(x, 'it''s & & a string', &\n"
                           "        z)\n";
  const std::string want = "  !$AD NOCHECKPOINT\n" + text;
  EXPECT_EQ(patched(kFree, text, {off("f", 1)}), want);
  EXPECT_EQ(patched(kFree, text, {off("f", 4)}), want);
  EXPECT_EQ(patched(kFree, text, {off("f", 5)}), want);
}

TEST(FreeForm, a_name_broken_over_two_rows_is_found) {
  EXPECT_EQ(patched(kFree, "  call ad&\n  &vance(x)\n", {off("advance", 1)}),
            "  !$AD NOCHECKPOINT\n  call ad&\n  &vance(x)\n");
}

TEST(FreeForm, strings_and_comments_hide_names) {
  EXPECT_NE(what_is_wrong(kFree, "  print *, 'call f(x) '' f(y)' ! f(z)\n", off("f", 1)).find("no call of 'f'"),
            std::string::npos);
  EXPECT_NE(what_is_wrong(kFree, "  print *, \"a & !\", &\n  'f(x)'\n", off("f", 1)).find("no call"),
            std::string::npos);
}

TEST(FreeForm, a_string_continued_over_rows_hides_names) {
  EXPECT_NE(what_is_wrong(kFree, "  print *, 'abc&\n  & f(x)', z\n", off("f", 2)).find("no call"), std::string::npos);
}

TEST(FreeForm, conditions_else_branches_and_one_line_ifs) {
  const std::string text = "if (f(x) > 0) then\n"
                           "  call g(x)\n"
                           "else if (f(y) > 0) then\n"
                           "  y = 1\n"
                           "else\n"
                           "  if (y > 0) call h\n"
                           "end if\n";
  EXPECT_EQ(patched(kFree, text, {off("f", 1, 0), off("h", 6)}), "!$AD NOCHECKPOINT\nif (f(x) > 0) then\n"
                                                                 "  call g(x)\n"
                                                                 "else if (f(y) > 0) then\n"
                                                                 "  y = 1\n"
                                                                 "else\n"
                                                                 "  !$AD NOCHECKPOINT\n"
                                                                 "  if (y > 0) call h\n"
                                                                 "end if\n");
  const DirectivePatch behind_else = patch(kFree, text, {off("f", 3)});
  ASSERT_EQ(behind_else.files.size(), 1u);
  ASSERT_EQ(behind_else.notes.size(), 1u);
  EXPECT_NE(behind_else.notes[0].find("ELSE IF"), std::string::npos);
}

TEST(FreeForm, a_label_keeps_its_statement) {
  EXPECT_EQ(patched(kFree, "10 call f(x)\n", {off("f", 1)}), "!$AD NOCHECKPOINT\n10 call f(x)\n");
}

TEST(FreeForm, an_existing_directive_is_kept_once_whatever_stands_between) {
  for (const char *text : {"  !$AD NOCHECKPOINT\n  call f(x)\n", "!$ad nocheckpoint\n  call f(x)\n",
                           "  ! $AD  NOCHECKPOINT\n  ! and why\n\n  call f(x)\n"}) {
    const DirectivePatch result =
        patch(kFree, text, {off("f", 2 + (std::string(text).find("why") != std::string::npos) * 2)});
    EXPECT_TRUE(result.files.empty()) << text;
    EXPECT_TRUE(result.mismatches.empty()) << text;
    EXPECT_EQ(result.already, 1u);
  }
}

TEST(FreeForm, a_directive_before_a_site_that_is_on_is_removed) {
  EXPECT_EQ(patched(kFree, "  x = 1\n  !$AD NOCHECKPOINT\n  call f(x)\n", {on("f", 3)}), "  x = 1\n  call f(x)\n");
  EXPECT_EQ(patched(kFree, "  x = 1 !$AD NOCHECKPOINT\n  call f(x)\n", {on("f", 2)}), "  x = 1\n  call f(x)\n");
}

TEST(FreeForm, a_directive_of_another_statement_is_no_directive_of_this_one) {
  const std::string text = "!$AD NOCHECKPOINT\ncall g(x)\ncall f(x)\n";
  EXPECT_EQ(patched(kFree, text, {off("f", 3)}), "!$AD NOCHECKPOINT\ncall g(x)\n!$AD NOCHECKPOINT\ncall f(x)\n");
}

TEST(FreeForm, other_directives_are_left_alone) {
  const std::string text =
      "!$AD NOCHECKPOINT-START\n!$AD BINOMIAL-CKP 10 3 1\n!$AD II-LOOP\n!$omp parallel do\ncall f(x)\n";
  EXPECT_EQ(patched(kFree, text, {on("f", 5)}), text);
}

TEST(FreeForm, a_directive_with_other_text_is_left_to_the_user) {
  const DirectivePatch result = patch(kFree, "!$AD NOCHECKPOINT because it is cheap\ncall f(x)\n", {on("f", 2)});
  EXPECT_TRUE(result.files.empty());
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("by hand"), std::string::npos);
  EXPECT_EQ(result.on, std::vector<std::uint8_t>{0});
}

TEST(FreeForm, a_row_with_several_statements_is_broken_before_the_right_one) {
  EXPECT_EQ(patched(kFree, "  a = 1; call f(x) ; call g(y)\n", {off("f", 1), on("g", 1)}),
            "  a = 1\n  !$AD NOCHECKPOINT\n  call f(x) ; call g(y)\n");
  EXPECT_NE(what_is_wrong(kFree, "  a = 1; &\n  call f(x)\n", off("f", 2)).find("behind ';'"), std::string::npos);
}

TEST(FreeForm, type_bound_calls_and_module_names) {
  EXPECT_EQ(patched(kFree, "  call grid%cell(3)%step(dt)\n", {off("dynamics.step", 1)}),
            "  !$AD NOCHECKPOINT\n  call grid%cell(3)%step(dt)\n");
}

TEST(FreeForm, a_definition_is_no_call) {
  EXPECT_NE(what_is_wrong(kFree, "real function f(x)\n", off("f", 1)).find("no call"), std::string::npos);
  EXPECT_NE(what_is_wrong(kFree, "recursive subroutine f(x)\n", off("f", 1)).find("no call"), std::string::npos);
}

TEST(FreeForm, a_conditional_sentinel_is_code) {
  EXPECT_EQ(patched(kFree, "  !$ call f(x)\n", {off("f", 1)}), "  !$AD NOCHECKPOINT\n  !$ call f(x)\n");
}

TEST(FreeForm, preprocessor_rows_may_stand_within_a_statement) {
  const std::string text = "call f(x, &\n#ifdef A\n  y, &\n#else\n  z, &\n#endif\n  w)\ncall g(x)\n";
  EXPECT_EQ(
      patched(kFree, text, {off("f", 7), off("g", 8)}),
      "!$AD NOCHECKPOINT\ncall f(x, &\n#ifdef A\n  y, &\n#else\n  z, &\n#endif\n  w)\n!$AD NOCHECKPOINT\ncall g(x)\n");
}

TEST(FreeForm, two_calls_in_one_statement_that_differ_are_a_loss) {
  const DirectivePatch result = patch(kFree, "y = f(x) + g(x)\n", {off("f", 1), on("g", 1)});
  EXPECT_TRUE(result.files.empty());
  ASSERT_EQ(result.losses.size(), 1u);
  EXPECT_EQ(result.losses[0].group, "m.src:1");
  EXPECT_EQ(result.losses[0].changed, std::vector<std::string>{"caller:f:0"});
  EXPECT_EQ(result.on, (std::vector<std::uint8_t>{1, 1}));
}

TEST(FreeForm, a_loss_is_decided_by_cost_if_there_is_one) {
  const auto faster_off = [](const std::vector<std::uint8_t> &on_now) {
    Cost cost;
    for (std::uint8_t one : on_now)
      cost.time_ns += one;
    return cost;
  };
  const auto result =
      patch_directives({{"m.src", "m.src", "y = f(x) + g(x)\n", kFree}}, {off("f", 1), on("g", 1)}, faster_off);
  ASSERT_TRUE(result);
  ASSERT_EQ(result->files.size(), 1u);
  EXPECT_EQ(result->files[0].patched, "!$AD NOCHECKPOINT\ny = f(x) + g(x)\n");
  EXPECT_EQ(result->losses[0].changed, std::vector<std::string>{"caller:g:0"});
}

TEST(FreeForm, a_call_of_a_site_that_cannot_be_switched_is_named_when_it_is_covered_too) {
  Decision fixed = on("g", 1);
  fixed.switchable = false;
  const DirectivePatch result = patch(kFree, "y = f(x) + g(x)\n", {off("f", 1), fixed});
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("'g'"), std::string::npos);
}

// Fixed form ----------------------------------------------------------------------------------------------------------

TEST(FixedForm, the_directive_stands_in_column_1) {
  EXPECT_EQ(patched(kFixed, "      SUBROUTINE A\n         CALL F(X)\n      END\n", {off("f", 2)}),
            "      SUBROUTINE A\nC$AD NOCHECKPOINT\n         CALL F(X)\n      END\n");
}

TEST(FixedForm, continuation_rows_comments_between_and_labels) {
  const std::string text = "C     F(X) in a comment\n"
                           "  100 Y = G(X) +\n"
                           "* between\n"
                           "\n"
                           "     1    F(X,\n"
                           "     &      Z)\n"
                           "      CALL F(Y)\n";
  EXPECT_EQ(patched(kFixed, text, {off("f", 5)}),
            "C     F(X) in a comment\nC$AD NOCHECKPOINT\n" + text.substr(text.find("  100")));
  EXPECT_EQ(patched(kFixed, text, {off("f", 2)}),
            "C     F(X) in a comment\nC$AD NOCHECKPOINT\n" + text.substr(text.find("  100")));
}

TEST(FixedForm, column_6_and_0) {
  // '0' in column 6 starts a statement, anything else goes on, even '!'.
  EXPECT_EQ(patched(kFixed, "      CALL G(X,\n     !  F(X))\n     0CALL F(Y)\n", {off("f", 3)}),
            "      CALL G(X,\n     !  F(X))\nC$AD NOCHECKPOINT\n     0CALL F(Y)\n");
  EXPECT_EQ(patched(kFixed, "      CALL G(X,\n     !  F(X))\n", {off("f", 2)}),
            "C$AD NOCHECKPOINT\n      CALL G(X,\n     !  F(X))\n");
}

TEST(FixedForm, tab_form) {
  EXPECT_EQ(patched(kFixed, "\tY = G(X)\n\t1 + F(X)\n10\tCALL F(X)\n", {off("f", 2, 0), off("f", 3, 1)}),
            "C$AD NOCHECKPOINT\n\tY = G(X)\n\t1 + F(X)\nC$AD NOCHECKPOINT\n10\tCALL F(X)\n");
}

TEST(FixedForm, column_73_is_no_code_unless_the_rows_are_long) {
  const std::string numbered = "      CALL G(X)" + std::string(57, ' ') + "F(X)0010\n      CALL F(X)\n";
  EXPECT_EQ(patched(kFixed, numbered, {off("f", 2)}), numbered.substr(0, 81) + "C$AD NOCHECKPOINT\n      CALL F(X)\n");
  const std::string extended = "      Y = " + std::string(70, ' ') + "F(X)\n";
  EXPECT_EQ(patched(kFixed, extended, {off("f", 1)}), "C$AD NOCHECKPOINT\n" + extended);
}

TEST(FixedForm, a_name_broken_at_column_72_is_found) {
  const std::string text = "      CALL" + std::string(59, ' ') + "ADV\n     &ANCE(X)\n";
  ASSERT_EQ(text.find('\n'), 72u);
  EXPECT_EQ(patched(kFixed, text, {off("advance", 1)}), "C$AD NOCHECKPOINT\n" + text);
}

TEST(FixedForm, blanks_mean_nothing_between_call_and_name) {
  EXPECT_EQ(patched(kFixed, "      CALLFLUX(X)\n      IF(A)CALLFLUX\n", {off("flux", 1), off("flux", 2, 1)}),
            "C$AD NOCHECKPOINT\n      CALLFLUX(X)\nC$AD NOCHECKPOINT\n      IF(A)CALLFLUX\n");
}

TEST(FixedForm, strings_run_over_rows) {
  const std::string text = "      PRINT *, 'CALL F(X)\n     & AND F(Y) ! NO COMMENT'\n      CALL F(X)\n";
  EXPECT_EQ(patched(kFixed, text, {off("f", 3)}),
            "      PRINT *, 'CALL F(X)\n     & AND F(Y) ! NO COMMENT'\nC$AD NOCHECKPOINT\n      CALL F(X)\n");
  EXPECT_NE(what_is_wrong(kFixed, text, off("f", 2)).find("no call"), std::string::npos);
}

TEST(FixedForm, an_apostrophe_left_open_ends_with_its_statement) {
  EXPECT_EQ(patched(kFixed, "   10 FORMAT(6H don't)\n      CALL F(X)\n", {off("f", 2)}),
            "   10 FORMAT(6H don't)\nC$AD NOCHECKPOINT\n      CALL F(X)\n");
}

TEST(FixedForm, existing_directives_are_kept_or_removed) {
  EXPECT_EQ(patched(kFixed, "C$AD NOCHECKPOINT\n      CALL F(X)\n", {off("f", 2)}),
            "C$AD NOCHECKPOINT\n      CALL F(X)\n");
  EXPECT_EQ(patched(kFixed, "c$ad nocheckpoint\r\n      CALL F(X)\r\n", {on("f", 2)}), "      CALL F(X)\r\n");
  EXPECT_EQ(patched(kFixed, "*$AD NOCHECKPOINT\nC why\n      CALL F(X,\n     &Y)\n", {on("f", 4)}),
            "C why\n      CALL F(X,\n     &Y)\n");
}

TEST(FixedForm, several_statements_in_a_row) {
  EXPECT_EQ(patched(kFixed, "      A = 1; CALL F(X)\n#ifdef B\n      CALL G(X)\n#endif\n", {off("f", 1)}),
            "      A = 1\nC$AD NOCHECKPOINT\n      CALL F(X)\n#ifdef B\n      CALL G(X)\n#endif\n");
}

TEST(FixedForm, a_conditional_sentinel_is_code_and_omp_is_not) {
  EXPECT_EQ(patched(kFixed, "C$OMP PARALLEL DO\nC$    CALL F(X)\n", {off("f", 2)}),
            "C$OMP PARALLEL DO\nC$AD NOCHECKPOINT\nC$    CALL F(X)\n");
}

// C -------------------------------------------------------------------------------------------------------------------

const std::string kHead = "void a(double *x) {\n";

std::string in_c(const std::string &body, const std::vector<Decision> &decisions) {
  const std::string text = patched(kC, kHead + body + "}\n", decisions);
  EXPECT_TRUE(text.starts_with(kHead) && text.ends_with("}\n")) << text;
  return text.substr(kHead.size(), text.size() - kHead.size() - 2);
}

TEST(C, a_call_gets_an_indented_comment) {
  EXPECT_EQ(in_c("  f(x);\n", {off("f", 2)}), "  /* $AD NOCHECKPOINT */\n  f(x);\n");
  EXPECT_EQ(in_c("\tf (x);\r\n", {off("f", 2)}), "\t/* $AD NOCHECKPOINT */\r\n\tf (x);\r\n");
}

TEST(C, a_statement_of_several_rows_gets_it_before_the_first) {
  const std::string body = "  y = g(x) +\n      /* f(1) */ \"f(2)\"[0] + '\\'' +\n      f(x,\n        2);\n";
  EXPECT_EQ(in_c(body, {off("f", 4)}), "  /* $AD NOCHECKPOINT */\n" + body);
  EXPECT_EQ(in_c(body, {off("f", 5)}), "  /* $AD NOCHECKPOINT */\n" + body);
}

TEST(C, comments_and_strings_hide_names) {
  EXPECT_NE(what_is_wrong(kC, kHead + "  g(\"f(x)\"); // f(x) \\\n  f(x)\n  /* f(x)\n f(x) */ h();\n}\n", off("f", 2))
                .find("no call"),
            std::string::npos);
  EXPECT_NE(what_is_wrong(kC, kHead + "  g(1); // no \\\n  f(x)\n}\n", off("f", 3)).find("no call"), std::string::npos);
}

TEST(C, conditions_and_loops) {
  EXPECT_EQ(in_c("  if (f(x) > 0)\n    g(x);\n", {off("f", 2)}),
            "  /* $AD NOCHECKPOINT */\n  if (f(x) > 0)\n    g(x);\n");
  EXPECT_EQ(in_c("  if (f(x) > 0)\n    g(x);\n", {off("g", 3)}),
            "  if (f(x) > 0)\n    /* $AD NOCHECKPOINT */\n    g(x);\n");
  EXPECT_EQ(in_c("  for (i = 0; i < n(x); f(x), ++i) {\n    g(x);\n  }\n", {off("f", 2)}),
            "  /* $AD NOCHECKPOINT */\n  for (i = 0; i < n(x); f(x), ++i) {\n    g(x);\n  }\n");
}

TEST(C, a_statement_in_the_middle_of_a_row_gets_a_row_of_its_own) {
  EXPECT_EQ(in_c("  if (y > 0) f(x);\n", {off("f", 2)}), "  if (y > 0)\n  /* $AD NOCHECKPOINT */\n  f(x);\n");
  EXPECT_EQ(in_c("  if (y) {\n  } else if (f(x)) {\n  }\n", {off("f", 3)}),
            "  if (y) {\n  } else\n  /* $AD NOCHECKPOINT */\n  if (f(x)) {\n  }\n");
  EXPECT_EQ(in_c("  if (y) g(x); else f(x);\n", {off("f", 2), on("g", 2)}),
            "  if (y) g(x); else\n  /* $AD NOCHECKPOINT */\n  f(x);\n");
  EXPECT_EQ(in_c("  switch (k) {\n  case 1: f(x); break;\n  default: g(x);\n  }\n", {off("f", 3), off("g", 4)}),
            "  switch (k) {\n  case 1:\n  /* $AD NOCHECKPOINT */\n  f(x); break;\n  default:\n  /* $AD NOCHECKPOINT "
            "*/\n  g(x);\n  }\n");
  EXPECT_EQ(in_c("again: f(x);\n", {off("f", 2)}), "again:\n/* $AD NOCHECKPOINT */\nf(x);\n");
}

TEST(C, two_calls_of_one_callee_in_a_row_are_told_apart_by_their_order) {
  EXPECT_EQ(in_c("  f(x); f(y);\n", {on("f", 2, 0), off("f", 2, 1)}), "  f(x);\n  /* $AD NOCHECKPOINT */\n  f(y);\n");
  EXPECT_EQ(in_c("  f(x); f(y);\n", {off("f", 2, 0), off("f", 2, 1)}),
            "  /* $AD NOCHECKPOINT */\n  f(x);\n  /* $AD NOCHECKPOINT */\n  f(y);\n");
  const DirectivePatch unclear = patch(kC, kHead + "  f(x); f(y); f(z);\n}\n", {on("f", 2, 0), off("f", 2, 1)});
  EXPECT_TRUE(unclear.files.empty());
  ASSERT_EQ(unclear.mismatches.size(), 1u);
  EXPECT_NE(unclear.mismatches[0].what.find("3 calls"), std::string::npos);
}

TEST(C, two_calls_in_one_expression_that_differ_are_a_loss) {
  const DirectivePatch result = patch(kC, kHead + "  y = f(x) * f(z);\n}\n", {off("f", 2, 0), on("f", 2, 1)});
  EXPECT_TRUE(result.files.empty());
  ASSERT_EQ(result.losses.size(), 1u);
}

TEST(C, initialisers_compound_literals_and_structs_are_no_blocks) {
  EXPECT_EQ(in_c("  double v[] = {1,\n    f(x)};\n", {off("f", 3)}),
            "  /* $AD NOCHECKPOINT */\n  double v[] = {1,\n    f(x)};\n");
  EXPECT_EQ(in_c("  p = (struct s){.a = 1,\n    .b = f(x)};\n", {off("f", 3)}),
            "  /* $AD NOCHECKPOINT */\n  p = (struct s){.a = 1,\n    .b = f(x)};\n");
  EXPECT_EQ(in_c("  struct s { int a : 3; double b; } p; f(x);\n", {off("f", 2)}),
            "  struct s { int a : 3; double b; } p;\n  /* $AD NOCHECKPOINT */\n  f(x);\n");
}

TEST(C, macro_loops_are_blocks) {
  EXPECT_EQ(in_c("  for_each(i, n) {\n    f(x);\n  }\n", {off("f", 3)}),
            "  for_each(i, n) {\n    /* $AD NOCHECKPOINT */\n    f(x);\n  }\n");
}

TEST(C, the_ternary_colon_is_no_label) {
  EXPECT_EQ(in_c("  y = a ? b :\n    f(x);\n", {off("f", 3)}), "  /* $AD NOCHECKPOINT */\n  y = a ? b :\n    f(x);\n");
}

TEST(C, declarations_are_no_calls) {
  EXPECT_NE(what_is_wrong(kC, "double f(double x);\n", off("f", 1)).find("no call"), std::string::npos);
  EXPECT_NE(what_is_wrong(kC, "double f(double x) {\n  return x;\n}\n", off("f", 1)).find("no call"),
            std::string::npos);
  EXPECT_NE(what_is_wrong(kC, kHead + "  extern double f(double x);\n}\n", off("f", 2)).find("no call"),
            std::string::npos);
}

TEST(C, functions_in_extern_c_and_old_style_definitions) {
  EXPECT_EQ(patched(kC, "extern \"C\" {\nvoid a(int n)\n{\n  f(n);\n}\n}\n", {off("f", 4)}),
            "extern \"C\" {\nvoid a(int n)\n{\n  /* $AD NOCHECKPOINT */\n  f(n);\n}\n}\n");
  EXPECT_EQ(patched(kC, "void a(n)\nint n;\n{\n  f(n);\n}\n", {off("f", 4)}),
            "void a(n)\nint n;\n{\n  /* $AD NOCHECKPOINT */\n  f(n);\n}\n");
}

TEST(C, branches_of_the_preprocessor_open_the_same_block) {
  const std::string body = "#ifdef A\n  if (y) {\n#else\n  if (z) {\n#endif\n    f(x);\n  }\n";
  EXPECT_EQ(in_c(body, {off("f", 7)}),
            "#ifdef A\n  if (y) {\n#else\n  if (z) {\n#endif\n    /* $AD NOCHECKPOINT */\n    f(x);\n  }\n");
}

TEST(C, a_statement_that_goes_on_in_each_branch_begins_before_them) {
  const std::string body = "  y = 1\n#if A\n    + f(x);\n#else\n    + g(x);\n#endif\n  h(x);\n";
  EXPECT_EQ(in_c(body, {off("f", 4)}), "  /* $AD NOCHECKPOINT */\n" + body);
  EXPECT_EQ(in_c(body, {off("g", 6)}), "  /* $AD NOCHECKPOINT */\n" + body);
  EXPECT_EQ(in_c(body, {off("h", 8)}), body.substr(0, body.find("  h")) + "  /* $AD NOCHECKPOINT */\n  h(x);\n");
}

TEST(C, a_call_in_a_macro_is_refused) {
  EXPECT_NE(what_is_wrong(kC, "#define STEP(x) \\\n  f(x)\n" + kHead + "  STEP(x);\n}\n", off("f", 2))
                .find("preprocessor directive"),
            std::string::npos);
  EXPECT_NE(what_is_wrong(kC, "#define STEP(x) f(x)\n" + kHead + "  STEP(x);\n}\n", off("f", 3)).find("calls STEP"),
            std::string::npos);
}

TEST(C, strings_in_preprocessor_rows_open_no_comment) {
  EXPECT_EQ(patched(kC, "#define GLOB \"/*\"\n" + kHead + "  f(x);\n}\n", {off("f", 3)}),
            "#define GLOB \"/*\"\n" + kHead + "  /* $AD NOCHECKPOINT */\n  f(x);\n}\n");
}

TEST(C, existing_directives_of_every_form_are_kept_once) {
  for (const std::string text :
       {"  /* $AD NOCHECKPOINT */\n  f(x);\n", "  // $AD NOCHECKPOINT\n  f(x);\n",
        "#pragma $AD NOCHECKPOINT\n  f(x);\n", "#pragma AD NOCHECKPOINT\n  f(x);\n", "  /* $AD NOCHECKPOINT */ f(x);\n",
        "  y = /* $AD NOCHECKPOINT */ f(x);\n", "  /*\n   * $AD NOCHECKPOINT\n   */\n  f(x);\n",
        "  /* $AD NOCHECKPOINT */\n  if (y) f(x);\n"}) {
    const std::uint32_t line = static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1;
    EXPECT_EQ(in_c(text, {off("f", line)}), text);
  }
}

TEST(C, directives_of_every_form_are_removed) {
  const auto removed = [](const std::string &text) {
    return in_c(text, {on("f", static_cast<std::uint32_t>(std::ranges::count(text, '\n')) + 1)});
  };
  EXPECT_EQ(removed("  /* $AD NOCHECKPOINT */\n  f(x);\n"), "  f(x);\n");
  EXPECT_EQ(removed("  // $AD NOCHECKPOINT\n  f(x);\n"), "  f(x);\n");
  EXPECT_EQ(removed("#pragma AD NOCHECKPOINT\n  f(x);\n"), "  f(x);\n");
  EXPECT_EQ(removed("  /* $AD NOCHECKPOINT */ f(x);\n"), "  f(x);\n");
  EXPECT_EQ(removed("  y = 1; /* $AD NOCHECKPOINT */\n  f(x);\n"), "  y = 1;\n  f(x);\n");
  EXPECT_EQ(removed("  /*\n   * $AD NOCHECKPOINT\n   */\n  f(x);\n"), "  f(x);\n");
  EXPECT_EQ(removed("  /* $AD NOCHECKPOINT */\n  if (y) f(x);\n"), "  if (y) f(x);\n");
}

TEST(C, a_directive_of_a_head_is_not_taken_from_it_by_the_body) {
  const std::string text = "  /* $AD NOCHECKPOINT */\n  if (g(x)) f(x);\n";
  EXPECT_EQ(in_c(text, {off("g", 3), on("f", 3)}), text);
  EXPECT_EQ(in_c(text, {on("g", 3), off("f", 3)}), "  if (g(x))\n  /* $AD NOCHECKPOINT */\n  f(x);\n");
}

TEST(C, a_fortran_procedure_is_called_by_its_external_name) {
  EXPECT_EQ(in_c("  flux_(x);\n", {off("flux", 2)}), "  /* $AD NOCHECKPOINT */\n  flux_(x);\n");
}

// Line markers --------------------------------------------------------------------------------------------------------

TEST(LineMarkers, the_profile_names_the_file_before_the_preprocessor) {
  const std::string text =
      "# 1 \"src/step.F\"\n# 40 \"src/step.F\"\n      CALL F(X)\n# 1 \"common.inc\" 1\n      CALL F(Y)\n"
      "# 43 \"src/step.F\" 2\n      CALL F(Z)\n";
  const auto result =
      patch_directives({{"step.f", "step.f", text, kFixed}},
                       {off("f", 40, 0, "/home/u/src/step.F"), on("f", 1), off("f", 43, 2, "src/step.F")});
  ASSERT_TRUE(result);
  ASSERT_EQ(result->files.size(), 1u);
  EXPECT_TRUE(result->mismatches.empty());
  EXPECT_EQ(result->files[0].patched, "# 1 \"src/step.F\"\n# 40 \"src/step.F\"\nC$AD NOCHECKPOINT\n      CALL F(X)\n# "
                                      "1 \"common.inc\" 1\n      CALL F(Y)\n"
                                      "# 43 \"src/step.F\" 2\nC$AD NOCHECKPOINT\n      CALL F(Z)\n");
}

TEST(LineMarkers, hash_line_in_c) {
  EXPECT_EQ(patched(kC, "#line 100 \"m.src\"\n" + kHead + "#line 7\n  f(x);\n}\n", {off("f", 7)}),
            "#line 100 \"m.src\"\n" + kHead + "#line 7\n  /* $AD NOCHECKPOINT */\n  f(x);\n}\n");
}

TEST(LineMarkers, one_line_in_two_files_is_refused) {
  const std::string text = "call f(x)\n";
  const auto result =
      patch_directives({{"a/m.src", "m.src", text, kFree}, {"b/m.src", "m.src", text, kFree}}, {off("f", 1)});
  ASSERT_TRUE(result);
  EXPECT_TRUE(result->files.empty());
  ASSERT_EQ(result->mismatches.size(), 1u);
  EXPECT_NE(result->mismatches[0].what.find("two files"), std::string::npos);
}

// What no longer matches ----------------------------------------------------------------------------------------------

TEST(Refusal, names_what_was_found_and_where_the_call_is_now) {
  const std::string what = what_is_wrong(kFree, "x = 1\ny = g(x)\ncall f(x)\n", off("f", 2));
  EXPECT_EQ(
      what,
      "no call of 'f' there; found 'y = g(x)' (calls g); the nearest call of it is in line 3: the source has changed "
      "since it was profiled, profile it again");
}

TEST(Refusal, a_line_behind_the_end_or_no_line_at_all) {
  EXPECT_NE(what_is_wrong(kFree, "call f(x)\n", off("f", 99)).find("no source that was given holds this line"),
            std::string::npos);
  EXPECT_NE(what_is_wrong(kFree, "call f(x)\n", off("f", 0)).find("with -g"), std::string::npos);
}

TEST(Refusal, sites_that_stay_on_are_only_noted) {
  const DirectivePatch result = patch(kFree, "call f(x)\ncall g(x)\n", {off("f", 1), on("h", 2)});
  EXPECT_TRUE(result.mismatches.empty());
  EXPECT_EQ(result.files.size(), 1u);
  ASSERT_EQ(result.notes.size(), 1u);
  EXPECT_NE(result.notes[0].find("caller:h:0"), std::string::npos);
}

// The diff ------------------------------------------------------------------------------------------------------------

TEST(Diff, reads_as_people_know_it) {
  const DirectivePatch result = patch(kFree, "a\nb\nc\nd\ncall f(x)\ne\nf\ng\nh\ni\nj\nk\n!$AD NOCHECKPOINT\ncall g(x)",
                                      {off("f", 5), on("g", 14)});
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_EQ(result.files[0].diff,
            "--- a/m.src\n+++ b/m.src\n"
            "@@ -2,6 +2,7 @@\n b\n c\n d\n+!$AD NOCHECKPOINT\n call f(x)\n e\n f\n"
            "@@ -10,5 +11,4 @@\n i\n j\n k\n-!$AD NOCHECKPOINT\n call g(x)\n\\ No newline at end of file\n");
  EXPECT_EQ(result.files[0].added, 1u);
  EXPECT_EQ(result.files[0].removed, 1u);
}

/// What `patch` makes of the diff must be what we say the new text is.
TEST(Diff, is_understood_by_patch) {
  if (std::system("command -v patch > /dev/null") != 0)
    GTEST_SKIP() << "no patch on this machine";
  namespace fs = std::filesystem;
  const fs::path dir = fs::path(testing::TempDir()) / "adprof_diff";
  fs::create_directories(dir);
  std::string random_c = kHead; // 400 rows, every third with a call, some of them several to a row
  std::vector<Decision> decisions;
  unsigned state = 12345, calls = 0;
  for (std::uint32_t line = 2; line < 402; ++line) {
    state = state * 1103515245u + 12345u;
    const std::string end = (state >> 9) % 5 == 0 ? "\r\n" : "\n";
    const unsigned kind = (state >> 16) % 6;
    if (kind == 1) {
      random_c += "  /* $AD NOCHECKPOINT */" + end;
    } else if (kind == 2) {
      random_c += "  if (x[0]) f(x); else g(x);" + end;
      decisions.push_back((state >> 20) % 2 ? off("f", line, calls) : on("f", line, calls));
      decisions.push_back((state >> 21) % 2 ? off("g", line, calls) : on("g", line, calls));
      ++calls;
    } else if (kind == 3) {
      random_c += "  f(x);" + end;
      decisions.push_back((state >> 22) % 2 ? off("f", line, calls++) : on("f", line, calls++));
    } else {
      random_c += "  x[0] += " + std::to_string(line) + ";" + end;
    }
  }
  random_c += "}";
  const DirectivePatch result = patch(kC, random_c, decisions);
  ASSERT_EQ(result.files.size(), 1u);
  EXPECT_GT(result.files[0].added, 20u);
  EXPECT_GT(result.files[0].removed, 5u);
  std::ofstream(dir / "m.src", std::ios::binary) << random_c;
  std::ofstream(dir / "m.diff", std::ios::binary) << result.files[0].diff;
  ASSERT_EQ(std::system(("cd " + dir.string() + " && patch --binary -s -p1 < m.diff").c_str()), 0);
  std::stringstream now;
  now << std::ifstream(dir / "m.src", std::ios::binary).rdbuf();
  EXPECT_EQ(now.str(), result.files[0].patched);
}

// Text that is no program ---------------------------------------------------------------------------------------------

/// Whatever the text, the patcher ends, and what it writes passes its own check (an error else).
TEST(AnyText, is_patched_soundly_or_not_at_all) {
  const std::string samples[] = {"subroutine a\n  if (f(x) > 0) then; call g(x) ; call h\n  else if (g('a&!', &\n  ! "
                                 "c\n  & y)) then\n!$AD NOCHECKPOINT\n"
                                 "    call h(x)\n!$ call f(x)\n#ifdef A\n    y = f(x) + &\n#else\n    y = g(x) + "
                                 "&\n#endif\n h(x) ! $AD NOCHECKPOINT\n  end if\nend\n",
                                 "      SUBROUTINE A\n   10 CALL F(X,\n     1 G(X)) ; CALL H\nC$AD NOCHECKPOINT\n\tIF "
                                 "(F(X)) CALL G('A\n\t1 B')\nC$    CALL H(X)\n"
                                 "      Y = G(X) ! c\n#ifdef A\n     & + F(X)\n#endif\n      END\n",
                                 "#define A(x) f(x) \\\n g(x)\nvoid a(void) {\n  if (f(x)) g(x); else /* $AD "
                                 "NOCHECKPOINT */ h(x);\n  switch (k) { case 1: f(x); }\n"
                                 "#if A\n  y = f(x)\n#elif B\n  y = g(x)\n#else\n  if (h(x)) {\n#endif\n  ; // $AD "
                                 "NOCHECKPOINT\n  z = (struct s){f(x), '\\''};\n"
                                 "  do f(x); while (g(x));\n#pragma AD NOCHECKPOINT\n  h(\"/*\");\n}\n"};
  const SourceForm forms[] = {kFree, kFixed, kC};
  const std::string spice = "&!;'\"\\\n\r#{}()/*C0$:? ";
  std::uint64_t state = 88172645463325252u;
  const auto random = [&](std::size_t below) {
    state ^= state << 13, state ^= state >> 7, state ^= state << 17;
    return static_cast<std::size_t>(state % below);
  };
  unsigned changed = 0, refused = 0;
  for (int round = 0; round < 30000; ++round) {
    const std::size_t which = random(3);
    std::string text = samples[which];
    for (std::size_t k = random(6); k-- > 0 && !text.empty();) {
      const std::size_t at = random(text.size());
      switch (random(4)) {
      case 0:
        text.erase(at, random(8));
        break;
      case 1:
        text[at] = spice[random(spice.size())];
        break;
      case 2:
        text.insert(at, 1, spice[random(spice.size())]);
        break;
      default:
        text.resize(at);
        break;
      }
    }
    std::vector<Decision> decisions;
    for (std::uint32_t line = 1; line < 24; ++line)
      for (const char *callee : {"f", "g", "h"})
        decisions.push_back(random(2) ? off(callee, line, line) : on(callee, line, line));
    const auto result = patch_directives({{"m.src", "m.src", text, forms[random(20) ? which : random(3)]}}, decisions);
    refused += result ? 0 : 1;
    changed += result && !result->files.empty() ? 1 : 0;
  }
  EXPECT_LT(refused, 300u); // by that check: it must be rare even for broken text
  EXPECT_GT(changed, 20000u);
}

// Forms by name and content -------------------------------------------------------------------------------------------

TEST(Form, follows_from_the_ending_or_else_from_the_text) {
  EXPECT_EQ(form_of_name("a/b.F"), kFixed);
  EXPECT_EQ(form_of_name("a.b/c.f90"), kFree);
  EXPECT_EQ(form_of_name("x.c"), kC);
  EXPECT_FALSE(form_of_name("x.inc").has_value());
  EXPECT_FALSE(form_of_name("x.h").has_value());
  EXPECT_EQ(guess_form("C comment\n      COMMON /A/ B\n      CALL F(X)\n"), kFixed);
  EXPECT_EQ(guess_form("real :: x\ncall f(x, &\n  y)\n"), kFree);
  EXPECT_EQ(guess_form("static inline void a(void) {\n  f();\n  g();\n}\n"), kC);
}

TEST(Form, names_of_one_file) {
  EXPECT_TRUE(same_file("src/./a.f", "/home/u/src/a.f"));
  EXPECT_TRUE(same_file("../src/a.f", "../src/a.f"));
  EXPECT_FALSE(same_file("ssrc/a.f", "src/a.f"));
  EXPECT_FALSE(same_file("/x/src/a.f", "/y/src/a.f"));
}

} // namespace
