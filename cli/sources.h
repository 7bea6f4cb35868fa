/// Finds the primal's sources on this machine and patches them. Shared by `apply` and `tune`.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/feedback/directives.h"

namespace adprof::cli {

struct SourceOptions {
  std::string root = "."; ///< where names of the profile are looked for
  std::vector<std::string>
      files; ///< read instead: for preprocessed sources, whose line markers name the profile's files
  std::optional<feedback::SourceForm> form; ///< else by the ending of each name, or by content
};

struct Sources {
  std::vector<feedback::SourceFile> files;   ///< `path`: below the root, as `patch -p1` in the root takes it
  std::map<std::string, std::string> opened; ///< that path -> the file it was read from
};

/// The sources that hold the decisions' calls. A name that can't be found is no error here: its sites are mismatches
/// later.
Result<Sources> read_sources(const std::vector<feedback::Decision> &decisions, const SourceOptions &options);

/// "fixed", "free" or "c".
Result<feedback::SourceForm> parse_form(const std::string &text);

} // namespace adprof::cli
