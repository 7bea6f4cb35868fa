/// A source file as rows, and where each row stands in the file that the user wrote (line markers of preprocessors).
/// Called by the statement scanner and the directive patcher. Bytes are kept as they are: any encoding, any line end.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace adprof::feedback {

enum class SourceForm { kFixed, kFree, kC };
std::string_view to_string(SourceForm form);

/// By the ending of the name; empty for endings that several languages use (.h, .inc) and unknown ones.
std::optional<SourceForm> form_of_name(std::string_view path);
/// By content, for the rest.
SourceForm guess_form(std::string_view text);

struct Row {
  std::size_t begin = 0;  ///< byte offset in the text
  std::string_view text;  ///< without its line end
  std::string_view end;   ///< "\n", "\r\n", or empty in a last row without one
  std::string file;       ///< logical: of the markers, else the name given
  std::uint32_t line = 0; ///< logical, from 1; 0 for a line marker itself
};

/// Views point into `text`. `# 12 "name"`, `#line 12 "name"` and `#line 12` are understood.
std::vector<Row> split_rows(std::string_view text, const std::string &file);

/// Equal after normalisation of `.`, `..` and repeated slashes, or one is the end of the other by whole components.
bool same_file(std::string_view a, std::string_view b);

} // namespace adprof::feedback
