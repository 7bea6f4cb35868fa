/// A placement for other hands than the AD tool's: a C header of macros for adjoints that are written by hand, and
/// plain JSON for scripts. Called by `apply`.
#pragma once

#include "optimizer/feedback/decision.h"

#include <string>
#include <vector>

namespace adprof::feedback {

/// One `#define ADPROF_ON_<caller>_<callee>_<ordinal>` 0 or 1 per site, and ADPROF_PLACEMENT_SITES, their number.
/// Characters that C doesn't allow become '_'; where two names would be equal then, all but the first get `__2`, `__3`,
/// ...
std::string c_header(const std::vector<Decision> &decisions, const std::string &fingerprint);

/// {"format": "adprof-decisions", "version": 1, "fingerprint", "nocheckpoint": [callees], "sites": [{"site", "caller",
/// "callee", "ordinal", "file", "line", "mode": "on" | "off", "switchable"}]}; losses of the callee list under "lost".
std::string decisions_json(const std::vector<Decision> &decisions, const std::string &fingerprint);

} // namespace adprof::feedback
