/// A placement as a patch of the primal's sources: `$AD NOCHECKPOINT` before the calls that are to be off. Called by
/// `apply` and `tune`. Text in, text out: reading and writing files is the CLI's.
///
/// These are the user's own sources, so:
/// - only comment rows are added or removed; where a statement begins in the middle of a row, the row is broken before
/// it.
///   The patched text is scanned again and must hold the same code;
/// - a call is found by its line *and* its name. Where the two don't fit, that site is a mismatch and nothing is
/// guessed;
/// - a directive that stands there already is kept or removed, never doubled.
#pragma once

#include "optimizer/feedback/decision.h"
#include "optimizer/feedback/source_text.h"
#include "optimizer/profile/error.h"

#include <string>
#include <vector>

namespace adprof::feedback {

struct SourceFile {
  std::string path;         ///< as shown in the diff
  std::string profile_path; ///< the name by which the profile knows it, if not told otherwise by line markers in it
  std::string text;
  SourceForm form = SourceForm::kC;
};

struct Mismatch {
  std::string site;
  profile::SourceLine at;
  std::string what; ///< what was found there instead
};

struct FilePatch {
  std::string path;
  std::string patched;                  ///< the whole new text
  std::string diff;                     ///< unified, with a/ and b/ before the path
  std::uint32_t added = 0, removed = 0; ///< directives
};

struct DirectivePatch {
  std::vector<FilePatch> files;     ///< those that change
  std::vector<Mismatch> mismatches; ///< sites that are to be off and can't be written; they are on in `on`
  std::vector<Loss> losses;         ///< statements with calls that should differ
  std::vector<std::string> notes;
  std::vector<std::uint8_t> on; ///< what the patched sources say, parallel to the decisions
  std::uint32_t already = 0;    ///< sites that are off whose directive stood there before
};

/// Sites that can't be switched are left as they are. kInvalid if a patch would have changed code, which
/// happens on text that is no program.
Result<DirectivePatch> patch_directives(const std::vector<SourceFile> &files, const std::vector<Decision> &decisions,
                                        const CostFunction &cost = {});

} // namespace adprof::feedback
