// libFuzzer: any bytes are a profile that passes check and can be written and read again, or an error.
#include <cstdlib>

#include "optimizer/profile/check.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/read_raw.h"

extern "C" int LLVMFuzzerTestOneInput(const unsigned char *data, std::size_t size) {
  using namespace adprof::profile;
  std::string_view bytes(reinterpret_cast<const char *>(data), size);
  adprof::Result<Profile> profile = ADPROF_FUZZ_READER(bytes, "fuzzed");
  if (!profile)
    return profile.error().kind == adprof::ErrorKind::kInternal ? std::abort(), 0 : 0;
  if (!check(*profile, "fuzzed") || !read_json(write_json(*profile), "written"))
    std::abort();
  return 0;
}
