/// Builds the call tree of the model from what was measured. Called by the verbs; the only part of the model that knows what
/// a profile looks like.
///
/// Several profiles of one program make one tree: where the runs have the same shape (other placements of the same run), each
/// call uses the sizes that were measured in the mode asked for; where they do not (other inputs, other ranks), the trees stand
/// beside each other as processes that must all fit. What was never seen in joint mode is estimated and marked.
#pragma once

#include <string>
#include <vector>

#include "optimizer/model/call_tree.h"
#include "optimizer/model/placement.h"
#include "optimizer/profile/error.h"
#include "optimizer/profile/profile.h"

namespace adprof::model {

struct NamedProfile {
  const profile::Profile *profile = nullptr;
  std::string name; ///< for messages and labels: the file
};

/// Profiles passed profile::check. The sites are those of all profiles, the first one's first and in its order; the tree has
/// passed check_tree. Times are means per process and profile. Linear in what the profiles hold.
Result<CallTree> from_profiles(const std::vector<NamedProfile> &profiles);

/// The placement in force while `profile` was taken: on where a site was seen in joint mode. Sites that it does not show are
/// as they are fixed, or on.
Placement measured_placement(const CallTree &tree, const profile::Profile &profile);

} // namespace adprof::model
