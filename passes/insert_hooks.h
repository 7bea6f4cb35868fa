// Puts the hooks of runtime/abi/events.def into the functions that adjoint_sites.h found, and the records of
// runtime/abi/site.h into the object. Decides nothing about what is what.
#ifndef ADPROF_PASSES_INSERT_HOOKS_H
#define ADPROF_PASSES_INSERT_HOOKS_H

#include "passes/adjoint_sites.h"

namespace adprof {

/// True if the module was changed. The order of procedures and calls in `sites` becomes that of the records.
bool insert_hooks(llvm::Module &module, const ModuleSites &sites, const AnalysisContext &context);

} // namespace adprof
#endif
