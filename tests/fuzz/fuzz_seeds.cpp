// Writes the seeds of the fuzzers into the folder given: one raw and one JSON profile.
#include <fstream>

#include "optimizer/profile/json.h"
#include "tests/optimizer/raw_builder.h"
#include "tests/optimizer/sample_profile.h"

int main(int argc, char **argv) {
  using namespace adprof::profile;
  if (argc != 3)
    return 2;
  std::ofstream(argv[1], std::ios::binary) << sample_raw().bytes();
  std::ofstream(argv[2], std::ios::binary) << write_json(sample_profile());
  return 0;
}
