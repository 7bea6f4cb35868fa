#include "cli/application.h"

#include <gtest/gtest.h>
#include <sstream>

namespace adprof::cli {
namespace {

struct Outcome {
  int code;
  std::string out, talk;
};

Outcome run(const std::vector<std::string> &arguments) {
  std::ostringstream out, talk;
  int code = run_application(arguments, Io{out, talk});
  return {code, out.str(), talk.str()};
}

TEST(Application, version_is_data) {
  Outcome r = run({"--version"});
  EXPECT_EQ(r.code, kDone);
  EXPECT_EQ(r.out, "adprof " ADPROF_VERSION "\n");
  EXPECT_EQ(r.talk, "");
}

TEST(Application, help_names_the_exit_codes) {
  for (const char *word : {"help", "--help"}) {
    Outcome r = run({word});
    EXPECT_EQ(r.code, kDone);
    EXPECT_NE(r.out.find("Exit status: 0 done"), std::string::npos) << r.out;
  }
}

TEST(Application, nothing_to_do_is_wrong_usage) {
  Outcome r = run({});
  EXPECT_EQ(r.code, kUnusable);
  EXPECT_EQ(r.out, "");
  EXPECT_NE(r.talk.find("Usage: adprof"), std::string::npos);
}

TEST(Application, slip_in_a_verb_is_answered_with_the_verb) {
  Outcome r = run({"hlep"});
  EXPECT_EQ(r.code, kUnusable);
  EXPECT_EQ(r.talk, "adprof: hlep: no such verb; did you mean `adprof help`?\n");
  EXPECT_NE(run({"zzzzzz"}).talk.find("verbs are help"), std::string::npos);
}

TEST(Application, slip_in_an_option_is_answered_with_the_option) {
  Outcome r = run({"--versoin"});
  EXPECT_EQ(r.code, kUnusable);
  EXPECT_EQ(r.talk, "adprof: --versoin: no such option; did you mean --version?\n");
}

TEST(Application, kinds_of_errors_map_to_exit_codes) {
  EXPECT_EQ(exit_code(ErrorKind::kUsage), 2);
  EXPECT_EQ(exit_code(ErrorKind::kUnreadable), 2);
  EXPECT_EQ(exit_code(ErrorKind::kInvalid), 2);
  EXPECT_EQ(exit_code(ErrorKind::kInfeasible), 1);
  EXPECT_EQ(exit_code(ErrorKind::kInternal), 3);
}

TEST(Application, output_that_cannot_be_written_is_not_success) {
  std::ostringstream out, talk;
  out.setstate(std::ios::badbit);
  EXPECT_EQ(run_application({"--version"}, Io{out, talk}), kUnusable);
  EXPECT_EQ(talk.str(), "adprof: standard output: could not be written\n");
}

} // namespace
} // namespace adprof::cli
