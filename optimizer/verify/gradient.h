/// Are two gradients the same, and if not, by how much do they differ? Called by `verify` and `tune` with the contents
/// of files that the user's program wrote. A placement must not change a single bit.
#pragma once

#include "optimizer/profile/error.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace adprof::verify {

enum class GradientForm { kRaw, kFortranRecords, kText, kNpy };
std::string_view to_string(GradientForm form);

struct Gradient {
  GradientForm form = GradientForm::kRaw;
  std::vector<double> values;
};

/// `.npy` by its magic (f4 or f8, either byte order, versions 1 to 3); text where every byte is printable: every word
/// that is a number counts (1.5, -2e3, 1.0D+00, NaN, Inf), other words are skipped; Fortran sequential records by their
/// length marks; else raw little-endian doubles. `where` names the file in errors.
Result<Gradient> read_gradient(std::string_view bytes, const std::string &where);

struct GradientDifference {
  std::size_t count = 0;     ///< values compared
  std::size_t different = 0; ///< not bitwise equal
  std::size_t first_different = 0;
  double first_a = 0, first_b = 0;
  double largest_absolute = 0; ///< over finite pairs
  double largest_relative = 0; ///< |a - b| / max(|a|, |b|), over finite pairs
  std::size_t non_finite_a = 0, non_finite_b = 0;
  std::size_t non_finite_different = 0; ///< of `different`: pairs with a value that is not finite
  bool equal() const { return different == 0; }
};

/// kInfeasible when the numbers of values differ.
Result<GradientDifference> compare_gradients(const Gradient &a, const Gradient &b);

/// Accepted when no relative difference is larger than `tolerance`; with 0, when every bit is the same.
bool within(const GradientDifference &difference, double tolerance);

/// "all 1024 values bitwise equal", or how many differ, and by how much.
std::string describe(const GradientDifference &difference);

} // namespace adprof::verify
