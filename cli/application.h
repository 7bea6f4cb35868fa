/// The frame of the command: parses argv, runs one verb, maps what comes back to an exit code. Verbs are files of their
/// own and know nothing of each other. A verb is registered by
///
///     void add_suggest(CLI::App &app, Action &action) {
///       auto options = std::make_shared<SuggestOptions>();
///       CLI::App *verb = app.add_subcommand("suggest", "Find the best placement under a memory budget");
///       verb->add_option("--budget", options->budget, "...")->required();
///       verb->callback([options, &action] { action = [options](Io &io) { return suggest(*options, io); }; });
///     }
#pragma once

#include <functional>
#include <iosfwd>
#include <string>
#include <vector>

#include "optimizer/profile/error.h"

namespace CLI {
class App;
}

namespace adprof::cli {

/// Exit codes of every verb; `run` alone may also return the status of the program it ran.
inline constexpr int kDone = 0, kAnswerIsNo = 1, kUnusable = 2, kOurBug = 3;

/// Where a verb writes: data to `out`, talk to `talk`.
struct Io {
  std::ostream &out;
  std::ostream &talk;
  bool out_is_terminal = false;  ///< colour and progress lines are for terminals
  bool talk_is_terminal = false;
  bool colour = true;            ///< false with NO_COLOR or TERM=dumb
  int width = 80;                ///< columns of the terminal, 80 where there is none
  std::vector<std::string> program = {}; ///< of a verb with prefix_command: the program to run and its arguments
  bool colour_out() const { return out_is_terminal && colour; }
};

/// What a verb does once its options are parsed. The value is the exit code.
using Action = std::function<Result<int>(Io &)>;

/// Standard output and standard error of this process.
Io terminal_io();

/// `arguments` without the program's name. Never throws.
int run_application(const std::vector<std::string> &arguments, Io io);

int exit_code(ErrorKind kind);

/// "adprof suggest: where: what", one paragraph.
void print_error(const Error &error, const std::string &verb, Io &io);

/// The candidate closest to `word`, or empty where none is close enough to be a slip of the fingers.
std::string closest(const std::string &word, const std::vector<std::string> &candidates);

} // namespace adprof::cli
