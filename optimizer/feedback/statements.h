/// Finds the statements of a source text, the procedures each may call, and the `$AD NOCHECKPOINT` directives before
/// it. Called by the directive patcher; a scanner, not a parser: it knows comments, strings, continuation, preprocessor
/// rows, labels, nesting of brackets and where statements begin, for fixed- and free-form Fortran and for C.
///
/// In doubt it finds a name too many (an array element looks like a function in Fortran) rather than one too few: a
/// name is only looked up when the profile says that this row holds a call of it.
#pragma once

#include "optimizer/feedback/source_text.h"

namespace adprof::feedback {

/// A name that may be called: as written in C, in lower case in Fortran.
struct CalledName {
  std::string name;
  std::uint32_t row = 0;
};

/// An existing `$AD NOCHECKPOINT` that applies to a statement: the bytes [begin, end) that are to be erased to remove
/// it.
struct FoundDirective {
  std::size_t begin = 0, end = 0;
  bool plain = true; ///< false: the comment holds other text as well, so that it must be changed by hand
  std::uint32_t row = 0;
};

struct Statement {
  std::size_t begin = 0; ///< byte offset of its first token (label included in Fortran)
  std::uint32_t first_row = 0, last_row = 0;
  bool starts_row = true;       ///< nothing but blanks before it in its row
  bool after_semicolon = false; ///< Fortran: its row holds another statement before it
  std::size_t separator = 0;    ///< after_semicolon: byte offset of the ';'
  bool conditional_row = false; ///< Fortran: behind a `!$` sentinel
  bool in_block_end = false;    ///< Fortran ELSE IF: what stands before it belongs to the branch above
  bool in_directive = false;    ///< C: within a preprocessor directive, where no row may be inserted
  std::vector<CalledName> called;
  bool introduces_next = false; ///< C: a head, `else`, `do` or a label: the next statement belongs to it
  std::vector<FoundDirective> directives;
  std::vector<FoundDirective> inherited; ///< C: those of the heads before it in its own row
};

struct Scan {
  std::vector<Statement> statements; ///< in order; they don't overlap
  /// The text without comments, each run of blanks and line ends as one blank: a patch must leave it equal.
  std::string code;
};

/// `fixed_width` is the last column of fixed form that is read.
Scan scan_statements(std::string_view text, const std::vector<Row> &rows, SourceForm form,
                     std::uint32_t fixed_width = 72);

/// What a comment without its delimiters says of a directive.
enum class CommentKind { kOther, kDirective, kDirectiveAndText };
CommentKind comment_kind(std::string_view comment);

// One per language, called by scan_statements.
Scan scan_fortran(const std::vector<Row> &rows, SourceForm form, std::uint32_t fixed_width);
Scan scan_c(std::string_view text, const std::vector<Row> &rows);

} // namespace adprof::feedback
