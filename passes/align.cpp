#include "passes/align.h"

#include <algorithm>

namespace adprof {

std::vector<int> align(unsigned left_count, unsigned right_count, const PairScore &score) {
  // best[i][j]: largest sum over left[i..] and right[j..].
  size_t width = size_t(right_count) + 1;
  std::vector<int> scores(size_t(left_count) * right_count), best((size_t(left_count) + 1) * width, 0);
  for (unsigned i = left_count; i-- > 0;)
    for (unsigned j = right_count; j-- > 0;) {
      int pair = scores[size_t(i) * right_count + j] = score(i, j);
      int result = std::max(best[(i + 1) * width + j], best[i * width + j + 1]);
      if (pair >= 0)
        result = std::max(result, pair + best[(i + 1) * width + j + 1]);
      best[i * width + j] = result;
    }
  std::vector<int> pairs(left_count, -1);
  for (unsigned i = 0, j = 0; i < left_count && j < right_count;) {
    int pair = scores[size_t(i) * right_count + j];
    if (pair >= 0 && best[i * width + j] == pair + best[(i + 1) * width + j + 1])
      pairs[i++] = int(j++);
    else if (best[i * width + j] == best[(i + 1) * width + j])
      ++i;
    else
      ++j;
  }
  return pairs;
}

} // namespace adprof
