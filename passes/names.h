// Names of procedures as compilers mangle them, taken apart into what the AD tool sees: C as written, Fortran externals
// with one underscore behind, flang's `_QM<module>P<name>` and `_QF<host>P<name>`, C++ as Itanium mangles it. Knows
// nothing of AD tools: that is dialect.h.
#ifndef ADPROF_PASSES_NAMES_H
#define ADPROF_PASSES_NAMES_H

#include "llvm/ADT/SmallVector.h"
#include "llvm/ADT/StringRef.h"
#include <string>

namespace adprof {

struct SourceName {
  /// Innermost module, "" for none. Fortran only.
  std::string module;
  /// Enclosing procedures (Fortran) or namespaces and classes (C++), outermost first.
  llvm::SmallVector<std::string, 2> hosts;
  /// The procedure's own name. Lower case for Fortran, as written otherwise.
  std::string base;
  bool is_fortran = false;

  /// `module.host.base`; what a user would write in a list of procedures.
  std::string joined() const;
};

/// Never fails: a name that no rule fits is its own base.
SourceName parse_ir_name(llvm::StringRef ir_name);

/// 64-bit FNV-1a, as runtime/abi/site.h asks for.
uint64_t fnv1a(llvm::StringRef bytes);

} // namespace adprof
#endif
