/// Runs the user's program with the runtime told where to write. Knows nothing of profiles. Used by `run` and `tune`.
#pragma once

#include <string>
#include <vector>

#include "optimizer/profile/error.h"

namespace adprof::cli {

/// A new private folder for raw profiles; removed with what is in it unless `keep` is called.
class RawFolder {
public:
  /// Within `parent`, which is made where it is missing; empty: TMPDIR, else /tmp.
  static Result<RawFolder> make(const std::string &parent);
  RawFolder(RawFolder &&other) noexcept : path_(std::move(other.path_)), keep_(other.keep_) { other.path_.clear(); }
  RawFolder &operator=(RawFolder &&) = delete;
  ~RawFolder();
  /// What ADPROF_OUTPUT is set to: each process writes a file of its own.
  std::string output() const { return path_ + "/raw.%p"; }
  const std::string &path() const { return path_; }
  /// Raw profiles found, sorted by name.
  std::vector<std::string> files() const;
  void keep() { keep_ = true; }

private:
  RawFolder() = default;
  std::string path_;
  bool keep_ = false;
};

/// How a program ended.
struct ProgramEnd {
  int status = 0; ///< exit status; 128 + signal where it was killed by one
  int signal = 0; ///< 0 where it exited
  double wall_ns = 0;
};

/// Runs `command` with `output` as ADPROF_OUTPUT and waits. SIGINT and SIGQUIT reach it from the terminal, SIGTERM, SIGHUP, SIGUSR1 and
/// SIGUSR2 are passed on. An error only where it could not be started.
Result<ProgramEnd> run_program(const std::vector<std::string> &command, const std::string &output);

} // namespace adprof::cli
