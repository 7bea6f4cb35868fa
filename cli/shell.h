/// Runs a command line of the user in a shell. Used by `verify` and `tune`.
#pragma once

#include <string>

#include "cli/run_program.h"

namespace adprof::cli {

/// `/bin/sh -c command`. Its output goes to `log` (emptied first), or to where ours goes when `log` is empty.
/// `raw_output` is ADPROF_OUTPUT for it; empty: the variable is unset, so that an instrumented program runs at full
/// speed.
Result<ProgramEnd> run_shell(const std::string &command, const std::string &log, const std::string &raw_output);

} // namespace adprof::cli
