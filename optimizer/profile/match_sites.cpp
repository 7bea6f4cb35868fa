#include "optimizer/profile/match_sites.h"

#include "optimizer/profile/summary.h"

#include <algorithm>
#include <set>

namespace adprof::profile {

SiteMatch match_sites(const std::vector<std::string> &known_names, const Profile &profile) {
  const std::set<std::string> known(known_names.begin(), known_names.end());
  const std::vector<SiteTotals> totals = site_totals(profile);
  double all = 0, matched = 0;
  std::size_t count = 0, matched_count = 0;
  std::set<std::string> present;
  std::vector<std::size_t> added;
  for (std::size_t s = 0; s < profile.sites.size(); ++s) {
    if (profile.sites[s].root)
      continue;
    const std::string name = profile.sites[s].name();
    present.insert(name);
    all += totals[s].own_ns;
    ++count;
    if (known.contains(name)) {
      matched += totals[s].own_ns;
      ++matched_count;
    } else {
      added.push_back(s);
    }
  }
  std::ranges::stable_sort(added, [&](std::size_t a, std::size_t b) { return totals[a].own_ns > totals[b].own_ns; });
  SiteMatch match;
  match.share = all > 0     ? matched / all
                : count > 0 ? static_cast<double>(matched_count) / static_cast<double>(count)
                            : 1;
  for (const std::size_t s : added)
    match.added.push_back(profile.sites[s].name());
  std::ranges::set_difference(known, present, std::back_inserter(match.missing));
  return match;
}

} // namespace adprof::profile
