#include "optimizer/verify/prediction.h"

#include "optimizer/model/peak.h"
#include "optimizer/profile/summary.h"

#include <algorithm>
#include <map>

namespace adprof::verify {

std::vector<SiteComparison> compare_sites(const model::CallTree &tree, const model::Placement &placement,
                                          const profile::Profile &measured) {
  std::vector<model::NodeSize> sizes;
  model::PeakModel(tree).evaluate(placement, sizes);
  std::vector<SiteComparison> sites(tree.sites.size());
  for (const model::Edge &edge : tree.edges) {
    if (edge.kind != model::EdgeKind::kCall || edge.site == model::kNoSite)
      continue;
    SiteComparison &site = sites[edge.site];
    site.predicted_tape_bits = std::max(site.predicted_tape_bits, sizes[edge.node].tape);
    if (placement.on[edge.site] != 0)
      site.predicted_snapshot_bits = std::max(site.predicted_snapshot_bits, edge.snapshot);
  }
  std::map<std::string, std::size_t> by_name;
  for (std::size_t s = 0; s < measured.sites.size(); ++s)
    by_name.emplace(measured.sites[s].name(), s);
  const std::vector<profile::SiteTotals> totals = profile::site_totals(measured);
  std::vector<SiteComparison> found;
  for (std::size_t s = 0; s < sites.size(); ++s) {
    const auto other = by_name.find(tree.sites[s].name);
    if (other == by_name.end() || measured.sites[other->second].root)
      continue;
    SiteComparison &site = sites[s];
    const profile::SiteTotals &now = totals[other->second];
    site.name = tree.sites[s].name;
    site.on = placement.on[s] != 0;
    site.estimated = tree.sites[s].estimated;
    site.measured_tape_bits = now.tape_bits.largest;
    site.measured_snapshot_bits = now.snapshot_bits.largest;
    if (site.on) {
      site.predicted_recompute_ns = tree.sites[s].recompute_ns;
      site.measured_recompute_ns = now.recompute_ns();
    }
    found.push_back(std::move(site));
  }
  return found;
}

} // namespace adprof::verify
