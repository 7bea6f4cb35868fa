/// The verb `cc` as `adprof help` shows it. main hands `adprof cc ...` to run_cc before anything is parsed, because the
/// arguments behind it are the compiler's.
#include <CLI/CLI.hpp>

#include "cli/application.h"
#include "cli/compiler_driver.h"

namespace adprof::cli {

void add_cc(CLI::App &app, Action &action) {
  CLI::App *verb =
      app.add_subcommand("cc", "Compile and link with the pass and the runtime (also adprof-clang, adprof-flang)");
  verb->prefix_command();
  verb->set_help_flag();
  verb->callback([verb, &action] {
    action = [arguments = verb->remaining()](Io &) -> Result<int> {
      std::vector<std::string> words = arguments;
      std::vector<char *> argv{const_cast<char *>("cc")};
      for (std::string &word : words)
        argv.push_back(word.data());
      return run_cc(int(argv.size()), argv.data());
    };
  });
}

} // namespace adprof::cli
