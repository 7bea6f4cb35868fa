#include "optimizer/feedback/directives.h"

#include "optimizer/feedback/row_edits.h"
#include "optimizer/feedback/statements.h"

#include <algorithm>
#include <cctype>
#include <map>
#include <set>

namespace adprof::feedback {
namespace {

constexpr std::uint32_t kFixedWidth = 72, kExtendedWidth = 132;

std::string lower(std::string text) {
  std::ranges::transform(text, text.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

/// The callee as the source writes it: without its module, in lower case in Fortran.
std::string written_name(const std::string &callee, SourceForm form) {
  const std::size_t dot = callee.rfind('.');
  std::string name = dot == std::string::npos ? callee : callee.substr(dot + 1);
  return form == SourceForm::kC ? name : lower(name);
}

/// C calls a Fortran procedure by its external name, with an underscore behind.
bool is_called(const std::string &called, const std::string &name, SourceForm form) {
  return called == name || (form == SourceForm::kC && called == name + "_");
}

std::string quoted_row(std::string_view row) {
  const std::size_t first = std::min(row.find_first_not_of(" \t"), row.size());
  std::string text(row.substr(first, 60));
  if (row.size() > first + 60)
    text += "...";
  return "'" + text + "'";
}

/// One source being patched.
struct Work {
  const SourceFile *file = nullptr;
  std::uint32_t width = kFixedWidth;
  std::vector<Row> rows;
  Scan scan;
  std::map<std::size_t, std::vector<std::size_t>> members; ///< statement -> decisions that it decides
};

/// The rows of the text that stand for a line of the user's file.
std::vector<std::uint32_t> rows_at(const Work &work, const profile::SourceLine &at) {
  std::vector<std::uint32_t> found;
  const std::string *last_name = nullptr;
  bool last_same = false;
  for (std::uint32_t r = 0; r < work.rows.size(); ++r) {
    const Row &row = work.rows[r];
    if (row.line != at.line)
      continue;
    if (!last_name || *last_name != row.file) {
      last_name = &row.file;
      last_same = same_file(row.file, at.file);
    }
    if (last_same)
      found.push_back(r);
  }
  return found;
}

/// Calls of `name` in statements that cover one of the rows, in the order of the text. A call in one of the rows itself
/// wins over one in another row of the same statement.
std::vector<std::size_t> statements_calling(const Work &work, const std::vector<std::uint32_t> &rows,
                                            const std::string &name) {
  std::vector<std::size_t> in_row, in_statement;
  for (std::size_t s = 0; s < work.scan.statements.size(); ++s) {
    const Statement &statement = work.scan.statements[s];
    const bool covers =
        std::ranges::any_of(rows, [&](std::uint32_t r) { return statement.first_row <= r && r <= statement.last_row; });
    if (!covers)
      continue;
    for (const CalledName &called : statement.called)
      if (is_called(called.name, name, work.file->form))
        (std::ranges::find(rows, called.row) != rows.end() ? in_row : in_statement).push_back(s);
  }
  return in_row.empty() ? in_statement : in_row;
}

class Patcher {
public:
  Patcher(const std::vector<SourceFile> &files, const std::vector<Decision> &decisions, const CostFunction &cost)
      : decisions_(decisions), cost_(cost) {
    for (const SourceFile &file : files) {
      Work work;
      work.file = &file;
      work.rows = split_rows(file.text, file.profile_path);
      work.scan = scan_statements(file.text, work.rows, file.form);
      works_.push_back(std::move(work));
    }
    for (const Decision &decision : decisions)
      patch_.on.push_back(decision.on ? 1 : 0);
  }

  Result<DirectivePatch> run() {
    // Sites of one callee in one line are told apart by their order only, so they are looked up together.
    std::map<std::tuple<std::string, std::uint32_t, std::string>, std::vector<std::size_t>> by_place;
    for (std::size_t d = 0; d < decisions_.size(); ++d) {
      const Decision &decision = decisions_[d];
      if (!decision.switchable)
        continue;
      if (decision.primal.line == 0 || decision.primal.file.empty())
        mismatch(d, "the profile has no source line for it: compile the primal procedures in the same build, with -g");
      else
        by_place[{decision.primal.file, decision.primal.line, decision.callee}].push_back(d);
    }
    for (auto &[place, sites] : by_place) {
      std::ranges::sort(sites, {},
                        [&](std::size_t d) { return std::pair(decisions_[d].caller, decisions_[d].ordinal); });
      locate(sites);
    }
    settle();
    for (Work &work : works_)
      if (Result<void> done = write(work); !done)
        return std::unexpected(done.error());
    if (!kept_unfound_.empty())
      patch_.notes.push_back(std::to_string(kept_unfound_.size()) +
                             " sites that stay on were not found in the source, the first: " + kept_unfound_.front());
    return std::move(patch_);
  }

private:
  const std::vector<Decision> &decisions_;
  const CostFunction &cost_;
  std::vector<Work> works_;
  DirectivePatch patch_;
  std::vector<std::string> kept_unfound_;

  void mismatch(std::size_t d, std::string what) {
    const Decision &decision = decisions_[d];
    if (decision.on) { // nothing has to be written for it
      kept_unfound_.push_back(decision.name() + ": " + what);
      return;
    }
    patch_.mismatches.push_back({decision.name(), decision.primal, std::move(what)});
    patch_.on[d] = 1;
  }

  void locate(const std::vector<std::size_t> &sites) {
    const Decision &first = decisions_[sites.front()];
    Work *home = nullptr;
    std::vector<std::uint32_t> rows;
    std::vector<std::size_t> found;
    for (Work &work : works_) {
      const std::vector<std::uint32_t> candidates = rows_at(work, first.primal);
      if (candidates.empty())
        continue;
      const std::string name = written_name(first.callee, work.file->form);
      std::vector<std::size_t> statements = statements_calling(work, candidates, name);
      if (statements.empty() && work.file->form == SourceForm::kFixed && work.width == kFixedWidth)
        statements = widened(work, candidates, name);
      if (home && !found.empty() && !statements.empty()) {
        for (const std::size_t d : sites)
          mismatch(d, "the line is found in two files, " + home->file->path + " and " + work.file->path +
                          ": name the one that the AD tool reads");
        return;
      }
      if (!home || found.empty()) {
        home = &work;
        rows = candidates;
        found = std::move(statements);
      }
    }
    if (!home) {
      for (const std::size_t d : sites)
        mismatch(d, "no source that was given holds this line");
      return;
    }
    if (found.empty()) {
      const std::string what = what_stands_there(*home, rows, first);
      for (const std::size_t d : sites)
        mismatch(d, what);
      return;
    }
    for (const std::size_t s : found) {
      const Statement &statement = home->scan.statements[s];
      if (statement.in_directive) {
        for (const std::size_t d : sites)
          mismatch(d, "the call stands in a preprocessor directive (" +
                          quoted_row(home->rows[statement.first_row].text) +
                          "), where no directive of the AD tool can stand");
        return;
      }
      if (statement.after_semicolon && (statement.separator == std::string::npos || statement.conditional_row)) {
        for (const std::size_t d : sites)
          mismatch(d, "the call stands behind ';' in a row that can't be broken there: give it a row of its own");
        return;
      }
    }
    const bool same_statement = std::ranges::all_of(found, [&](std::size_t s) { return s == found.front(); });
    const bool agree = std::ranges::all_of(sites, [&](std::size_t d) { return decisions_[d].on == first.on; });
    if (same_statement || agree) {
      // Each statement that calls it in this line: some calls may be inactive, which makes a directive there harmless.
      const std::set<std::size_t> distinct(found.begin(), found.end());
      for (const std::size_t s : distinct)
        for (const std::size_t d : sites)
          home->members[s].push_back(d);
    } else if (found.size() == sites.size()) {
      for (std::size_t i = 0; i < sites.size(); ++i)
        home->members[found[i]].push_back(sites[i]);
    } else {
      for (const std::size_t d : sites)
        mismatch(d, "the line holds " + std::to_string(found.size()) + " calls of '" + first.callee +
                        "', the profile knows " + std::to_string(sites.size()) +
                        " of them and they differ: put each call on a line of its own");
    }
  }

  /// Fixed form is often compiled with longer rows than the standard's 72 columns.
  static std::vector<std::size_t> widened(Work &work, const std::vector<std::uint32_t> &rows, const std::string &name) {
    Work wide;
    wide.file = work.file;
    wide.width = kExtendedWidth;
    wide.rows = work.rows;
    wide.scan = scan_statements(work.file->text, wide.rows, work.file->form, kExtendedWidth);
    std::vector<std::size_t> statements = statements_calling(wide, rows, name);
    // Only if nothing was decided yet: statement numbers of the two scans differ.
    if (statements.empty() || !work.members.empty())
      return work.members.empty() ? statements : std::vector<std::size_t>{};
    work = std::move(wide);
    return statements;
  }

  std::string what_stands_there(const Work &work, const std::vector<std::uint32_t> &rows,
                                const Decision &decision) const {
    const std::string name = written_name(decision.callee, work.file->form);
    std::set<std::string> calls;
    for (const Statement &statement : work.scan.statements)
      if (statement.first_row <= rows.front() && rows.front() <= statement.last_row)
        for (const CalledName &called : statement.called)
          calls.insert(called.name);
    std::string what = "no call of '" + name + "' there; found " + quoted_row(work.rows[rows.front()].text);
    if (!calls.empty()) {
      what += " (calls";
      for (const std::string &call : calls)
        what += " " + call;
      what += ")";
    }
    std::optional<std::uint32_t> nearest;
    const auto distance = [&](std::uint32_t row) {
      return row > rows.front() ? row - rows.front() : rows.front() - row;
    };
    for (const Statement &statement : work.scan.statements)
      for (const CalledName &called : statement.called)
        if (is_called(called.name, name, work.file->form) && (!nearest || distance(called.row) < distance(*nearest)))
          nearest = called.row;
    if (nearest)
      what += "; the nearest call of it is in line " + std::to_string(work.rows[*nearest].line) +
              ": the source has changed since it was profiled, profile it again";
    else
      what +=
          "; it is called nowhere in " + work.file->path +
          ": is it called by a generic name, a pointer or a macro, or has the source changed since it was profiled?";
    return what;
  }

  void settle() {
    std::vector<Group> groups;
    for (const Work &work : works_)
      for (const auto &[s, members] : work.members) {
        const Row &row = work.rows[work.scan.statements[s].first_row];
        groups.push_back({work.file->path + ":" + std::to_string(row.line), members});
      }
    patch_.losses = settle_groups(decisions_, groups, cost_, patch_.on);
  }

  Result<void> write(Work &work) {
    const std::vector<Statement> &statements = work.scan.statements;
    const auto is_off = [&](std::size_t s) { return patch_.on[work.members.at(s).front()] == 0; };

    // What stands there: directives right before a statement are its own; those before a head in the same row may serve
    // it.
    std::map<std::size_t, FoundDirective> erased; // by position
    std::set<std::size_t> owned_and_kept;
    FilePatch file;
    file.path = work.file->path;
    const auto erase = [&](std::size_t s, const FoundDirective &directive) {
      if (!directive.plain) {
        patch_.notes.push_back(work.file->path + ":" + std::to_string(work.rows[directive.row].line) +
                               ": the directive shares its comment with other text: remove it by hand, " +
                               decisions_[work.members.at(s).front()].name() + " is to be on");
        for (const std::size_t d : work.members.at(s))
          patch_.on[d] = 0;
        return;
      }
      if (erased.emplace(directive.begin, directive).second)
        ++file.removed;
    };
    for (const auto &[s, members] : work.members)
      for (const FoundDirective &directive : statements[s].directives)
        if (is_off(s))
          owned_and_kept.insert(directive.begin);
        else
          erase(s, directive);
    std::vector<std::size_t> wanting; // statements that need a directive
    for (const auto &[s, members] : work.members) {
      bool has_one = !statements[s].directives.empty();
      for (const FoundDirective &directive : statements[s].inherited) {
        if (!is_off(s) && !owned_and_kept.contains(directive.begin))
          erase(s, directive);
        has_one = has_one || (is_off(s) && !erased.contains(directive.begin));
      }
      if (is_off(s) && !has_one)
        wanting.push_back(s);
      else if (is_off(s))
        patch_.already += static_cast<std::uint32_t>(members.size());
    }

    std::vector<Edit> edits;
    for (const auto &[position, directive] : erased)
      edits.push_back({directive.begin, directive.end, ""});
    for (const std::size_t s : wanting) {
      edits.push_back(insertion(work, statements[s]));
      ++file.added;
      note_neighbours(work, s);
      if (statements[s].in_block_end)
        patch_.notes.push_back(place(work, s) + ": a directive before ELSE IF stands at the end of the branch above; "
                                                "have `adprof verify` see whether the AD tool takes it");
    }
    if (edits.empty())
      return {};
    EditedText edited = apply_edits(work.file->path, work.file->text, std::move(edits));
    file.patched = std::move(edited.text);
    file.diff = std::move(edited.diff);
    if (Result<void> sound = check(work, file.patched); !sound)
      return sound;
    patch_.files.push_back(std::move(file));
    return {};
  }

  std::string place(const Work &work, std::size_t s) const {
    return work.file->path + ":" + std::to_string(work.rows[work.scan.statements[s].first_row].line);
  }

  /// A directive covers its whole statement, calls included that the placement says nothing of.
  void note_neighbours(const Work &work, std::size_t s) {
    std::set<std::string> known, others;
    for (const std::size_t d : work.members.at(s))
      known.insert(written_name(decisions_[d].callee, work.file->form));
    std::set<std::string> callees;
    for (const Decision &decision : decisions_)
      callees.insert(written_name(decision.callee, work.file->form));
    for (const CalledName &called : work.scan.statements[s].called)
      if (callees.contains(called.name) && !known.contains(called.name))
        others.insert(called.name);
    for (const std::string &name : others)
      patch_.notes.push_back(place(work, s) + ": the directive also covers the call of '" + name +
                             "' in the same statement, which is no switchable site of the profile");
  }

  static Edit insertion(const Work &work, const Statement &statement) {
    const Row &row = work.rows[statement.first_row];
    std::string end(row.end);
    if (end.empty())
      end = statement.first_row > 0 ? std::string(work.rows[statement.first_row - 1].end) : "\n";
    const std::size_t code = std::min(row.text.find_first_not_of(" \t"), row.text.size());
    const std::string indent(row.text.substr(0, code));
    std::string directive;
    switch (work.file->form) {
    case SourceForm::kFixed:
      directive = "C$AD NOCHECKPOINT" + end;
      break;
    case SourceForm::kFree:
      directive = indent + "!$AD NOCHECKPOINT" + end;
      break;
    case SourceForm::kC:
      directive = indent + "/* $AD NOCHECKPOINT */" + end;
      break;
    }
    if (statement.starts_row)
      return {row.begin, row.begin, directive};
    const std::string next_row = work.file->form == SourceForm::kFixed ? "      " : indent;
    std::size_t cut = statement.after_semicolon ? statement.separator : statement.begin;
    while (cut > row.begin && (work.file->text[cut - 1] == ' ' || work.file->text[cut - 1] == '\t'))
      --cut;
    return {cut, statement.begin, end + directive + next_row};
  }

  /// The patched text, read anew, holds the same code, and each statement has the directive it should have.
  Result<void> check(const Work &work, const std::string &patched) const {
    const auto bug = [&](const std::string &what) {
      return std::unexpected(Error{ErrorKind::kInvalid, work.file->path,
                                   what + ", so it is left alone: is it complete " +
                                       std::string(to_string(work.file->form)) +
                                       "? If the compiler accepts it, please report it"});
    };
    const std::vector<Row> rows = split_rows(patched, work.file->profile_path);
    const Scan scan = scan_statements(patched, rows, work.file->form, work.width);
    if (scan.code != work.scan.code)
      return bug("the patch would change more than comments");
    if (scan.statements.size() != work.scan.statements.size())
      return bug("the patch would change how statements are read");
    for (const auto &[s, members] : work.members) {
      const bool off = patch_.on[members.front()] == 0;
      const bool has = !scan.statements[s].directives.empty();
      const bool served = has || !scan.statements[s].inherited.empty();
      if (off ? !served : has)
        return bug("the patch would leave " + decisions_[members.front()].name() + (off ? " on" : " off"));
    }
    return {};
  }
};

} // namespace

Result<DirectivePatch> patch_directives(const std::vector<SourceFile> &files, const std::vector<Decision> &decisions,
                                        const CostFunction &cost) {
  return Patcher(files, decisions, cost).run();
}

} // namespace adprof::feedback
