/// On or off for every site of a CallTree. A value; carries no opinion on how it was found.
#pragma once

#include <cstdint>
#include <vector>

namespace adprof::model {

/// on[s] is 1 when site s is checkpointed (joint mode), 0 when it is split. Same length as CallTree::sites.
struct Placement {
  std::vector<std::uint8_t> on;
  bool operator==(const Placement &) const = default;
};

} // namespace adprof::model
