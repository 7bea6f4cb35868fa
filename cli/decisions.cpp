#include "cli/decisions.h"

#include <map>
#include <ostream>
#include <set>

#include "cli/units.h"
#include "optimizer/profile/file.h"
#include "optimizer/profile/json.h"
#include "optimizer/profile/match_sites.h"
#include "optimizer/profile/summary.h"

namespace adprof::cli {
namespace {

std::string some_of(const std::vector<std::string> &names) {
  constexpr std::size_t kShown = 5;
  std::string text;
  for (std::size_t i = 0; i < std::min(names.size(), kShown); ++i)
    text += (i == 0 ? "" : ", ") + names[i];
  if (names.size() > kShown)
    text += " and " + std::to_string(names.size() - kShown) + " more";
  return text;
}

} // namespace

Result<placement::PlacementFile> load_placement(const std::string &path) {
  const Result<std::string> text = profile::read_file(path);
  if (!text)
    return std::unexpected(text.error());
  return placement::read_placement(*text, path);
}

std::vector<feedback::Decision> decisions_of(const placement::PlacementFile &placement,
                                             const profile::Profile *profile) {
  std::map<std::string, const profile::Site *> known;
  if (profile)
    for (const profile::Site &site : profile->sites)
      known.emplace(site.name(), &site);
  std::vector<feedback::Decision> decisions;
  for (const placement::PlacedSite &placed : placement.sites) {
    feedback::Decision decision{placed.caller, placed.callee,     placed.ordinal, {placed.file, placed.line},
                                placed.on,     placed.switchable, placed.gain_ns};
    if (const auto found = known.find(placed.name()); found != known.end()) {
      if (found->second->root)
        continue;
      if (found->second->primal.line != 0)
        decision.primal = found->second->primal;
    }
    decisions.push_back(std::move(decision));
  }
  return decisions;
}

Measured measured_of(const profile::Profile &profile) {
  Measured measured;
  for (std::uint32_t p = 0; p < profile.processes.size(); ++p) {
    const std::int64_t tape = profile::counted_peak_bytes(profile, p);
    measured.tape_bytes = std::max(measured.tape_bytes, tape);
    measured.process_bytes = std::max(measured.process_bytes, tape + profile.processes[p].resident_other_bytes);
  }
  if (!profile.processes.empty())
    measured.time_ns = profile::summarize(profile).adjoint_ns / static_cast<double>(profile.processes.size());
  return measured;
}

Result<void> require_match(const placement::PlacementFile &placement, const profile::Profile &profile,
                           double least_share, const std::string &placement_name, const std::string &profile_name,
                           Io &io) {
  if (!placement.site_fingerprint.empty() && placement.site_fingerprint == profile::site_fingerprint(profile))
    return {};
  std::vector<std::string> names;
  for (const placement::PlacedSite &site : placement.sites)
    names.push_back(site.name());
  profile::SiteMatch match = profile::match_sites(names, profile);
  std::set<std::string> undecided; // roots, and sites that can't be switched: nobody misses those
  for (const placement::PlacedSite &site : placement.sites)
    if (!site.switchable)
      undecided.insert(site.name());
  std::erase_if(match.missing, [&](const std::string &name) { return undecided.contains(name); });
  std::string found = format_percent(match.share) + " of the adjoint's time in " + profile_name + " is in sites that " +
                      placement_name + " knows";
  if (!match.added.empty())
    found += "; new: " + some_of(match.added);
  if (!match.missing.empty())
    found += "; gone: " + some_of(match.missing);
  if (match.share < least_share)
    return std::unexpected(Error{ErrorKind::kInfeasible, placement_name,
                                 "made for other sources: only " + found + ". Accepted is " +
                                     format_percent(least_share) + " or more (--min-match); run `adprof suggest` on " +
                                     profile_name + " for a placement of its own"});
  if (!match.added.empty() || !match.missing.empty())
    io.talk << "note: " << found << "\n";
  return {};
}

void print_losses(const std::vector<feedback::Loss> &losses, Io &io) {
  const auto cost = [](const std::optional<feedback::Cost> &c) {
    if (!c)
      return std::string();
    return " (" + format_time(c->time_ns) + ", peak " + format_bytes(c->peak_bytes) +
           (c->within_budget ? ")" : ", over the budget)");
  };
  for (const feedback::Loss &loss : losses) {
    io.talk << "lost: the sites of " << loss.group << " differ, all were set " << (loss.chosen_on ? "on" : "off")
            << cost(loss.chosen_on ? loss.if_on : loss.if_off);
    if (loss.if_on)
      io.talk << " rather than " << (loss.chosen_on ? "off" : "on") << cost(loss.chosen_on ? loss.if_off : loss.if_on);
    io.talk << "; changed: " << some_of(loss.changed) << "\n";
  }
}

} // namespace adprof::cli
