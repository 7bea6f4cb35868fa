// What the names of an AD tool mean: which procedures are adjoints of which primals, and which calls push, pop, repeat or
// steer a binomial schedule, with sizes. Built in for Tapenade; a JSON file (docs/dialect.md) extends or replaces that.
// Works on names alone and never looks at IR.
#ifndef ADPROF_PASSES_DIALECT_H
#define ADPROF_PASSES_DIALECT_H

#include "passes/names.h"
#include "llvm/ADT/StringMap.h"
#include "llvm/Support/Error.h"
#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace adprof {

/// A number of bits, computed from the arguments of a push or pop: `8`, `$2*8`, `($2+$3)*16`, `bits:1`, `descriptor($1)`.
/// Written in bytes unless it begins with `bits:`.
class SizeExpression {
public:
  enum class Op : uint8_t { Constant, Argument, Descriptor, Add, Subtract, Multiply, Divide };
  struct Step {
    Op op;
    int64_t value; ///< the constant, or the argument's number from 1
  };

  static llvm::Expected<SizeExpression> parse(llvm::StringRef text);

  /// Steps in reverse Polish order; the result is in bits.
  const std::vector<Step> &steps() const { return steps_; }
  /// The largest argument number used, 0 for none.
  unsigned argument_count() const;
  /// The value where no argument is used.
  std::optional<int64_t> constant_bits() const;

  /// Evaluates with `leaf` giving the value of an Argument or Descriptor step, nothing where that is impossible or a division by zero.
  std::optional<int64_t> evaluate(const std::function<std::optional<int64_t>(const Step &)> &leaf) const;

private:
  std::vector<Step> steps_;
};

enum class StackRole : uint8_t {
  Push, Pop, RepeatStart, RepeatReset, RepeatEnd, BinomialInit, BinomialNext,
  Ignore, ///< neither instrumented nor able to reach instrumented code
};

struct StackOperation {
  StackRole role;
  SizeExpression bits; ///< of Push and Pop
};

enum class NameRole : uint8_t { Plain, Adjoint, Forward, Backward, Copy };

struct ProcedureName {
  NameRole role = NameRole::Plain;
  std::string primal; ///< identity of the primal: `module.host.name`, without suffixes of the AD tool
  std::string plain;  ///< the same with the procedure's own suffix kept
  bool in_generated_module = false;
};

class Dialect {
public:
  /// Tapenade's defaults in C and Fortran, and `_adm` with `_fwd`/`_bwd`.
  static Dialect builtin();
  /// Reads the file; the error names the file, the member, what was found and what is accepted.
  static llvm::Expected<Dialect> from_file(llvm::StringRef path);
  static llvm::Expected<Dialect> from_json(llvm::StringRef text);

  const std::string &name() const { return name_; }
  ProcedureName classify(llvm::StringRef ir_name) const;
  /// What a call of this function does to the AD stack; null for nothing. Case does not matter.
  const StackOperation *stack_operation(llvm::StringRef ir_name) const;
  /// A procedure that only wraps pushes and pops: never an adjoint procedure, whatever its name.
  bool is_wrapper(llvm::StringRef ir_name) const;
  /// Looks like a push or pop and is none that this dialect knows.
  bool looks_like_stack_operation(llvm::StringRef ir_name) const;

private:
  struct Pattern {
    std::string prefix, suffix;
    NameRole role;
  };
  /// Strips the longest pattern that fits; returns its role.
  NameRole strip(std::string &name, bool ignore_case) const;
  void add_pattern(llvm::StringRef text, NameRole role);
  void add_operation(llvm::StringRef name, StackRole role, llvm::StringRef bits = "0");

  std::string name_ = "tapenade";
  std::vector<Pattern> patterns_;
  std::vector<Pattern> module_patterns_;
  std::vector<std::string> wrappers_;
  llvm::StringMap<StackOperation> operations_;
};

} // namespace adprof
#endif
