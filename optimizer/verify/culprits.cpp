#include "optimizer/verify/culprits.h"

#include <algorithm>

namespace adprof::verify {

Result<std::vector<std::size_t>> find_culprits(std::size_t count, const BadWith &bad_with) {
  std::vector<std::size_t> culprits, suspects(count);
  for (std::size_t i = 0; i < count; ++i)
    suspects[i] = i;
  while (!suspects.empty()) {
    // The shortest bad prefix of the suspects: the empty one is good, the whole is bad.
    std::size_t good = 0, bad = suspects.size();
    while (bad - good > 1) {
      const std::size_t middle = good + (bad - good) / 2;
      std::vector<std::uint8_t> off(count, 0);
      for (std::size_t i = 0; i < middle; ++i)
        off[suspects[i]] = 1;
      const Result<bool> is_bad = bad_with(off);
      if (!is_bad)
        return std::unexpected(is_bad.error());
      (*is_bad ? bad : good) = middle;
    }
    culprits.push_back(suspects[bad - 1]);
    suspects.erase(suspects.begin() + static_cast<std::ptrdiff_t>(bad - 1));
    if (suspects.empty())
      break;
    std::vector<std::uint8_t> off(count, 0);
    for (const std::size_t suspect : suspects)
      off[suspect] = 1;
    const Result<bool> still_bad = bad_with(off);
    if (!still_bad)
      return std::unexpected(still_bad.error());
    if (!*still_bad)
      break;
  }
  std::ranges::sort(culprits);
  return culprits;
}

} // namespace adprof::verify
