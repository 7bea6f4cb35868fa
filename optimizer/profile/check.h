/// Does a profile that came from a file keep the rules of profile.h? Every reader ends with this, so that nothing downstream
/// meets an index out of range, a cycle, a negative size, or sizes whose sums do not fit into 64 bits.
#pragma once

#include <string>

#include "optimizer/profile/profile.h"
#include "optimizer/profile/error.h"

namespace adprof::profile {

/// No size, count or sum of sizes in a profile is larger: 128 PiB of tape. Leaves room to add without overflow.
inline constexpr std::int64_t kLargestValue = std::int64_t{1} << 60;

/// `where` names the file in the error. Linear in the size of the profile.
Result<void> check(const Profile &profile, const std::string &where);

/// a + b and a * b for non-negative values, never above kLargestValue + 1.
std::int64_t saturating_add(std::int64_t a, std::int64_t b);
std::int64_t saturating_multiply(std::int64_t a, std::int64_t b);

} // namespace adprof::profile
