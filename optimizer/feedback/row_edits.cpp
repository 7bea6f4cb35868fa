#include "optimizer/feedback/row_edits.h"

#include <algorithm>

namespace adprof::feedback {
namespace {

constexpr std::size_t kContextRows = 3;

/// Old rows [first, first + removed.size()) become `added`; rows with their line ends.
struct Change {
  std::size_t first = 0;
  std::vector<std::string> removed, added;
};

std::vector<std::string> rows_with_ends(std::string_view text) {
  std::vector<std::string> rows;
  for (const Row &row : split_rows(text, {}))
    rows.push_back(std::string(row.text) + std::string(row.end));
  return rows;
}

void print_row(std::string &diff, char sign, const std::string &row) {
  diff += sign;
  diff += row;
  if (!row.ends_with('\n'))
    diff += "\n\\ No newline at end of file\n";
}

std::string range(std::size_t first, std::size_t count) { // of a hunk header: rows count from 1, an empty range from 0
  std::string text = std::to_string(count == 0 ? first : first + 1);
  return count == 1 ? text : text + "," + std::to_string(count);
}

} // namespace

EditedText apply_edits(const std::string &path, std::string_view text, std::vector<Edit> edits) {
  std::ranges::stable_sort(edits, {}, &Edit::begin);
  const std::vector<Row> rows = split_rows(text, {});
  const auto row_end = [&](std::size_t r) { return rows[r].begin + rows[r].text.size() + rows[r].end.size(); };

  EditedText result;
  std::vector<Change> changes;
  std::size_t next_edit = 0;
  for (std::size_t r = 0; r < rows.size() && next_edit < edits.size(); ++r) {
    if (edits[next_edit].begin >= row_end(r) && !(r + 1 == rows.size()))
      continue;
    Change change;
    change.first = r;
    std::string replaced;
    std::size_t at = rows[r].begin, last = r;
    bool touches_row = false;
    while (next_edit < edits.size() && (edits[next_edit].begin < row_end(last) || last + 1 == rows.size())) {
      const Edit &edit = edits[next_edit++];
      replaced += text.substr(at, edit.begin - at);
      replaced += edit.text;
      at = edit.end;
      touches_row = touches_row || edit.begin != rows[r].begin || edit.end != edit.begin;
      while (at > row_end(last))
        ++last;
    }
    if (touches_row) {
      replaced += text.substr(at, row_end(last) - at);
      for (std::size_t k = r; k <= last; ++k)
        change.removed.emplace_back(text.substr(rows[k].begin, row_end(k) - rows[k].begin));
    }
    change.added = rows_with_ends(replaced);
    changes.push_back(std::move(change));
    r = last;
  }

  // The new text, from the same changes that the diff shows.
  std::size_t row = 0;
  const auto old_row = [&](std::size_t r) {
    return std::string(text.substr(rows[r].begin, row_end(r) - rows[r].begin));
  };
  for (const Change &change : changes) {
    for (; row < change.first; ++row)
      result.text += old_row(row);
    for (const std::string &added : change.added)
      result.text += added;
    row += change.removed.size();
  }
  for (; row < rows.size(); ++row)
    result.text += old_row(row);
  if (changes.empty())
    return result;

  result.diff = "--- a/" + path + "\n+++ b/" + path + "\n";
  std::ptrdiff_t shift = 0; // of new row numbers against old ones
  for (std::size_t c = 0; c < changes.size();) {
    std::size_t stop = c + 1; // changes whose context touches go into one hunk
    while (stop < changes.size() &&
           changes[stop].first - (changes[stop - 1].first + changes[stop - 1].removed.size()) <= 2 * kContextRows)
      ++stop;
    const std::size_t first = changes[c].first - std::min(changes[c].first, kContextRows);
    const std::size_t end =
        std::min(rows.size(), changes[stop - 1].first + changes[stop - 1].removed.size() + kContextRows);
    std::string body;
    std::size_t at = first, new_count = 0;
    for (std::size_t k = c; k < stop; ++k) {
      for (; at < changes[k].first; ++at, ++new_count)
        print_row(body, ' ', old_row(at));
      for (const std::string &removed : changes[k].removed)
        print_row(body, '-', removed);
      for (const std::string &added : changes[k].added)
        print_row(body, '+', added);
      at += changes[k].removed.size();
      new_count += changes[k].added.size();
    }
    for (; at < end; ++at, ++new_count)
      print_row(body, ' ', old_row(at));
    const std::size_t old_count = end - first;
    const auto new_first = static_cast<std::size_t>(static_cast<std::ptrdiff_t>(first) + shift);
    result.diff += "@@ -" + range(first, old_count) + " +" + range(new_first, new_count) + " @@\n" + body;
    shift += static_cast<std::ptrdiff_t>(new_count) - static_cast<std::ptrdiff_t>(old_count);
    c = stop;
  }
  return result;
}

} // namespace adprof::feedback
