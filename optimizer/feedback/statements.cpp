#include "optimizer/feedback/statements.h"

#include <algorithm>
#include <cctype>

namespace adprof::feedback {
namespace {

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  return std::ranges::equal(a, b, [](unsigned char x, unsigned char y) { return std::tolower(x) == std::tolower(y); });
}

} // namespace

CommentKind comment_kind(std::string_view comment) {
  const std::string_view ornaments = " \t\r\n*";
  const auto skip = [&] { comment.remove_prefix(std::min(comment.find_first_not_of(ornaments), comment.size())); };
  static constexpr std::string_view kSentinel = "$AD", kWord = "NOCHECKPOINT";
  for (std::size_t at = 0; at + kSentinel.size() <= comment.size(); ++at) {
    if (!equal_ignoring_case(comment.substr(at, kSentinel.size()), kSentinel))
      continue;
    const bool leading = comment.substr(0, at).find_first_not_of(ornaments) == comment.npos;
    comment.remove_prefix(at + kSentinel.size());
    const std::size_t before = comment.size();
    skip();
    if (comment.size() == before || !equal_ignoring_case(comment.substr(0, kWord.size()), kWord))
      return CommentKind::kOther;
    comment.remove_prefix(kWord.size());
    if (!comment.empty() && (std::isalnum(static_cast<unsigned char>(comment[0])) || comment[0] == '-'))
      return CommentKind::kOther;
    skip();
    return leading && comment.empty() ? CommentKind::kDirective : CommentKind::kDirectiveAndText;
  }
  return CommentKind::kOther;
}

Scan scan_statements(std::string_view text, const std::vector<Row> &rows, SourceForm form, std::uint32_t fixed_width) {
  return form == SourceForm::kC ? scan_c(text, rows) : scan_fortran(rows, form, fixed_width);
}

} // namespace adprof::feedback
