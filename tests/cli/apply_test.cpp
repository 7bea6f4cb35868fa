#include "small_program.h"

namespace adprof::cli {
namespace {

class Apply : public SmallProgram {
protected:
  int apply(std::vector<std::string> rest) {
    rest.insert(rest.begin(), {"apply", "--placement", path("p.json")});
    return run(rest);
  }
};

TEST_F(Apply, options_are_one_line_on_standard_output) {
  EXPECT_EQ(apply({}), kDone);
  EXPECT_EQ(out_, "-nocheckpoint \"flux\"\n");
  EXPECT_NE(talk_.find("lost: the sites of callee step differ, all were set on; changed: model:step:1"),
            std::string::npos)
      << talk_;
  EXPECT_NE(talk_.find("next: "), std::string::npos);
  EXPECT_EQ(apply({"--list", "checkpoint"}), kDone);
  EXPECT_EQ(out_, "-defaultnocheckpoint -checkpoint \"model step\"\n");
}

TEST_F(Apply, roots_are_known_from_the_profile) {
  EXPECT_EQ(apply({path("profile.json"), "--list", "checkpoint"}), kDone);
  EXPECT_EQ(out_, "-defaultnocheckpoint -checkpoint \"step\"\n");
}

TEST_F(Apply, directives_are_a_diff_that_changes_nothing_by_itself) {
  const std::string before = read("tree/src/model.c");
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("tree")}), kDone) << talk_;
  EXPECT_NE(out_.find("+  /* $AD NOCHECKPOINT */\n   step(2);\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("+  !$AD NOCHECKPOINT\n   call flux(k)\n"), std::string::npos) << out_;
  EXPECT_EQ(read("tree/src/model.c"), before);
}

TEST_F(Apply, in_place_writes_the_sources_once) {
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("tree"), "--in-place"}), kDone) << talk_;
  EXPECT_EQ(out_, "");
  EXPECT_EQ(read("tree/src/model.c"), "void model(void) {\n  step(1);\n  /* $AD NOCHECKPOINT */\n  step(2);\n}\n");
  EXPECT_EQ(read("tree/src/step.f90"), "subroutine step(k)\n  !$AD NOCHECKPOINT\n  call flux(k)\nend subroutine\n");
  // The lines of the placement are those of before now: refused, and nothing is touched.
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("tree"), "--in-place"}), kAnswerIsNo);
  EXPECT_NE(talk_.find("src/model.c:3: model:step:1: no call of 'step' there"), std::string::npos) << talk_;
  EXPECT_EQ(read("tree/src/model.c"), "void model(void) {\n  step(1);\n  /* $AD NOCHECKPOINT */\n  step(2);\n}\n");
  // A newer profile brings the new lines: everything is there already.
  profile_.sites[2].primal.line = 4;
  profile_.sites[3].primal.line = 3;
  save();
  EXPECT_EQ(apply({path("profile.json"), "--format", "directives", "--source-root", path("tree"), "--in-place"}), kDone)
      << talk_;
  EXPECT_NE(talk_.find("0 directives added, 0 removed, 2 sites had theirs"), std::string::npos) << talk_;
}

TEST_F(Apply, a_changed_source_refuses_all_or_leaves_those_sites_on) {
  write("tree/src/step.f90", "subroutine step(k)\n  k = 1\n  call flux(k)\nend subroutine\n");
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("tree")}), kAnswerIsNo);
  EXPECT_EQ(out_, "");
  EXPECT_NE(
      talk_.find(
          "src/step.f90:2: step:flux:0: no call of 'flux' there; found 'k = 1'; the nearest call of it is in line 3"),
      std::string::npos)
      << talk_;
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("tree"), "--skip-unmatched"}), kDone);
  EXPECT_NE(out_.find("+  /* $AD NOCHECKPOINT */"), std::string::npos);
}

TEST_F(Apply, a_missing_source_is_named) {
  EXPECT_EQ(apply({"--format", "directives", "--source-root", path("elsewhere")}), kAnswerIsNo);
  EXPECT_NE(talk_.find("no source that was given holds this line"), std::string::npos) << talk_;
}

TEST_F(Apply, a_placement_for_other_sources_is_refused_below_the_limit) {
  for (std::uint32_t s = 1; s < 3; ++s)
    profile_.sites[s].caller = "driver";
  save();
  EXPECT_EQ(apply({path("profile.json")}), kAnswerIsNo);
  EXPECT_NE(talk_.find("only 33.3 % of the adjoint's time"), std::string::npos) << talk_;
  EXPECT_NE(talk_.find("new: driver:step:0, driver:step:1; gone: "), std::string::npos) << talk_;
  EXPECT_EQ(apply({path("profile.json"), "--min-match", "30%"}), kDone);
  EXPECT_NE(talk_.find("note: 33.3 %"), std::string::npos) << talk_;
}

TEST_F(Apply, header_and_json) {
  EXPECT_EQ(apply({"--format", "header", "-o", path("placement.h")}), kDone);
  EXPECT_NE(read("placement.h").find("#define ADPROF_ON_step_flux_0 0 /* src/step.f90:2 */\n"), std::string::npos);
  EXPECT_EQ(apply({"--format", "json"}), kDone);
  EXPECT_NE(out_.find("\"adprof-decisions\""), std::string::npos);
}

TEST_F(Apply, wrong_usage_is_told) {
  EXPECT_EQ(apply({"--format", "poem"}), kUnusable);
  EXPECT_EQ(apply({"--in-place"}), kUnusable);
  EXPECT_NE(talk_.find("--format directives"), std::string::npos);
  EXPECT_EQ(apply({"--form", "prose"}), kUnusable);
  EXPECT_EQ(run({"apply", "--placement", path("none.json")}), kUnusable);
}

} // namespace
} // namespace adprof::cli
