#include "optimizer/placement/certificate.h"

#include <cstdio>

namespace adprof::placement {

std::string in_words(const Certificate &certificate) {
  if (certificate.optimal)
    return "optimal for this profile and this model";
  std::string text;
  if (certificate.lower_bound > 0) {
    char gap[64];
    std::snprintf(gap, sizeof gap, "%.2g %%", 100 * certificate.gap());
    text = "within " + std::string(gap) + " of the optimum for this profile and this model";
  } else {
    text = "not proved: no lower bound above zero is known";
  }
  if (certificate.stopped_by_clock)
    text += "; the time limit ended the search";
  return text;
}

} // namespace adprof::placement
