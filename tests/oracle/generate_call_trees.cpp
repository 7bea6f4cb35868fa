// Writes the profile of a made-up adjoint to standard output: generate_call_trees layers|library|decades SEED SITES [NODES]
#include <cstdlib>
#include <iostream>
#include <string>

#include "optimizer/profile/json.h"
#include "tests/oracle/call_trees.h"

int main(int argc, char **argv) {
  using namespace adprof;
  oracle::TreeSpec spec;
  const std::string shape = argc > 1 ? argv[1] : "";
  if (argc < 4 || argc > 5 || (shape != "layers" && shape != "library" && shape != "decades")) {
    std::cerr << "usage: generate_call_trees layers|library|decades SEED SITES [NODES]\n"
                 "Writes the JSON profile of a made-up adjoint with so many call sites and about so many folded nodes.\n";
    return 2;
  }
  spec.shape = shape == "layers" ? oracle::Shape::kLayers : shape == "library" ? oracle::Shape::kLibrary : oracle::Shape::kDecades;
  auto number = [](const char *text) { return std::strtoull(text, nullptr, 10); };
  spec.seed = number(argv[2]);
  spec.sites = static_cast<std::uint32_t>(number(argv[3]));
  spec.nodes = argc > 4 ? static_cast<std::uint32_t>(number(argv[4])) : 0;
  std::cout << profile::write_json(oracle::as_profile(oracle::realistic_tree(spec)));
  return std::cout.flush() ? 0 : 2;
}
