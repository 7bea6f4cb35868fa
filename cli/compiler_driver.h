/// `adprof cc` and adprof-clang, adprof-clang++, adprof-flang: the compiler with the pass added where it compiles and
/// the runtime where it links. Behaves as the compiler does in all else: every argument it does not know is the
/// compiler's. Called by main before any parsing; must not know of profiles.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "optimizer/profile/error.h"

namespace adprof::cli {

enum class Language { kC, kCxx, kFortran };

/// Where the parts of adprof are, in a build tree or installed.
struct Installation {
  std::map<int, std::filesystem::path> plugins; ///< by LLVM version
  std::filesystem::path library_directory;      ///< of libadprof_runtime and libadprof_adstack
  std::filesystem::path include_directory;      ///< of adStack.h
};

/// What the arguments ask of the compiler.
struct CompilerRequest {
  std::vector<std::string> arguments; ///< the compiler's own
  std::string compiler;               ///< --compiler; may hold several words, `ccache clang-22`
  std::string dialect;                ///< --dialect, absolute
  std::optional<bool> adstack; ///< --adstack, --no-adstack; default: linked where no other serves, header not found
  std::optional<bool> shared_runtime; ///< --shared-runtime, --static-runtime; default: shared for -shared, else static
  Language language = Language::kC;
  bool inputs = false;   ///< there is something to work on
  bool compiles = false; ///< some input goes through code generation
  bool links = false;
  bool shared_object = false;    ///< -shared
  bool has_debug_option = false; ///< some -g...
  bool gold = false;             ///< -fuse-ld=gold
};

/// `fixed` is the language that the wrapper's own name says, if it does; else the sources and `--compiler` decide.
Result<CompilerRequest> read_compiler_request(const std::vector<std::string> &arguments, std::optional<Language> fixed);

/// The major version in the output of `compiler --version`; nothing for a compiler that is neither clang nor flang.
std::optional<int> llvm_version(const std::string &version_text);

/// The whole command. `words` is the compiler, `version` its LLVM version.
Result<std::vector<std::string>> compiler_command(const CompilerRequest &request, const Installation &installation,
                                                  const std::vector<std::string> &words, int version);

/// Runs the compiler in place of this process; returns (an exit code) only when it cannot. argv[0] is the wrapper's
/// name: `cc`, or a path that ends in adprof-clang, adprof-clang++ or adprof-flang.
int run_cc(int argc, char **argv);

} // namespace adprof::cli
