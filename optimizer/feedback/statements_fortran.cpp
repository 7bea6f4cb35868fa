#include "optimizer/feedback/statements.h"

#include <algorithm>
#include <cctype>
#include <utility>

namespace adprof::feedback {
namespace {

bool is_blank(char c) {
  return c == ' ' || c == '\t';
}
bool is_digit(char c) {
  return c >= '0' && c <= '9';
}
bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}
char lower(char c) {
  return static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
}
bool all_blank(std::string_view text) {
  return std::ranges::all_of(text, is_blank);
}

enum class RowKind { kBlank, kComment, kPreprocessor, kInitial, kContinuation };

struct RowView {
  RowKind kind = RowKind::kBlank;
  std::size_t body = 0;     ///< first column of the statement's text, or of the comment behind its introducer
  bool conditional = false; ///< behind a `!$` sentinel
};

/// Fixed form. In free form a row can't be told to be a continuation without the row before it: kInitial stands for
/// both.
RowView view_fixed(std::string_view row) {
  if (all_blank(row))
    return {};
  if (row[0] == '#')
    return {RowKind::kPreprocessor};
  RowView view;
  std::string field(row.substr(0, 6)); // columns 1 to 6
  if (std::string_view("Cc*!").contains(row[0]) && row.size() > 2 && row[1] == '$' &&
      std::ranges::all_of(row.substr(2, 3), [](char c) { return is_blank(c) || is_digit(c); })) {
    view.conditional = true;
    field[0] = field[1] = ' ';
  } else if (std::string_view("Cc*!Dd").contains(row[0])) {
    return {RowKind::kComment, 1};
  }
  const std::size_t first = row.find_first_not_of(" \t", view.conditional ? 2 : 0);
  const std::size_t tab = field.find('\t');
  if (first != row.npos && row[first] == '!' && (first != 5 || tab != field.npos))
    return {RowKind::kComment, first + 1};
  if (tab != field.npos) { // the DEC tab form: a digit behind the tab marks a continuation
    view.body = tab + 1;
    view.kind = RowKind::kInitial;
    if (view.body < row.size() && row[view.body] >= '1' && row[view.body] <= '9') {
      view.kind = RowKind::kContinuation;
      ++view.body;
    }
    return view;
  }
  view.body = std::min<std::size_t>(6, row.size());
  view.kind = field.size() == 6 && field[5] != ' ' && field[5] != '0' ? RowKind::kContinuation : RowKind::kInitial;
  return view;
}

RowView view_free(std::string_view row) {
  const std::size_t first = row.find_first_not_of(" \t");
  if (first == row.npos)
    return {};
  if (row[0] == '#')
    return {RowKind::kPreprocessor};
  if (row[first] != '!')
    return {RowKind::kInitial, first};
  const std::string_view rest = row.substr(first + 1);
  if (rest.size() > 1 && rest[0] == '$' && (is_blank(rest[1]) || rest[1] == '&') && !all_blank(rest.substr(1)))
    return {RowKind::kInitial, first + 2, true};
  return {RowKind::kComment, first + 1};
}

/// The text of one statement, or of several with ';' between (written '\n' here), over all its rows.
struct Gathered {
  std::string masked;              ///< contents of strings and their quotes as '\''
  std::string raw;                 ///< the same positions as written
  std::vector<std::uint32_t> row;  ///< of each position
  std::vector<std::size_t> offset; ///< byte of each position
  std::vector<FoundDirective> directives;
  std::uint32_t first_row = 0;
  bool conditional = false;

  void add(char shown, char written, std::uint32_t at_row, std::size_t at_offset) {
    masked += shown;
    raw += written;
    row.push_back(at_row);
    offset.push_back(at_offset);
  }
};

class FortranScanner {
public:
  FortranScanner(const std::vector<Row> &rows, SourceForm form, std::uint32_t fixed_width)
      : rows_(rows), fixed_(form == SourceForm::kFixed), width_(fixed_width) {}

  Scan run() {
    bool in_preprocessor = false;
    for (std::uint32_t r = 0; r < rows_.size(); ++r) {
      const std::string_view text = rows_[r].text;
      RowView view = fixed_ ? view_fixed(text) : view_free(text);
      if (in_preprocessor || view.kind == RowKind::kPreprocessor) {
        // Kept in order with the statements: a statement in fixed form ends only where the next one begins.
        (open_ ? preprocessor_rows_ : scan_.code).append(text).append("\n");
        in_preprocessor = text.ends_with('\\');
        continue;
      }
      if (view.kind == RowKind::kBlank)
        continue;
      if (view.kind == RowKind::kComment) {
        note_comment(r, view.body, 0);
        continue;
      }
      if (fixed_)
        take_fixed(r, view);
      else
        take_free(r, view);
    }
    finish();
    return std::move(scan_);
  }

private:
  const std::vector<Row> &rows_;
  const bool fixed_;
  const std::uint32_t width_;
  Scan scan_;
  Gathered current_;
  bool open_ = false;                   // a statement is being gathered
  bool continued_ = false;              // free form: the last code row ended in '&'
  char quote_ = 0;                      // open string
  std::string preprocessor_rows_;       // since the open statement began
  std::vector<FoundDirective> between_; // since the last code row

  /// `from` is the column behind the introducer; `erase_from` the column where erasing begins (0: the whole row).
  void note_comment(std::uint32_t r, std::size_t from, std::size_t erase_from) {
    const Row &row = rows_[r];
    const CommentKind kind = comment_kind(row.text.substr(std::min(from, row.text.size())));
    if (kind == CommentKind::kOther)
      return;
    FoundDirective directive;
    directive.begin = row.begin + erase_from;
    directive.end = row.begin + row.text.size() + (erase_from == 0 ? row.end.size() : 0);
    directive.plain = kind == CommentKind::kDirective;
    directive.row = r;
    between_.push_back(directive);
  }

  void note_inline_comment(std::uint32_t r, std::size_t at) {
    std::size_t erase_from = at;
    while (erase_from > 0 && is_blank(rows_[r].text[erase_from - 1]))
      --erase_from;
    note_comment(r, at + 1, erase_from);
  }

  void begin_statement(std::uint32_t r, bool conditional) {
    finish();
    open_ = true;
    current_.first_row = r;
    current_.conditional = conditional;
    current_.directives = std::move(between_);
    between_.clear();
  }

  void continue_statement() {
    current_.directives.insert(current_.directives.end(), between_.begin(), between_.end());
    between_.clear();
  }

  void take_fixed(std::uint32_t r, const RowView &view) {
    const Row &row = rows_[r];
    if (view.kind == RowKind::kInitial || !open_) {
      quote_ = 0;
      begin_statement(r, view.conditional);
    } else {
      continue_statement();
    }
    const std::size_t stop = std::min<std::size_t>(row.text.size(), width_);
    for (std::size_t c = view.body; c < stop; ++c)
      if (!take_char(r, c))
        break;
    if (row.text.size() < width_)
      current_.add(quote_ ? '\'' : ' ', ' ', r, row.begin + row.text.size());
  }

  void take_free(std::uint32_t r, const RowView &view) {
    const Row &row = rows_[r];
    std::size_t c = row.text.find_first_not_of(" \t", view.body);
    if (c == row.text.npos)
      return;
    if (open_ && continued_) {
      continue_statement();
      if (row.text[c] == '&')
        ++c;
      else if (!quote_)
        current_.add(' ', ' ', r, row.begin + c);
    } else {
      quote_ = 0;
      begin_statement(r, view.conditional);
    }
    continued_ = false;
    for (; c < row.text.size(); ++c) {
      if (row.text[c] == '&') {
        const std::size_t next = row.text.find_first_not_of(" \t", c + 1);
        if (next == row.text.npos || (!quote_ && row.text[next] == '!')) {
          continued_ = true;
          if (next != row.text.npos)
            note_inline_comment(r, next);
          break;
        }
      }
      if (!take_char(r, c))
        break;
    }
    if (!continued_)
      finish();
  }

  /// False where a comment begins.
  bool take_char(std::uint32_t r, std::size_t c) {
    const Row &row = rows_[r];
    const char ch = row.text[c];
    const std::size_t offset = row.begin + c;
    if (quote_) {
      if (ch == quote_)
        quote_ = 0;
      current_.add('\'', ch, r, offset);
    } else if (ch == '!') {
      note_inline_comment(r, c);
      return false;
    } else if (ch == '\'' || ch == '"') {
      quote_ = ch;
      current_.add('\'', ch, r, offset);
    } else {
      current_.add(ch == ';' ? '\n' : ch == '\t' ? ' ' : lower(ch), ch, r, offset);
    }
    return true;
  }

  void finish() {
    if (!open_)
      return;
    open_ = continued_ = false;
    std::size_t begin = 0;
    bool first = true;
    while (begin <= current_.masked.size()) {
      const std::size_t end = std::min(current_.masked.find('\n', begin), current_.masked.size());
      if (!all_blank(std::string_view(current_.masked).substr(begin, end - begin))) {
        finish_part(begin, end, first);
        first = false;
      }
      begin = end + 1;
    }
    current_ = {};
    scan_.code += std::exchange(preprocessor_rows_, {});
  }

  void finish_part(std::size_t begin, std::size_t end, bool first) {
    const std::string &masked = current_.masked;
    const std::size_t from = masked.find_first_not_of(' ', begin);
    const std::size_t last = masked.find_last_not_of(' ', end - 1);
    Statement statement;
    statement.conditional_row = current_.conditional;
    statement.first_row = current_.row[from];
    statement.last_row = current_.row[last];
    if (first && begin == 0) {
      statement.first_row = current_.first_row;
      statement.begin = rows_[current_.first_row].begin;
      statement.directives = std::move(current_.directives);
    } else {
      statement.begin = current_.offset[from];
      statement.starts_row = false;
      statement.after_semicolon = true;
      // Only where nothing but blanks stands between the two can the row be broken in their place.
      const std::size_t semicolon = current_.offset[begin - 1];
      const bool plain_gap = statement.begin - semicolon == from - begin + 1;
      statement.separator = current_.row[begin - 1] == statement.first_row && plain_gap ? semicolon : std::string::npos;
    }
    find_names(std::string_view(masked).substr(from, last + 1 - from), from, statement);

    bool blank = true; // drops leading blanks
    for (std::size_t i = from; i <= last; ++i) {
      const bool is_gap = masked[i] == ' ';
      if (!is_gap || !blank)
        scan_.code += is_gap ? ' ' : current_.raw[i];
      blank = is_gap;
    }
    scan_.code += '\n';
    scan_.statements.push_back(std::move(statement));
  }

  void find_names(std::string_view part, std::size_t at, Statement &statement) const {
    std::string previous;
    bool called = false; // behind CALL, outside its argument list
    bool behind_else = false;
    int depth = 0;
    for (std::size_t i = 0; i < part.size();) {
      const char c = part[i];
      if (c == '(')
        ++depth;
      if (c == ')')
        --depth;
      if (!is_word(c)) {
        ++i;
        continue;
      }
      std::size_t end = i;
      while (end < part.size() && is_word(part[end]))
        ++end;
      std::string word(part.substr(i, end - i));
      const std::size_t next = part.find_first_not_of(' ', end);
      const bool paren = next != part.npos && part[next] == '(';
      const bool definition = previous == "subroutine" || previous == "function" || previous == "entry";
      if (word == "elseif" || (behind_else && word == "if" && previous == "else"))
        statement.in_block_end = true;
      behind_else = word == "else";
      const auto add = [&](std::string name) { statement.called.push_back({std::move(name), current_.row[at + i]}); };
      if (!is_digit(word[0]) && !definition && (paren || (called && depth == 0)))
        add(word);
      if (fixed_ && word.size() > 4 && word.starts_with("call") && depth == 0)
        add(word.substr(4)); // CALLFOO(X): blanks mean nothing in fixed form
      if (word == "call" && depth == 0)
        called = true;
      previous = std::move(word);
      i = end;
    }
  }
};

} // namespace

Scan scan_fortran(const std::vector<Row> &rows, SourceForm form, std::uint32_t fixed_width) {
  return FortranScanner(rows, form, fixed_width).run();
}

} // namespace adprof::feedback
