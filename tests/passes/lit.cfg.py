# IR tests of the pass. The site configuration (lit.site.cfg.py, written by CMake) names the tools of one LLVM version; the
# tests themselves are the same under all of them.
import lit.formats

config.name = "adprof pass, LLVM " + config.adprof_llvm_version
config.test_format = lit.formats.ShTest(True)
config.suffixes = [".ll", ".c", ".cpp", ".f90", ".f"]
config.excludes = ["Inputs", "trace_hooks.c", "test_stack.c", "dialect_test.cpp"]
config.test_source_root = config.adprof_source_root + "/tests/passes"
config.test_exec_root = config.adprof_binary_root + "/tests/passes/lit"

plugin = config.adprof_plugin
llvm = config.adprof_llvm_bin
clang = llvm + "/clang"
# flang is called flang-new up to LLVM 19.
flang = config.adprof_flang

# %adprof: the pass alone on IR, checked by the verifier before and after.
config.substitutions += [
    ("%adprof-dialect", f"{llvm}/opt -load-pass-plugin={plugin} -S"),
    ("%adprof", f"{llvm}/opt -load-pass-plugin={plugin} -passes=verify,adprof,verify -S"),
    ("%clang-ir", f"{clang} -S -emit-llvm -Xclang -disable-llvm-passes -fno-discard-value-names -o -"),
    ("%clang-adprof", f"{clang} -fpass-plugin={plugin}"),
    ("%clangxx-adprof", f"{llvm}/clang++ -fpass-plugin={plugin}"),
    ("%clang", clang),
    ("%flang-adprof", f"{flang} -fpass-plugin={plugin}"),
    ("%flang-ir", f"{flang} -S -emit-llvm -o -"),
    ("%flang", flang),
    ("%doctor", config.adprof_command + " doctor"),
    ("%trace", config.adprof_trace_library),
    ("%filecheck", llvm + "/FileCheck"),
    ("%llvm", llvm),
]
for name in ("ADPROF_DIALECT", "ADPROF_OUTPUT"):
    config.environment.pop(name, None)
