#include "cli/compiler_driver.h"

#include <algorithm>
#include <array>
#include <cctype>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <iterator>
#include <regex>
#include <sys/wait.h>
#include <unistd.h>

namespace adprof::cli {

namespace fs = std::filesystem;

namespace {

constexpr const char *kUsage =
    R"(Usage: adprof cc [--compiler COMMAND] [--dialect FILE] [--[no-]adstack] [--shared-runtime | --static-runtime] ARGUMENTS...
The compiler with adprof's pass, and its runtime where it links; also installed as adprof-clang, adprof-clang++ and
adprof-flang, so that `make CC=adprof-clang FC=adprof-flang` is the whole integration. All other arguments are the compiler's.

  --compiler COMMAND  the clang or flang to run; else ADPROF_CC or, for Fortran, ADPROF_FC; else the one of the pass's LLVM
  --dialect FILE      names of another AD tool, or of your own push and pop routines (docs/dialect.md)
  --adstack           compile against adprof's own adStack.h
  --no-adstack        do not link adprof's AD stack, which serves programs that bring none
  --shared-runtime    link the shared runtime: the default with -shared
  --static-runtime    link the runtime into the output: the default for programs

Next: `adprof run ./program`.
)";

bool ends_with_any(const std::string &text, std::initializer_list<const char *> endings) {
  return std::ranges::any_of(endings, [&](const char *ending) { return text.ends_with(ending); });
}

bool is_fortran(const std::string &file) {
  return ends_with_any(file, {".f",   ".F",   ".for", ".FOR", ".ftn", ".FTN", ".fpp", ".FPP", ".f77", ".F77",
                              ".f90", ".F90", ".f95", ".F95", ".f03", ".F03", ".f08", ".F08", ".f18", ".F18"});
}

bool is_cxx(const std::string &file) {
  return ends_with_any(file, {".cc", ".cp", ".cxx", ".cpp", ".CPP", ".c++", ".C", ".ii"});
}

/// Options of clang and flang whose value is the next argument: it is no input.
bool takes_a_value(const std::string &option) {
  static constexpr std::array kOptions = {"-o",
                                          "-x",
                                          "-I",
                                          "-L",
                                          "-l",
                                          "-D",
                                          "-U",
                                          "-T",
                                          "-u",
                                          "-z",
                                          "-e",
                                          "-J",
                                          "-B",
                                          "-G",
                                          "-F",
                                          "-arch",
                                          "-target",
                                          "--target",
                                          "-include",
                                          "-imacros",
                                          "-include-pch",
                                          "-isystem",
                                          "-iquote",
                                          "-idirafter",
                                          "-iprefix",
                                          "-iwithprefix",
                                          "-isysroot",
                                          "--sysroot",
                                          "-Xclang",
                                          "-Xflang",
                                          "-Xlinker",
                                          "-Xassembler",
                                          "-Xpreprocessor",
                                          "-Xanalyzer",
                                          "-Xarch_host",
                                          "-mllvm",
                                          "-MF",
                                          "-MT",
                                          "-MQ",
                                          "-MJ",
                                          "-module-dir",
                                          "-rpath",
                                          "-framework",
                                          "-resource-dir",
                                          "-dumpdir",
                                          "-aux-info",
                                          "-plugin-arg",
                                          "-serialize-diagnostics",
                                          "--serialize-diagnostics",
                                          "-working-directory",
                                          "--param",
                                          "-fplugin-arg"};
  return std::ranges::find(kOptions, option) != kOptions.end();
}

/// Words of a response file, quoted as the compiler's driver does.
std::vector<std::string> response_words(const std::string &path) {
  std::ifstream file(path);
  std::vector<std::string> words;
  std::string word;
  bool in_word = false;
  char quote = 0;
  for (std::istreambuf_iterator<char> it(file), end; it != end; ++it) {
    char c = *it;
    if (c == '\\' && std::next(it) != end && quote != '\'') {
      word += *++it;
      in_word = true;
    } else if (quote ? c == quote : c == '"' || c == '\'') {
      quote = quote ? 0 : c;
      in_word = true;
    } else if (!quote && std::isspace(static_cast<unsigned char>(c))) {
      if (in_word)
        words.push_back(word);
      word.clear();
      in_word = false;
    } else {
      word += c;
      in_word = true;
    }
  }
  if (in_word)
    words.push_back(word);
  return words;
}

/// Response files in place of their names, to see what is asked; the compiler gets them unopened.
void expand(const std::string &argument, std::vector<std::string> &to, int depth = 0) {
  if (depth < 8 && argument.size() > 1 && argument[0] == '@' && fs::is_regular_file(argument.substr(1)))
    for (const std::string &word : response_words(argument.substr(1)))
      expand(word, to, depth + 1);
  else
    to.push_back(argument);
}

/// Takes `--name VALUE` or `--name=VALUE` out of the compiler's arguments.
Result<bool> take_value(const std::vector<std::string> &arguments, size_t &i, const std::string &name,
                        std::string &value) {
  if (arguments[i].starts_with(name + "=")) {
    value = arguments[i].substr(name.size() + 1);
  } else if (arguments[i] == name) {
    if (++i == arguments.size())
      return std::unexpected(Error{ErrorKind::kUsage, name, "wants a value behind it; see `adprof cc --help`"});
    value = arguments[i];
  } else {
    return false;
  }
  if (value.empty())
    return std::unexpected(Error{ErrorKind::kUsage, name, "its value is empty; see `adprof cc --help`"});
  return true;
}

std::string file_name(const std::string &path) {
  return fs::path(path).filename().string();
}

/// What the sources and options ask for, from the compiler's arguments alone.
void classify(CompilerRequest &request, std::optional<Language> fixed) {
  std::vector<std::string> words;
  for (const std::string &argument : request.arguments)
    expand(argument, words);
  bool stops_before_link = false, generates_code = true, fortran = false, cxx = false;
  std::string forced; // -x
  for (size_t i = 0; i < words.size(); ++i) {
    const std::string &word = words[i];
    if (word == "-x" && i + 1 < words.size())
      forced = words[i + 1];
    else if (word.starts_with("-x") && word.size() > 2)
      forced = word.substr(2);
    if (word == "-c" || word == "-S" || word == "-r" || word == "--precompile" || word == "-emit-ast")
      stops_before_link = true;
    else if (word == "-E" || word == "-M" || word == "-MM" || word == "-fsyntax-only" || word == "--analyze")
      stops_before_link = true, generates_code = false;
    else if (word == "-shared" || word == "--shared")
      request.shared_object = true;
    else if (word == "-fuse-ld=gold")
      request.gold = true;
    else if (word.starts_with("-g") && !word.starts_with("-gcc"))
      request.has_debug_option = true;
    fortran |= forced.starts_with("f95");
    cxx |= forced.starts_with("c++");
    if (takes_a_value(word)) {
      ++i;
    } else if (word == "-" || !word.starts_with("-")) {
      request.inputs = true;
      fortran |= is_fortran(word);
      cxx |= is_cxx(word);
    }
  }
  request.compiles = request.inputs && generates_code;
  request.links = request.inputs && !stops_before_link;
  if (fixed)
    request.language = *fixed;
  else if (fortran)
    request.language = Language::kFortran;
  else if (cxx)
    request.language = Language::kCxx;
}

std::vector<std::string> split_words(const std::string &text) {
  std::vector<std::string> words;
  std::string word;
  for (char c : text + " ")
    if (c != ' ') {
      word += c;
    } else if (!word.empty()) {
      words.push_back(word);
      word.clear();
    }
  return words;
}

std::optional<fs::path> find_program(const std::string &name) {
  if (name.find('/') != std::string::npos)
    return access(name.c_str(), X_OK) == 0 ? std::optional<fs::path>(name) : std::nullopt;
  const char *path = std::getenv("PATH");
  std::string directory;
  for (const char *p = path ? path : "";; ++p)
    if (*p && *p != ':') {
      directory += *p;
    } else {
      fs::path candidate = fs::path(directory.empty() ? "." : directory) / name;
      if (access(candidate.c_str(), X_OK) == 0 && fs::is_regular_file(candidate))
        return candidate;
      directory.clear();
      if (!*p)
        return std::nullopt;
    }
}

/// Names under which the compilers of one LLVM version are installed, best first.
std::vector<std::string> compiler_names(Language language, int version) {
  const std::string number = std::to_string(version), bin = "/usr/lib/llvm-" + number + "/bin/";
  switch (language) {
  case Language::kC:
    return {"clang-" + number, bin + "clang"};
  case Language::kCxx:
    return {"clang++-" + number, bin + "clang++"};
  case Language::kFortran:
    break;
  }
  return {"flang-" + number, "flang-new-" + number, bin + "flang", bin + "flang-new"};
}

/// Output and exit status of a program, without a shell in between.
std::optional<std::string> output_of(std::vector<std::string> words) {
  int ends[2];
  if (pipe(ends) != 0)
    return std::nullopt;
  pid_t child = fork();
  if (child == 0) {
    dup2(ends[1], STDOUT_FILENO);
    close(ends[0]);
    close(ends[1]);
    std::vector<char *> argv;
    for (std::string &word : words)
      argv.push_back(word.data());
    argv.push_back(nullptr);
    execvp(argv[0], argv.data());
    _exit(127);
  }
  close(ends[1]);
  std::string text;
  char buffer[4096];
  for (ssize_t n; (n = read(ends[0], buffer, sizeof buffer)) > 0;)
    text.append(buffer, static_cast<size_t>(n));
  close(ends[0]);
  int status = 0;
  if (child < 0 || waitpid(child, &status, 0) < 0 || !WIFEXITED(status) || WEXITSTATUS(status) != 0)
    return std::nullopt;
  return text;
}

std::string versions_of(const Installation &installation) {
  std::string text;
  for (const auto &[version, path] : installation.plugins)
    text += (text.empty() ? "" : " or ") + std::to_string(version);
  return text;
}

struct Compiler {
  std::vector<std::string> words;
  int version = 0;
};

Result<Compiler> chosen_compiler(const std::string &command, const std::string &where,
                                 const Installation &installation) {
  std::vector<std::string> words = split_words(command);
  if (words.empty())
    return std::unexpected(Error{ErrorKind::kUsage, where, "names no compiler"});
  if (file_name(words.back()).starts_with("adprof"))
    return std::unexpected(
        Error{ErrorKind::kUsage, where,
              "'" + command + "' is this wrapper itself; name the clang or flang that it should run"});
  if (!find_program(words[0]))
    return std::unexpected(Error{ErrorKind::kUsage, where, "'" + words[0] + "' is not found or cannot be run"});
  std::vector<std::string> ask = words;
  ask.push_back("--version");
  std::optional<std::string> text = output_of(ask);
  std::optional<int> version = text ? llvm_version(*text) : std::nullopt;
  if (!version)
    return std::unexpected(Error{ErrorKind::kUsage, where,
                                 "'" + command + "' is neither clang nor flang" +
                                     (text ? " (it says '" + text->substr(0, text->find('\n')) + "')" : "") +
                                     ", and the pass is a plugin for LLVM " + versions_of(installation)});
  return Compiler{words, *version};
}

Result<Compiler> find_compiler(const CompilerRequest &request, const Installation &installation) {
  if (!request.compiler.empty())
    return chosen_compiler(request.compiler, "--compiler", installation);
  const char *variable = request.language == Language::kFortran ? "ADPROF_FC" : "ADPROF_CC";
  if (const char *value = std::getenv(variable); value && *value) {
    std::string command = value;
    // One variable for C and C++: clang++ stands beside clang.
    if (request.language == Language::kCxx && command.find("clang++") == std::string::npos)
      if (size_t at = command.rfind("clang"); at != std::string::npos)
        command.insert(at + 5, "++");
    return chosen_compiler(command, variable, installation);
  }
  std::string tried;
  for (auto plugin = installation.plugins.rbegin(); plugin != installation.plugins.rend(); ++plugin)
    for (const std::string &name : compiler_names(request.language, plugin->first)) {
      if (std::optional<fs::path> path = find_program(name))
        return Compiler{{path->string()}, plugin->first};
      tried += (tried.empty() ? "" : ", ") + name;
    }
  const std::string package = request.language == Language::kFortran ? "flang-" : "clang-";
  return std::unexpected(Error{ErrorKind::kUsage, "compiler",
                               "none found for the pass's LLVM; looked for " + tried + ". Install " + package +
                                   versions_of(installation) + ", or name one with --compiler or " + variable});
}

Result<Installation> find_installation() {
  std::error_code error;
  fs::path self = fs::read_symlink("/proc/self/exe", error);
  if (error)
    return std::unexpected(Error{ErrorKind::kUnreadable, "/proc/self/exe", error.message()});
  const fs::path prefix = self.parent_path().parent_path();
  Installation found;
  // Installed: <libdir>/adprof/llvm<version>/adprof_pass.so, <libdir>/libadprof_runtime.a.
  found.library_directory = prefix / ADPROF_INSTALL_LIBDIR;
  for (fs::directory_iterator it(found.library_directory / "adprof", error), end; !error && it != end;
       it.increment(error)) {
    int version = 0;
    const fs::path plugin = it->path() / "adprof_pass.so";
    if (std::sscanf(it->path().filename().c_str(), "llvm%d", &version) == 1 && fs::exists(plugin))
      found.plugins[version] = plugin;
  }
  found.include_directory = prefix / ADPROF_INSTALL_INCLUDEDIR;
  // Build tree: lib/adprof_pass.so beside bin/.
  if (found.plugins.empty() && fs::exists(prefix / "lib" / "adprof_pass.so")) {
    found.plugins[ADPROF_LLVM_VERSION] = prefix / "lib" / "adprof_pass.so";
    found.library_directory = prefix / "lib";
    found.include_directory = ADPROF_SOURCE_INCLUDE_DIRECTORY;
  }
  if (found.plugins.empty())
    return std::unexpected(Error{ErrorKind::kUnreadable, self.string(),
                                 "the pass is not beside it: looked for " +
                                     (prefix / ADPROF_INSTALL_LIBDIR / "adprof/llvm*/adprof_pass.so").string() +
                                     " and " + (prefix / "lib/adprof_pass.so").string() +
                                     "; run `cmake --install` again"});
  return found;
}

int fail(const std::string &name, const Error &error) {
  std::cerr << name << ": " << error.where << ": " << error.what << '\n';
  return 2;
}

} // namespace

Result<CompilerRequest> read_compiler_request(const std::vector<std::string> &arguments,
                                              std::optional<Language> fixed) {
  CompilerRequest request;
  for (size_t i = 0; i < arguments.size(); ++i) {
    const std::string &argument = arguments[i];
    Result<bool> taken = take_value(arguments, i, "--compiler", request.compiler);
    if (taken && !*taken)
      taken = take_value(arguments, i, "--dialect", request.dialect);
    if (!taken)
      return std::unexpected(taken.error());
    if (*taken)
      continue;
    if (argument == "--adstack" || argument == "--no-adstack")
      request.adstack = argument == "--adstack";
    else if (argument == "--shared-runtime" || argument == "--static-runtime")
      request.shared_runtime = argument == "--shared-runtime";
    else
      request.arguments.push_back(argument);
    // The value of a compiler's option is never ours.
    if (takes_a_value(argument) && i + 1 < arguments.size())
      request.arguments.push_back(arguments[++i]);
  }
  if (!request.dialect.empty()) {
    std::error_code error;
    if (!fs::is_regular_file(request.dialect, error))
      return std::unexpected(Error{ErrorKind::kUnreadable, "--dialect", "'" + request.dialect + "' is not a file"});
    request.dialect = fs::absolute(request.dialect).string();
  }
  if (!fixed && !request.compiler.empty() && request.compiler.find("flang") != std::string::npos)
    fixed = Language::kFortran;
  classify(request, fixed);
  return request;
}

std::optional<int> llvm_version(const std::string &text) {
  static const std::regex pattern(R"((?:clang|flang|flang-new) version (\d+)\.)");
  std::smatch match;
  if (!std::regex_search(text, match, pattern))
    return std::nullopt;
  return std::stoi(match[1]);
}

Result<std::vector<std::string>> compiler_command(const CompilerRequest &request, const Installation &installation,
                                                  const std::vector<std::string> &words, int version) {
  auto plugin = installation.plugins.find(version);
  if (plugin == installation.plugins.end())
    return std::unexpected(Error{
        ErrorKind::kUsage, words.back(),
        "is of LLVM " + std::to_string(version) + ", and the pass is built for LLVM " + versions_of(installation) +
            "; use a compiler of that version, or build adprof with -DADPROF_LLVM_VERSION=" + std::to_string(version)});
  std::vector<std::string> command = words;
  if (request.compiles) {
    command.push_back("-fpass-plugin=" + plugin->second.string());
    // A decision is reported at the user's own line. Changes no code; -g0 keeps it off.
    if (!request.has_debug_option)
      command.emplace_back("-gline-tables-only");
  }
  if (request.inputs && request.adstack.value_or(false))
    command.push_back("-I" + installation.include_directory.string());
  command.insert(command.end(), request.arguments.begin(), request.arguments.end());
  // flang -O3 versions loops over assumed-shape arrays for unit stride before the pass runs: every call in them would
  // be two sites. Behind the user's options: -O3 would turn it on again.
  if (request.compiles && request.language == Language::kFortran)
    command.emplace_back("-fno-version-loops-for-stride");
  if (request.links) {
    // For the linker only: a bare file name would be read in the language of an -x before it. flang 19 knows no
    // -Xlinker.
    auto to_linker = [&](const std::string &word) { command.push_back("-Wl," + word); };
    const bool shared = request.shared_runtime.value_or(request.shared_object);
    const std::string directory = installation.library_directory.string();
    const std::string ending = shared ? ".so" : ".a";
    // Behind all else, so that it serves only programs that bring none: their own push routines come first.
    if (request.adstack.value_or(true)) {
      for (const char *word : {"--push-state", "--as-needed"})
        to_linker(word);
      to_linker(directory + "/libadprof_adstack" + ending);
      to_linker("--pop-state");
    }
    to_linker(directory + "/libadprof_runtime" + ending);
    if (shared) {
      to_linker("-rpath");
      to_linker(directory);
    } else if (!request.shared_object && !request.gold) {
      // One runtime in the process, also when it opens instrumented libraries later.
      to_linker("--export-dynamic-symbol=__adprof_*");
    }
  }
  return command;
}

int run_cc(int argc, char **argv) {
  const std::string name = file_name(argv[0]);
  std::optional<Language> fixed;
  if (name == "adprof-clang")
    fixed = Language::kC;
  else if (name == "adprof-clang++")
    fixed = Language::kCxx;
  else if (name == "adprof-flang")
    fixed = Language::kFortran;
  const std::string speaker = fixed ? name : "adprof cc";
  const std::vector<std::string> arguments(argv + 1, argv + argc);
  if (!fixed && arguments.empty()) {
    std::cerr << kUsage;
    return 2;
  }
  if (!fixed && (arguments[0] == "--help" || arguments[0] == "-h")) {
    std::cout << kUsage;
    return 0;
  }
  Result<Installation> installation = find_installation();
  if (!installation)
    return fail(speaker, installation.error());
  Result<CompilerRequest> request = read_compiler_request(arguments, fixed);
  if (!request)
    return fail(speaker, request.error());
  Result<Compiler> compiler = find_compiler(*request, *installation);
  if (!compiler)
    return fail(speaker, compiler.error());
  Result<std::vector<std::string>> command =
      compiler_command(*request, *installation, compiler->words, compiler->version);
  if (!command)
    return fail(speaker, command.error());
  if (!request->dialect.empty())
    setenv("ADPROF_DIALECT", request->dialect.c_str(), 1); // read by the pass
  std::vector<char *> words;
  for (std::string &word : *command)
    words.push_back(word.data());
  words.push_back(nullptr);
  execvp(words[0], words.data());
  return fail(speaker, {ErrorKind::kUsage, words[0], std::strerror(errno)});
}

} // namespace adprof::cli
