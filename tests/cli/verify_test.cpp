#include <cstring>
#include <nlohmann/json.hpp>

#include "small_program.h"

namespace adprof::cli {
namespace {

class Verify : public SmallProgram {
protected:
  /// The profile that keeps every promise of the placement.
  void SetUp() override {
    SmallProgram::SetUp();
    profile_.processes.resize(1);
    profile_.processes[0].finished = true;
    profile_.processes[0].adjoint_ns = 1e9;
    profile_.processes[0].resident_other_bytes = 50;
    profile_.processes[0].stack_peak_bits = 8000;
    profile_.nodes.resize(2);
    profile_.nodes[0] = {0, {}, 8000, false, false};
    profile_.nodes[1].edges = {{0, profile::EdgeKind::kCall, 0, 0, 1, 0, 0, true, true, false, false}};
    profile_.threads = {{0, 1, 8000, 8000}};
    for (const std::uint32_t s : {2u, 3u}) {
      profile_.contexts[s].invocations_on = 0;
      profile_.contexts[s].invocations_off = 36;
    }
    placement_.limit.process_bytes = 1100;
    placement_.predicted_tape_bytes = 1000;
    placement_.predicted_time_ns = 0.9e9;
    save();
  }

  int verify(std::vector<std::string> rest = {}) {
    rest.insert(rest.begin(), {"verify", "--placement", path("p.json"), path("profile.json")});
    return run(rest);
  }
};

std::string doubles(std::vector<double> values) {
  std::string bytes(values.size() * 8, ' ');
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

TEST_F(Verify, a_kept_promise_is_status_0) {
  EXPECT_EQ(verify(), kDone) << out_ << talk_;
  EXPECT_NE(out_.find("sites in the mode asked for: 3 of 3\n"), std::string::npos) << out_;
  EXPECT_EQ(out_.find("differs"), std::string::npos) << out_;
  EXPECT_NE(talk_.find("next: "), std::string::npos);
}

TEST_F(Verify, a_name_that_the_tool_ignored_is_found) {
  std::swap(profile_.contexts[3].invocations_on, profile_.contexts[3].invocations_off);
  save();
  EXPECT_EQ(verify(), kAnswerIsNo);
  EXPECT_NE(out_.find("differs: step:flux:0: asked off, ran on in all 36 invocations"), std::string::npos) << out_;
}

TEST_F(Verify, a_site_in_both_modes_is_found_and_one_never_reached_is_a_note) {
  profile_.contexts[1].invocations_off = 2;
  profile_.contexts[2].invocations_off = 0;
  save();
  EXPECT_EQ(verify(), kAnswerIsNo);
  EXPECT_NE(out_.find("differs: model:step:0: asked on, ran on in 1 and off in 2 invocations"), std::string::npos)
      << out_;
  EXPECT_NE(out_.find("note: model:step:1: asked off, never reversed in this run"), std::string::npos) << out_;
}

TEST_F(Verify, the_peak_is_held_against_budget_and_prediction) {
  profile_.processes[0].stack_peak_bits = profile_.threads[0].stack_peak_bits = 8800;
  save();
  EXPECT_EQ(verify(), kAnswerIsNo);
  EXPECT_NE(out_.find("over the budget of"), std::string::npos) << out_;
  EXPECT_NE(out_.find("is +10.0 % off the predicted 1000 B"), std::string::npos) << out_;
  placement_.limit.process_bytes = -1;
  placement_.limit.tape_bytes = 1050;
  save();
  EXPECT_EQ(verify({"--peak-tolerance", "20%"}), kAnswerIsNo);
  EXPECT_NE(out_.find("over the tape budget"), std::string::npos) << out_;
  placement_.limit.tape_bytes = 1200;
  save();
  EXPECT_EQ(verify({"--peak-tolerance", "20%"}), kDone) << out_;
}

TEST_F(Verify, time_counts_only_when_asked_for) {
  EXPECT_EQ(verify({"--time-tolerance", "5%"}), kAnswerIsNo);
  EXPECT_NE(out_.find("differs: adjoint time 1.00 s is +11.1 % off the predicted 900 ms"), std::string::npos) << out_;
  EXPECT_EQ(verify({"--time-tolerance", "20%"}), kDone);
}

TEST_F(Verify, gradients_are_compared_to_the_bit) {
  write("a", doubles({1, 2, 3}));
  write("b", doubles({1, 2, 3.0000000000000004}));
  EXPECT_EQ(verify({"--gradient", path("a"), path("a")}), kDone);
  EXPECT_NE(out_.find("note: gradients: all 3 values bitwise equal"), std::string::npos) << out_;
  EXPECT_EQ(verify({"--gradient", path("a"), path("b")}), kAnswerIsNo);
  EXPECT_NE(out_.find("differs: gradients: 1 of 3 values differ, the first is number 3 (3 and 3.0000000000000004)"),
            std::string::npos)
      << out_;
  EXPECT_EQ(verify({"--gradient", path("a"), path("b"), "--gradient-tolerance", "1e-15"}), kDone) << talk_;
  write("c", doubles({1}));
  EXPECT_EQ(verify({"--gradient", path("a"), path("c")}), kAnswerIsNo);
  EXPECT_EQ(verify({"--gradient", path("a"), path("none")}), kUnusable);
}

TEST_F(Verify, a_command_can_compare) {
  EXPECT_EQ(verify({"--compare", "true"}), kDone);
  EXPECT_EQ(verify({"--compare", "exit 3"}), kAnswerIsNo);
  EXPECT_NE(out_.find("'exit 3' ended with status 3"), std::string::npos) << out_;
  EXPECT_EQ(verify({"--compare", "true", "--gradient", "a", "b"}), kUnusable);
}

TEST_F(Verify, the_reference_brings_a_row_for_each_site) {
  EXPECT_EQ(verify({"--reference", path("profile.json")}), kDone) << talk_;
  EXPECT_NE(out_.find("step:flux:0"), std::string::npos) << out_;
}

TEST_F(Verify, json_holds_the_same_answers) {
  std::swap(profile_.contexts[3].invocations_on, profile_.contexts[3].invocations_off);
  save();
  EXPECT_EQ(verify({"--json", "--reference", path("profile.json")}), kAnswerIsNo);
  const auto json = nlohmann::json::parse(out_);
  EXPECT_EQ(json["accepted"], false);
  EXPECT_EQ(json["differs"].size(), 1u);
  EXPECT_EQ(json["modes"]["as_asked"], 2);
  EXPECT_EQ(json["modes"]["others"][0]["site"], "step:flux:0");
  EXPECT_EQ(json["peak"]["measured_bytes"], 1000);
  EXPECT_EQ(json["sites"].size(), 3u);
}

TEST_F(Verify, another_program_is_refused) {
  for (profile::Site &site : profile_.sites)
    site.caller = "x" + site.caller;
  save();
  EXPECT_EQ(verify(), kAnswerIsNo);
  EXPECT_NE(talk_.find("made for other sources"), std::string::npos) << talk_;
}

} // namespace
} // namespace adprof::cli
