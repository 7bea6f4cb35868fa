/// A placement as options of the AD tool: lists of callees. Called by `apply` and `tune`; knows nothing of files.
///
/// A list names procedures, not calls: where the sites of one callee differ, something is lost, and it is said what.
#pragma once

#include "optimizer/feedback/decision.h"

#include <string>
#include <vector>

namespace adprof::feedback {

struct Options {
  std::vector<std::string> off_callees; ///< every switchable site is off; sorted
  std::vector<std::string> on_callees;  ///< the others, those that can't be switched included; sorted
  /// `-nocheckpoint "f g"`; empty where no callee is off. What the list doesn't name keeps the tool's default, on.
  std::string nocheckpoint;
  /// The inverse, `-defaultnocheckpoint -checkpoint "h"`: also splits calls that the profile has never seen.
  std::string checkpoint;
  std::vector<Loss> losses;
  std::vector<std::uint8_t> on; ///< what the lists express, parallel to the decisions
};

/// Sites that can't be switched have no say in their callee's mode; a callee with no other sites stays on.
/// Unknown names are ignored silently by the tool: only `verify` finds those.
Options option_lists(const std::vector<Decision> &decisions, const CostFunction &cost = {});

} // namespace adprof::feedback
