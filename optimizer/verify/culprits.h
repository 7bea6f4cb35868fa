/// Which members of a set make a test fail? Called by `tune` when switching sites off changed the gradient: each call
/// of the test is a rebuild and a run, so their number is what counts. Knows nothing of sites.
#pragma once

#include "optimizer/profile/error.h"

#include <cstdint>
#include <functional>
#include <vector>

namespace adprof::verify {

/// True when the result is bad with exactly the members switched off that `off` marks.
using BadWith = std::function<Result<bool>(const std::vector<std::uint8_t> &off)>;

/// The members that make all of them together bad, found one after the other by bisection over prefixes: about
/// log2(count) + 1 tests for each. Members that are bad only together with others are found through the last of them.
/// The caller knows that all `count` together are bad and none is good; on return, all but the culprits together are
/// good.
Result<std::vector<std::size_t>> find_culprits(std::size_t count, const BadWith &bad_with);

} // namespace adprof::verify
