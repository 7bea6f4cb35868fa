/// Tables for people: aligned columns within a width, and the same rows as Markdown. Numbers arrive as text (units.h).
#pragma once

#include <cstddef>
#include <string>
#include <vector>

namespace adprof::cli {

enum class Style { kPlain, kBold, kDim, kGood, kBad };

struct Cell {
  std::string text;
  Style style = Style::kPlain;
  Cell() = default;
  Cell(std::string t, Style s = Style::kPlain) : text(std::move(t)), style(s) {}
  Cell(const char *t) : text(t) {}
};

struct Column {
  std::string title;
  bool right = false; ///< numbers
  bool name = false;  ///< may be shortened in the middle so that the table fits the width
};

class Table {
public:
  explicit Table(std::vector<Column> columns) : columns_(std::move(columns)) {}
  /// Missing cells at the end are empty.
  void add_row(std::vector<Cell> cells);
  bool empty() const { return rows_.empty(); }
  size_t rows() const { return rows_.size(); }
  /// Lines ended by '\n', no trailing blanks. Only name columns give way to `width`; a table of numbers that is wider stays so.
  std::string text(int width = 80, bool colour = false) const;
  /// GitHub's form; '|' in cells is escaped.
  std::string markdown() const;

private:
  std::vector<Column> columns_;
  std::vector<std::vector<Cell>> rows_;
};

/// Columns that `text` takes on a terminal: code points, as names in generated code are not wider.
size_t display_width(const std::string &text);
/// `text` cut in the middle ("advec...row:2") to at most `width` columns, at least 5.
std::string shorten(const std::string &text, size_t width);
/// `text` between the escape codes of `style`, or unchanged where `colour` is false.
std::string styled(const std::string &text, Style style, bool colour);

} // namespace adprof::cli
