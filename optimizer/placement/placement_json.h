/// The placement file (docs/placement-format.md): what `adprof suggest` writes, and apply, verify, predict and tune read. Text in
/// and out; the CLI opens the files.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "optimizer/placement/certificate.h"
#include "optimizer/profile/error.h"

namespace adprof::placement {

inline constexpr int kPlacementVersion = 1;
inline constexpr int kPlacementOldestReader = 1;

struct PlacedSite {
  std::string caller, callee;
  std::uint32_t ordinal = 0;
  std::string file;          ///< of the call in the primal source; empty where unknown
  std::uint32_t line = 0;
  bool on = true;            ///< checkpointed (joint mode)
  bool switchable = true;
  std::string fixed_reason;  ///< why it is not switchable, or which wish of the user fixed it
  double gain_ns = 0;        ///< recomputation and snapshot time that being off saves
  bool measured = true;      ///< sizes and times were measured in the mode it is placed in; false: estimated
  bool operator==(const PlacedSite &) const = default;

  /// "caller:callee:ordinal".
  std::string name() const { return caller + ":" + callee + ":" + std::to_string(ordinal); }
};

/// What a placement was made for: at most one of the limits is set.
struct Limit {
  std::int64_t process_bytes = -1; ///< budget of the whole process; -1: none
  std::int64_t tape_bytes = -1;    ///< budget of the AD stack alone; -1: none
  double slowdown = 0;             ///< largest time against all sites off; 0: none
  bool operator==(const Limit &) const = default;
};

struct PlacementFile {
  std::string adprof_version;
  std::string profile;                ///< name of the (first) profile it was computed from
  std::string site_fingerprint;       ///< profile::site_fingerprint of that profile
  Limit limit;
  std::int64_t predicted_tape_bytes = 0;    ///< highest AD stack of a process, all threads together
  std::int64_t predicted_process_bytes = 0; ///< the same with what else is resident
  double predicted_time_ns = 0;             ///< inside adjoint roots
  double measured_time_ns = 0;              ///< of the profile, for comparison; 0 where the profiles differ
  std::int64_t measured_tape_bytes = 0;
  Certificate certificate;
  std::vector<PlacedSite> sites;      ///< every site of the profile, in the profile's order
};

/// `where` names the file in errors. Every value is checked; unknown members are ignored, so that later versions can add some.
Result<PlacementFile> read_placement(std::string_view text, const std::string &where);

/// One site a line; the same value gives the same bytes.
std::string write_placement(const PlacementFile &placement);

} // namespace adprof::placement
