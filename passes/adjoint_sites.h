// Finds what adjoint code consists of: its procedures, and in them the pushes and pops, the calls of primals that have an
// adjoint, and the calls of adjoints, each with the identity of its site. Analysis only: changes no IR. insert_hooks.h acts on it.
#ifndef ADPROF_PASSES_ADJOINT_SITES_H
#define ADPROF_PASSES_ADJOINT_SITES_H

#include "passes/dialect.h"
#include "runtime/abi/site.h"
#include "llvm/Analysis/TargetLibraryInfo.h"
#include "llvm/IR/Dominators.h"
#include "llvm/IR/InstrTypes.h"
#include "llvm/IR/Module.h"
#include <string>
#include <vector>

namespace adprof {

enum class EventKind : uint8_t {
  Stack, ///< `operation` says what
  Site,  ///< `call_index` says which
  Flush  ///< may run instrumented code, or end the program
};

struct Event {
  llvm::CallBase *call;
  EventKind kind;
  const StackOperation *operation = nullptr;
  unsigned call_index = 0;

  bool is_stack(StackRole role) const { return kind == EventKind::Stack && operation->role == role; }
};

struct Procedure {
  llvm::Function *function;
  std::string primal;
  adprof_procedure_role role;
  uint32_t flags = 0;
};

struct Call {
  llvm::CallBase *call;
  adprof_call_kind kind;
  std::string caller, callee;
  unsigned ordinal = 0;
  uint32_t flags = 0;
  std::string signature; ///< of the actual arguments, see argument_keys.h
  int partner = -1;      ///< index of the call on the other side that the pass pairs it with

  bool is_reverse() const { return kind == ADPROF_CALL_ADJOINT || kind == ADPROF_CALL_BACKWARD; }
};

/// A call in a primal procedure.
struct SourceCall {
  llvm::CallBase *call;
  std::string caller, callee;
  unsigned ordinal = 0;
  bool in_copy = false; ///< the procedure is a copy in generated code
  std::string signature;
};

struct Doubt {
  std::string kind; ///< one word: what a reader can filter by
  llvm::Function *function;
  llvm::Instruction *where; ///< may be null
  std::string text;
};

/// Where the snapshot of a call begins, and which pushes of it are the caller's own.
struct Snapshot {
  llvm::Instruction *begin = nullptr; ///< stands before the first push or pop; null where there is no such place
  std::vector<llvm::CallBase *> kept;
};

/// What happens in one function that gets hooks.
struct FunctionEvents {
  llvm::Function *function;
  int procedure = -1; ///< index, -1 for ordinary code
  std::vector<Event> events; ///< in the order of the source
  bool has_stack_traffic() const;
};

struct ModuleSites {
  std::vector<Procedure> procedures;
  std::vector<Call> calls;
  std::vector<Snapshot> snapshots; ///< one per call
  std::vector<SourceCall> source_calls;
  std::vector<Doubt> doubts;
  std::vector<FunctionEvents> functions;
};

struct AnalysisContext {
  const Dialect &dialect;
  std::function<llvm::TargetLibraryInfo &(llvm::Function &)> library_info;
  std::function<llvm::DominatorTree &(llvm::Function &)> dominators;
};

ModuleSites find_adjoint_sites(llvm::Module &module, const AnalysisContext &context);

/// The function a call reaches, through casts and aliases; null for indirect calls.
llvm::Function *called_function(const llvm::CallBase &call);

} // namespace adprof
#endif
