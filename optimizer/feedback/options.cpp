#include "optimizer/feedback/options.h"

#include <map>

namespace adprof::feedback {
namespace {

std::string joined(const std::vector<std::string> &names) {
  std::string text;
  for (const std::string &name : names)
    text += (text.empty() ? "" : " ") + name;
  return text;
}

} // namespace

Options option_lists(const std::vector<Decision> &decisions, const CostFunction &cost) {
  std::map<std::string, Group> by_callee;
  Options options;
  for (std::size_t i = 0; i < decisions.size(); ++i) {
    options.on.push_back(decisions[i].on ? 1 : 0);
    Group &group = by_callee[decisions[i].callee];
    group.label = "callee " + decisions[i].callee;
    if (decisions[i].switchable)
      group.members.push_back(i);
  }
  std::vector<Group> groups;
  for (auto &[callee, group] : by_callee)
    groups.push_back(group);
  options.losses = settle_groups(decisions, groups, cost, options.on);
  for (const auto &[callee, group] : by_callee) {
    const bool off = !group.members.empty() && options.on[group.members.front()] == 0;
    (off ? options.off_callees : options.on_callees).push_back(callee);
  }
  if (!options.off_callees.empty())
    options.nocheckpoint = "-nocheckpoint \"" + joined(options.off_callees) + "\"";
  options.checkpoint = "-defaultnocheckpoint";
  if (!options.on_callees.empty())
    options.checkpoint += " -checkpoint \"" + joined(options.on_callees) + "\"";
  return options;
}

} // namespace adprof::feedback
