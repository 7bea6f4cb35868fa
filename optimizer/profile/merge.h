/// Several profiles (threads of one process before folding, ranks of one run, runs) as one. Equal behaviours become one
/// node, contexts with the same path of sites one context; times and counts add up, peaks stay per process.
#pragma once

#include <vector>

#include "optimizer/profile/profile.h"

namespace adprof::profile {

/// Takes valid profiles (check.h) and gives a valid one, up to sums that leave the range check accepts: check again.
/// A site is the same where caller, callee and ordinal are. Folds a single profile as well. Linear up to hashing.
Profile merge(const std::vector<Profile> &profiles);

/// Fixes each site whose reverse calls were all opaque: without the inside of its adjoint there is nothing to say about
/// its tape. Reasons that are already there stay.
void fix_opaque_sites(Profile &profile);

} // namespace adprof::profile
