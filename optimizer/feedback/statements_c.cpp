#include "optimizer/feedback/statements.h"

#include <algorithm>
#include <array>
#include <cctype>

namespace adprof::feedback {
namespace {

bool is_word(char c) {
  return std::isalnum(static_cast<unsigned char>(c)) || c == '_' || c == '$';
}
bool is_blank(char c) {
  return c == ' ' || c == '\t';
}

template <std::size_t N> bool one_of(std::string_view word, const std::array<std::string_view, N> &list) {
  return std::ranges::find(list, word) != list.end();
}

constexpr std::array<std::string_view, 4> kControls = {"if", "while", "for", "switch"};
constexpr std::array<std::string_view, 14> kNotCalled = {
    "if",         "while",  "for", "switch", "return", "sizeof",        "_Alignof", "__attribute__",
    "__typeof__", "typeof", "do",  "else",   "case",   "_Static_assert"};

enum class TokenKind { kWord, kString, kOther };

struct Token {
  TokenKind kind = TokenKind::kOther;
  std::string_view text;
  std::size_t offset = 0;
  std::uint32_t row = 0;
};

struct OpenBracket {
  char kind = '(';
  bool behind_word = false; // '(': of a call, a control or a definition
  bool of_control = false;  // '(': of an `if`, `while`, `for` or `switch` that began the statement
};

struct Nesting {
  std::vector<char> blocks;          // 'f' in a function, 'b' a block in it, 'o' outside (extern "C", namespace)
  std::vector<OpenBracket> brackets; // within the current statement
};

/// What has to be restored at `#else`: the branches of a conditional are alternatives, each opens the same brackets.
struct Branching {
  Nesting nesting;
  std::vector<Token> tokens;
  Statement statement;
};

class CScanner {
public:
  CScanner(std::string_view text, const std::vector<Row> &rows) : text_(text), rows_(rows) {}

  Scan run() {
    while (at_ < text_.size()) {
      const char c = text_[at_];
      if (c == '\n') {
        next_row();
      } else if (c == '\\' && (text_.substr(at_ + 1).starts_with('\n') || text_.substr(at_ + 1).starts_with("\r\n"))) {
        ++at_;
      } else if (std::isspace(static_cast<unsigned char>(c))) {
        ++at_;
      } else if (text_.substr(at_).starts_with("//") || text_.substr(at_).starts_with("/*")) {
        take_comment();
      } else if (c == '#' && only_blanks_before()) {
        take_preprocessor();
      } else if (c == '"' || c == '\'') {
        Token token{TokenKind::kString, {}, at_, row_};
        const std::size_t begin = at_;
        skip_string();
        token.text = text_.substr(begin, at_ - begin);
        take(token);
      } else if (is_word(c)) {
        const std::size_t begin = at_;
        while (at_ < text_.size() && is_word(text_[at_]))
          ++at_;
        take({TokenKind::kWord, text_.substr(begin, at_ - begin), begin, row_});
      } else {
        take({TokenKind::kOther, text_.substr(at_, 1), at_, row_});
        ++at_;
      }
    }
    end_statement();
    return std::move(scan_);
  }

private:
  std::string_view text_;
  const std::vector<Row> &rows_;
  Scan scan_;
  std::size_t at_ = 0;
  std::uint32_t row_ = 0;
  Nesting nesting_;
  std::vector<Branching> conditionals_; // at each open #if
  std::vector<Token> tokens_;           // of the current statement
  Statement statement_;
  std::vector<FoundDirective> pending_;
  std::vector<Statement> preprocessor_rows_; // wait for the end of the statement they interrupt
  struct Resumed {
    std::size_t index = 0, known_calls = 0;
  };
  std::optional<Resumed> resumed_; // the current statement began before an `#if` and is read again behind `#else`
  bool last_paren_behind_word_ = false;
  int open_questions_ = 0; // '?' without its ':'

  void next_row() {
    ++at_;
    ++row_;
  }

  bool only_blanks_before() const {
    return std::ranges::all_of(text_.substr(rows_[row_].begin, at_ - rows_[row_].begin), is_blank);
  }

  void skip_string() {
    const char quote = text_[at_++];
    while (at_ < text_.size() && text_[at_] != quote) {
      if (text_[at_] == '\n') // not closed on its line: malformed, or an apostrophe in text that is switched off
        return;
      if (text_[at_] == '\\' && at_ + 1 < text_.size()) {
        ++at_;
        if (text_[at_] == '\r' && at_ + 1 < text_.size() && text_[at_ + 1] == '\n')
          ++at_;
        if (text_[at_] == '\n')
          ++row_;
      }
      ++at_;
    }
    at_ = std::min(at_ + 1, text_.size());
  }

  void take_comment() {
    const std::size_t begin = at_;
    const std::uint32_t first_row = row_;
    const bool block = text_[at_ + 1] == '*';
    std::size_t content_end;
    at_ += 2;
    if (block) {
      const std::size_t close = text_.find("*/", at_);
      content_end = close == text_.npos ? text_.size() : close;
      for (; at_ < content_end; ++at_)
        row_ += text_[at_] == '\n';
      at_ = std::min(content_end + 2, text_.size());
    } else {
      while (at_ < text_.size() && text_[at_] != '\n') {
        const std::string_view rest = text_.substr(at_);
        if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
          at_ += rest[1] == '\r' ? 2 : 1;
          ++row_;
        }
        ++at_;
      }
      content_end = at_;
    }
    note_directive(begin, at_, text_.substr(begin + 2, content_end - begin - 2), first_row);
  }

  void note_directive(std::size_t begin, std::size_t end, std::string_view content, std::uint32_t first_row) {
    const CommentKind kind = comment_kind(content);
    if (kind == CommentKind::kOther)
      return;
    const Row &first = rows_[first_row], &last = rows_[row_];
    const bool alone_before = std::ranges::all_of(text_.substr(first.begin, begin - first.begin), is_blank);
    while (end > begin && (text_[end - 1] == '\r'))
      --end;
    std::size_t after = end;
    while (after < last.begin + last.text.size() && is_blank(text_[after]))
      ++after;
    const bool alone_behind = after >= last.begin + last.text.size();
    FoundDirective directive;
    directive.row = first_row;
    directive.plain = kind == CommentKind::kDirective;
    if (alone_before && alone_behind) { // the rows go as a whole
      directive.begin = first.begin;
      directive.end = last.begin + last.text.size() + last.end.size();
    } else {
      directive.begin = begin;
      directive.end = alone_behind ? end : after;
      while (alone_behind && directive.begin > first.begin && is_blank(text_[directive.begin - 1]))
        --directive.begin;
    }
    pending_.push_back(directive);
  }

  void take_preprocessor() {
    const std::size_t begin = at_;
    const std::uint32_t first_row = row_;
    std::string line; // without comments and splices
    while (at_ < text_.size() && text_[at_] != '\n') {
      const std::string_view rest = text_.substr(at_);
      if (rest.starts_with("\\\n") || rest.starts_with("\\\r\n")) {
        at_ += rest[1] == '\r' ? 3 : 2;
        ++row_;
        line += ' ';
      } else if (rest[0] == '"') { // "//" and "/*" mean nothing in a string
        do
          line += text_[at_++];
        while (at_ < text_.size() && text_[at_] != '"' && text_[at_] != '\n');
        if (at_ < text_.size() && text_[at_] == '"')
          line += text_[at_++];
      } else if (rest.starts_with("/*")) {
        const std::size_t close = std::min(text_.find("*/", at_ + 2), text_.size());
        for (; at_ < close; ++at_)
          row_ += text_[at_] == '\n';
        at_ = std::min(close + 2, text_.size());
        line += ' ';
      } else if (rest.starts_with("//")) {
        while (at_ < text_.size() && text_[at_] != '\n')
          ++at_;
      } else {
        line += text_[at_++];
      }
    }
    std::size_t i = 1;
    const auto next_word = [&] {
      i = std::min(line.find_first_not_of(" \t", i), line.size());
      const std::size_t start = i;
      while (i < line.size() && is_word(line[i]))
        ++i;
      return line.substr(start, i - start);
    };
    const std::string keyword = next_word();
    if (keyword == "if" || keyword == "ifdef" || keyword == "ifndef") {
      conditionals_.push_back({nesting_, tokens_, statement_});
    } else if ((keyword == "else" || keyword.starts_with("elif")) && !conditionals_.empty()) {
      const Branching &saved = conditionals_.back();
      if (!tokens_.empty())
        end_statement(); // the branch above ended in the middle of a statement that this one takes up again
      nesting_ = saved.nesting;
      if (!saved.tokens.empty()) {
        tokens_ = saved.tokens;
        statement_ = saved.statement;
        for (std::size_t k = scan_.statements.size(); k-- > 0 && !resumed_;)
          if (!scan_.statements[k].in_directive && scan_.statements[k].begin == statement_.begin)
            resumed_ = Resumed{k, statement_.called.size()};
      }
    } else if (keyword == "endif" && !conditionals_.empty()) {
      conditionals_.pop_back();
    } else if (keyword == "pragma") {
      std::string rest = line.substr(std::min(line.find_first_not_of(" \t", i), line.size()));
      if (rest.starts_with("AD") || rest.starts_with("ad"))
        rest.insert(0, "$");
      if (comment_kind(rest) != CommentKind::kOther) {
        note_directive(begin, at_, rest, first_row);
        return; // a directive, not code
      }
    }
    Statement holder;
    holder.begin = begin;
    holder.first_row = first_row;
    holder.last_row = row_;
    holder.in_directive = true;
    for (std::size_t k = 0; k < line.size();) {
      if (!is_word(line[k])) {
        ++k;
        continue;
      }
      std::size_t end = k;
      while (end < line.size() && is_word(line[end]))
        ++end;
      if (line.substr(std::min(line.find_first_not_of(" \t", end), line.size())).starts_with('('))
        holder.called.push_back({line.substr(k, end - k), first_row});
      k = end;
    }
    if (!holder.called.empty())
      preprocessor_rows_.push_back(std::move(holder));
    scan_.code += '\n';
    for (const char c : line)
      if (!(is_blank(c) && (scan_.code.ends_with(' ') || scan_.code.ends_with('\n'))))
        scan_.code += is_blank(c) || c == '\r' ? ' ' : c;
    scan_.code += '\n';
  }

  bool in_function() const {
    return std::ranges::any_of(nesting_.blocks, [](char kind) { return kind == 'f'; });
  }

  void take(const Token &token) {
    if (!scan_.code.empty() && !scan_.code.ends_with('\n'))
      scan_.code += ' ';
    scan_.code += token.text;
    if (tokens_.empty()) {
      statement_ = {};
      statement_.begin = token.offset;
      statement_.first_row = token.row;
      statement_.starts_row = only_blanks_between(rows_[token.row].begin, token.offset);
      open_questions_ = 0;
      if (!scan_.statements.empty() && scan_.statements.back().introduces_next &&
          scan_.statements.back().last_row == token.row) {
        const Statement &head = scan_.statements.back();
        statement_.inherited = head.inherited;
        statement_.inherited.insert(statement_.inherited.end(), head.directives.begin(), head.directives.end());
      }
    }
    statement_.directives.insert(statement_.directives.end(), pending_.begin(), pending_.end());
    pending_.clear();
    statement_.last_row = token.kind == TokenKind::kString ? row_ : token.row;
    note_call(token);
    const bool first = tokens_.empty();
    const Token previous = first ? Token{} : tokens_.back();
    tokens_.push_back(token);
    if (token.kind == TokenKind::kWord) {
      if (first && (token.text == "else" || token.text == "do"))
        end_statement(true);
      return;
    }
    if (token.kind == TokenKind::kString)
      return;
    const bool at_top = nesting_.brackets.empty();
    switch (token.text[0]) {
    case '(':
      nesting_.brackets.push_back({'(', previous.kind == TokenKind::kWord && !one_of(previous.text, kNotCalledInBlock),
                                   at_top && tokens_.size() == 2 && one_of(previous.text, kControls)});
      break;
    case '[':
      nesting_.brackets.push_back({'[', false, false});
      break;
    case ')':
    case ']':
      close_bracket(token.text[0] == ')' ? '(' : '[');
      break;
    case '{':
      open_brace(first, previous);
      break;
    case '}':
      close_brace();
      break;
    case ';':
      if (at_top)
        end_statement();
      break;
    case '?':
      ++open_questions_;
      break;
    case ':':
      if (at_top && open_questions_ > 0)
        --open_questions_;
      else if (at_top && (tokens_.front().text == "case" || tokens_.front().text == "default" ||
                          (tokens_.size() == 2 && tokens_.front().kind == TokenKind::kWord)))
        end_statement(true);
      break;
    default:
      break;
    }
  }

  static constexpr std::array<std::string_view, 4> kNotCalledInBlock = {"return", "sizeof", "_Alignof", "case"};

  bool only_blanks_between(std::size_t begin, std::size_t end) const {
    return std::ranges::all_of(text_.substr(begin, end - begin), is_blank);
  }

  /// A word is called when '(' follows; recorded when that bracket comes.
  void note_call(const Token &token) {
    if (token.text != "(" || tokens_.empty() || tokens_.back().kind != TokenKind::kWord || !in_function())
      return;
    const Token &name = tokens_.back();
    if (one_of(name.text, kNotCalled) || std::isdigit(static_cast<unsigned char>(name.text[0])))
      return;
    if (tokens_.size() > 1) {
      // Two words in a row declare something, but for keywords that an expression may follow.
      const Token &before = tokens_[tokens_.size() - 2];
      if (before.kind == TokenKind::kWord && !one_of(before.text, kNotCalled))
        return;
    }
    statement_.called.push_back({std::string(name.text), name.row});
  }

  void close_bracket(char kind) {
    auto &brackets = nesting_.brackets;
    while (!brackets.empty()) {
      const OpenBracket open = brackets.back();
      if (open.kind == '{' && kind != '{') // a bracket too many; the brace decides
        return;
      brackets.pop_back();
      if (open.kind != kind)
        continue;
      last_paren_behind_word_ = open.behind_word;
      if (open.of_control)
        end_statement(true);
      return;
    }
  }

  void open_brace(bool first, const Token &previous) {
    auto &brackets = nesting_.brackets;
    const std::string_view before = previous.text;
    const bool record = before == "struct" || before == "union" || before == "enum";
    const bool block =
        brackets.empty() &&
        (first || (before == ")" && last_paren_behind_word_) || previous.kind == TokenKind::kString ||
         tokens_.front().text == "namespace" || (tokens_.size() == 2 && previous.kind == TokenKind::kWord && !record));
    if (!block) {
      brackets.push_back({'{', false, false});
      return;
    }
    const bool outside = previous.kind == TokenKind::kString || (!first && tokens_.front().text == "namespace");
    nesting_.blocks.push_back(outside ? 'o' : in_function() ? 'b' : 'f');
    end_statement();
  }

  void close_brace() {
    auto &brackets = nesting_.brackets;
    if (std::ranges::any_of(brackets, [](const OpenBracket &b) { return b.kind == '{'; })) {
      close_bracket('{');
      return;
    }
    brackets.clear();
    if (!nesting_.blocks.empty())
      nesting_.blocks.pop_back();
    end_statement();
  }

  void end_statement(bool introduces_next = false) {
    statement_.introduces_next = introduces_next;
    if (!tokens_.empty()) {
      if (resumed_) { // its first part stands in the list already
        Statement &same = scan_.statements[resumed_->index];
        same.last_row = std::max(same.last_row, statement_.last_row);
        same.called.insert(same.called.end(),
                           statement_.called.begin() + static_cast<std::ptrdiff_t>(resumed_->known_calls),
                           statement_.called.end());
        resumed_.reset();
      } else {
        scan_.statements.push_back(std::move(statement_));
      }
    }
    tokens_.clear();
    statement_ = {};
    for (Statement &holder : preprocessor_rows_)
      scan_.statements.push_back(std::move(holder));
    preprocessor_rows_.clear();
  }
};

} // namespace

Scan scan_c(std::string_view text, const std::vector<Row> &rows) {
  return CScanner(text, rows).run();
}

} // namespace adprof::feedback
