/// Entry of the command. Everything it does is in application.h, where tests can call it.
#include <iostream>
#include <string>
#include <unistd.h>
#include <vector>

#include "cli/application.h"
#include "cli/compiler_driver.h"

int main(int argc, char **argv) {
  // `adprof cc` is a compiler driver: its arguments are the compiler's and never reach the parser of the other verbs.
  if (argc > 1 && std::string(argv[1]) == "cc")
    return adprof::cli::run_cc(argc - 1, argv + 1);
  return adprof::cli::run_application(std::vector<std::string>(argv + 1, argv + argc), adprof::cli::terminal_io());
}
