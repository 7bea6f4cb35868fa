/// Gets what the pass wrote (runtime/abi/site.h) out of object files, static and shared libraries and programs, without running
/// them. Reads ELF and ar as hostile input: every offset is checked. Used by `adprof doctor`.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "optimizer/profile/error.h"

namespace adprof::cli {

struct ObjectText {
  std::string name;                   ///< file, or archive(member)
  std::vector<std::string> modules;   ///< texts, one per instrumented object that went into it
  bool is_linked = false;             ///< a program or shared library, not an object waiting for others
  std::vector<std::string> functions; ///< names of the functions it defines, as far as its symbol table says
};

/// One entry for an object, library or program; one per member for an archive. `bytes` is the content of `path`.
Result<std::vector<ObjectText>> read_object_texts(const std::string &path, std::string_view bytes);

} // namespace adprof::cli
