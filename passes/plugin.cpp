// Registers the pass with the compiler and reads its options: nothing else.
//
// It runs at the start of the pipeline, at every optimisation level and before link-time optimisation: later, inlining has
// removed call sites, doubled them or merged them.
#include "passes/adjoint_sites.h"
#include "passes/insert_hooks.h"
#include "passes/llvm_compat.h"
#include "llvm/Analysis/OptimizationRemarkEmitter.h"
#include "llvm/IR/PassManager.h"
#include "llvm/Passes/PassBuilder.h"
#include "llvm/Support/CommandLine.h"
#include <cstdlib>

using namespace llvm;

namespace {

cl::opt<std::string> dialect_option("adprof-dialect", cl::desc("JSON file with the names of the AD tool (docs/dialect.md)"),
                                    cl::value_desc("file"));

constexpr char kPassName[] = "adprof";
constexpr char kMarker[] = "adprof.instrumented";

void emit_remarks(const adprof::ModuleSites &sites, FunctionAnalysisManager &functions) {
  using namespace ore;
  for (const adprof::Call &call : sites.calls)
    functions.getResult<OptimizationRemarkEmitterAnalysis>(*call.call->getFunction()).emit([&] {
      OptimizationRemark remark(kPassName, "Site", call.call);
      static const char *const kinds[] = {"", "primal call", "adjoint call", "call of the forward sweep", "call of the backward sweep"};
      remark << kinds[call.kind] << " of " << NV("Callee", call.callee) << ", call " << NV("Ordinal", call.ordinal) << " of it in "
             << NV("Caller", call.caller);
      if (call.flags & ADPROF_CALL_ROOT)
        remark << ", a root";
      if (call.flags & ADPROF_CALL_SLICED)
        remark << ", without a primal call";
      if (call.flags & ADPROF_CALL_UNPAIRED)
        remark << ", never reversed";
      if (call.flags & ADPROF_CALL_GUESSED)
        remark << ", known by its name only";
      return remark;
    });
  for (const adprof::Procedure &procedure : sites.procedures)
    functions.getResult<OptimizationRemarkEmitterAnalysis>(*procedure.function).emit([&] {
      static const char *const roles[] = {"", "joint adjoint", "forward sweep", "backward sweep", "parallel region of the forward sweep",
                                          "parallel region of the backward sweep"};
      OptimizationRemarkAnalysis remark(kPassName, "Procedure", procedure.function->getSubprogram(), &procedure.function->getEntryBlock());
      return remark << roles[procedure.role] << " of " << NV("Primal", procedure.primal)
                    << (procedure.flags & ADPROF_PROCEDURE_GUESSED ? ", known by its name only" : "");
    });
  for (const adprof::Doubt &doubt : sites.doubts)
    functions.getResult<OptimizationRemarkEmitterAnalysis>(*doubt.function).emit([&] {
      DebugLoc location = doubt.where ? doubt.where->getDebugLoc() : DebugLoc();
      BasicBlock *block = doubt.where ? doubt.where->getParent() : &doubt.function->getEntryBlock();
      return OptimizationRemarkMissed(kPassName, "Doubt", location, block) << doubt.text;
    });
}

class AdprofPass : public PassInfoMixin<AdprofPass> {
public:
  explicit AdprofPass(std::string dialect_path) : dialect_path_(std::move(dialect_path)) {}
  static bool isRequired() { return true; } // also in functions marked optnone

  PreservedAnalyses run(Module &module, ModuleAnalysisManager &manager) {
    if (module.getNamedMetadata(kMarker))
      return PreservedAnalyses::all();
    std::string path = dialect_path_;
    if (path.empty())
      path = dialect_option;
    if (const char *variable = std::getenv("ADPROF_DIALECT"); path.empty() && variable)
      path = variable;
    adprof::Dialect dialect = adprof::Dialect::builtin();
    if (!path.empty()) {
      Expected<adprof::Dialect> read = adprof::Dialect::from_file(path);
      if (!read) {
        module.getContext().emitError("adprof: " + toString(read.takeError()));
        return PreservedAnalyses::all();
      }
      dialect = std::move(*read);
    }
    auto &functions = manager.getResult<FunctionAnalysisManagerModuleProxy>(module).getManager();
    adprof::AnalysisContext context{dialect,
                                    [&](Function &function) -> TargetLibraryInfo & {
                                      return functions.getResult<TargetLibraryAnalysis>(function);
                                    },
                                    [&](Function &function) -> DominatorTree & {
                                      return functions.getResult<DominatorTreeAnalysis>(function);
                                    }};
    adprof::ModuleSites sites = adprof::find_adjoint_sites(module, context);
    emit_remarks(sites, functions);
    module.getOrInsertNamedMetadata(kMarker);
    return adprof::insert_hooks(module, sites, context) ? PreservedAnalyses::none() : PreservedAnalyses::all();
  }

private:
  std::string dialect_path_;
};

void register_callbacks(PassBuilder &builder) {
  builder.registerPipelineStartEPCallback([](ModulePassManager &passes, OptimizationLevel) { passes.addPass(AdprofPass("")); });
  builder.registerPipelineParsingCallback([](StringRef name, ModulePassManager &passes, ArrayRef<PassBuilder::PipelineElement>) {
    if (!name.consume_front("adprof"))
      return false;
    StringRef path = name;
    if (!name.empty() && !(path.consume_front("<dialect=") && path.consume_back(">")))
      return false;
    passes.addPass(AdprofPass(path.str()));
    return true;
  });
}

} // namespace

extern "C" __attribute__((visibility("default"))) PassPluginLibraryInfo llvmGetPassPluginInfo() {
  return {LLVM_PLUGIN_API_VERSION, kPassName, ADPROF_VERSION, register_callbacks};
}
