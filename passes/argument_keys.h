// Where an actual argument comes from: the object behind it and the way to it, so that calls can be compared. Uses neither
// names of locals nor debug information: identities must not depend on how the object was compiled.
#ifndef ADPROF_PASSES_ARGUMENT_KEYS_H
#define ADPROF_PASSES_ARGUMENT_KEYS_H

#include "llvm/ADT/Hashing.h"
#include "llvm/IR/DataLayout.h"
#include "llvm/IR/Value.h"
#include <string>

namespace adprof {

struct ArgumentKey {
  llvm::hash_code exact = 0;    ///< compares calls of one function
  llvm::hash_code portable = 0; ///< compares calls of different functions; 0 where nothing can be said
  bool is_vague = false;        ///< of `portable`: parameters and locals are all alike
  std::string text;             ///< `*` loads, `+N` and `[i]` index, `[]` goes through a descriptor, `$N` is a parameter
  llvm::Value *object = nullptr; ///< the global, parameter, variable or constant at the end
};

/// Follows loads of variables that are written once (parameters at -O0, copies), and descriptors that flang builds on the
/// stack, down to an object.
ArgumentKey trace_argument(llvm::Value *value, const llvm::DataLayout &layout);

/// 2 the same, 1 may be the same, 0 differ.
int argument_agreement(const ArgumentKey &left, const ArgumentKey &right, bool same_function);

} // namespace adprof
#endif
