/// Whole files in and out. A file is never half written: it is written beside its name and renamed.
#pragma once

#include <string>
#include <string_view>

#include "optimizer/profile/error.h"

namespace adprof::profile {

/// `path` "-" reads standard input.
Result<std::string> read_file(const std::string &path);

/// Replaces `path`, keeping its permissions where it exists and following it where it is a link; "-" writes to standard
/// output. Devices such as /dev/null are written to, not replaced.
Result<void> write_file(const std::string &path, std::string_view text);

} // namespace adprof::profile
