#include "optimizer/verify/modes.h"

#include "optimizer/profile/summary.h"

#include <map>

namespace adprof::verify {
namespace {

SiteMode seen(const profile::SiteTotals &totals) {
  SiteMode mode;
  mode.invocations_on = totals.invocations_on;
  mode.invocations_off = totals.invocations_off;
  mode.time_ns = totals.own_ns;
  return mode;
}

} // namespace

std::vector<SiteMode> compare_modes(const std::vector<AskedMode> &asked, const profile::Profile &profile) {
  const std::vector<profile::SiteTotals> totals = profile::site_totals(profile);
  std::map<std::string, std::size_t> by_name;
  for (std::size_t s = 0; s < profile.sites.size(); ++s)
    if (!profile.sites[s].root)
      by_name.emplace(profile.sites[s].name(), s);

  std::vector<SiteMode> modes;
  for (const AskedMode &one : asked) {
    SiteMode mode;
    if (const auto found = by_name.find(one.name); found != by_name.end()) {
      mode = seen(totals[found->second]);
      const std::int64_t as_asked = one.on ? mode.invocations_on : mode.invocations_off;
      const std::int64_t other = one.on ? mode.invocations_off : mode.invocations_on;
      mode.verdict = as_asked > 0 && other > 0 ? ModeVerdict::kMixed
                     : other > 0               ? ModeVerdict::kOtherMode
                     : as_asked > 0            ? ModeVerdict::kAsAsked
                                               : ModeVerdict::kNotRun;
      by_name.erase(found);
    } else {
      mode.verdict = ModeVerdict::kGone;
    }
    mode.name = one.name;
    mode.asked_on = one.on;
    mode.switchable = one.switchable;
    modes.push_back(std::move(mode));
  }
  for (std::size_t s = 0; s < profile.sites.size(); ++s) {
    const std::string name = profile.sites[s].name();
    if (const auto left = by_name.find(name); left != by_name.end() && left->second == s) {
      SiteMode mode = seen(totals[s]);
      mode.name = name;
      mode.verdict = ModeVerdict::kNew;
      modes.push_back(std::move(mode));
    }
  }
  return modes;
}

std::string describe(const SiteMode &mode) {
  const std::string asked = mode.asked_on ? "on" : "off";
  const std::string on = std::to_string(mode.invocations_on), off = std::to_string(mode.invocations_off);
  switch (mode.verdict) {
  case ModeVerdict::kAsAsked:
    return asked + ", as asked";
  case ModeVerdict::kOtherMode:
    return mode.asked_on
               ? "asked on, ran off in all " + off + " invocations: is it in a list or under a directive of before?"
               : "asked off, ran on in all " + on +
                     " invocations: AD tools ignore names they don't know without a word";
  case ModeVerdict::kMixed:
    return "asked " + asked + ", ran on in " + on + " and off in " + off + " invocations";
  case ModeVerdict::kNotRun:
    return "asked " + asked + ", never reversed in this run";
  case ModeVerdict::kGone:
    return "asked " + asked + ", no such site in this program";
  case ModeVerdict::kNew:
    return "not in the placement, ran on in " + on + " and off in " + off + " invocations";
  }
  return "";
}

} // namespace adprof::verify
