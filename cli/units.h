/// Numbers as people write and read them. Used by every verb; knows nothing of profiles.
#pragma once

#include <cstdint>
#include <string>

#include "optimizer/profile/error.h"

namespace adprof::cli {

/// "0 B", "512 B", "1.50 KiB", "923 MiB": three digits that matter, powers of 1024.
std::string format_bytes(std::int64_t bytes);
/// Whole bytes, rounded up: the AD stack packs bits.
std::int64_t bytes_of_bits(std::int64_t bits);
std::string format_bits(std::int64_t bits);
/// "0 s", "853 ns", "1.50 ms", "12.3 s", "4m05s", "2h03m".
std::string format_time(double ns);
/// "6,286,900".
std::string format_count(std::int64_t count);
/// A fraction: 0.4567 -> "45.7 %"; signed: "+2.00 %", "-13.1 %".
std::string format_percent(double fraction);
std::string format_change(double fraction);
/// "2.40".
std::string format_ratio(double ratio);

/// A size from the command line: bytes, or a multiple of something the verb knows ("1.2x").
struct Size {
  std::int64_t bytes = 0; ///< where factor is 0
  double factor = 0;
  /// `unit_bytes` is what "1x" stands for.
  std::int64_t bytes_given(std::int64_t unit_bytes) const;
};

/// "8G", "8GiB" (powers of 1024), "8GB" (powers of 1000), "500M", "4096", "1.2x". `option` names it in the error.
Result<Size> parse_size(const std::string &text, const std::string &option);
/// "1.5", "1.5x": a factor, larger than 0.
Result<double> parse_factor(const std::string &text, const std::string &option);
/// "2%", "+2%", "-0.5%" -> 0.02, 0.02, -0.005. Without the sign of percent it is an error, as 2 and 0.02 are confused.
Result<double> parse_percent(const std::string &text, const std::string &option);
/// "10s", "500ms", "2m", "1h", "10" (seconds) -> ns, at least 0.
Result<double> parse_time(const std::string &text, const std::string &option);

} // namespace adprof::cli
