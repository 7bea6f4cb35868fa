/// What every form of feedback starts from: the sites of a program, each with the mode it should be in. Made by the CLI
/// from a placement and a profile; must not know of either's file format.
#pragma once

#include "optimizer/profile/profile.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace adprof::feedback {

struct Decision {
  std::string caller, callee;
  std::uint32_t ordinal = 0;
  profile::SourceLine primal; ///< where the call stands in the user's source; line 0 where unknown
  bool on = true;             ///< checkpointed (joint mode)
  bool switchable = true;     ///< false: no directive is ever added or removed for it
  double recompute_ns = 0;    ///< what being off saves; 0 where unknown

  /// "caller:callee:ordinal".
  std::string name() const { return caller + ":" + callee + ":" + std::to_string(ordinal); }
};

/// What a whole placement costs, for choosing between the two ways of expressing decisions that have no words of their
/// own.
struct Cost {
  double time_ns = 0;
  std::int64_t peak_bytes = 0;
  bool within_budget = true;
};

/// `on` is parallel to the decisions. Empty function: costs are unknown, and whatever can't be expressed stays on,
/// which is what AD tools do by default.
using CostFunction = std::function<Cost(const std::vector<std::uint8_t> &on)>;

/// Decisions of one group (one callee of an option list, one statement of a source) that differ, though the form has
/// only one word for the group.
struct Loss {
  std::string group; ///< "callee f" or "src/step.f90:12"
  bool chosen_on = true;
  std::vector<std::string> changed;  ///< names of the sites whose mode differs from the one asked for
  std::optional<Cost> if_on, if_off; ///< of the whole placement, where a cost function was given
};

/// Decides each group as a whole. Groups whose members agree are left alone; the others are decided one after the
/// other, the one with most recomputation first, by cost: within budget before over budget, then faster, then smaller.
/// On return `on` holds what the form can express. Not an optimum over all conflicting groups together: `suggest
/// --granularity callee` gives that.
struct Group {
  std::string label;
  std::vector<std::size_t> members; ///< indices of decisions
};
std::vector<Loss> settle_groups(const std::vector<Decision> &decisions, const std::vector<Group> &groups,
                                const CostFunction &cost, std::vector<std::uint8_t> &on);

} // namespace adprof::feedback
