#include "cli/table.h"

#include <algorithm>

namespace adprof::cli {

namespace {

constexpr size_t kGap = 2;
constexpr size_t kNarrowestName = 12;

bool starts_code_point(char c) { return (static_cast<unsigned char>(c) & 0xc0u) != 0x80u; }

std::string padded(const std::string &text, size_t width, bool right) {
  size_t used = display_width(text);
  std::string blanks(width > used ? width - used : 0, ' ');
  return right ? blanks + text : text + blanks;
}

} // namespace

size_t display_width(const std::string &text) {
  return static_cast<size_t>(std::ranges::count_if(text, starts_code_point));
}

std::string shorten(const std::string &text, size_t width) {
  width = std::max<size_t>(width, 5);
  size_t length = display_width(text);
  if (length <= width)
    return text;
  size_t head = (width - 3 + 1) / 2, tail = width - 3 - head, position = 0;
  std::string front, back;
  for (char c : text) {
    position += starts_code_point(c);
    if (position <= head)
      front += c;
    else if (position > length - tail)
      back += c;
  }
  return front + "..." + back;
}

std::string styled(const std::string &text, Style style, bool colour) {
  if (!colour || style == Style::kPlain || text.empty())
    return text;
  const char *code = style == Style::kBold ? "1" : style == Style::kDim ? "2" : style == Style::kGood ? "32" : "31";
  return std::string("\x1b[") + code + "m" + text + "\x1b[0m";
}

void Table::add_row(std::vector<Cell> cells) {
  cells.resize(columns_.size());
  for (Cell &cell : cells) // names come from files: no escape codes of theirs on the user's terminal
    std::ranges::replace_if(cell.text, [](unsigned char c) { return c < 0x20 || c == 0x7f; }, '?');
  rows_.push_back(std::move(cells));
}

std::string Table::text(int width, bool colour) const {
  std::vector<size_t> widths;
  size_t total = 0, names = 0;
  for (size_t c = 0; c < columns_.size(); ++c) {
    size_t widest = display_width(columns_[c].title);
    for (const std::vector<Cell> &row : rows_)
      widest = std::max(widest, display_width(row[c].text));
    widths.push_back(widest);
    total += widest + (c ? kGap : 0);
    names += columns_[c].name;
  }
  // The widest name column gives way first.
  size_t limit = static_cast<size_t>(std::max(width, 20));
  while (names && total > limit) {
    size_t widest = columns_.size();
    for (size_t c = 0; c < columns_.size(); ++c)
      if (columns_[c].name && (widest == columns_.size() || widths[c] > widths[widest]))
        widest = c;
    if (widths[widest] <= kNarrowestName)
      break;
    --widths[widest];
    --total;
  }
  std::string out;
  auto line = [&](auto &&cell_at) {
    std::string row;
    for (size_t c = 0; c < columns_.size(); ++c) {
      Cell cell = cell_at(c);
      if (columns_[c].name)
        cell.text = shorten(cell.text, widths[c]);
      if (c)
        row += std::string(kGap, ' ');
      row += styled(padded(cell.text, widths[c], columns_[c].right), cell.style, colour);
    }
    if (size_t end = row.find_last_not_of(' '); end != std::string::npos)
      row.resize(end + 1);
    out += row + '\n';
  };
  line([&](size_t c) { return Cell(columns_[c].title, Style::kBold); });
  for (const std::vector<Cell> &row : rows_)
    line([&](size_t c) { return row[c]; });
  return out;
}

std::string Table::markdown() const {
  auto escaped = [](const std::string &text) {
    std::string out;
    for (char c : text)
      out += c == '|' ? "\\|" : std::string(1, c);
    return out;
  };
  std::string head = "|", rule = "|", body;
  for (const Column &column : columns_) {
    head += " " + escaped(column.title) + " |";
    rule += column.right ? " ---: |" : " --- |";
  }
  for (const std::vector<Cell> &row : rows_) {
    body += "|";
    for (const Cell &cell : row)
      body += " " + escaped(cell.text) + " |";
    body += "\n";
  }
  return head + "\n" + rule + "\n" + body;
}

} // namespace adprof::cli
