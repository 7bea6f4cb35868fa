#include <nlohmann/json.hpp>

#include "cli/tune_state.h"
#include "in_temporary_folder.h"

namespace adprof::cli {
namespace {

/// A program whose builds and runs cost nothing: fake_adjoint.py says what its files steer.
class Tune : public InTemporaryFolder {
protected:
  std::filesystem::path before_;

  void SetUp() override {
    InTemporaryFolder::SetUp();
    before_ = std::filesystem::current_path();
    std::filesystem::current_path(folder_);
    write("src/model.c", "void step(double *x) {\n  f(x);\n  g(x);\n  if (x[0] > 0) h(x);\n}\n");
  }
  void TearDown() override {
    std::filesystem::current_path(before_);
    InTemporaryFolder::TearDown();
  }

  static std::string fake(const std::string &what) { return std::string(FAKE_ADJOINT) + " " + what; }

  int tune(std::vector<std::string> rest = {}, const std::string &build = "build {options}") {
    std::vector<std::string> arguments = {"tune",      "--build",   "echo built >> builds; " + fake(build),
                                          "--run",     fake("run"), "--gradient",
                                          "gradient",  "--dir",     "t",
                                          "--repeats", "1"};
    if (std::ranges::find(rest, "--tape-budget") == rest.end())
      rest.insert(rest.end(), {"--tape-budget", "1x"});
    arguments.insert(arguments.end(), rest.begin(), rest.end());
    return run(arguments);
  }

  long builds() const {
    const std::string text = read("builds");
    return std::ranges::count(text, '\n');
  }
};

TEST_F(Tune, finds_what_fits_and_leaves_it_built) {
  EXPECT_EQ(tune(), kDone) << talk_;
  // f and h are cheaper off than on, g would take ten times the memory.
  EXPECT_EQ(read("built"), "f h");
  EXPECT_NE(out_.find("options: -nocheckpoint \"f h\"\n"), std::string::npos) << out_;
  EXPECT_NE(out_.find("speed-up "), std::string::npos) << out_;
  EXPECT_NE(out_.find("round-01    2"), std::string::npos) << out_;
  for (const char *file :
       {"t/placement.json", "t/round-00/profile.json", "t/round-01/options.txt", "t/round-01/profile.json",
        "t/round-01/build.log", "t/round-01/run.log", "t/round-01/gradient", "t/round-01/placement.h"})
    EXPECT_TRUE(std::filesystem::exists(folder_ / file)) << file;
}

TEST_F(Tune, everything_goes_off_where_there_is_room) {
  EXPECT_EQ(tune({"--tape-budget", "20x", "--json"}), kDone) << talk_;
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["best"], "round-01");
  EXPECT_EQ(json["options"], "-nocheckpoint \"f g h\"");
  const auto &round = json["trials"][1];
  EXPECT_EQ(round["predicted_tape_bytes"], round["tape_bytes"]);
  EXPECT_DOUBLE_EQ(round["predicted_time_ns"].get<double>(), round["time_ns"].get<double>());
}

TEST_F(Tune, a_name_that_the_tool_ignores_stays_on) {
  write("ignored", "h");
  EXPECT_EQ(tune(), kDone) << talk_;
  EXPECT_NE(talk_.find("step:h:0 did not run in the mode asked for"), std::string::npos) << talk_;
  EXPECT_EQ(read("built"), "f");
  EXPECT_NE(out_.find("kept on: step:h:0: the AD tool did not take it"), std::string::npos) << out_;
}

TEST_F(Tune, a_callee_that_changes_the_gradient_is_found_and_kept_on) {
  write("wrong", "h");
  EXPECT_EQ(tune({"--tape-budget", "20x"}), kDone) << talk_;
  EXPECT_EQ(read("built"), "f g");
  EXPECT_NE(out_.find("kept on: step:h:0: gradient differs when it is off"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("kept on: step:f:0"), std::string::npos) << out_;
}

TEST_F(Tune, a_callee_that_breaks_the_build_is_found_and_kept_on) {
  write("broken_build", "f");
  EXPECT_EQ(tune({"--tape-budget", "20x"}), kDone) << talk_;
  EXPECT_EQ(read("built"), "g h");
  EXPECT_NE(out_.find("kept on: step:f:0: build failed when it is off"), std::string::npos) << out_;
}

TEST_F(Tune, a_gradient_that_is_never_the_same_blames_no_site) {
  write("random", "");
  EXPECT_EQ(tune(), kAnswerIsNo);
  EXPECT_NE(talk_.find("not the same from run to run"), std::string::npos) << talk_;
}

TEST_F(Tune, a_tolerance_can_be_granted) {
  write("wrong", "h");
  EXPECT_EQ(tune({"--gradient-tolerance", "0.01"}), kDone) << talk_;
  EXPECT_EQ(read("built"), "f h");
}

TEST_F(Tune, directives_decide_in_a_copy_of_the_sources) {
  EXPECT_EQ(tune({}, "tree {directives}"), kDone) << talk_;
  EXPECT_EQ(read("built"), "f h");
  EXPECT_EQ(read("t/round-01/source/src/model.c"),
            "void step(double *x) {\n  /* $AD NOCHECKPOINT */\n  f(x);\n  g(x);\n  if (x[0] > 0)\n"
            "  /* $AD NOCHECKPOINT */\n  h(x);\n}\n");
  EXPECT_EQ(read("src/model.c"), "void step(double *x) {\n  f(x);\n  g(x);\n  if (x[0] > 0) h(x);\n}\n");
  EXPECT_NE(read("t/round-01/directives.diff").find("+++ b/src/model.c"), std::string::npos);
}

TEST_F(Tune, goes_on_where_it_was_interrupted) {
  write("wrong", "h");
  ASSERT_EQ(tune({"--tape-budget", "20x"}), kDone) << talk_;
  const std::string result = read("t/placement.json"), state = read("t/state.json");
  const long all = builds();
  // Done is done: nothing is built but the final state of the tree, and nothing else comes out.
  ASSERT_EQ(tune({"--tape-budget", "20x"}), kDone) << talk_;
  EXPECT_EQ(builds(), all + 1);
  EXPECT_EQ(read("t/placement.json"), result);
  // Cut after each step: the rest is done again, and leads to the same.
  TuneState whole = *read_state(state, "state.json");
  for (const std::size_t kept : {std::size_t{1}, whole.trials.size() - 1}) {
    TuneState cut = whole;
    cut.trials.resize(kept);
    cut.plain_runs.clear();
    write("t/state.json", write_state(cut));
    ASSERT_EQ(tune({"--tape-budget", "20x"}), kDone) << kept << talk_;
    EXPECT_EQ(read("t/placement.json"), result) << kept;
  }
  EXPECT_EQ(tune({"--tape-budget", "3x"}), kUnusable);
  EXPECT_NE(talk_.find("holds a tuning with another limits and wishes"), std::string::npos) << talk_;
}

TEST_F(Tune, an_interrupt_ends_it_at_once) {
  write("t/placeholder", "");
  const int code =
      run({"tune", "--build", "kill -INT $$; {options}", "--run", "true", "--tape-budget", "1x", "--dir", "t"});
  EXPECT_EQ(code, kAnswerIsNo);
  EXPECT_NE(talk_.find("interrupted; the same command goes on from here"), std::string::npos) << talk_;
}

TEST_F(Tune, a_first_build_or_run_that_fails_is_told_with_its_log) {
  EXPECT_EQ(run({"tune", "--build", "echo no such compiler; exit 9 # {options}", "--run", "true", "--budget", "2x",
                 "--dir", "a"}),
            kUnusable);
  EXPECT_NE(talk_.find("failed with status 9, see a/round-00/build.log"), std::string::npos) << talk_;
  EXPECT_EQ(read("a/round-00/build.log"), "no such compiler\n");
  EXPECT_EQ(run({"tune", "--build", "true {options}", "--run", "true", "--budget", "2x", "--dir", "b"}), kUnusable);
  EXPECT_NE(talk_.find("left no profile"), std::string::npos) << talk_;
}

TEST_F(Tune, wrong_usage_is_told_before_anything_is_built) {
  EXPECT_EQ(run({"tune", "--build", "make", "--run", "./a", "--budget", "1x"}), kUnusable);
  EXPECT_NE(talk_.find("takes no placement"), std::string::npos) << talk_;
  EXPECT_EQ(run({"tune", "--build", "make {options}", "--run", "./a"}), kUnusable);
  EXPECT_NE(talk_.find("--budget"), std::string::npos) << talk_;
  EXPECT_EQ(run({"tune", "--build", "make {options}", "--run", "./a", "--budget", "much"}), kUnusable);
  EXPECT_FALSE(std::filesystem::exists(folder_ / "adprof-tune" / "round-00"));
}

TEST(FillIn, quotes_the_options_for_their_place) {
  const std::map<std::string, std::string> values = {{"options", "-nocheckpoint \"f g\""}, {"placement", "/p"}};
  EXPECT_EQ(fill_in("tool {options} x", values), "tool -nocheckpoint \"f g\" x");
  EXPECT_EQ(fill_in("make A=\"{options}\"", values), "make A=\"-nocheckpoint \\\"f g\\\"\"");
  EXPECT_EQ(fill_in("make A='{options}'", values), "make A='-nocheckpoint \"f g\"'");
  EXPECT_EQ(fill_in("make A={options} B={placement}", values), "make A='-nocheckpoint \"f g\"' B='/p'");
  EXPECT_EQ(fill_in("awk '{print}' \\\"{options}", values), "awk '{print}' \\\"-nocheckpoint \"f g\"");
}

TEST(TuneState, damage_is_told) {
  TuneState state;
  state.settings["build"] = "make";
  state.trials.push_back({"round-00", "all on", {"a:b:0"}, {}, TrialOutcome::kGradientDiffers, "x", 1, 2, 3, 4, 5});
  state.plain_runs.push_back({"round-00", 7});
  const std::string text = write_state(state);
  const auto back = read_state(text, "s");
  ASSERT_TRUE(back);
  EXPECT_EQ(write_state(*back), text);
  for (std::size_t length = 0; length + 2 < text.size(); ++length)
    EXPECT_FALSE(read_state(text.substr(0, length), "s"));
  EXPECT_FALSE(read_state("{\"format\": \"other\"}", "s"));
}

} // namespace
} // namespace adprof::cli
