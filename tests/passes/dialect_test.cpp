// Names and sizes: what the dialects say, and what is said about dialects that are wrong.
#include "passes/dialect.h"

#include "passes/align.h"
#include <gtest/gtest.h>

using namespace adprof;

namespace {

std::optional<int64_t> bits(const std::string &text, std::vector<int64_t> arguments = {}) {
  llvm::Expected<SizeExpression> size = SizeExpression::parse(text);
  if (!size) {
    llvm::consumeError(size.takeError());
    return std::nullopt;
  }
  return size->evaluate([&](const SizeExpression::Step &step) -> std::optional<int64_t> {
    if (size_t(step.value) > arguments.size())
      return std::nullopt;
    return arguments[size_t(step.value) - 1];
  });
}

std::string error_of(const std::string &json) {
  llvm::Expected<Dialect> dialect = Dialect::from_json(json);
  return dialect ? "" : llvm::toString(dialect.takeError());
}

Dialect dialect_of(const std::string &json) { return llvm::cantFail(Dialect::from_json(json)); }

TEST(size_expression, is_in_bytes_unless_it_says_bits) {
  EXPECT_EQ(bits("8"), 64);
  EXPECT_EQ(bits("bits:1"), 1);
  EXPECT_EQ(bits(" $2*8 ", {0, 10}), 640);
  EXPECT_EQ(bits("bits:$1", {3}), 3);
}

TEST(size_expression, binds_products_before_sums_and_runs_from_the_left) {
  EXPECT_EQ(bits("bits:1+2*3"), 7);
  EXPECT_EQ(bits("bits:(1+2)*3"), 9);
  EXPECT_EQ(bits("bits:10-3-2"), 5);
  EXPECT_EQ(bits("bits:7/2*2"), 6);
  EXPECT_EQ(bits("bits:$1*($2-$3)", {2, 10, 4}), 12);
}

TEST(size_expression, division_by_zero_has_no_value) { EXPECT_EQ(bits("8/$1", {0}), std::nullopt); }

TEST(size_expression, knows_its_arguments) {
  EXPECT_EQ(llvm::cantFail(SizeExpression::parse("$2*8+$7")).argument_count(), 7u);
  EXPECT_EQ(llvm::cantFail(SizeExpression::parse("descriptor($3)")).argument_count(), 3u);
  EXPECT_EQ(llvm::cantFail(SizeExpression::parse("8")).constant_bits(), 64);
}

TEST(size_expression, refuses_what_it_cannot_read) {
  for (const char *text : {"", "bits:", "$", "$0", "$65", "8*", "(8", "8)", "x", "8 8", "-1", "descriptor(8)", "descriptor($1",
                           "99999999999999999999", "$1**2"})
    EXPECT_EQ(bits(text, {1, 1}), std::nullopt) << text;
  EXPECT_EQ(bits(std::string(100, '(') + "1" + std::string(100, ')')), std::nullopt);
}

TEST(names, fortran_and_c_names_have_the_same_identity) {
  Dialect dialect = Dialect::builtin();
  for (const char *name : {"step_b", "step_b_"}) {
    EXPECT_EQ(dialect.classify(name).primal, "step") << name;
    EXPECT_EQ(dialect.classify(name).role, NameRole::Adjoint) << name;
  }
  EXPECT_EQ(dialect.classify("step_").primal, "step");
  EXPECT_EQ(dialect.classify("step_fwd_").role, NameRole::Forward);
  EXPECT_EQ(dialect.classify("step_bwd").role, NameRole::Backward);
  EXPECT_EQ(dialect.classify("step_adm_").role, NameRole::Adjoint);
  EXPECT_EQ(dialect.classify("step_nodiff").role, NameRole::Copy);
  EXPECT_EQ(dialect.classify("step_nodiff").primal, "step");
  EXPECT_EQ(dialect.classify("step_d").role, NameRole::Plain);
  EXPECT_EQ(dialect.classify("_b").role, NameRole::Plain);
}

TEST(names, generated_modules_are_those_of_the_primal) {
  Dialect dialect = Dialect::builtin();
  EXPECT_EQ(dialect.classify("_QMflowPstep").primal, "flow.step");
  EXPECT_EQ(dialect.classify("_QMflow_diffPstep_b").primal, "flow.step");
  EXPECT_TRUE(dialect.classify("_QMflow_diffPstep").in_generated_module);
  EXPECT_EQ(dialect.classify("_QMflow_diffFstep_bPinner_b").primal, "flow.step.inner");
  EXPECT_EQ(dialect.classify("_QFhostPinner_fwd").primal, "host.inner");
  EXPECT_EQ(dialect.classify("_QMaSbPc_b").primal, "a.c");
}

TEST(names, cxx_names_are_taken_apart) {
  Dialect dialect = Dialect::builtin();
  EXPECT_EQ(dialect.classify("_Z6step_bPdS_").primal, "step");
  EXPECT_EQ(dialect.classify("_ZN4flow6step_bEPd").primal, "flow.step");
  EXPECT_EQ(dialect.classify("_ZN4flow6step_bEPd").role, NameRole::Adjoint);
}

TEST(names, pushes_are_found_in_any_case_and_are_no_procedures) {
  Dialect dialect = Dialect::builtin();
  for (const char *name : {"pushReal8Array", "pushreal8array_", "PUSHREAL8ARRAY", "_QMstackPpushreal8array"}) {
    ASSERT_NE(dialect.stack_operation(name), nullptr) << name;
    EXPECT_EQ(dialect.stack_operation(name)->role, StackRole::Push) << name;
  }
  EXPECT_EQ(dialect.stack_operation("pushControl3b")->bits.constant_bits(), 3);
  EXPECT_EQ(dialect.stack_operation("popControl8b")->bits.constant_bits(), 8);
  EXPECT_EQ(dialect.stack_operation("pushBoolean")->bits.constant_bits(), 1);
  EXPECT_EQ(dialect.stack_operation("pushReal16")->bits.constant_bits(), 128);
  EXPECT_EQ(dialect.stack_operation("pushControl9b"), nullptr);
  EXPECT_EQ(dialect.classify("popControl1b").role, NameRole::Plain);
  EXPECT_TRUE(dialect.looks_like_stack_operation("psh_real_r8_k0_"));
  EXPECT_FALSE(dialect.looks_like_stack_operation("pushReal8"));
}

TEST(dialect_file, adds_names_to_the_built_in_ones) {
  Dialect dialect = dialect_of(R"({"name": "ours", "adjoint": ["a_*0"], "module": ["*_ad"], "push": {"psh": "$2*8"}, "pop": {"pp": 8},
                                   "ignore": ["show_b"], "wrappers": ["keep_b"]})");
  EXPECT_EQ(dialect.name(), "ours");
  EXPECT_EQ(dialect.classify("a_xlcal0").primal, "xlcal");
  EXPECT_EQ(dialect.classify("step_b").role, NameRole::Adjoint);
  EXPECT_EQ(dialect.classify("_QMm_adPf_b").primal, "m.f");
  EXPECT_EQ(dialect.stack_operation("PSH_")->role, StackRole::Push);
  EXPECT_EQ(dialect.stack_operation("pp")->bits.constant_bits(), 64);
  EXPECT_EQ(dialect.stack_operation("show_b")->role, StackRole::Ignore);
  EXPECT_TRUE(dialect.is_wrapper("keep_b_"));
  Dialect alone = dialect_of(R"({"extends": "none", "adjoint": ["*_ad"]})");
  EXPECT_EQ(alone.classify("step_b").role, NameRole::Plain);
  EXPECT_EQ(alone.stack_operation("pushReal8"), nullptr);
}

TEST(dialect_file, errors_name_the_member_what_was_found_and_what_is_accepted) {
  EXPECT_NE(error_of("{").find("no valid JSON"), std::string::npos);
  EXPECT_EQ(error_of("[]"), "the file holds an array, accepted is an object; see docs/dialect.md");
  EXPECT_EQ(error_of(R"({"adjoint": "x"})"), "member \"adjoint\": found a string, accepted is an array of names");
  EXPECT_EQ(error_of(R"({"adjoint": ["*_b*"]})").find("member \"adjoint\": found \"*_b*\", accepted are patterns with one *"), 0u);
  EXPECT_EQ(error_of(R"({"module": ["a_*"]})"), "member \"module\": found \"a_*\", accepted are suffixes like \"*_diff\"");
  EXPECT_EQ(error_of(R"({"push": {"p": true}})"),
            "member \"push\", name \"p\": found a boolean, accepted is a number of bytes or an expression like \"$2*8\"");
  EXPECT_EQ(error_of(R"({"push": {"p": "$2*"}})").find("member \"push\", name \"p\": size \"$2*\": cannot read it"), 0u);
  EXPECT_EQ(error_of(R"({"push": ["p"]})").find("member \"push\": found an array"), 0u);
  EXPECT_EQ(error_of(R"({"ignore": [1]})"), "member \"ignore\": found a number in the array, accepted are names");
  EXPECT_EQ(error_of(R"({"pusch": {}})").find("member \"pusch\" is unknown; accepted are name,"), 0u);
  EXPECT_EQ(error_of(R"({"extends": "adol-c"})"), "member \"extends\": found \"adol-c\", accepted are \"tapenade\" (the default) and \"none\"");
  EXPECT_EQ(error_of(R"({"extends": "none"})").find("no pattern for adjoint procedures"), 0u);
}

std::vector<int> align_strings(const std::string &left, const std::string &right) {
  return align(unsigned(left.size()), unsigned(right.size()), [&](unsigned i, unsigned j) { return left[i] == right[j] ? 10 : -1; });
}

TEST(align, pairs_what_is_equal_and_keeps_the_order) {
  EXPECT_EQ(align_strings("abc", "abc"), (std::vector<int>{0, 1, 2}));
  EXPECT_EQ(align_strings("abc", "ac"), (std::vector<int>{0, -1, 1}));
  EXPECT_EQ(align_strings("ac", "abc"), (std::vector<int>{0, 2}));
  EXPECT_EQ(align_strings("ab", "ba").size(), 2u);
  EXPECT_EQ(align_strings("", "abc"), (std::vector<int>{}));
  EXPECT_EQ(align_strings("aa", "a"), (std::vector<int>{0, -1}));
}

} // namespace
