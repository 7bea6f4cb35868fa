/// A profile from a file of either kind.
#pragma once

#include <string>
#include <vector>

#include "optimizer/profile/error.h"
#include "optimizer/profile/profile.h"

namespace adprof::profile {

/// JSON or raw, told apart by the first bytes; "-" is standard input. Checked.
Result<Profile> load(const std::string &path);

/// All of them merged into one (merge.h), checked.
Result<Profile> load_merged(const std::vector<std::string> &paths);

} // namespace adprof::profile
