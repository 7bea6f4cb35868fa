#include "passes/adjoint_sites.h"

#include "passes/align.h"
#include "passes/argument_keys.h"
#include "passes/snapshot_runs.h"
#include "llvm/ADT/BitVector.h"
#include "llvm/ADT/DenseMap.h"
#include "llvm/ADT/DenseSet.h"
#include "llvm/ADT/SmallString.h"
#include "llvm/ADT/STLExtras.h"
#include "llvm/ADT/StringSet.h"
#include "llvm/Analysis/LoopInfo.h"
#include "llvm/IR/CFG.h"
#include "llvm/IR/GlobalAlias.h"
#include "llvm/IR/InstIterator.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Operator.h"
#include <map>
#include <memory>

using namespace llvm;

namespace adprof {

Function *called_function(const CallBase &call) {
  if (call.isInlineAsm())
    return nullptr;
  return dyn_cast<Function>(call.getCalledOperand()->stripPointerCastsAndAliases());
}

bool FunctionEvents::has_stack_traffic() const {
  return any_of(events, [](const Event &event) { return event.is_stack(StackRole::Push) || event.is_stack(StackRole::Pop); });
}

namespace {

/// What is compared when calls are aligned.
struct Features {
  Function *holder = nullptr;
  std::vector<ArgumentKey> arguments;
  unsigned loop_depth = 0;
  int64_t action = 0; ///< arm of a binomial loop, 0 outside
  bool is_conditional = false;
  unsigned nesting = 0; ///< conditionals and loops around it
  std::optional<int64_t> pushed_control;                ///< what the arm of a forward call tells the backward sweep
  std::optional<std::pair<int64_t, bool>> guard;        ///< a reverse call runs if a control is (true) or is not (false) this
};

/// One call of the source, with all its appearances in generated code.
struct SourceSlot {
  std::vector<unsigned> members; ///< indices into the list of features
};

class Finder {
public:
  Finder(Module &module, const AnalysisContext &context) : module_(module), context_(context) {}

  ModuleSites run() {
    classify_names();
    find_regions();
    find_quiet_functions();
    find_procedures();
    for (Function &function : module_)
      if (!function.isDeclaration())
        find_events(function);
    number_sites();
    find_snapshots();
    find_source_calls();
    find_doubts();
    return std::move(result_);
  }

private:
  struct KnownPrimal {
    bool plain = false, adjoint = false, forward = false, backward = false;
    bool has_adjoint() const { return adjoint || forward || backward; }
  };

  // --- names --------------------------------------------------------------------------------------------------------

  void classify_names() {
    for (Function &function : module_) {
      if (function.isIntrinsic())
        continue;
      ProcedureName name = context_.dialect.classify(function.getName());
      if (context_.dialect.is_wrapper(function.getName()) || context_.dialect.stack_operation(function.getName()))
        name.role = NameRole::Plain, name.primal = name.plain;
      KnownPrimal &known = known_[name.primal];
      switch (name.role) {
      case NameRole::Plain:
      case NameRole::Copy: known.plain = true; break;
      case NameRole::Adjoint: known.adjoint = true; break;
      case NameRole::Forward: known.forward = true; break;
      case NameRole::Backward: known.backward = true; break;
      }
      names_[&function] = std::move(name);
    }
  }

  /// The primal that a plain procedure or a copy of one is.
  std::string primal_identity(const ProcedureName &name) const {
    if (name.role != NameRole::Copy)
      return name.primal;
    auto known = known_.find(name.primal);
    return known != known_.end() && known->second.has_adjoint() ? name.primal : name.plain;
  }

  bool has_adjoint(StringRef primal) const {
    auto known = known_.find(primal);
    return known != known_.end() && known->second.has_adjoint();
  }

  static bool runs_region(StringRef name) {
    return name.starts_with("__kmpc_fork") || name.starts_with("__kmpc_omp_task_alloc") || name.starts_with("__kmpc_omp_target_task");
  }

  /// Bodies of parallel regions are functions of their own by now. With -g clang puts a wrapper between them and the fork.
  void find_regions() {
    for (Function &function : module_)
      for (Instruction &instruction : instructions(function)) {
        auto *call = dyn_cast<CallBase>(&instruction);
        Function *callee = call ? called_function(*call) : nullptr;
        if (!callee)
          continue;
        if (runs_region(callee->getName())) {
          for (Value *operand : call->args())
            if (auto *body = dyn_cast<Function>(operand->stripPointerCasts()); body && body->hasLocalLinkage())
              host_.insert({body, &function});
        } else if (callee->hasLocalLinkage() && !callee->isDeclaration() &&
                   (callee->getName().contains(".omp_outlined") || callee->getName().contains("omp_outlined_debug__"))) {
          host_.insert({callee, &function});
        }
      }
  }

  bool is_region(const Function &function) const { return host_.count(&function); }

  Function *outermost(Function *function) const {
    for (unsigned depth = 0; depth < 64; ++depth) {
      auto host = host_.find(function);
      if (host == host_.end() || host->second == function)
        return function;
      function = host->second;
    }
    return function;
  }

  /// The bodies of the regions that this call runs.
  SmallVector<Function *, 1> regions_run_by(const CallBase &call) const {
    SmallVector<Function *, 1> bodies;
    Function *callee = called_function(call);
    if (!callee)
      return bodies;
    if (is_region(*callee))
      bodies.push_back(callee);
    else if (runs_region(callee->getName()))
      for (Value *operand : call.args())
        if (auto *body = dyn_cast<Function>(operand->stripPointerCasts()); body && is_region(*body))
          bodies.push_back(body);
    return bodies;
  }

  // --- what a call can reach ----------------------------------------------------------------------------------------

  /// Library functions that cannot call back into instrumented code and do not end the program.
  bool is_known_library(Function &callee) {
    if (callee.isIntrinsic())
      return true;
    StringRef name = callee.getName();
    if (runs_region(name) || callee.doesNotReturn())
      return false;
    if (name.starts_with("_Fortran"))
      return !name.contains("Stop") && !name.contains("Exit") && !name.contains("Abort");
    if (name.starts_with("__kmpc_") || name.starts_with("omp_"))
      return !name.contains("task");
    LibFunc library_function;
    if (!callee.isDeclaration() || !context_.library_info(callee).getLibFunc(callee, library_function))
      return false;
    return name != "qsort" && name != "exit" && name != "abort";
  }

  /// Functions of this module that can neither push nor call anything but each other and known library functions.
  void find_quiet_functions() {
    for (Function &function : module_)
      if (!function.isDeclaration() && !function.isInterposable() && names_[&function].role == NameRole::Plain)
        quiet_.insert(&function);
    for (bool changed = true; changed;) {
      changed = false;
      for (Function &function : module_) {
        if (!quiet_.count(&function))
          continue;
        bool quiet = all_of(instructions(function), [this](Instruction &instruction) {
          auto *call = dyn_cast<CallBase>(&instruction);
          if (!call || call->isInlineAsm())
            return true;
          Function *callee = called_function(*call);
          return callee && (is_known_library(*callee) || quiet_.count(callee));
        });
        if (!quiet) {
          quiet_.erase(&function);
          changed = true;
        }
      }
    }
  }

  // --- procedures ---------------------------------------------------------------------------------------------------

  struct Evidence {
    bool pushes = false, pops = false, forward_calls = false, reverse_calls = false, primal_calls = false;
    bool any() const { return pushes || pops || forward_calls || reverse_calls; }
    bool is_forward() const { return pushes || forward_calls || primal_calls; }
    bool is_backward() const { return pops || reverse_calls; }
    void add(const Evidence &other) {
      pushes |= other.pushes, pops |= other.pops, forward_calls |= other.forward_calls, reverse_calls |= other.reverse_calls,
          primal_calls |= other.primal_calls;
    }
  };

  Evidence evidence_in(Function &function, bool with_regions, unsigned depth = 0) {
    Evidence evidence;
    for (Instruction &instruction : instructions(function)) {
      auto *call = dyn_cast<CallBase>(&instruction);
      Function *callee = call ? called_function(*call) : nullptr;
      if (!callee || callee->isIntrinsic())
        continue;
      if (const StackOperation *operation = context_.dialect.stack_operation(callee->getName())) {
        evidence.pushes |= operation->role == StackRole::Push;
        evidence.pops |= operation->role == StackRole::Pop;
        continue;
      }
      const ProcedureName &name = names_[callee];
      evidence.forward_calls |= name.role == NameRole::Forward;
      evidence.reverse_calls |= name.role == NameRole::Adjoint || name.role == NameRole::Backward;
      evidence.primal_calls |= (name.role == NameRole::Plain || name.role == NameRole::Copy) && has_adjoint(primal_identity(name));
      if (with_regions && depth < 8)
        for (Function *body : regions_run_by(*call))
          if (body != &function)
            evidence.add(evidence_in(*body, true, depth + 1));
    }
    return evidence;
  }

  void add_procedure(Function &function, std::string primal, adprof_procedure_role role, uint32_t flags) {
    procedure_index_[&function] = int(result_.procedures.size());
    result_.procedures.push_back({&function, std::move(primal), role, flags});
  }

  static bool cannot_hold_hooks(const Function &function) {
    return function.hasFnAttribute(Attribute::Naked) || function.isPresplitCoroutine();
  }

  void find_procedures() {
    for (Function &function : module_) {
      if (function.isDeclaration() || is_region(function) || is_stack_function(function))
        continue;
      const ProcedureName &name = names_[&function];
      Evidence evidence = evidence_in(function, true);
      std::optional<adprof_procedure_role> role;
      uint32_t flags = 0;
      std::string primal = name.primal;
      if (name.role == NameRole::Adjoint || name.role == NameRole::Forward || name.role == NameRole::Backward) {
        role = name.role == NameRole::Adjoint   ? ADPROF_ROLE_JOINT
               : name.role == NameRole::Forward ? ADPROF_ROLE_FORWARD
                                                : ADPROF_ROLE_BACKWARD;
        const KnownPrimal &known = known_[name.primal];
        bool has_siblings = known.plain + known.adjoint + known.forward + known.backward > 1;
        if (!evidence.any() && !has_siblings) {
          flags = ADPROF_PROCEDURE_GUESSED;
          // Adjoint values come back through pointers, or through globals: a function of values alone is none.
          if (!function.getReturnType()->isVoidTy() && none_of(function.args(), [](Argument &argument) { return argument.getType()->isPointerTy(); }))
            role.reset();
        }
      } else if (evidence.pushes && evidence.pops && evidence.reverse_calls && !context_.dialect.is_wrapper(function.getName())) {
        // Written by hand under a name of its own: a time loop with its checkpoints in main, say.
        role = ADPROF_ROLE_JOINT;
        primal = name.plain;
        doubt("unnamed-adjoint", &function, nullptr,
              "pushes, pops and calls adjoints though its name is not that of an adjoint; taken for the adjoint of itself");
      }
      if (!role)
        continue;
      if (cannot_hold_hooks(function)) {
        doubt("no-hooks", &function, nullptr, "is naked or a coroutine: left alone");
        continue;
      }
      add_procedure(function, std::move(primal), *role, flags);
    }
    // Regions of adjoint procedures.
    for (Function &function : module_) {
      if (function.isDeclaration() || !is_region(function))
        continue;
      auto owner = procedure_index_.find(outermost(&function));
      Evidence evidence = evidence_in(function, false);
      if (owner == procedure_index_.end() || !(evidence.is_forward() || evidence.is_backward()))
        continue;
      add_procedure(function, result_.procedures[owner->second].primal,
                    evidence.is_forward() && evidence.is_backward() ? ADPROF_ROLE_JOINT
                    : evidence.is_forward()                         ? ADPROF_ROLE_REGION_FORWARD
                                                                    : ADPROF_ROLE_REGION_BACKWARD,
                    0);
    }
  }

  /// The AD stack itself: what it does inside is counted at its calls.
  bool is_stack_function(const Function &function) const { return context_.dialect.stack_operation(function.getName()); }

  // --- events -------------------------------------------------------------------------------------------------------

  void doubt(StringRef kind, Function *function, Instruction *where, const Twine &text) {
    result_.doubts.push_back({kind.str(), function, where, text.str()});
  }

  /// Blocks in the order of the source. Front ends emit them so, but for the loops that flang puts into regions, whose
  /// bodies stand behind everything else: there, bodies go before what follows the loop.
  SmallVector<BasicBlock *, 32> source_order(Function &function) {
    SmallVector<BasicBlock *, 32> order;
    if (!function.getName().contains("..omp_par")) {
      for (BasicBlock &block : function)
        order.push_back(&block);
      return order;
    }
    LoopInfo loops(context_.dominators(function));
    SmallPtrSet<BasicBlock *, 32> seen;
    struct Visit {
      BasicBlock *block;
      SmallVector<BasicBlock *, 4> successors; // the last one is visited first and ends up last
    };
    auto open = [&](BasicBlock *block) {
      Visit visit{block, {}};
      Loop *loop = loops.getLoopFor(block);
      for (bool inside : {true, false})
        for (BasicBlock *successor : successors(block))
          if ((!loop || loop->contains(successor)) == inside)
            visit.successors.push_back(successor);
      return visit;
    };
    SmallVector<Visit, 16> stack{open(&function.getEntryBlock())};
    seen.insert(&function.getEntryBlock());
    while (!stack.empty()) {
      if (stack.back().successors.empty()) {
        order.push_back(stack.pop_back_val().block);
        continue;
      }
      BasicBlock *next = stack.back().successors.pop_back_val();
      if (seen.insert(next).second)
        stack.push_back(open(next));
    }
    std::reverse(order.begin(), order.end());
    for (BasicBlock &block : function)
      if (!seen.count(&block))
        order.push_back(&block);
    return order;
  }

  void find_events(Function &function) {
    if (is_stack_function(function) || cannot_hold_hooks(function))
      return;
    FunctionEvents events{&function, -1, {}};
    if (auto found = procedure_index_.find(&function); found != procedure_index_.end())
      events.procedure = found->second;
    std::string caller = events.procedure >= 0 ? result_.procedures[events.procedure].primal
                                               : primal_identity(names_[outermost(&function)]);
    for (BasicBlock *block : source_order(function))
      for (Instruction &instruction : *block)
        if (auto *call = dyn_cast<CallBase>(&instruction))
          add_event(*call, caller, events);
    bool interesting = events.procedure >= 0 ||
                       any_of(events.events, [](const Event &event) { return event.kind != EventKind::Flush; });
    if (interesting)
      result_.functions.push_back(std::move(events));
  }

  void add_event(CallBase &call, const std::string &caller, FunctionEvents &events) {
    if (call.isInlineAsm())
      return;
    Function *callee = called_function(call);
    if (!callee) {
      events.events.push_back({&call, EventKind::Flush});
      return;
    }
    if (callee->isIntrinsic())
      return;
    if (const StackOperation *operation = context_.dialect.stack_operation(callee->getName())) {
      unsigned needed = operation->role == StackRole::BinomialInit || operation->role == StackRole::BinomialNext
                            ? operation->role == StackRole::BinomialInit ? 2 : 1
                            : operation->bits.argument_count();
      if (call.arg_size() < needed)
        doubt("arguments", events.function, &call,
              callee->getName() + " is called with " + Twine(call.arg_size()) + " arguments; its size needs argument " + Twine(needed));
      else if (operation->role != StackRole::Ignore)
        events.events.push_back({&call, EventKind::Stack, operation});
      return;
    }
    const ProcedureName &name = names_[callee];
    std::optional<adprof_call_kind> kind;
    std::string primal = name.primal;
    bool in_procedure = events.procedure >= 0;
    switch (name.role) {
    case NameRole::Adjoint: kind = ADPROF_CALL_ADJOINT; break;
    case NameRole::Forward: kind = ADPROF_CALL_FORWARD; break;
    case NameRole::Backward: kind = ADPROF_CALL_BACKWARD; break;
    case NameRole::Plain:
    case NameRole::Copy:
      primal = primal_identity(name);
      if (in_procedure && has_adjoint(primal) && !is_region(*callee))
        kind = ADPROF_CALL_PRIMAL;
      break;
    }
    if (kind && name.role != NameRole::Plain && name.role != NameRole::Copy && !is_adjoint_like(*callee, name))
      kind.reset();
    if (kind && (call.isMustTailCall() || isa<CallBrInst>(call))) {
      doubt("tail-call", events.function, &call, callee->getName() + " is called in a way that leaves no room behind the call");
      kind.reset();
    }
    if (kind) {
      Call record{&call, *kind, caller, primal, 0, 0, ""};
      if (!in_procedure)
        record.flags |= ADPROF_CALL_ROOT;
      const KnownPrimal &known = known_[primal];
      if (*kind != ADPROF_CALL_PRIMAL && callee->isDeclaration() && !(known.plain || (known.adjoint + known.forward + known.backward > 1)))
        record.flags |= ADPROF_CALL_GUESSED;
      events.events.push_back({&call, EventKind::Site, nullptr, unsigned(result_.calls.size())});
      result_.calls.push_back(std::move(record));
      return;
    }
    if (!is_known_library(*callee) && !quiet_.count(callee))
      events.events.push_back({&call, EventKind::Flush});
  }

  /// A name alone is weak: known library functions and functions that find_procedures refused are not adjoints.
  bool is_adjoint_like(Function &callee, const ProcedureName &) {
    if (!callee.isDeclaration())
      return procedure_index_.count(&callee) || cannot_hold_hooks(callee);
    return !is_known_library(callee);
  }

  // --- identity -----------------------------------------------------------------------------------------------------

  /// Calls of a procedure, those in its regions where they are run, in source order.
  template <typename Visitor> void visit_calls(Function &function, Visitor visit, unsigned depth = 0) {
    for (BasicBlock *block : source_order(function))
      for (Instruction &instruction : *block) {
        auto *call = dyn_cast<CallBase>(&instruction);
        if (!call)
          continue;
        visit(*call);
        if (depth < 8)
          for (Function *body : regions_run_by(*call))
            if (body != &function)
              visit_calls(*body, visit, depth + 1);
      }
  }

  Features features_of(CallBase &call) {
    Features features;
    features.holder = call.getFunction();
    for (Value *argument : call.args())
      features.arguments.push_back(trace_argument(argument, module_.getDataLayout()));
    auto [loops, inserted] = loops_.try_emplace(features.holder);
    if (inserted)
      loops->second = std::make_unique<LoopInfo>(context_.dominators(*features.holder));
    features.loop_depth = loops->second->getLoopDepth(call.getParent());
    features.action = binomial_action(call);
    features.is_conditional = is_conditional(*call.getParent());
    features.nesting = nesting(*call.getParent());
    features.pushed_control = pushed_control(call);
    features.guard = guard_of(*call.getParent());
    return features;
  }

  bool is_conditional(BasicBlock &block) {
    DominatorTree &dominators = context_.dominators(*block.getParent());
    return any_of(*block.getParent(), [&](BasicBlock &other) {
      return isa<ReturnInst>(other.getTerminator()) && dominators.isReachableFromEntry(&other) && !dominators.dominates(&block, &other);
    });
  }

  unsigned nesting(BasicBlock &block) {
    DominatorTree &dominators = context_.dominators(*block.getParent());
    auto [found, inserted] = post_dominators_.try_emplace(block.getParent());
    if (inserted)
      found->second = std::make_unique<PostDominatorTree>(*block.getParent());
    unsigned depth = 0;
    for (DomTreeNode *node = dominators.getNode(&block); node; node = node->getIDom())
      // What follows a loop is behind its exit's edge, but bound to run.
      if (BasicBlock *from = node->getBlock(); succ_size(from) > 1 && !found->second->dominates(&block, from))
        depth += any_of(successors(from), [&](BasicBlock *to) { return dominators.dominates(BasicBlockEdge(from, to), &block); });
    return depth;
  }

  /// The constant that the arm of a conditional pushes behind a forward call: pushControl1b(1).
  std::optional<int64_t> pushed_control(CallBase &call) {
    constexpr unsigned kMaxBlocks = 8;
    BasicBlock::iterator point = std::next(call.getIterator());
    BasicBlock *block = call.getParent();
    for (unsigned i = 0; i < kMaxBlocks && block; ++i) {
      for (; point != block->end(); ++point) {
        auto *push = dyn_cast<CallBase>(&*point);
        Function *callee = push ? called_function(*push) : nullptr;
        const StackOperation *operation = callee ? context_.dialect.stack_operation(callee->getName()) : nullptr;
        if (!operation || operation->role != StackRole::Push || push->arg_empty() || !is_control(callee->getName()))
          continue;
        return constant_argument(push->getArgOperand(0));
      }
      block = block->getSingleSuccessor();
      if (block)
        point = block->begin();
    }
    return std::nullopt;
  }

  static bool is_control(StringRef ir_name) {
    std::string base = StringRef(parse_ir_name(ir_name).base).lower();
    return StringRef(base).starts_with("pushcontrol") || base == "pushinteger4" || base == "pushbit";
  }

  /// A constant, by value or (Fortran) by the address of a variable that holds nothing else.
  static std::optional<int64_t> constant_argument(Value *value) {
    if (auto *constant = dyn_cast<ConstantInt>(value))
      return constant->getSExtValue();
    if (auto *global = dyn_cast<GlobalVariable>(value); global && global->isConstant() && global->hasInitializer())
      if (auto *constant = dyn_cast<ConstantInt>(global->getInitializer()))
        return constant->getSExtValue();
    std::optional<int64_t> result;
    if (!isa<AllocaInst>(value))
      return result;
    for (User *user : value->users()) {
      auto *store = dyn_cast<StoreInst>(user);
      if (!store)
        continue;
      auto *constant = dyn_cast<ConstantInt>(store->getValueOperand());
      if (!constant || result)
        return std::nullopt;
      result = constant->getSExtValue();
    }
    return result;
  }

  /// The innermost comparison of a variable with a constant that a block depends on.
  std::optional<std::pair<int64_t, bool>> guard_of(BasicBlock &block) {
    DominatorTree &dominators = context_.dominators(*block.getParent());
    for (DomTreeNode *node = dominators.getNode(&block); node; node = node->getIDom()) {
      BasicBlock *from = node->getBlock();
      auto leads_here = [&](BasicBlock *to) { return dominators.dominates(BasicBlockEdge(from, to), &block); };
      if (auto *branch = dyn_cast<SwitchInst>(from->getTerminator())) {
        for (auto &arm : branch->cases())
          if (leads_here(arm.getCaseSuccessor()))
            return std::pair{arm.getCaseValue()->getSExtValue(), true};
      } else if (auto *conditional = dyn_cast<BranchInst>(from->getTerminator()); conditional && conditional->isConditional()) {
        auto *comparison = dyn_cast<ICmpInst>(conditional->getCondition());
        if (!comparison || !comparison->isEquality() || !isa<LoadInst>(comparison->getOperand(0)))
          continue;
        auto *constant = dyn_cast<ConstantInt>(comparison->getOperand(1));
        for (unsigned side : {0u, 1u})
          if (constant && leads_here(conditional->getSuccessor(side)))
            return std::pair{constant->getSExtValue(), (comparison->getPredicate() == ICmpInst::ICMP_EQ) == (side == 0)};
      }
    }
    return std::nullopt;
  }

  static std::string describe(const Features &features) {
    std::string text;
    for (const ArgumentKey &key : features.arguments)
      text += (text.empty() ? "" : ",") + key.text;
    return text;
  }

  /// The action of a binomial loop in whose arm a call stands: the constant that a switch or comparison on the variable that
  /// adBinomial_next sets has found.
  int64_t binomial_action(CallBase &call) {
    Function &function = *call.getFunction();
    auto [found, inserted] = action_variables_.try_emplace(&function);
    if (inserted)
      for (Instruction &instruction : instructions(function))
        if (auto *next = dyn_cast<CallBase>(&instruction))
          if (Function *callee = called_function(*next))
            if (const StackOperation *operation = context_.dialect.stack_operation(callee->getName());
                operation && operation->role == StackRole::BinomialNext && next->arg_size())
              found->second.push_back(next->getArgOperand(0)->stripPointerCasts());
    if (found->second.empty())
      return 0;
    auto is_action = [&](Value *value) {
      auto *load = dyn_cast<LoadInst>(value);
      return load && is_contained(found->second, load->getPointerOperand()->stripPointerCasts());
    };
    DominatorTree &dominators = context_.dominators(function);
    for (DomTreeNode *node = dominators.getNode(call.getParent()); node; node = node->getIDom()) {
      Instruction *terminator = node->getBlock()->getTerminator();
      if (auto *branch = dyn_cast<SwitchInst>(terminator); branch && is_action(branch->getCondition())) {
        for (auto &arm : branch->cases())
          if (dominators.dominates(BasicBlockEdge(node->getBlock(), arm.getCaseSuccessor()), call.getParent()))
            return arm.getCaseValue()->getSExtValue();
      } else if (auto *conditional = dyn_cast<BranchInst>(terminator); conditional && conditional->isConditional()) {
        auto *comparison = dyn_cast<ICmpInst>(conditional->getCondition());
        if (!comparison || !comparison->isEquality() || !is_action(comparison->getOperand(0)))
          continue;
        auto *constant = dyn_cast<ConstantInt>(comparison->getOperand(1));
        BasicBlock *taken = conditional->getSuccessor(comparison->getPredicate() == ICmpInst::ICMP_EQ ? 0 : 1);
        if (constant && dominators.dominates(BasicBlockEdge(node->getBlock(), taken), call.getParent()))
          return constant->getSExtValue();
      }
    }
    return 0;
  }

  /// How well the arguments of a call fit into those of another that has more (an adjoint repeats the primal's, with
  /// adjoint variables between): the heaviest common subsequence; 64 where all of the shorter list is certainly in it.
  static int argument_overlap(const Features &left, const Features &right) {
    bool same_function = left.holder == right.holder;
    size_t columns = right.arguments.size() + 1;
    std::vector<unsigned> length((left.arguments.size() + 1) * columns, 0);
    for (size_t i = 1; i <= left.arguments.size(); ++i)
      for (size_t j = 1; j < columns; ++j)
        length[i * columns + j] =
            std::max({length[(i - 1) * columns + j], length[i * columns + j - 1],
                      length[(i - 1) * columns + j - 1] +
                          unsigned(argument_agreement(left.arguments[i - 1], right.arguments[j - 1], same_function))});
    size_t shorter = std::min(left.arguments.size(), right.arguments.size());
    return shorter ? int(32 * length.back() / shorter) : 32;
  }

  static int likeness(const Features &left, const Features &right) {
    // 1 keeps order decisive among equals: pairing something is better than pairing nothing.
    return 1 + argument_overlap(left, right) + (left.loop_depth == right.loop_depth ? 16 : 0) + (left.nesting == right.nesting ? 8 : 0);
  }

  /// The globals and parameters that a forward call is given are all missing in a reverse call of the same function: they are
  /// two calls, an inactive and a sliced one. Locals prove nothing: sections go through another temporary for each call.
  static bool contradicts(const Features &forward, const Features &reverse) {
    if (forward.holder != reverse.holder)
      return false;
    bool has_objects = false;
    for (const ArgumentKey &key : forward.arguments) {
      if (!key.object || !(isa<GlobalVariable>(key.object) || isa<Argument>(key.object)) || !key.object->getType()->isPointerTy())
        continue;
      has_objects = true;
      if (any_of(reverse.arguments, [&](const ArgumentKey &other) { return key.exact == other.exact; }))
        return false;
    }
    return has_objects;
  }

  /// Of a forward with a reverse call: the arms they stand in must not contradict each other.
  static int mirrored_likeness(const Features &forward, const Features &reverse) {
    int score = likeness(forward, reverse) + 32;
    if (forward.pushed_control && reverse.guard && forward.is_conditional && reverse.is_conditional)
      score += (*forward.pushed_control == reverse.guard->first) == reverse.guard->second ? 31 : -31;
    return score;
  }

  /// Merges a further list into the slots found so far; what fits nowhere becomes a slot of its own, between its neighbours.
  static void merge(std::vector<SourceSlot> &slots, std::vector<SourceSlot> list, const PairScore &score) {
    std::vector<int> pairs = align(unsigned(slots.size()), unsigned(list.size()), score);
    std::vector<SourceSlot> merged;
    size_t next = 0;
    for (size_t i = 0; i < slots.size(); ++i) {
      if (pairs[i] >= 0)
        while (next < size_t(pairs[i]))
          merged.push_back(std::move(list[next++]));
      merged.push_back(std::move(slots[i]));
      if (pairs[i] >= 0) {
        append_range(merged.back().members, list[next].members);
        ++next;
      }
    }
    while (next < list.size())
      merged.push_back(std::move(list[next++]));
    slots = std::move(merged);
  }

  /// One call can only run in one arm of a conditional, the other only in another. (Not only in the arms' first blocks:
  /// copies of sections into contiguous temporaries cut an arm.)
  bool in_opposite_arms(const CallBase &left, const CallBase &right) {
    if (left.getFunction() != right.getFunction())
      return false;
    DominatorTree &dominators = context_.dominators(*const_cast<Function *>(left.getFunction()));
    auto *a = const_cast<BasicBlock *>(left.getParent()), *b = const_cast<BasicBlock *>(right.getParent());
    if (!dominators.isReachableFromEntry(a) || !dominators.isReachableFromEntry(b))
      return false;
    BasicBlock *branch = dominators.findNearestCommonDominator(a, b);
    auto leads_only_to = [&](BasicBlock *arm, const BasicBlock *block) {
      return dominators.dominates(BasicBlockEdge(branch, arm), block);
    };
    return branch != a && branch != b &&
           any_of(successors(branch), [&](BasicBlock *arm) { return leads_only_to(arm, a) && !leads_only_to(arm, b); }) &&
           any_of(successors(branch), [&](BasicBlock *arm) { return leads_only_to(arm, b) && !leads_only_to(arm, a); });
  }

  /// One list in order, as slots: a call in split mode in one arm and in joint mode in the other is one call whose mode is
  /// chosen at run time.
  std::vector<SourceSlot> slots_of(const std::vector<unsigned> &list, bool modes_may_be_chosen) {
    std::vector<SourceSlot> slots;
    for (unsigned i : list) {
      if (modes_may_be_chosen && !slots.empty() && slots.back().members.size() == 1) {
        unsigned before = slots.back().members.front();
        if (is_split(before) != is_split(i) && in_opposite_arms(*result_.calls[before].call, *result_.calls[i].call) &&
            argument_overlap(features_[before], features_[i]) == 64) {
          slots.back().members.push_back(i);
          continue;
        }
      }
      slots.push_back({{i}});
    }
    return slots;
  }

  bool is_split(unsigned call) const {
    return result_.calls[call].kind == ADPROF_CALL_FORWARD || result_.calls[call].kind == ADPROF_CALL_BACKWARD;
  }

  void number_sites() {
    // Calls of one caller and callee, in each of the procedures generated from the caller.
    std::map<std::pair<std::string, std::string>, std::vector<unsigned>> groups;
    DenseMap<const CallBase *, unsigned> index_of;
    for (unsigned i = 0; i < result_.calls.size(); ++i)
      index_of[result_.calls[i].call] = i;
    features_.resize(result_.calls.size());
    for (const FunctionEvents &events : result_.functions) {
      if (is_region(*events.function) && procedure_index_.count(outermost(events.function)))
        continue; // visited where it is run
      visit_calls(*events.function, [&](CallBase &call) {
        auto found = index_of.find(&call);
        if (found == index_of.end())
          return;
        Call &record = result_.calls[found->second];
        features_[found->second] = features_of(call);
        record.signature = describe(features_[found->second]);
        groups[{record.caller, record.callee}].push_back(found->second);
      });
    }
    std::map<std::pair<std::string, std::string>, std::vector<Features>> primal_calls = calls_in_primals(groups);
    for (auto &[key, calls] : groups)
      number_group(calls, primal_calls[key]);
  }

  /// The features of the calls in primal procedures of this module, for those pairs of caller and callee that adjoints have.
  template <typename Groups>
  std::map<std::pair<std::string, std::string>, std::vector<Features>> calls_in_primals(const Groups &groups) {
    StringSet<> callers;
    for (auto &group : groups)
      callers.insert(group.first.first);
    std::map<std::pair<std::string, std::string>, std::vector<Features>> result;
    StringSet<> done;
    for (Function &function : module_) {
      const ProcedureName &name = names_[&function];
      if (function.isDeclaration() || is_region(function) || procedure_index_.count(&function) ||
          (name.role != NameRole::Plain && name.role != NameRole::Copy))
        continue;
      std::string caller = primal_identity(name);
      if (!callers.count(caller) || !done.insert(caller).second) // a copy tells nothing that the primal does not
        continue;
      visit_calls(function, [&](CallBase &call) {
        Function *callee = called_function(call);
        if (!callee || callee->isIntrinsic())
          return;
        std::pair<std::string, std::string> key{caller, primal_identity(names_[callee])};
        if (groups.count(key))
          result[key].push_back(features_of(call));
      });
    }
    return result;
  }

  /// f_b beside f_fwd and f_bwd: sweeps of the same source that have nothing to do with each other.
  bool of_split_caller(unsigned call) const { return procedure_role(result_.calls[call]) != ADPROF_ROLE_JOINT; }

  void number_group(const std::vector<unsigned> &calls, const std::vector<Features> &primal_calls) {
    // Ordinary code calls one adjoint after the other in the order of its own text.
    auto runs_backwards = [&](unsigned i) { return result_.calls[i].is_reverse() && !(result_.calls[i].flags & ADPROF_CALL_ROOT); };
    // Lists by direction, caller and arm of a binomial loop: in each, a call of the source stands once. Reverse lists are
    // read backwards. Calls outside the loop and in its first turn (action 5) together are a whole sweep.
    std::map<std::tuple<bool, bool, int64_t>, std::vector<unsigned>> lists;
    for (unsigned i : calls)
      lists[{runs_backwards(i), of_split_caller(i), features_[i].action == 5 ? 0 : features_[i].action}].push_back(i);
    for (auto &[key, list] : lists)
      if (std::get<0>(key))
        std::reverse(list.begin(), list.end());
    auto merged = [&](bool modes_may_be_chosen) {
      std::vector<SourceSlot> slots;
      for (auto &[key, list] : lists) {
        std::vector<SourceSlot> further = slots_of(list, modes_may_be_chosen);
        merge(slots, further, [&](unsigned slot, unsigned element) {
          int best = -1;
          bool has_rivals = false; // complementary calls of the same sweeps, all of the other mode
          bool fits = false;
          for (unsigned right : further[element].members)
            for (unsigned left : slots[slot].members) {
              bool complementary = runs_backwards(left) != runs_backwards(right);
              if (complementary && contradicts(features_[runs_backwards(left) ? right : left], features_[runs_backwards(left) ? left : right]))
                return -1;
              if (complementary && of_split_caller(left) == of_split_caller(right)) {
                has_rivals = true;
                fits |= is_split(left) == is_split(right);
              }
              best = std::max(best, complementary ? mirrored_likeness(features_[left], features_[right])
                                                  : likeness(features_[left], features_[right]) + 32);
            }
          return has_rivals && !fits ? -1 : best;
        });
      }
      join_crossing_arms(slots);
      return slots;
    };
    // Calls in opposite arms that differ in mode only are one call of the source, unless the primal shows that they are two.
    std::vector<SourceSlot> slots = merged(primal_calls.empty());
    if (slots.size() > primal_calls.size() && !primal_calls.empty())
      slots = merged(true);
    assign_ordinals(slots, primal_calls);
  }

  /// The arms of a conditional need not stand in mirrored order in the backward sweep. Reverse calls of two slots of the same
  /// sweeps change places, or one moves to a forward call that order left over, where arguments and controls agree better so.
  void join_crossing_arms(std::vector<SourceSlot> &slots) {
    for (bool split_caller : {false, true}) {
      // The only call of one direction in a slot; -1 for none, -2 for several.
      auto side = [&](const SourceSlot &slot, bool reverse) {
        int found = -1;
        for (unsigned member : slot.members)
          if (result_.calls[member].is_reverse() == reverse && of_split_caller(member) == split_caller &&
              !(result_.calls[member].flags & ADPROF_CALL_ROOT))
            found = found == -1 ? int(member) : -2;
        return found;
      };
      // To join what order left over: all arguments (of other functions, most) and the loop depth agree, controls not against it.
      const int kAgreement = 1 + (split_caller ? 40 : 64) + 16 + 32;
      constexpr int kImpossible = -10000;
      auto score = [&](int forward, int reverse, bool crosses) {
        if (forward < 0 || reverse < 0)
          return 0;
        const Features &left = features_[unsigned(forward)], &right = features_[unsigned(reverse)];
        if (is_split(unsigned(forward)) != is_split(unsigned(reverse)) || contradicts(left, right) || (crosses && !(left.is_conditional && right.is_conditional)))
          return kImpossible;
        return mirrored_likeness(left, right);
      };
      auto exchange = [&](SourceSlot &from, SourceSlot &to, int reverse) {
        if (reverse < 0)
          return;
        llvm::erase(from.members, unsigned(reverse));
        to.members.push_back(unsigned(reverse));
      };
      // Each exchange raises the sum of scores: it ends. The limit is for huge procedures.
      size_t budget = 100 * slots.size();
      for (bool changed = true; changed && budget > 0;) {
        changed = false;
        for (size_t i = 0; i < slots.size(); ++i)
          for (size_t j = 0; j < slots.size() && budget > 0; ++j) {
            int forward_i = side(slots[i], false), reverse_i = side(slots[i], true);
            int forward_j = side(slots[j], false), reverse_j = side(slots[j], true);
            if (i == j || reverse_i < 0 || forward_j < 0 || forward_i == -2 || reverse_j == -2)
              continue;
            int now = score(forward_i, reverse_i, false) + score(forward_j, reverse_j, false);
            int then = score(forward_i, reverse_j, true) + score(forward_j, reverse_i, true);
            if (then <= now || (now == 0 && then < kAgreement))
              continue;
            exchange(slots[i], slots[j], reverse_i);
            exchange(slots[j], slots[i], reverse_j);
            changed = true;
            --budget;
          }
      }
    }
    llvm::erase_if(slots, [](const SourceSlot &slot) { return slot.members.empty(); });
  }

  void assign_ordinals(const std::vector<SourceSlot> &slots, const std::vector<Features> &primal_calls) {
    // The primal's own text corrects the numbers where calls were sliced away on both sides.
    std::vector<int> ordinals(slots.size());
    for (size_t i = 0; i < slots.size(); ++i)
      ordinals[i] = int(i);
    if (primal_calls.size() >= slots.size()) {
      auto score = [&](unsigned slot, unsigned primal) {
        int best = 0;
        for (unsigned member : slots[slot].members)
          best = std::max(best, likeness(primal_calls[primal], features_[member]));
        return best;
      };
      ordinals = align(unsigned(slots.size()), unsigned(primal_calls.size()), score);
      // What order left over on both sides: arms of conditionals that stand in another order. Likest first.
      BitVector taken(unsigned(primal_calls.size()));
      for (int ordinal : ordinals)
        if (ordinal >= 0)
          taken.set(unsigned(ordinal));
      for (;;) {
        int best = -1, best_slot = -1, best_primal = -1;
        for (unsigned slot = 0; slot < slots.size(); ++slot)
          for (unsigned primal = 0; ordinals[slot] < 0 && primal < primal_calls.size(); ++primal)
            if (!taken[primal] && score(slot, primal) > best) {
              best = score(slot, primal);
              best_slot = int(slot), best_primal = int(primal);
            }
        if (best_slot < 0)
          break;
        ordinals[unsigned(best_slot)] = best_primal;
        taken.set(unsigned(best_primal));
      }
      // Forward sweeps keep the order of the primal.
      std::vector<int *> forward_ordinals;
      std::vector<int> in_order;
      for (size_t i = 0; i < slots.size(); ++i)
        if (any_of(slots[i].members, [&](unsigned member) { return !result_.calls[member].is_reverse(); })) {
          forward_ordinals.push_back(&ordinals[i]);
          in_order.push_back(ordinals[i]);
        }
      llvm::sort(in_order);
      for (size_t i = 0; i < in_order.size(); ++i)
        *forward_ordinals[i] = in_order[i];
    }
    for (size_t i = 0; i < slots.size(); ++i) {
      for (unsigned member : slots[i].members) {
        Call &call = result_.calls[member];
        call.ordinal = unsigned(ordinals[i]);
        call.partner = partner_of(member, slots[i].members);
        if (call.flags & ADPROF_CALL_ROOT)
          continue;
        // The other side of the same sweeps. Of a split pair, the other half may be in another object.
        bool has_other_side = any_of(slots[i].members, [&](unsigned other) {
          return result_.calls[other].is_reverse() != call.is_reverse() && of_split_caller(other) == of_split_caller(member);
        });
        if (!has_other_side && is_other_half_here(call))
          call.flags |= call.is_reverse() ? ADPROF_CALL_SLICED : ADPROF_CALL_UNPAIRED;
      }
    }
  }

  bool is_other_half_here(const Call &call) const {
    adprof_procedure_role role = procedure_role(call);
    if (role != ADPROF_ROLE_FORWARD && role != ADPROF_ROLE_BACKWARD)
      return true;
    adprof_procedure_role other = role == ADPROF_ROLE_FORWARD ? ADPROF_ROLE_BACKWARD : ADPROF_ROLE_FORWARD;
    return any_of(result_.procedures, [&](const Procedure &procedure) { return procedure.primal == call.caller && procedure.role == other; });
  }

  /// The call on the other side, of the same mode; one in the same function if there is one.
  int partner_of(unsigned call, const std::vector<unsigned> &members) const {
    int partner = -1;
    for (unsigned other : members) {
      const Call &left = result_.calls[call], &right = result_.calls[other];
      bool same_mode = (left.kind == ADPROF_CALL_PRIMAL || left.kind == ADPROF_CALL_ADJOINT) ==
                       (right.kind == ADPROF_CALL_PRIMAL || right.kind == ADPROF_CALL_ADJOINT);
      if (left.is_reverse() == right.is_reverse() || !same_mode)
        continue;
      if (partner < 0 || features_[other].holder == features_[call].holder)
        partner = int(other);
    }
    return partner;
  }

  /// Role of the procedure (not of the region) that holds a call. The other half of a split pair may be in another object.
  adprof_procedure_role procedure_role(const Call &call) const {
    auto found = procedure_index_.find(outermost(call.call->getFunction()));
    return found == procedure_index_.end() ? ADPROF_ROLE_JOINT : result_.procedures[found->second].role;
  }

  // --- snapshots ----------------------------------------------------------------------------------------------------

  void find_snapshots() {
    result_.snapshots.resize(result_.calls.size());
    std::vector<SnapshotRun> runs(result_.calls.size());
    for (const FunctionEvents &events : result_.functions) {
      if (events.procedure < 0)
        continue;
      SnapshotRunFinder finder(events, context_.dominators(*events.function));
      for (const Event &event : events.events)
        if (event.kind == EventKind::Site) {
          StackRole role = result_.calls[event.call_index].is_reverse() ? StackRole::Pop : StackRole::Push;
          runs[event.call_index] = finder.run_before(*event.call, role);
        }
    }
    for (unsigned i = 0; i < runs.size(); ++i) {
      const Call &call = result_.calls[i];
      SnapshotRun &run = runs[i];
      if ((call.kind != ADPROF_CALL_PRIMAL && call.kind != ADPROF_CALL_ADJOINT) || run.operations.empty() || call.partner < 0)
        continue;
      const SnapshotRun &other = runs[unsigned(call.partner)];
      unsigned count = call.is_reverse() ? mirrored_operations(other, run, module_.getDataLayout())
                                         : mirrored_operations(run, other, module_.getDataLayout());
      size_t first = count ? run.operations.size() - count : 0;
      result_.snapshots[i].begin = run.places[first];
      if (call.kind == ADPROF_CALL_PRIMAL && count)
        for (size_t j = first; j < run.operations.size(); ++j)
          if (is_out_of_reach(*run.operations[j], *call.call))
            result_.snapshots[i].kept.push_back(run.operations[j]);
    }
  }

  // --- the primal's source ------------------------------------------------------------------------------------------

  void find_source_calls() {
    for (Function &function : module_) {
      const ProcedureName &name = names_[&function];
      if (function.isDeclaration() || is_region(function) || procedure_index_.count(&function) || is_stack_function(function) ||
          (name.role != NameRole::Plain && name.role != NameRole::Copy))
        continue;
      std::string caller = primal_identity(name);
      bool in_copy = name.in_generated_module || caller != name.plain;
      std::map<std::string, unsigned> ordinals;
      visit_calls(function, [&](CallBase &call) {
        Function *callee = called_function(call);
        if (!callee || callee->isIntrinsic() || is_region(*callee) || is_stack_function(*callee) || is_library_name(*callee))
          return;
        const ProcedureName &callee_name = names_[callee];
        if (callee_name.role != NameRole::Plain && callee_name.role != NameRole::Copy)
          return;
        std::string primal = primal_identity(callee_name);
        unsigned ordinal = ordinals[primal]++;
        result_.source_calls.push_back({&call, caller, primal, ordinal, in_copy, describe(features_of(call))});
      });
    }
  }

  bool is_library_name(Function &callee) {
    StringRef name = callee.getName();
    return is_known_library(callee) || name.starts_with("_Fortran") || name.starts_with("__kmpc_") || name.starts_with("omp_") ||
           (callee.isDeclaration() && (name == "exit" || name == "abort"));
  }

  // --- what was not understood --------------------------------------------------------------------------------------

  void find_doubts() {
    for (const FunctionEvents &events : result_.functions) {
      if (events.procedure < 0)
        continue;
      for (const Event &event : events.events) {
        if (event.kind == EventKind::Site && (result_.calls[event.call_index].flags & ADPROF_CALL_GUESSED))
          doubt("guessed", events.function, event.call,
                called_function(*event.call)->getName() + " is called, but nothing in this object shows that it is the adjoint of " +
                    result_.calls[event.call_index].callee + "; if it is none, name it in \"ignore\" of a dialect file");
        Function *callee = event.kind == EventKind::Flush ? called_function(*event.call) : nullptr;
        if (callee && callee->isDeclaration() && context_.dialect.looks_like_stack_operation(callee->getName()))
          doubt("stack-name", events.function, event.call,
                callee->getName() + " looks like a push or pop of the AD stack; if it is one, give its size in a dialect file");
      }
    }
  }

  Module &module_;
  const AnalysisContext &context_;
  ModuleSites result_;
  DenseMap<const Function *, ProcedureName> names_;
  std::map<std::string, KnownPrimal, std::less<>> known_;
  DenseMap<const Function *, Function *> host_;
  DenseSet<const Function *> quiet_;
  DenseMap<const Function *, int> procedure_index_;
  std::vector<Features> features_;
  DenseMap<const Function *, std::unique_ptr<LoopInfo>> loops_;
  DenseMap<const Function *, std::unique_ptr<PostDominatorTree>> post_dominators_;
  DenseMap<const Function *, SmallVector<Value *, 1>> action_variables_;
};

} // namespace

ModuleSites find_adjoint_sites(Module &module, const AnalysisContext &context) { return Finder(module, context).run(); }

} // namespace adprof
