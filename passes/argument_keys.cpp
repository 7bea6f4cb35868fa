#include "passes/argument_keys.h"

#include "llvm/ADT/SmallString.h"
#include "llvm/IR/Instructions.h"
#include "llvm/IR/IntrinsicInst.h"
#include "llvm/IR/Module.h"
#include "llvm/IR/Operator.h"

using namespace llvm;

namespace adprof {
namespace {

class ArgumentTracer {
public:
  explicit ArgumentTracer(const DataLayout &layout) : layout_(layout) {}

  ArgumentKey trace(Value *value) {
    ArgumentKey key;
    key.exact = 1;
    key.portable = 1;
    follow(value, key, 0);
    return key;
  }

private:
  static constexpr unsigned kMaxSteps = 16;

  void step(ArgumentKey &key, StringRef what) {
    key.exact = hash_combine(key.exact, what);
    if (key.portable != hash_code(0))
      key.portable = hash_combine(key.portable, what);
    key.text += what;
  }

  /// The only store into a variable that is nothing but loaded and stored.
  static Value *single_value(AllocaInst *variable) {
    Value *value = nullptr;
    for (User *user : variable->users()) {
      if (isa<LoadInst>(user) || isa<DbgInfoIntrinsic>(user) || isa<LifetimeIntrinsic>(user))
        continue;
      auto *store = dyn_cast<StoreInst>(user);
      if (!store || store->getPointerOperand() != variable || value)
        return nullptr;
      value = store->getValueOperand();
    }
    return value;
  }

  /// The base address in a descriptor: the pointer inserted at index 0 of the aggregate stored into it.
  static Value *descriptor_base(AllocaInst *variable) {
    Value *base = nullptr;
    for (User *user : variable->users()) {
      auto *store = dyn_cast<StoreInst>(user);
      if (!store || store->getPointerOperand() != variable)
        continue;
      Value *aggregate = store->getValueOperand();
      Value *found = nullptr;
      while (auto *insert = dyn_cast<InsertValueInst>(aggregate)) {
        if (insert->getNumIndices() == 1 && insert->getIndices()[0] == 0 && !found)
          found = insert->getInsertedValueOperand();
        aggregate = insert->getAggregateOperand();
      }
      if (!found || (base && base != found))
        return nullptr;
      base = found;
    }
    return base && base->getType()->isPointerTy() ? base : nullptr;
  }

  /// Where a variable is copied from as a whole: flang passes copies of the descriptors of pointers and allocatables.
  static Value *copied_from(AllocaInst *variable) {
    Value *source = nullptr;
    for (User *user : variable->users()) {
      Value *from = nullptr;
      if (auto *copy = dyn_cast<MemTransferInst>(user); copy && copy->getRawDest() == variable)
        from = copy->getRawSource();
      else if (auto *store = dyn_cast<StoreInst>(user); store && store->getPointerOperand() == variable)
        if (auto *load = dyn_cast<LoadInst>(store->getValueOperand()); load && load->getType()->isAggregateType())
          from = load->getPointerOperand();
      if (from && source && from != source)
        return nullptr;
      if (from)
        source = from;
    }
    return source;
  }

  void leaf(Value *value, ArgumentKey &key, StringRef text, bool portable) {
    key.object = value;
    key.exact = hash_combine(key.exact, value);
    // A parameter or local of another function can only be told to be one.
    key.is_vague |= !portable;
    StringRef kind = portable ? text : isa<Argument>(value) ? "parameter" : isa<AllocaInst>(value) ? "local" : "";
    key.portable = kind.empty() || key.portable == hash_code(0) ? hash_code(0) : hash_combine(key.portable, kind);
    key.text += text;
  }

  void follow(Value *value, ArgumentKey &key, unsigned steps) {
    if (steps > kMaxSteps)
      return leaf(value, key, "?", false);
    value = value->stripPointerCasts();
    if (auto *cast = dyn_cast<CastInst>(value))
      return follow(cast->getOperand(0), key, steps + 1);
    if (auto *global = dyn_cast<GlobalValue>(value)) {
      // Constants that a front end names itself differ between objects; what they hold does not matter here.
      bool named = global->hasName() && !global->hasPrivateLinkage();
      return leaf(value, key, named ? global->getName() : "&constant", named);
    }
    if (auto *constant = dyn_cast<ConstantInt>(value)) {
      SmallString<24> digits;
      constant->getValue().toString(digits, 10, true);
      return leaf(value, key, digits, true);
    }
    if (isa<Constant>(value))
      return leaf(value, key, "constant", false);
    if (auto *argument = dyn_cast<Argument>(value))
      return leaf(value, key, "$" + std::to_string(argument->getArgNo() + 1), false);
    if (auto *variable = dyn_cast<AllocaInst>(value)) {
      Value *inner = single_value(variable);
      if (inner && (isa<ConstantInt>(inner) || isa<BinaryOperator>(inner))) // flang passes constants and expressions by reference
        return follow(inner, key, steps + 1);
      if (Value *base = descriptor_base(variable)) {
        step(key, "[]");
        return follow(base, key, steps + 1);
      }
      if (Value *source = copied_from(variable))
        return follow(source, key, steps + 1);
      return leaf(value, key, "local", false);
    }
    if (auto *load = dyn_cast<LoadInst>(value)) {
      Value *address = load->getPointerOperand()->stripPointerCasts();
      if (auto *variable = dyn_cast<AllocaInst>(address))
        if (Value *inner = single_value(variable); inner && isa<Argument>(inner))
          return follow(inner, key, steps + 1);
      step(key, "*");
      return follow(address, key, steps + 1);
    }
    if (auto *gep = dyn_cast<GEPOperator>(value)) {
      APInt offset(64, 0);
      if (!gep->accumulateConstantOffset(layout_, offset))
        step(key, "[i]");
      else if (!offset.isZero())
        step(key, "+" + std::to_string(offset.getSExtValue()));
      return follow(gep->getPointerOperand(), key, steps + 1);
    }
    if (auto *operation = dyn_cast<BinaryOperator>(value)) {
      // `n + 1`: both sides, as a tree.
      ArgumentKey left, right;
      left.exact = right.exact = 1;
      left.portable = right.portable = 1;
      follow(operation->getOperand(0), left, steps + 4);
      follow(operation->getOperand(1), right, steps + 4);
      key.object = value;
      key.exact = hash_combine(key.exact, operation->getOpcode(), left.exact, right.exact);
      key.is_vague |= left.is_vague || right.is_vague;
      bool portable = key.portable != hash_code(0) && left.portable != hash_code(0) && right.portable != hash_code(0);
      key.portable = portable ? hash_combine(key.portable, operation->getOpcode(), left.portable, right.portable) : hash_code(0);
      key.text += "(" + left.text + " " + operation->getOpcodeName() + " " + right.text + ")";
      return;
    }
    leaf(value, key, "value", false);
  }

  const DataLayout &layout_;
};

} // namespace

ArgumentKey trace_argument(Value *value, const DataLayout &layout) {
  return ArgumentTracer(layout).trace(value);
}

int argument_agreement(const ArgumentKey &left, const ArgumentKey &right, bool same_function) {
  if (same_function)
    return left.exact == right.exact ? 2 : 0;
  if (left.portable == hash_code(0) || left.portable != right.portable)
    return 0;
  return left.is_vague ? 1 : 2;
}

} // namespace adprof
