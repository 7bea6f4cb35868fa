#include "cli/application.h"

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cstdlib>
#include <iostream>
#include <sys/ioctl.h>
#include <unistd.h>

namespace adprof::cli {

#define ADPROF_VERB(verb) void add_##verb(CLI::App &app, Action &action);
#include "cli/verbs.def"
#undef ADPROF_VERB

namespace {

constexpr const char *kFooter = "Exit status: 0 done, 1 the answer is no, 2 wrong usage or unreadable input, 3 a bug in adprof.\n"
                                "Start with `adprof run ./adjoint`; `adprof VERB --help` and `man adprof-VERB` say more.";

/// Insertions, deletions, replacements and swaps of neighbours, each 1.
size_t edit_distance(const std::string &a, const std::string &b) {
  std::vector<std::vector<size_t>> d(a.size() + 1, std::vector<size_t>(b.size() + 1));
  for (size_t i = 0; i <= a.size(); ++i)
    for (size_t j = 0; j <= b.size(); ++j) {
      if (i == 0 || j == 0) {
        d[i][j] = i + j;
        continue;
      }
      d[i][j] = std::min({d[i - 1][j] + 1, d[i][j - 1] + 1, d[i - 1][j - 1] + (a[i - 1] == b[j - 1] ? 0 : 1)});
      if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1])
        d[i][j] = std::min(d[i][j], d[i - 2][j - 2] + 1);
    }
  return d[a.size()][b.size()];
}

std::string quoted_list(const std::vector<std::string> &words) {
  std::string text;
  for (const std::string &word : words)
    text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::vector<std::string> option_names(const CLI::App &app) {
  std::vector<std::string> names;
  for (const CLI::Option *option : app.get_options())
    for (const std::string &name : option->get_lnames())
      names.push_back("--" + name);
  return names;
}

Error unknown_argument(const CLI::App &verb) {
  for (const std::string &argument : verb.remaining(true)) {
    if (!argument.starts_with("-"))
      continue;
    std::string name = argument.substr(0, argument.find('='));
    std::vector<std::string> names = option_names(verb);
    std::string near = closest(name, names);
    return {ErrorKind::kUsage, name,
            "no such option; " + (near.empty() ? "accepted are " + quoted_list(names) : "did you mean " + near + "?")};
  }
  std::vector<std::string> rest = verb.remaining(true);
  return {ErrorKind::kUsage, rest.empty() ? "command line" : rest.front(),
          "one argument too many; see `adprof " + verb.get_name() + " --help`"};
}

/// Moves the program and its arguments from the end of `arguments` to `program`: they begin at the first word that is neither an
/// option of `verb` nor the value of one, or behind "--". CLI11's own prefix_command takes "--" and slips in options for programs.
void split_program(const CLI::App &verb, std::vector<std::string> &arguments, std::vector<std::string> &program) {
  auto takes_value = [&](const std::string &name) {
    const CLI::Option *option = verb.get_option_no_throw(name);
    return option && option->get_items_expected_max() > 0;
  };
  size_t i = 1;
  for (; i < arguments.size() && arguments[i].starts_with("-") && arguments[i] != "--"; ++i) {
    const std::string &word = arguments[i];
    bool value_follows = false;
    if (word.starts_with("--"))
      value_follows = word.find('=') == std::string::npos && takes_value(word);
    else
      for (size_t c = 1; c < word.size(); ++c) // -vo FILE, -oFILE
        if (takes_value(std::string("-") + word[c])) {
          value_follows = c + 1 == word.size();
          break;
        }
    i += value_follows;
  }
  i = std::min(i, arguments.size());
  program.assign(arguments.begin() + static_cast<std::ptrdiff_t>(i), arguments.end());
  arguments.resize(i);
  if (!program.empty() && program[0] == "--")
    program.erase(program.begin());
}

int fail(const Error &error, const std::string &verb, Io &io) {
  print_error(error, verb, io);
  return exit_code(error.kind);
}

int run_parsed(std::vector<std::string> arguments, Io &io, std::string &verb_name) {
  CLI::App app("adprof finds where the checkpoints of an adjoint code should be.", "adprof");
  app.set_version_flag("--version", "adprof " ADPROF_VERSION);
  app.footer(kFooter);
  app.require_subcommand(0, 1);
  app.get_formatter()->column_width(34);
  Action action;
#define ADPROF_VERB(verb) add_##verb(app, action);
#include "cli/verbs.def"
#undef ADPROF_VERB

  std::vector<std::string> verbs{"help"};
  for (const CLI::App *verb : app.get_subcommands([](CLI::App *) { return true; }))
    verbs.push_back(verb->get_name());
  // `adprof help`, `adprof help VERB`
  if (!arguments.empty() && arguments[0] == "help") {
    arguments.erase(arguments.begin());
    arguments.resize(!arguments.empty() && arguments[0] != "help");
    arguments.push_back("--help");
  }
  if (arguments.empty()) {
    io.talk << app.help();
    return kUnusable;
  }
  if (!arguments[0].starts_with("-")) {
    if (std::ranges::find(verbs, arguments[0]) == verbs.end()) {
      std::string near = closest(arguments[0], verbs);
      return fail({ErrorKind::kUsage, arguments[0],
                   "no such verb; " + (near.empty() ? "verbs are " + quoted_list(verbs) : "did you mean `adprof " + near + "`?")},
                  "", io);
    }
    verb_name = arguments[0];
    if (const CLI::App *verb = app.get_subcommand(verb_name); verb->get_prefix_command())
      split_program(*verb, arguments, io.program);
  }
  try {
    std::vector<std::string> reversed(arguments.rbegin(), arguments.rend()); // CLI11 takes them from the back
    app.parse(reversed);
    for (const CLI::App *verb : app.get_subcommands())
      if (verb->remaining_size() > 0)
        return fail(unknown_argument(*verb), verb_name, io); // prefix_command lets them pass
  } catch (const CLI::ExtrasError &) {
    const CLI::App &at = app.get_subcommands().empty() ? app : *app.get_subcommands().front();
    return fail(unknown_argument(at), verb_name, io);
  } catch (const CLI::Success &done) { // --help, --version
    app.exit(done, io.out, io.talk);
    return kDone;
  } catch (const CLI::ParseError &error) {
    return fail({ErrorKind::kUsage, "command line", std::string(error.what()) + "; see `adprof " + verb_name + " --help`"},
                verb_name, io);
  }
  if (!action) {
    io.talk << app.help();
    return kUnusable;
  }
  Result<int> result = action(io);
  return result ? *result : fail(result.error(), verb_name, io);
}

} // namespace

Io terminal_io() {
  Io io{std::cout, std::cerr};
  io.out_is_terminal = isatty(STDOUT_FILENO);
  io.talk_is_terminal = isatty(STDERR_FILENO);
  const char *no_color = std::getenv("NO_COLOR");
  const char *term = std::getenv("TERM");
  io.colour = (!no_color || !*no_color) && !(term && std::string_view(term) == "dumb");
  winsize size{};
  if (io.out_is_terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 40)
    io.width = size.ws_col;
  return io;
}

int exit_code(ErrorKind kind) {
  switch (kind) {
  case ErrorKind::kUsage:
  case ErrorKind::kUnreadable:
  case ErrorKind::kInvalid:
    return kUnusable;
  case ErrorKind::kInfeasible:
    return kAnswerIsNo;
  case ErrorKind::kInternal:
    break;
  }
  return kOurBug;
}

void print_error(const Error &error, const std::string &verb, Io &io) {
  io.talk << "adprof" << (verb.empty() ? "" : " " + verb) << ": " << (error.where.empty() ? "" : error.where + ": ") << error.what
          << '\n';
  if (error.kind == ErrorKind::kInternal)
    io.talk << "This is a bug in adprof " ADPROF_VERSION ": please report it with the command line and the profile.\n";
}

std::string closest(const std::string &word, const std::vector<std::string> &candidates) {
  std::string best;
  size_t best_distance = std::max<size_t>(1, word.size() / 3) + 1;
  for (const std::string &candidate : candidates)
    if (size_t distance = edit_distance(word, candidate); distance < best_distance) {
      best = candidate;
      best_distance = distance;
    }
  return best;
}

int run_application(const std::vector<std::string> &arguments, Io io) {
  std::string verb;
  int code;
  try {
    code = run_parsed(arguments, io, verb);
  } catch (const std::bad_alloc &) {
    code = fail({ErrorKind::kUnreadable, "memory", "out of memory; run adprof where more is available"}, verb, io);
  } catch (const std::exception &error) {
    code = fail({ErrorKind::kInternal, "exception", error.what()}, verb, io);
  }
  io.out.flush();
  // A full disk or a closed pipe must not look like success.
  if (!io.out && code == kDone)
    code = fail({ErrorKind::kUnreadable, "standard output", "could not be written"}, verb, io);
  return code;
}

} // namespace adprof::cli
