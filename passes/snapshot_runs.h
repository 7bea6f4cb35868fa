// Which pushes stand right before a primal call, and which pops right before its reverse call: where the writing and the
// reading of a snapshot begin, and which of the values are the caller's own. Static and approximate: what a snapshot really
// holds is measured at run time by stack heights.
#ifndef ADPROF_PASSES_SNAPSHOT_RUNS_H
#define ADPROF_PASSES_SNAPSHOT_RUNS_H

#include "passes/adjoint_sites.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/Analysis/PostDominators.h"

namespace adprof {

/// A run of pushes, or of pops, that is followed by one call and nothing else that matters.
struct SnapshotRun {
  std::vector<llvm::CallBase *> operations; ///< in execution order; some may be conditional or repeated
  /// For each operation the instruction to stand before so that it is the first of the run; null where that place would be
  /// executed more or less often than the call.
  std::vector<llvm::Instruction *> places;
};

class SnapshotRunFinder {
public:
  SnapshotRunFinder(const FunctionEvents &events, llvm::DominatorTree &dominators);
  SnapshotRun run_before(llvm::CallBase &call, StackRole role);

private:
  const FunctionEvents &events_;
  llvm::DominatorTree &dominators_;
  llvm::PostDominatorTree post_dominators_;
  llvm::LoopInfo loops_;
  llvm::DenseMap<const llvm::BasicBlock *, std::vector<const Event *>> in_block_;
};

/// How many of the last operations of both runs are each other's mirror image: the snapshot of one checkpoint. 0 for none.
unsigned mirrored_operations(const SnapshotRun &pushes, const SnapshotRun &pops, const llvm::DataLayout &layout);

/// A pushed value that is a local of the caller (or, in Fortran, a dummy argument) which `callee_call` has no way to reach:
/// it stays on the stack when the call goes to split mode.
bool is_out_of_reach(llvm::CallBase &push, llvm::CallBase &callee_call);

} // namespace adprof
#endif
