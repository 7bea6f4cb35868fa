/// Errors of the optimizer. Values in, values out: nothing here prints or exits; the CLI maps kinds to exit codes.
#pragma once

#include <expected>
#include <string>

namespace adprof {

enum class ErrorKind {
  kUsage,      ///< the caller asked for something that cannot be: names it, and what is accepted
  kUnreadable, ///< a file that is missing, truncated, of another kind or of a newer version
  kInvalid,    ///< readable, but its content contradicts itself
  kInfeasible, ///< a well-posed question whose answer is no: over budget, does not match
  kInternal,   ///< our bug
};

/// `where` names the file, field, site or option; `what` says what was found, what is accepted and the next step.
struct Error {
  ErrorKind kind = ErrorKind::kInternal;
  std::string where;
  std::string what;
};

template <typename T> using Result = std::expected<T, Error>;

} // namespace adprof
