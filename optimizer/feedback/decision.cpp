#include "optimizer/feedback/decision.h"

#include <algorithm>
#include <tuple>

namespace adprof::feedback {

std::vector<Loss> settle_groups(const std::vector<Decision> &decisions, const std::vector<Group> &groups,
                                const CostFunction &cost, std::vector<std::uint8_t> &on) {
  std::vector<const Group *> torn;
  for (const Group &group : groups) {
    const auto is_on = [&](std::size_t member) { return on[member] != 0; };
    const auto count = std::ranges::count_if(group.members, is_on);
    if (count != 0 && count != static_cast<std::ptrdiff_t>(group.members.size()))
      torn.push_back(&group);
  }
  const auto gain = [&](const Group *group) {
    double sum = 0;
    for (std::size_t member : group->members)
      sum += decisions[member].recompute_ns;
    return sum;
  };
  std::ranges::stable_sort(torn, [&](const Group *a, const Group *b) { return gain(a) > gain(b); });

  std::vector<Loss> losses;
  for (const Group *group : torn) {
    Loss loss;
    loss.group = group->label;
    const auto with = [&](std::uint8_t value) {
      std::vector<std::uint8_t> trial = on;
      for (std::size_t member : group->members)
        trial[member] = value;
      return trial;
    };
    if (cost) {
      loss.if_on = cost(with(1));
      loss.if_off = cost(with(0));
      const auto rank = [](const Cost &c) { return std::tuple(!c.within_budget, c.time_ns, c.peak_bytes); };
      loss.chosen_on = rank(*loss.if_on) <= rank(*loss.if_off);
    }
    for (std::size_t member : group->members)
      if ((on[member] != 0) != loss.chosen_on)
        loss.changed.push_back(decisions[member].name());
    on = with(loss.chosen_on ? 1 : 0);
    losses.push_back(std::move(loss));
  }
  return losses;
}

} // namespace adprof::feedback
