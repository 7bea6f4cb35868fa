/// What the pass wrote about one object file (the text of runtime/abi/site.h), collected over all objects of a program.
/// Used by read_raw and by `adprof doctor`; knows nothing of what was run.
#pragma once

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <tuple>
#include <vector>

#include "optimizer/profile/error.h"
#include "optimizer/profile/profile.h"

namespace adprof::profile {

struct TextCall {
  Site site;               ///< primal place filled in by `join_sources`
  bool guessed = false;    ///< known by the callee's name only, in every line about it
};

/// The objects of one program. Lines of unknown kinds are skipped; a line that lacks fields is an error.
class ModuleTexts {
public:
  Result<void> add(std::string_view text, const std::string &where);
  /// Fills Site::primal from the `source` lines: by ordinal where caller and callee have as many calls in the primal as in the
  /// adjoint, else by the order of argument signatures, where that leaves one answer only.
  void join_sources();

  const std::map<std::uint64_t, TextCall> &calls() const { return calls_; }                   ///< by site key
  const std::map<std::uint64_t, std::string> &procedures() const { return procedures_; } ///< names by hash
  const std::vector<Doubt> &doubts() const { return doubts_; }
  const std::string &dialect() const { return dialect_; }

private:
  struct Source {
    SourceLine at;
    std::string signature;
  };
  void name_procedure(const std::string &name);

  std::map<std::uint64_t, TextCall> calls_;
  std::map<std::uint64_t, std::string> procedures_;
  std::map<std::pair<std::string, std::string>, std::map<std::uint32_t, Source>> sources_; ///< by caller and callee
  std::vector<Doubt> doubts_;
  std::string dialect_;
};

} // namespace adprof::profile
