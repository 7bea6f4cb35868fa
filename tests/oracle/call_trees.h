/// Call trees for tests and benchmarks, from a seed. Small ones use everything the model knows at random; the others have
/// the shapes of real adjoints, with times and sizes that belong together.
#pragma once

#include <cstdint>
#include <string>

#include "optimizer/model/call_tree.h"
#include "optimizer/profile/profile.h"

namespace adprof::oracle {

/// Up to `sites` sites (at least 1), loops, blocks, kept bits, other behaviour in split mode, fixed sites, several threads and processes.
model::CallTree random_tree(std::uint64_t seed, std::uint32_t sites);

enum class Shape {
  kLayers,  ///< time loop, step, components, routines called per level, leaves
  kLibrary, ///< three times as deep, callees shared by many callers
  kDecades, ///< as kLayers, with memory over six orders of magnitude and snapshots as often larger than tapes as smaller
};

struct TreeSpec {
  Shape shape = Shape::kLayers;
  std::uint64_t seed = 1;
  std::uint32_t sites = 100;
  std::uint32_t nodes = 0; ///< folded nodes to aim at; 0: one or two per procedure
};

model::CallTree realistic_tree(const TreeSpec &spec);

/// The profile of a run of such a tree (no other behaviour in split mode, all sites on), below ordinary code and a root.
profile::Profile as_profile(const model::CallTree &tree);

} // namespace adprof::oracle
