#include "passes/insert_hooks.h"

#include "llvm/Support/Path.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/DebugInfoMetadata.h"
#include "llvm/IR/IRBuilder.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/Support/raw_ostream.h"
#include "llvm/Transforms/Utils/BasicBlockUtils.h"
#include "llvm/Transforms/Utils/ModuleUtils.h"

using namespace llvm;

namespace adprof {
namespace {

// --- the hooks, expanded from events.def ------------------------------------------------------------------------------

// The parameter lists of events.def are read by the compiler as C++ function types; templates turn those into LLVM's.
struct ModuleTag;
using MODULE = ModuleTag *;
using U32 = uint32_t;
using I64 = int64_t;
using VOID = void;

template <typename T> Type *lower(LLVMContext &context) {
  if constexpr (std::is_void_v<T>)
    return Type::getVoidTy(context);
  else if constexpr (std::is_pointer_v<T>)
    return PointerType::get(context, 0);
  else
    return Type::getIntNTy(context, sizeof(T) * 8);
}

template <typename T> struct FunctionLowering;
template <typename R, typename... A> struct FunctionLowering<R(A...)> {
  static FunctionType *type(LLVMContext &context) {
    return FunctionType::get(lower<R>(context), {lower<A>(context)...}, false);
  }
};

enum class Hook : unsigned {
#define ADPROF_EVENT(name, result, parameters) name,
#include "runtime/abi/events.def"
};

FunctionCallee declare_hook(Module &module, Hook hook) {
  LLVMContext &context = module.getContext();
  AttributeList attributes = AttributeList::get(context, AttributeList::FunctionIndex, {Attribute::NoUnwind});
  switch (hook) {
#define ADPROF_EVENT(name, result, parameters)                                                                                       \
  case Hook::name:                                                                                                                   \
    return module.getOrInsertFunction("__adprof_" #name, FunctionLowering<result parameters>::type(context), attributes);
#include "runtime/abi/events.def"
  }
  return {};
}

#define ADPROF_STRING(x) #x
#define ADPROF_EXPANDED_STRING(x) ADPROF_STRING(x)
constexpr char kGuardName[] = ADPROF_EXPANDED_STRING(ADPROF_ABI_GUARD);

// --- one function -----------------------------------------------------------------------------------------------------

/// The four sums of events.def, and what of a snapshot is the caller's own.
struct Accumulators {
  AllocaInst *pushed = nullptr, *popped = nullptr, *high = nullptr, *low = nullptr, *kept = nullptr;
};

class FunctionRewriter {
public:
  FunctionRewriter(Module &module, GlobalVariable *records, const ModuleSites &sites, const FunctionEvents &events,
                   const AnalysisContext &context)
      : module_(module), records_(records), sites_(sites), events_(events), function_(*events.function), context_(context),
        is_volatile_(events.function->callsFunctionThatReturnsTwice()), builder_(module.getContext()) {}

  void run() {
    find_dirty_points();
    Instruction *turn = turn_point(); // before the IR changes
    bool turn_dirty = turn && is_dirty_at(*turn);
    for (const Event &event : events_.events)
      if (event.kind == EventKind::Site)
        for (CallBase *push : sites_.snapshots[event.call_index].kept)
          kept_pushes_.insert(push);
    insert_entry();
    for (BasicBlock &block : function_)
      if (auto *ret = dyn_cast<ReturnInst>(block.getTerminator()))
        returns_.push_back(ret);
    if (turn) { // first, so that it stands before the hooks of the event it stands at
      at(turn, turn->getDebugLoc());
      call_hook(Hook::turn, {frame_}, turn_dirty);
    }
    for (const Event &event : events_.events)
      if (event.kind == EventKind::Site)
        insert_snapshot_begin(event);
    for (const Event &event : events_.events)
      insert_event(event);
    for (ReturnInst *ret : returns_)
      insert_leave(*ret);
  }

private:
  // --- where the accumulators can differ from zero ------------------------------------------------------------------

  bool moves_stack(const Event &event) const { return event.is_stack(StackRole::Push) || event.is_stack(StackRole::Pop); }

  /// Forward data flow over blocks: may a push or pop have happened since the last hook? Every other event ends in a hook,
  /// or has nothing to report.
  void find_dirty_points() {
    DenseMap<const BasicBlock *, SmallVector<const Event *, 8>> in_block;
    for (BasicBlock &block : function_) {
      for (Instruction &instruction : block)
        positions_[&instruction] = unsigned(positions_.size());
    }
    for (const Event &event : events_.events)
      in_block[event.call->getParent()].push_back(&event);
    for (auto &entry : in_block)
      llvm::sort(entry.second, [this](const Event *a, const Event *b) { return positions_[a->call] < positions_[b->call]; });
    bool changed = true;
    while (changed) {
      changed = false;
      for (BasicBlock &block : function_) {
        bool dirty = false;
        for (BasicBlock *predecessor : predecessors(&block))
          dirty |= dirty_out_.lookup(predecessor);
        dirty_in_[&block] = dirty;
        for (const Event *event : in_block[&block]) {
          dirty_before_[event->call] = dirty;
          dirty = moves_stack(*event);
        }
        if (dirty && !dirty_out_.lookup(&block)) {
          dirty_out_[&block] = true;
          changed = true;
        }
      }
    }
    events_in_block_ = std::move(in_block);
  }

  bool is_dirty_at(Instruction &point) const {
    bool dirty = dirty_in_.lookup(point.getParent());
    auto found = events_in_block_.find(point.getParent());
    if (found != events_in_block_.end())
      for (const Event *event : found->second) {
        if (positions_.lookup(event->call) >= positions_.lookup(&point))
          break;
        dirty = moves_stack(*event);
      }
    return dirty;
  }

  // --- the turn -----------------------------------------------------------------------------------------------------

  bool is_backward(const Event &event) const {
    return event.is_stack(StackRole::Pop) || (event.kind == EventKind::Site && sites_.calls[event.call_index].is_reverse());
  }
  bool is_forward(const Event &event) const {
    return event.is_stack(StackRole::Push) || (event.kind == EventKind::Site && !sites_.calls[event.call_index].is_reverse());
  }

  /// The point all backward events lie behind and no forward event does, outside of loops; null where there is none. Only joint
  /// procedures have a turn of their own.
  Instruction *turn_point() {
    if (events_.procedure < 0 || sites_.procedures[events_.procedure].role != ADPROF_ROLE_JOINT)
      return nullptr;
    DominatorTree &dominators = context_.dominators(function_);
    BasicBlock *common = nullptr;
    for (const Event &event : events_.events) {
      if (!is_backward(event) || !dominators.isReachableFromEntry(event.call->getParent()))
        continue;
      common = common ? dominators.findNearestCommonDominator(common, event.call->getParent()) : event.call->getParent();
    }
    if (!common)
      return nullptr;
    SmallPtrSet<const BasicBlock *, 32> behind;
    for (;;) {
      behind = reachable_from(*common);
      if (!behind.count(common))
        break;
      DomTreeNode *above = dominators.getNode(common)->getIDom();
      if (!above)
        return nullptr;
      common = above->getBlock();
    }
    Instruction *point = common->getTerminator();
    for (const Event *event : events_in_block_[common])
      if (is_backward(*event)) {
        point = event->call;
        break;
      }
    for (const Event &event : events_.events)
      if (is_forward(event) && (behind.count(event.call->getParent()) ||
                                (event.call->getParent() == common && positions_[event.call] >= positions_[point])))
        return nullptr;
    return point;
  }

  /// Blocks that can run after the end of `start`; holds `start` itself if it stands in a loop.
  static SmallPtrSet<const BasicBlock *, 32> reachable_from(BasicBlock &start) {
    SmallPtrSet<const BasicBlock *, 32> seen;
    SmallVector<BasicBlock *, 16> work(succ_begin(&start), succ_end(&start));
    while (!work.empty()) {
      BasicBlock *block = work.pop_back_val();
      if (seen.insert(block).second)
        work.append(succ_begin(block), succ_end(block));
    }
    return seen;
  }

  // --- inserting ----------------------------------------------------------------------------------------------------

  void at(Instruction *point, const DebugLoc &location) {
    builder_.SetInsertPoint(point);
    builder_.SetCurrentDebugLocation(location ? location : function_location());
  }

  /// A call without a location in a function that has debug information does not pass the verifier once it is inlined.
  DebugLoc function_location() const {
    DISubprogram *subprogram = function_.getSubprogram();
    return subprogram ? DebugLoc(DILocation::get(module_.getContext(), subprogram->getScopeLine(), 0, subprogram)) : DebugLoc();
  }

  Value *constant(int64_t value) { return builder_.getInt64(uint64_t(value)); }
  Value *load(AllocaInst *slot) { return builder_.CreateLoad(builder_.getInt64Ty(), slot, is_volatile_); }
  void store(Value *value, AllocaInst *slot) { builder_.CreateStore(value, slot, is_volatile_); }

  void insert_entry() {
    BasicBlock &entry = function_.getEntryBlock();
    BasicBlock::iterator point = entry.getFirstInsertionPt();
    if (events_.has_stack_traffic()) {
      builder_.SetInsertPoint(&entry, point);
      for (auto [slot, name] : {std::pair{&sums_.pushed, "adprof.pushed"}, std::pair{&sums_.popped, "adprof.popped"},
                                std::pair{&sums_.high, "adprof.high"}, std::pair{&sums_.low, "adprof.low"},
                                std::pair{&sums_.kept, "adprof.kept"}})
        if (slot != &sums_.kept || !kept_pushes_.empty())
          *slot = builder_.CreateAlloca(builder_.getInt64Ty(), nullptr, name);
    }
    while (isa<AllocaInst>(*point))
      ++point;
    builder_.SetInsertPoint(&entry, point);
    builder_.SetCurrentDebugLocation(function_location());
    if (sums_.pushed) {
      clear_sums();
      if (sums_.kept)
        store(constant(0), sums_.kept);
    }
    frame_ = builder_.getInt32(0);
    if (events_.procedure >= 0)
      frame_ = builder_.CreateCall(declare_hook(module_, Hook::enter), {records_, builder_.getInt32(unsigned(events_.procedure))},
                                   "adprof.frame");
  }

  void clear_sums() {
    for (AllocaInst *slot : {sums_.pushed, sums_.popped, sums_.high, sums_.low})
      store(constant(0), slot);
  }

  /// Calls a hook with `first`, the accumulators, and `last`; the accumulators start again at zero.
  void call_hook(Hook hook, ArrayRef<Value *> first, bool dirty, ArrayRef<Value *> last = {}) {
    SmallVector<Value *, 10> arguments(first.begin(), first.end());
    bool has_sums = dirty && sums_.pushed;
    for (AllocaInst *slot : {sums_.pushed, sums_.popped, sums_.high, sums_.low})
      arguments.push_back(has_sums ? load(slot) : constant(0));
    arguments.append(last.begin(), last.end());
    builder_.CreateCall(declare_hook(module_, hook), arguments);
    if (has_sums)
      clear_sums();
  }

  void insert_leave(ReturnInst &ret) {
    // Between a musttail call and its return nothing may stand.
    Instruction *point = &ret;
    if (CallInst *tail = ret.getParent()->getTerminatingMustTailCall())
      point = tail;
    bool dirty = point == &ret ? dirty_out_.lookup(dirty_block(ret)) : false;
    at(point, point->getDebugLoc());
    if (events_.procedure >= 0)
      call_hook(Hook::leave, {frame_}, dirty || point != &ret);
    else if (sums_.pushed && (dirty || point != &ret))
      call_hook(Hook::flush, {frame_}, true);
  }

  /// Blocks are split behind invokes only, whose upper halves hold no return: the block is still the one that was analysed,
  /// or a new one behind a hook.
  const BasicBlock *dirty_block(ReturnInst &ret) const { return ret.getParent(); }

  void insert_event(const Event &event) {
    CallBase &call = *event.call;
    bool dirty = dirty_before_.lookup(&call);
    at(&call, call.getDebugLoc());
    if (event.kind == EventKind::Flush) {
      if (dirty)
        call_hook(Hook::flush, {frame_}, true);
      return;
    }
    if (event.kind == EventKind::Site)
      return insert_site(event, dirty);
    switch (event.operation->role) {
    case StackRole::Push:
    case StackRole::Pop: return count(call, event.operation->bits, event.operation->role == StackRole::Push);
    case StackRole::RepeatStart: return call_hook(Hook::repeat_start, {frame_}, dirty);
    case StackRole::RepeatReset: return call_hook(Hook::repeat_reset, {frame_}, dirty);
    case StackRole::RepeatEnd: return call_hook(Hook::repeat_end, {frame_}, dirty);
    case StackRole::BinomialInit:
      return call_hook(Hook::binomial_init, {frame_}, dirty, {argument(call, 1), argument(call, 2)});
    case StackRole::BinomialNext: return insert_binomial_next(call, dirty);
    case StackRole::Ignore: return;
    }
  }

  void insert_binomial_next(CallBase &call, bool dirty) {
    Instruction *behind = behind_call(call);
    at(behind, call.getDebugLoc());
    Value *more = call.getType()->isIntegerTy() ? builder_.CreateZExtOrTrunc(&call, builder_.getInt64Ty()) : constant(1);
    call_hook(Hook::binomial_next, {frame_}, dirty, {more, argument(call, 1)});
  }

  void insert_snapshot_begin(const Event &event) {
    Instruction *begin = sites_.snapshots[event.call_index].begin;
    if (!begin)
      return;
    at(begin, begin->getDebugLoc());
    call_hook(Hook::snapshot_begin, {records_, builder_.getInt32(event.call_index), frame_}, is_dirty_at(*begin));
  }

  void insert_site(const Event &event, bool dirty) {
    const Call &site = sites_.calls[event.call_index];
    Value *number = builder_.getInt32(event.call_index);
    struct {
      Hook begin, end;
      bool has_kept;
    } hooks{};
    switch (site.kind) {
    case ADPROF_CALL_PRIMAL: hooks = {Hook::primal_begin, Hook::primal_end, true}; break;
    case ADPROF_CALL_ADJOINT: hooks = {Hook::adjoint_begin, Hook::adjoint_end, false}; break;
    case ADPROF_CALL_FORWARD: hooks = {Hook::forward_begin, Hook::forward_end, true}; break;
    case ADPROF_CALL_BACKWARD: hooks = {Hook::backward_begin, Hook::backward_end, false}; break;
    }
    SmallVector<Value *, 1> kept;
    bool sums_kept = !sites_.snapshots[event.call_index].kept.empty();
    if (hooks.has_kept)
      kept.push_back(sums_kept ? load(sums_.kept) : constant(0));
    call_hook(hooks.begin, {records_, number, frame_}, dirty, kept);
    if (sums_kept)
      store(constant(0), sums_.kept);
    at(behind_call(*event.call), event.call->getDebugLoc());
    builder_.CreateCall(declare_hook(module_, hooks.end), {records_, number, frame_});
  }

  /// Where code goes that runs after the call has returned. An unwinding call needs nothing: the runtime drops frames by token.
  Instruction *behind_call(CallBase &call) {
    auto *invoke = dyn_cast<InvokeInst>(&call);
    if (!invoke)
      return call.getNextNode();
    BasicBlock *target = invoke->getNormalDest();
    if (!target->getSinglePredecessor()) {
      BasicBlock *between = SplitEdge(invoke->getParent(), target);
      dirty_out_[between] = false;
      target = between;
    }
    return &*target->getFirstInsertionPt();
  }

  // --- sizes --------------------------------------------------------------------------------------------------------

  void count(CallBase &call, const SizeExpression &expression, bool is_push) {
    Value *bits = size(call, expression);
    if (kept_pushes_.count(&call))
      store(builder_.CreateAdd(load(sums_.kept), bits), sums_.kept);
    AllocaInst *sum = is_push ? sums_.pushed : sums_.popped;
    Value *total = builder_.CreateAdd(load(sum), bits);
    store(total, sum);
    Value *pushed = is_push ? total : load(sums_.pushed);
    Value *popped = is_push ? load(sums_.popped) : total;
    Value *net = builder_.CreateSub(pushed, popped);
    AllocaInst *extreme = is_push ? sums_.high : sums_.low;
    store(builder_.CreateBinaryIntrinsic(is_push ? Intrinsic::smax : Intrinsic::smin, load(extreme), net), extreme);
  }

  /// An argument as i64: Fortran passes by reference, and its counts are default integers.
  Value *argument(CallBase &call, unsigned number) {
    Value *value = call.getArgOperand(number - 1);
    if (value->getType()->isPointerTy())
      value = builder_.CreateLoad(builder_.getInt32Ty(), value);
    if (!value->getType()->isIntegerTy())
      return constant(0);
    return builder_.CreateSExtOrTrunc(value, builder_.getInt64Ty());
  }

  Value *size(CallBase &call, const SizeExpression &expression) {
    if (std::optional<int64_t> bits = expression.constant_bits())
      return constant(*bits);
    using Op = SizeExpression::Op;
    SmallVector<Value *, 8> stack;
    for (const SizeExpression::Step &step : expression.steps()) {
      switch (step.op) {
      case Op::Constant: stack.push_back(constant(step.value)); continue;
      case Op::Argument: stack.push_back(argument(call, unsigned(step.value))); continue;
      case Op::Descriptor:
        stack.push_back(builder_.CreateCall(descriptor_function(), {call.getArgOperand(unsigned(step.value) - 1)}));
        continue;
      default: break;
      }
      Value *right = stack.pop_back_val();
      Value *&left = stack.back();
      switch (step.op) {
      case Op::Add: left = builder_.CreateAdd(left, right); break;
      case Op::Subtract: left = builder_.CreateSub(left, right); break;
      case Op::Multiply: left = builder_.CreateMul(left, right); break;
      default: // a division by zero must not be ours
        left = builder_.CreateSDiv(left, builder_.CreateSelect(builder_.CreateICmpEQ(right, constant(0)), constant(1), right));
      }
    }
    return builder_.CreateBinaryIntrinsic(Intrinsic::smax, stack.back(), constant(0));
  }

  /// Bytes of the array behind a Fortran descriptor (ISO_Fortran_binding's CFI_cdesc_t): element length times all extents.
  FunctionCallee descriptor_function() {
    LLVMContext &context = module_.getContext();
    Type *i64 = Type::getInt64Ty(context), *i8 = Type::getInt8Ty(context), *pointer = PointerType::get(context, 0);
    FunctionType *type = FunctionType::get(i64, {pointer}, false);
    if (Function *existing = module_.getFunction("adprof.descriptor_bytes"))
      return existing;
    Function *function = Function::Create(type, GlobalValue::InternalLinkage, "adprof.descriptor_bytes", module_);
    constexpr unsigned kElementBytes = 8, kRank = 20, kDimensions = 24, kDimensionBytes = 24, kExtent = 8;
    BasicBlock *entry = BasicBlock::Create(context, "", function), *head = BasicBlock::Create(context, "", function),
               *body = BasicBlock::Create(context, "", function), *done = BasicBlock::Create(context, "", function);
    IRBuilder<> build(entry);
    Value *descriptor = function->getArg(0);
    auto field = [&](Type *field_type, Value *offset) {
      return build.CreateLoad(field_type, build.CreateGEP(i8, descriptor, offset));
    };
    Value *element = field(i64, build.getInt64(kElementBytes));
    Value *rank = build.CreateZExt(field(i8, build.getInt64(kRank)), i64);
    build.CreateBr(head);
    build.SetInsertPoint(head);
    PHINode *index = build.CreatePHI(i64, 2), *bytes = build.CreatePHI(i64, 2);
    build.CreateCondBr(build.CreateICmpULT(index, rank), body, done);
    build.SetInsertPoint(body);
    Value *offset = build.CreateAdd(build.CreateMul(index, build.getInt64(kDimensionBytes)), build.getInt64(kDimensions + kExtent));
    Value *product = build.CreateMul(bytes, field(i64, offset));
    Value *next = build.CreateAdd(index, build.getInt64(1));
    build.CreateBr(head);
    index->addIncoming(build.getInt64(0), entry);
    index->addIncoming(next, body);
    bytes->addIncoming(element, entry);
    bytes->addIncoming(product, body);
    build.SetInsertPoint(done);
    build.CreateRet(bytes);
    return function;
  }

  Module &module_;
  GlobalVariable *records_;
  const ModuleSites &sites_;
  const FunctionEvents &events_;
  Function &function_;
  const AnalysisContext &context_;
  bool is_volatile_; ///< setjmp: what was stored since must survive a second return
  IRBuilder<> builder_;
  Accumulators sums_;
  Value *frame_ = nullptr;
  SmallVector<ReturnInst *, 4> returns_;
  DenseSet<const CallBase *> kept_pushes_;
  DenseMap<const Instruction *, unsigned> positions_;
  DenseMap<const BasicBlock *, SmallVector<const Event *, 8>> events_in_block_;
  DenseMap<const BasicBlock *, bool> dirty_in_, dirty_out_;
  DenseMap<const Instruction *, bool> dirty_before_;
};

// --- the records ------------------------------------------------------------------------------------------------------

/// One line of the text: fields separated by tabs, special characters escaped.
class TextWriter {
public:
  void line(ArrayRef<std::string> fields) {
    for (size_t i = 0; i < fields.size(); ++i) {
      if (i)
        text_ += '\t';
      for (char c : fields[i]) {
        if (c == '\t')
          text_ += "\\t";
        else if (c == '\n')
          text_ += "\\n";
        else if (c == '\\')
          text_ += "\\\\";
        else if (c != '\0')
          text_ += c;
      }
    }
    text_ += '\n';
  }
  const std::string &text() const { return text_; }

private:
  std::string text_;
};

struct Place {
  std::string file;
  std::string line = "0";
};

/* As it was given to the compiler: clang splits an absolute path where it has the start of the working directory in common. */
std::string source_name(StringRef directory, StringRef name, const DISubprogram *subprogram) {
  const DICompileUnit *unit = subprogram ? subprogram->getUnit() : nullptr;
  if (!unit || directory.empty() || directory == unit->getDirectory() || sys::path::is_absolute(name))
    return name.str();
  SmallString<256> path(directory);
  sys::path::append(path, name);
  return path.str().str();
}

Place place_of(const Instruction *instruction) {
  const DILocation *location = instruction ? instruction->getDebugLoc().get() : nullptr;
  if (!location || location->getLine() == 0)
    return {};
  return {source_name(location->getDirectory(), location->getFilename(), location->getScope()->getSubprogram()),
          std::to_string(location->getLine())};
}

Place place_of(const Function &function) {
  DISubprogram *subprogram = function.getSubprogram();
  return subprogram ? Place{source_name(subprogram->getDirectory(), subprogram->getFilename(), subprogram), std::to_string(subprogram->getLine())}
                    : Place{};
}

const char *role_name(adprof_procedure_role role) {
  switch (role) {
  case ADPROF_ROLE_JOINT: return "joint";
  case ADPROF_ROLE_FORWARD: return "forward";
  case ADPROF_ROLE_BACKWARD: return "backward";
  case ADPROF_ROLE_REGION_FORWARD: return "region_forward";
  case ADPROF_ROLE_REGION_BACKWARD: return "region_backward";
  }
  return "";
}

const char *kind_name(adprof_call_kind kind) {
  switch (kind) {
  case ADPROF_CALL_PRIMAL: return "primal";
  case ADPROF_CALL_ADJOINT: return "adjoint";
  case ADPROF_CALL_FORWARD: return "forward";
  case ADPROF_CALL_BACKWARD: return "backward";
  }
  return "";
}

uint64_t site_key(const Call &call) {
  std::string bytes = call.caller;
  bytes += '\0';
  bytes += call.callee;
  bytes += '\0';
  bytes += std::to_string(call.ordinal);
  return fnv1a(bytes);
}

std::string hex16(uint64_t value) {
  std::string digits;
  raw_string_ostream(digits) << format_hex_no_prefix(value, 16);
  return digits;
}

class RecordWriter {
public:
  RecordWriter(Module &module, const ModuleSites &sites, const Dialect &dialect)
      : module_(module), sites_(sites), dialect_(dialect), context_(module.getContext()) {}

  /// The global is filled in by `finish`: hooks refer to it before the text is known.
  GlobalVariable *declare() {
    Type *i32 = Type::getInt32Ty(context_), *i64 = Type::getInt64Ty(context_), *pointer = PointerType::get(context_, 0);
    module_type_ = StructType::get(context_, {i32, i32, i32, i32, pointer, pointer, pointer, pointer, pointer, i64, pointer});
    records_ = new GlobalVariable(module_, module_type_, false, GlobalValue::PrivateLinkage, ConstantAggregateZero::get(module_type_),
                                  "adprof.module");
    return records_;
  }

  void finish() {
    Type *i32 = Type::getInt32Ty(context_), *i64 = Type::getInt64Ty(context_);
    auto number32 = [&](uint64_t value) { return ConstantInt::get(i32, value); };
    auto number64 = [&](uint64_t value) { return ConstantInt::get(i64, value); };
    Constant *null = ConstantPointerNull::get(PointerType::get(context_, 0));

    std::vector<Constant *> procedures, calls;
    for (const Procedure &procedure : sites_.procedures)
      procedures.push_back(
          ConstantStruct::getAnon({number64(fnv1a(procedure.primal)), number32(procedure.role), number32(procedure.flags)}));
    for (const Call &call : sites_.calls)
      calls.push_back(ConstantStruct::getAnon(
          {number64(site_key(call)), number64(fnv1a(call.callee)), number32(call.kind), number32(call.flags)}));
    auto table = [&](std::vector<Constant *> &entries, const char *name) -> Constant * {
      if (entries.empty())
        return null;
      ArrayType *type = ArrayType::get(entries.front()->getType(), entries.size());
      return new GlobalVariable(module_, type, true, GlobalValue::PrivateLinkage, ConstantArray::get(type, entries), name);
    };
    auto numbers = [&](size_t count, const char *name) -> Constant * {
      if (!count)
        return null;
      ArrayType *type = ArrayType::get(i32, count);
      return new GlobalVariable(module_, type, false, GlobalValue::PrivateLinkage, ConstantAggregateZero::get(type), name);
    };
    std::string content = text();
    Constant *bytes = ConstantDataArray::getString(context_, content, false);
    auto *text_global = new GlobalVariable(module_, bytes->getType(), true, GlobalValue::PrivateLinkage, bytes, "adprof.text");
    text_global->setSection(ADPROF_TEXT_SECTION);
    text_global->setAlignment(Align(1));
    GlobalValue::SanitizerMetadata plain; // red zones would tear the section's lines apart
    plain.NoAddress = plain.NoHWAddress = true;
    text_global->setSanitizerMetadata(plain);
    appendToUsed(module_, {text_global});

    records_->setInitializer(ConstantStruct::get(
        module_type_,
        {number32(ADPROF_ABI_VERSION), number32(procedures.size()), number32(calls.size()), number32(0),
         table(procedures, "adprof.procedures"), table(calls, "adprof.calls"), numbers(2 * calls.size(), "adprof.site_ids"),
         numbers(procedures.size(), "adprof.procedure_ids"), text_global, number64(content.size()), null}));
    add_registration("adprof.register", "__adprof_register", true);
    add_registration("adprof.unregister", "__adprof_unregister", false);
  }

private:
  /// Before and after everything else that runs at start and end: instrumented code may run in other constructors.
  static constexpr int kPriority = 101;

  void add_registration(const char *name, const char *hook, bool is_constructor) {
    Type *nothing = Type::getVoidTy(context_), *pointer = PointerType::get(context_, 0);
    Function *function = Function::Create(FunctionType::get(nothing, false), GlobalValue::InternalLinkage, name, module_);
    function->addFnAttr(Attribute::NoUnwind);
    BasicBlock *entry = BasicBlock::Create(context_, "", function);
    IRBuilder<> builder(entry);
    FunctionCallee callee = module_.getOrInsertFunction(hook, FunctionType::get(nothing, {pointer}, false));
    auto *target = cast<Function>(callee.getCallee());
    if (sites_.functions.empty()) {
      // Nothing but lines of the primal: an object that must also link where there is no runtime.
      if (target->isDeclaration() && target->use_empty())
        target->setLinkage(GlobalValue::ExternalWeakLinkage);
      BasicBlock *present = BasicBlock::Create(context_, "", function), *done = BasicBlock::Create(context_, "", function);
      builder.CreateCondBr(builder.CreateIsNotNull(target), present, done);
      builder.SetInsertPoint(present);
      builder.CreateCall(callee, {records_});
      builder.CreateBr(done);
      builder.SetInsertPoint(done);
    } else {
      if (is_constructor) { // an undefined symbol where object and runtime are of different versions
        Constant *guard = module_.getOrInsertGlobal(kGuardName, builder.getInt8Ty());
        builder.CreateStore(guard, builder.CreateAlloca(pointer), true);
      }
      builder.CreateCall(callee, {records_});
    }
    builder.CreateRetVoid();
    if (is_constructor)
      appendToGlobalCtors(module_, function, kPriority);
    else
      appendToGlobalDtors(module_, function, kPriority);
  }

  std::string text() const {
    TextWriter writer;
    std::string directory;
    if (NamedMDNode *units = module_.getNamedMetadata("llvm.dbg.cu"); units && units->getNumOperands())
      directory = cast<DICompileUnit>(units->getOperand(0))->getDirectory().str();
    writer.line({"adprof", "1", module_.getSourceFileName(), "adprof " ADPROF_VERSION " (LLVM " LLVM_VERSION_STRING ")", directory});
    writer.line({"dialect", dialect_.name()});
    for (size_t i = 0; i < sites_.procedures.size(); ++i) {
      const Procedure &procedure = sites_.procedures[i];
      Place place = place_of(*procedure.function);
      writer.line({"proc", std::to_string(i), procedure.primal, role_name(procedure.role), procedure.function->getName().str(), place.file,
                   place.line});
    }
    for (size_t i = 0; i < sites_.calls.size(); ++i) {
      const Call &call = sites_.calls[i];
      Place place = place_of(call.call);
      writer.line({"call", std::to_string(i), hex16(site_key(call)), kind_name(call.kind), call.caller, call.callee,
                   std::to_string(call.ordinal), std::to_string(call.flags), place.file, place.line,
                   called_function(*call.call)->getName().str(), call.call->getFunction()->getName().str(), call.signature});
    }
    for (const SourceCall &call : sites_.source_calls) {
      Place place = place_of(call.call);
      SmallVector<std::string, 8> fields{"source",   call.caller, call.callee,   std::to_string(call.ordinal),
                                         place.file, place.line,  call.signature};
      if (call.in_copy)
        fields.push_back("copy");
      writer.line(fields);
    }
    for (const Doubt &doubt : sites_.doubts)
      writer.line({"doubt", doubt.kind, doubt.function->getName().str(), place_of(doubt.where).line, doubt.text});
    return writer.text();
  }

  Module &module_;
  const ModuleSites &sites_;
  const Dialect &dialect_;
  LLVMContext &context_;
  StructType *module_type_ = nullptr;
  GlobalVariable *records_ = nullptr;
};

} // namespace

bool insert_hooks(Module &module, const ModuleSites &sites, const AnalysisContext &context) {
  if (sites.functions.empty() && sites.source_calls.empty())
    return false;
  RecordWriter records(module, sites, context.dialect);
  GlobalVariable *global = records.declare();
  for (const FunctionEvents &events : sites.functions)
    FunctionRewriter(module, global, sites, events, context).run();
  records.finish();
  return true;
}

} // namespace adprof
