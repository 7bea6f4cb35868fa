/// adprof-clang, adprof-clang++ and adprof-flang: a program of its own beside `adprof`, because it starts once a source
/// file and needs none of the solver's libraries.
#include "cli/compiler_driver.h"

int main(int argc, char **argv) {
  return adprof::cli::run_cc(argc, argv);
}
