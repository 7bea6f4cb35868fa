/// Raw profiles (runtime/abi/raw_layout.h) as profiles. The file is hostile input: it may be truncated, written by a program
/// that was killed, or made up; every field goes through a cursor that knows the end.
#pragma once

#include <string>
#include <string_view>

#include "optimizer/profile/error.h"
#include "optimizer/profile/profile.h"

namespace adprof::profile {

/// One process, its threads merged (merge.h), checked (check.h). Frames that were open when the program was killed become
/// nodes marked `abandoned`. `where` names the file in errors. Time and memory linear in `bytes`.
Result<Profile> read_raw(std::string_view bytes, const std::string &where);

/// True where `bytes` begin like a raw profile.
bool is_raw(std::string_view bytes);

} // namespace adprof::profile
