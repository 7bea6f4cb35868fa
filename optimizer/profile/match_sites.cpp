#include "optimizer/profile/match_sites.h"

#include <algorithm>
#include <set>

namespace adprof::profile {

std::vector<double> own_times(const Profile &profile) {
  std::vector<double> own(profile.contexts.size(), 0), by_site(profile.sites.size(), 0);
  for (std::size_t c = 0; c < profile.contexts.size(); ++c) {
    const Context &context = profile.contexts[c];
    const double all = context.primal_ns + context.snapshot_write_ns + context.snapshot_read_ns + context.forward_ns +
                       context.backward_ns;
    own[c] += all;
    if (context.parent != kNoIndex)
      own[context.parent] -= all;
  }
  for (std::size_t c = 0; c < profile.contexts.size(); ++c)
    by_site[profile.contexts[c].site] += std::max(0.0, own[c]);
  return by_site;
}

SiteMatch match_sites(const std::vector<std::string> &known_names, const Profile &profile) {
  const std::set<std::string> known(known_names.begin(), known_names.end());
  const std::vector<double> times = own_times(profile);
  double all = 0, matched = 0;
  std::size_t count = 0, matched_count = 0;
  std::set<std::string> present;
  std::vector<std::size_t> added;
  for (std::size_t s = 0; s < profile.sites.size(); ++s) {
    if (profile.sites[s].root)
      continue;
    const std::string name = profile.sites[s].name();
    present.insert(name);
    all += times[s];
    ++count;
    if (known.contains(name)) {
      matched += times[s];
      ++matched_count;
    } else {
      added.push_back(s);
    }
  }
  std::ranges::stable_sort(added, [&](std::size_t a, std::size_t b) { return times[a] > times[b]; });
  SiteMatch match;
  match.share = all > 0 ? matched / all : count > 0 ? static_cast<double>(matched_count) / static_cast<double>(count) : 1;
  for (const std::size_t s : added)
    match.added.push_back(profile.sites[s].name());
  std::ranges::set_difference(known, present, std::back_inserter(match.missing));
  return match;
}

} // namespace adprof::profile
