/// Runs code under the runtime and reads what it wrote. A session belongs to a process and starts once, so each run is a child.
#pragma once

#include "optimizer/profile/file.h"
#include "optimizer/profile/read_raw.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/wait.h>
#include <unistd.h>

namespace adprof {

/// The profile of `body`; `status` (if given) gets the child's wait status.
template <typename Body> profile::Profile measure(Body body, int *status = nullptr) {
  static int number = 0;
  std::string path = std::filesystem::temp_directory_path() /
                     ("adprof-runtime-test-" + std::to_string(getpid()) + "-" + std::to_string(number++));
  std::filesystem::remove(path);
  pid_t child = fork();
  if (child == 0) {
    setenv("ADPROF_OUTPUT", path.c_str(), 1);
    body();
    std::exit(0);
  }
  int own_status = 0;
  waitpid(child, status ? status : &own_status, 0);
  EXPECT_TRUE(status || (WIFEXITED(own_status) && WEXITSTATUS(own_status) == 0)) << "child ended with " << own_status;
  auto bytes = profile::read_file(path);
  auto result = bytes ? profile::read_raw(*bytes, path) : std::unexpected(bytes.error());
  std::filesystem::remove(path);
  if (!result) {
    ADD_FAILURE() << result.error().where << ": " << result.error().what;
    return {};
  }
  return *std::move(result);
}

} // namespace adprof
