/// A folder of its own for each test, and the command run in it.
#pragma once

#include <gtest/gtest.h>

#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "cli/application.h"

namespace adprof::cli {

class InTemporaryFolder : public testing::Test {
protected:
  void SetUp() override {
    const auto *info = testing::UnitTest::GetInstance()->current_test_info();
    folder_ = std::filesystem::path(testing::TempDir()) /
              (std::string("adprof_") + info->test_suite_name() + "_" + info->name());
    std::filesystem::remove_all(folder_);
    std::filesystem::create_directories(folder_);
  }
  void TearDown() override { std::filesystem::remove_all(folder_); }

  std::string path(const std::string &name) const { return (folder_ / name).string(); }

  void write(const std::string &name, const std::string &text) const {
    std::filesystem::create_directories((folder_ / name).parent_path());
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  std::string read(const std::string &name) const {
    std::ostringstream text;
    text << std::ifstream(folder_ / name, std::ios::binary).rdbuf();
    return text.str();
  }

  /// Exit code; what was written is in out_ and talk_.
  int run(const std::vector<std::string> &arguments) {
    std::ostringstream out, talk;
    const int code = run_application(arguments, Io{out, talk});
    out_ = out.str();
    talk_ = talk.str();
    return code;
  }

  std::filesystem::path folder_;
  std::string out_, talk_;
};

} // namespace adprof::cli
