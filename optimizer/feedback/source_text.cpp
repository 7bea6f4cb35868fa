#include "optimizer/feedback/source_text.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <charconv>

namespace adprof::feedback {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}

std::vector<std::string_view> components(std::string_view path) {
  std::vector<std::string_view> parts;
  while (!path.empty()) {
    const std::size_t slash = std::min(path.find('/'), path.size());
    const std::string_view part = path.substr(0, slash);
    path.remove_prefix(std::min(slash + 1, path.size()));
    if (part.empty() || part == ".")
      continue;
    if (part == ".." && !parts.empty() && parts.back() != "..")
      parts.pop_back();
    else
      parts.push_back(part);
  }
  return parts;
}

struct Marker {
  std::uint32_t line = 0;
  std::optional<std::string> file;
};

std::optional<Marker> read_marker(std::string_view row) {
  std::size_t at = 0;
  const auto skip_blanks = [&] {
    while (at < row.size() && is_blank(row[at]))
      ++at;
  };
  skip_blanks();
  if (at == row.size() || row[at] != '#')
    return std::nullopt;
  ++at;
  skip_blanks();
  if (row.substr(at).starts_with("line")) {
    at += 4;
    if (at == row.size() || !is_blank(row[at]))
      return std::nullopt;
    skip_blanks();
  }
  Marker marker;
  const char *begin = row.data() + at;
  const auto [end, error] = std::from_chars(begin, row.data() + row.size(), marker.line);
  if (error != std::errc{})
    return std::nullopt;
  at += static_cast<std::size_t>(end - begin);
  skip_blanks();
  if (at < row.size() && row[at] == '"') {
    std::string name;
    for (++at; at < row.size() && row[at] != '"'; ++at) {
      if (row[at] == '\\' && at + 1 < row.size())
        ++at;
      name += row[at];
    }
    if (at == row.size())
      return std::nullopt;
    marker.file = std::move(name);
  }
  return marker;
}

} // namespace

std::string_view to_string(SourceForm form) {
  switch (form) {
  case SourceForm::kFixed:
    return "fixed-form Fortran";
  case SourceForm::kFree:
    return "free-form Fortran";
  case SourceForm::kC:
    return "C";
  }
  return "";
}

std::optional<SourceForm> form_of_name(std::string_view path) {
  const std::size_t slash = path.rfind('/');
  const std::string_view name = slash == path.npos ? path : path.substr(slash + 1);
  const std::size_t dot = name.rfind('.');
  if (dot == name.npos)
    return std::nullopt;
  std::string ending(name.substr(dot + 1));
  std::ranges::transform(ending, ending.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const char *fixed : {"f", "for", "ftn", "f77", "fpp"})
    if (ending == fixed)
      return SourceForm::kFixed;
  for (const char *free : {"f90", "f95", "f03", "f08", "f18", "f2k", "fypp"})
    if (ending == free)
      return SourceForm::kFree;
  for (const char *c : {"c", "i", "cc", "cpp", "cxx", "hpp", "hh"})
    if (ending == c)
      return SourceForm::kC;
  return std::nullopt;
}

SourceForm guess_form(std::string_view text) {
  // C ends its statements with ';' or braces. Fortran rows that do either are rare enough to be outvoted.
  std::size_t c_rows = 0, code_rows = 0, unfixed_rows = 0;
  for (const Row &row : split_rows(text, {})) {
    std::string_view code = row.text;
    while (!code.empty() && is_blank(code.back()))
      code.remove_suffix(1);
    std::size_t indent = 0;
    while (indent < code.size() && is_blank(code[indent]))
      ++indent;
    if (indent == code.size() || code[0] == '#')
      continue;
    if (code[indent] == '!' && indent != 5)
      continue;
    ++code_rows;
    const char last = code.back();
    if (last == ';' || last == '{' || last == '}' || code.substr(indent).starts_with("/*") ||
        code.substr(indent).starts_with("//"))
      ++c_rows;
    const bool comment = std::string_view("Cc*Dd").contains(code[0]);
    const bool label_field =
        code[0] == '\t' || std::ranges::all_of(code.substr(0, 5), [](char c) { return is_blank(c) || is_digit(c); });
    if (!comment && (!label_field || last == '&'))
      ++unfixed_rows;
  }
  if (2 * c_rows > code_rows)
    return SourceForm::kC;
  return unfixed_rows == 0 ? SourceForm::kFixed : SourceForm::kFree;
}

std::vector<Row> split_rows(std::string_view text, const std::string &file) {
  std::vector<Row> rows;
  std::string logical_file = file;
  std::uint32_t line = 1;
  std::size_t at = 0;
  while (at < text.size()) {
    Row row;
    row.begin = at;
    const std::size_t newline = text.find('\n', at);
    std::size_t stop = newline == text.npos ? text.size() : newline;
    const std::size_t next = newline == text.npos ? text.size() : newline + 1;
    if (newline != text.npos && stop > at && text[stop - 1] == '\r')
      --stop;
    row.text = text.substr(at, stop - at);
    row.end = text.substr(stop, next - stop);
    if (const std::optional<Marker> marker = read_marker(row.text)) {
      line = marker->line;
      if (marker->file)
        logical_file = *marker->file;
      row.file = logical_file;
    } else {
      row.file = logical_file;
      row.line = line++;
    }
    rows.push_back(std::move(row));
    at = next;
  }
  return rows;
}

bool same_file(std::string_view a, std::string_view b) {
  const std::vector<std::string_view> left = components(a), right = components(b);
  if (left.empty() || right.empty())
    return left.size() == right.size();
  if (a.starts_with('/') && b.starts_with('/'))
    return left == right;
  const std::size_t common = std::min(left.size(), right.size());
  return std::equal(left.end() - static_cast<std::ptrdiff_t>(common), left.end(),
                    right.end() - static_cast<std::ptrdiff_t>(common));
}

} // namespace adprof::feedback
