/// The documented JSON profile (docs/profile-format.md): what `adprof run` writes, and everything else reads.
#pragma once

#include <string>
#include <string_view>

#include "optimizer/profile/error.h"
#include "optimizer/profile/profile.h"

namespace adprof::profile {

inline constexpr int kJsonVersion = 1;
/// The oldest reader that understands what write_json writes.
inline constexpr int kJsonOldestReader = 1;

/// Checked (check.h). `where` names the file in errors. Memory beyond the profile itself stays at one element and the text.
Result<Profile> read_json(std::string_view text, const std::string &where);

/// One element a line; members that hold their default are left out. The same profile gives the same bytes.
std::string write_json(const Profile &profile);

/// 16 hex digits over the names and signatures of all sites, in any order: equal sources, equal fingerprint.
std::string site_fingerprint(const Profile &profile);

} // namespace adprof::profile
