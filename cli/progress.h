/// One line on a terminal that says that something is going on. Silent in the first second, without a terminal, and gone at the end.
#pragma once

#include <chrono>
#include <string>

#include "cli/application.h"

namespace adprof::cli {

class Progress {
public:
  /// `what` starts the line: "searching".
  Progress(Io &io, std::string what);
  ~Progress();
  Progress(const Progress &) = delete;
  Progress &operator=(const Progress &) = delete;

  /// Cheap; shows `detail` ("12 of 40 files") at most ten times a second.
  void update(const std::string &detail);

private:
  Io &io_;
  std::string what_;
  std::chrono::steady_clock::time_point next_;
  bool shown_ = false;
};

} // namespace adprof::cli
