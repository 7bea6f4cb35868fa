#include "optimizer/profile/compare.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace adprof::profile {

namespace {

/// What the largest invocation leaves on the tape of its caller.
double kept_bits(const SiteTotals &t) {
  return static_cast<double>(t.invocations_on >= t.invocations_off ? t.snapshot_bits.largest : t.tape_bits.largest);
}

bool same(const Range &a, const Range &b) { return a.total == b.total && a.least == b.least && a.largest == b.largest; }

bool exact_change(const SiteTotals &a, const SiteTotals &b) {
  return a.invocations_on != b.invocations_on || a.invocations_off != b.invocations_off || a.invocations_sliced != b.invocations_sliced ||
         !same(a.tape_bits, b.tape_bits) || !same(a.snapshot_bits, b.snapshot_bits);
}

} // namespace

Comparison compare(const Profile &before, const Profile &after) {
  Comparison c;
  c.before = summarize(before);
  c.after = summarize(after);
  std::map<std::string, SiteChange> by_name;
  auto add = [&](const Profile &p, bool SiteChange::*present, SiteTotals SiteChange::*totals) {
    std::vector<SiteTotals> all = site_totals(p);
    for (size_t s = 0; s < all.size(); ++s) {
      SiteChange &change = by_name[p.sites[s].name()];
      change.name = p.sites[s].name();
      change.root |= p.sites[s].root;
      change.*present = true;
      change.*totals = all[s];
    }
  };
  add(before, &SiteChange::in_before, &SiteChange::before);
  add(after, &SiteChange::in_after, &SiteChange::after);
  double time = std::max({c.before.adjoint_ns, c.after.adjoint_ns, 1.0});
  double peak = std::max({static_cast<double>(c.before.stack_peak_bytes), static_cast<double>(c.after.stack_peak_bytes), 1.0}) * 8;
  for (auto &[name, change] : by_name) {
    if (change.before.invocations() + change.after.invocations() == 0)
      continue;
    change.time_change_ns = change.after.own_ns - change.before.own_ns;
    change.exact = exact_change(change.before, change.after);
    change.effect = std::fabs(change.time_change_ns) / time + std::fabs(kept_bits(change.after) - kept_bits(change.before)) / peak +
                    std::fabs(static_cast<double>(change.after.tape_bits.largest - change.before.tape_bits.largest)) / peak;
    c.sites.push_back(std::move(change));
  }
  std::ranges::stable_sort(c.sites, [](const SiteChange &a, const SiteChange &b) {
    return a.exact != b.exact ? a.exact : a.effect > b.effect;
  });
  return c;
}

std::vector<Regression> regressions(const Profile &baseline, const std::vector<Profile> &current, const Tolerance &tolerance) {
  std::vector<Regression> found;
  auto grew = [](double before, double after, double fraction) { return after > before + before * fraction; };
  // The worst of all runs for each thing, once.
  auto add = [&](Regression r) {
    auto known = std::ranges::find_if(found, [&](const Regression &other) { return other.what == r.what && other.site == r.site; });
    if (known == found.end())
      found.push_back(std::move(r));
    else if (r.after > known->after)
      *known = std::move(r);
  };
  using Unit = Regression::Unit;
  double fastest = HUGE_VAL, baseline_ns = summarize(baseline).adjoint_ns;
  for (const Profile &p : current) {
    Comparison c = compare(baseline, p);
    fastest = std::min(fastest, c.after.adjoint_ns);
    auto whole = [&](const char *what, std::int64_t before, std::int64_t after) {
      if (grew(static_cast<double>(before), static_cast<double>(after), tolerance.bytes))
        add({what, "", Unit::kBytes, static_cast<double>(before), static_cast<double>(after), "", ""});
    };
    whole("AD stack peak", c.before.stack_peak_bytes, c.after.stack_peak_bytes);
    whole("AD stack traffic", c.before.traffic_bytes, c.after.traffic_bytes);
    for (const SiteChange &change : c.sites) {
      const SiteTotals &a = change.before, &b = change.after;
      auto site = [&](const char *what, Unit unit, std::int64_t before, std::int64_t after, double fraction) {
        if (grew(static_cast<double>(before), static_cast<double>(after), fraction))
          add({what, change.name, unit, static_cast<double>(before), static_cast<double>(after), "", ""});
      };
      site("invocations", Unit::kCount, a.invocations(), b.invocations(), 0);
      // More of the calls that recompute: a split was lost.
      if (a.invocations_off > 0 && b.invocations_on > a.invocations_on)
        add({"mode", change.name, Unit::kMode, 0, static_cast<double>(b.invocations_on), a.mode(), b.mode()});
      // A site that changed its mode, or is new, has no size to be compared with.
      if (a.invocations_on > 0 && b.invocations_on > 0)
        site("snapshot", Unit::kBits, a.snapshot_bits.largest, b.snapshot_bits.largest, tolerance.bytes);
      if (a.invocations() > 0 && b.invocations() > 0 && (a.invocations_on > 0) == (b.invocations_on > 0))
        site("tape", Unit::kBits, a.tape_bits.largest, b.tape_bits.largest, tolerance.bytes);
    }
  }
  if (tolerance.time && !current.empty() && grew(baseline_ns, fastest, *tolerance.time))
    add({"adjoint time", "", Unit::kNs, baseline_ns, fastest, "", ""});
  // The run first, then lost splits, then by how much.
  std::ranges::stable_sort(found, [](const Regression &a, const Regression &b) {
    auto rank = [](const Regression &r) { return r.site.empty() ? 0 : r.unit == Unit::kMode ? 1 : 2; };
    double growth_a = a.after / std::max(a.before, 1.0), growth_b = b.after / std::max(b.before, 1.0);
    return rank(a) != rank(b) ? rank(a) < rank(b) : growth_a > growth_b;
  });
  return found;
}

} // namespace adprof::profile
