#include "passes/snapshot_runs.h"

#include "passes/argument_keys.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"

using namespace llvm;

namespace adprof {

SnapshotRunFinder::SnapshotRunFinder(const FunctionEvents &events, DominatorTree &dominators)
    : events_(events), dominators_(dominators), post_dominators_(*events.function), loops_(dominators) {
  DenseMap<const CallBase *, const Event *> event_of;
  for (const Event &event : events_.events)
    event_of[event.call] = &event;
  for (BasicBlock &block : *events_.function)
    for (Instruction &instruction : block)
      if (auto *call = dyn_cast<CallBase>(&instruction))
        if (auto found = event_of.find(call); found != event_of.end())
          in_block_[&block].push_back(found->second);
}

/// Climbs from the call's block to its dominators as long as nothing but operations of one kind lies between, and the
/// call is bound to follow. Conditionals and loops around operations are climbed over as a whole.
SnapshotRun SnapshotRunFinder::run_before(CallBase &call, StackRole role) {
  SnapshotRun run; // built backwards
  constexpr unsigned kMaxBlocks = 512;
  BasicBlock *start = call.getParent(), *block = start;
  if (!dominators_.isReachableFromEntry(start))
    return run;
  const Loop *loop = loops_.getLoopFor(start);
  bool at_call = true;
  unsigned budget = kMaxBlocks;
  auto add = [&](const Event *event, Instruction *place) {
    run.operations.push_back(event->call);
    run.places.push_back(place);
  };
  for (;;) {
    const std::vector<const Event *> &events = in_block_[block];
    bool stopped = false;
    for (size_t i = events.size(); i-- > 0 && !stopped;) {
      if (at_call && (events[i]->call == &call || !events[i]->call->comesBefore(&call)))
        continue;
      if (events[i]->is_stack(role))
        add(events[i], loops_.getLoopFor(block) == loop ? events[i]->call : nullptr);
      else
        stopped = true;
    }
    at_call = false;
    DomTreeNode *above = dominators_.getNode(block)->getIDom();
    if (stopped || !above || !post_dominators_.dominates(block, above->getBlock()))
      break;
    // Everything between the dominator and this block.
    SmallPtrSet<BasicBlock *, 16> between;
    SmallVector<BasicBlock *, 16> work(pred_begin(block), pred_end(block));
    while (!work.empty() && !stopped) {
      BasicBlock *next = work.pop_back_val();
      if (next == above->getBlock() || !between.insert(next).second)
        continue;
      stopped = budget == 0 || next == start;
      if (!stopped)
        --budget;
      stopped |= any_of(in_block_[next], [&](const Event *event) { return !event->is_stack(role); });
      work.append(pred_begin(next), pred_end(next));
    }
    if (stopped)
      break;
    Instruction *place = loops_.getLoopFor(above->getBlock()) == loop ? above->getBlock()->getTerminator() : nullptr;
    for (auto &candidate : llvm::reverse(*events_.function))
      if (between.count(&candidate))
        for (const Event *event : llvm::reverse(in_block_[&candidate]))
          add(event, place);
    block = above->getBlock();
  }
  std::reverse(run.operations.begin(), run.operations.end());
  std::reverse(run.places.begin(), run.places.end());
  return run;
}

/// The address of what is pushed or popped; null where a value was computed. C pushes scalars by value, everything else is by address.
static Value *stack_address(CallBase &operation) {
  if (operation.arg_empty())
    return nullptr;
  Value *value = operation.getArgOperand(0);
  Function *callee = called_function(operation);
  SourceName name = parse_ir_name(callee->getName());
  bool is_pointer_by_value = !name.is_fortran && StringRef(name.base).starts_with_insensitive("pushpointer");
  if (value->getType()->isPointerTy() && !is_pointer_by_value)
    return value;
  value = value->stripPointerCasts();
  while (auto *cast = dyn_cast<CastInst>(value))
    value = cast->getOperand(0);
  auto *load = dyn_cast<LoadInst>(value);
  return load ? load->getPointerOperand() : nullptr;
}

/// `pushReal8Array` and `popReal8Array` -> `real8array`.
static std::string stack_type(CallBase &operation) {
  std::string base = StringRef(parse_ir_name(called_function(operation)->getName()).base).lower();
  StringRef text = base;
  for (StringRef direction : {"push", "pop"})
    if (text.consume_front(direction))
      break;
  return text.str();
}

unsigned mirrored_operations(const SnapshotRun &pushes, const SnapshotRun &pops, const DataLayout &layout) {
  size_t push_count = pushes.operations.size(), pop_count = pops.operations.size();
  auto keys_of = [&](const SnapshotRun &run) {
    std::vector<ArgumentKey> keys;
    for (CallBase *operation : run.operations) {
      Value *address = stack_address(*operation);
      keys.push_back(address ? trace_argument(address, layout) : ArgumentKey());
    }
    return keys;
  };
  std::vector<ArgumentKey> push_keys = keys_of(pushes), pop_keys = keys_of(pops);
  auto mirror = [&](size_t push, size_t pop) {
    if (stack_type(*pushes.operations[push]) != stack_type(*pops.operations[pop]))
      return false;
    const ArgumentKey &left = push_keys[push], &right = pop_keys[pop];
    if (!left.object || !right.object)
      return true; // controls and computed values: the type must do
    bool same_function = pushes.operations[push]->getFunction() == pops.operations[pop]->getFunction();
    if (same_function || (left.portable != hash_code(0) && right.portable != hash_code(0)))
      return argument_agreement(left, right, same_function) > 0;
    return true;
  };
  // The last pop took what the first push of the snapshot put there.
  for (size_t count = std::min(push_count, pop_count); count > 0; --count) {
    bool matches = true;
    for (size_t i = 0; i < count && matches; ++i)
      matches = mirror(push_count - count + i, pop_count - 1 - i);
    if (matches)
      return unsigned(count);
  }
  return 0;
}

/// Is the address of `object` handed to the call, or stored where the callee might find it? Descriptors and structures on
/// the stack that hold the address are followed.
static bool address_reaches(Value *object, CallBase &callee_call, unsigned depth = 0) {
  if (depth > 8)
    return true;
  for (User *user : object->users()) {
    if (isa<LoadInst>(user) || isa<CmpInst>(user) || isa<DbgInfoIntrinsic>(user) || isa<LifetimeIntrinsic>(user))
      continue;
    if (auto *store = dyn_cast<StoreInst>(user)) {
      if (store->getValueOperand() != object)
        continue;
      auto *variable = dyn_cast<AllocaInst>(store->getPointerOperand()->stripInBoundsOffsets());
      if (!variable || address_reaches(variable, callee_call, depth + 1))
        return true;
      continue;
    }
    if (user == &callee_call)
      return true;
    // Other calls that were given the address do not keep it: Fortran forbids it, and generated C does not do it.
    if (isa<CallBase>(user))
      continue;
    if (address_reaches(user, callee_call, depth + 1))
      return true;
  }
  return false;
}

bool is_out_of_reach(CallBase &push, CallBase &callee_call) {
  Value *address = stack_address(push);
  if (!address)
    return false;
  Value *object = address->stripInBoundsOffsets();
  if (isa<AllocaInst>(object))
    return !address_reaches(object, callee_call);
  // A dummy argument of a Fortran procedure may not be reached in another way while it is changed.
  auto *argument = dyn_cast<Argument>(object);
  return argument && parse_ir_name(argument->getParent()->getName()).is_fortran && !address_reaches(argument, callee_call);
}

} // namespace adprof
