/// Edits of a text, applied, and shown as a unified diff. Knows nothing of languages.
#pragma once

#include "optimizer/feedback/source_text.h"

#include <string>
#include <vector>

namespace adprof::feedback {

/// Replaces the bytes [begin, end) by `text`. Edits of one text don't overlap.
struct Edit {
  std::size_t begin = 0, end = 0;
  std::string text;
};

struct EditedText {
  std::string text;
  std::string diff; ///< headers included; empty when nothing changes
};

/// Edits are sorted by position; of two at one position the earlier in the list comes first.
EditedText apply_edits(const std::string &path, std::string_view text, std::vector<Edit> edits);

} // namespace adprof::feedback
