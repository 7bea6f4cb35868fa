#include "cli/shell.h"

namespace adprof::cli {

Result<ProgramEnd> run_shell(const std::string &command, const std::string &log, const std::string &raw_output) {
  std::string script = raw_output.empty() ? "unset ADPROF_OUTPUT\n" : "";
  if (!log.empty())
    script += "exec > \"$0\" 2>&1\n";
  return run_program({"/bin/sh", "-c", script + command, log.empty() ? "sh" : log}, raw_output);
}

} // namespace adprof::cli
