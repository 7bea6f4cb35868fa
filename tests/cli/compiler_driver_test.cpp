// What the compiler driver makes of a command line. That the commands work is tested in tests/e2e/cc.
#include "cli/compiler_driver.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <fstream>

namespace adprof::cli {
namespace {

const Installation kInstalled{{{22, "/opt/lib/adprof/llvm22/adprof_pass.so"}}, "/opt/lib", "/opt/include/adprof"};

CompilerRequest read(std::vector<std::string> arguments, std::optional<Language> fixed = std::nullopt) {
  Result<CompilerRequest> request = read_compiler_request(arguments, fixed);
  EXPECT_TRUE(request) << request.error().what;
  return request.value_or(CompilerRequest{});
}

std::string command(std::vector<std::string> arguments) {
  auto words = compiler_command(read(std::move(arguments)), kInstalled, {"clang"}, 22);
  EXPECT_TRUE(words);
  std::string text;
  for (const std::string &word : words.value_or(std::vector<std::string>{}))
    text += (text.empty() ? "" : " ") + word;
  return text;
}

TEST(compiler_driver, compiling_gets_the_pass_and_linking_the_runtime) {
  EXPECT_EQ(command({"-c", "a.c"}),
            "clang -fpass-plugin=/opt/lib/adprof/llvm22/adprof_pass.so -gline-tables-only -c a.c");
  EXPECT_EQ(command({"-g", "a.c", "-o", "a", "-lm"}),
            "clang -fpass-plugin=/opt/lib/adprof/llvm22/adprof_pass.so -g a.c -o a -lm "
            "-Wl,--push-state -Wl,--as-needed -Wl,/opt/lib/libadprof_adstack.a -Wl,--pop-state "
            "-Wl,/opt/lib/libadprof_runtime.a -Wl,--export-dynamic-symbol=__adprof_*");
  EXPECT_EQ(command({"--adstack", "-g0", "-shared", "a.o"}),
            "clang -fpass-plugin=/opt/lib/adprof/llvm22/adprof_pass.so -I/opt/include/adprof -g0 -shared a.o "
            "-Wl,--push-state -Wl,--as-needed -Wl,/opt/lib/libadprof_adstack.so -Wl,--pop-state "
            "-Wl,/opt/lib/libadprof_runtime.so -Wl,-rpath -Wl,/opt/lib");
  EXPECT_EQ(command({"--no-adstack", "--shared-runtime", "a.o"}),
            "clang -fpass-plugin=/opt/lib/adprof/llvm22/adprof_pass.so -gline-tables-only a.o "
            "-Wl,/opt/lib/libadprof_runtime.so -Wl,-rpath -Wl,/opt/lib");
}

TEST(compiler_driver, what_neither_compiles_nor_links_is_left_alone) {
  EXPECT_EQ(command({"--version"}), "clang --version");
  EXPECT_EQ(command({"-E", "a.c"}), "clang -E a.c");
  EXPECT_EQ(command({"-MM", "a.c"}), "clang -MM a.c");
  EXPECT_EQ(command({"-v", "-o", "a.out", "-x", "c", "-I", "dir"}), "clang -v -o a.out -x c -I dir")
      << "values are no inputs";
  EXPECT_FALSE(read({"-r", "a.o"}).links);
}

TEST(compiler_driver, values_of_the_compilers_options_are_never_ours) {
  CompilerRequest request = read({"-Xclang", "--adstack", "-o", "--dialect", "-c", "a.c"});
  EXPECT_FALSE(request.adstack.has_value());
  EXPECT_EQ(request.arguments.size(), 6u);
}

TEST(compiler_driver, the_language_follows_from_name_then_compiler_then_sources) {
  EXPECT_EQ(read({"a.o"}).language, Language::kC);
  EXPECT_EQ(read({"a.o", "b.F90"}).language, Language::kFortran);
  EXPECT_EQ(read({"b.cpp"}).language, Language::kCxx);
  EXPECT_EQ(read({"-x", "c++", "-"}).language, Language::kCxx);
  EXPECT_EQ(read({"-xf95", "-"}).language, Language::kFortran);
  EXPECT_EQ(read({"--compiler", "flang-22", "a.o"}).language, Language::kFortran);
  EXPECT_EQ(read({"b.f90"}, Language::kC).language, Language::kC);
}

TEST(compiler_driver, response_files_are_read_for_what_they_ask_and_handed_on_unopened) {
  const std::string path = testing::TempDir() + "compiler_driver.rsp";
  std::ofstream(path) << "-c 'a b.f90'\n-o \"x\\\"y\" -D a\\ b.cc\n";
  CompilerRequest request = read({"@" + path});
  EXPECT_EQ(request.language, Language::kFortran);
  EXPECT_TRUE(request.compiles);
  EXPECT_FALSE(request.links);
  EXPECT_EQ(request.arguments, std::vector<std::string>{"@" + path});
  std::remove(path.c_str());
}

TEST(compiler_driver, versions_are_read_from_clang_and_flang_alone) {
  EXPECT_EQ(llvm_version("Debian clang version 22.1.8 (1~deb12u1)\nTarget: x86_64-pc-linux-gnu\n"), 22);
  EXPECT_EQ(llvm_version("flang-new version 19.1.7\n"), 19);
  EXPECT_EQ(llvm_version("Debian flang-new version 19.1.7 (3~deb12u1)\n"), 19);
  EXPECT_EQ(llvm_version("gcc (Debian 12.2.0-14+deb12u1) 12.2.0\n"), std::nullopt);
  EXPECT_EQ(llvm_version(""), std::nullopt);
}

TEST(compiler_driver, a_compiler_of_another_llvm_is_refused_with_both_versions) {
  auto words = compiler_command(read({"-c", "a.c"}), kInstalled, {"ccache", "clang-19"}, 19);
  ASSERT_FALSE(words);
  EXPECT_EQ(words.error().kind, ErrorKind::kUsage);
  EXPECT_EQ(words.error().where, "clang-19");
  EXPECT_NE(words.error().what.find("is of LLVM 19, and the pass is built for LLVM 22"), std::string::npos);
}

TEST(compiler_driver, missing_values_and_files_are_named) {
  EXPECT_EQ(read_compiler_request({"--dialect"}, {}).error().where, "--dialect");
  EXPECT_EQ(read_compiler_request({"--compiler="}, {}).error().kind, ErrorKind::kUsage);
  EXPECT_NE(
      read_compiler_request({"--dialect", "/nowhere.json"}, {}).error().what.find("'/nowhere.json' is not a file"),
      std::string::npos);
}

} // namespace
} // namespace adprof::cli
