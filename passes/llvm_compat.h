// What differs between the LLVM versions we build for (19 and 22). The only file that tests LLVM_VERSION_MAJOR.
#ifndef ADPROF_PASSES_LLVM_COMPAT_H
#define ADPROF_PASSES_LLVM_COMPAT_H

#include "llvm/Config/llvm-config.h"

#if LLVM_VERSION_MAJOR >= 22
#include "llvm/Plugins/PassPlugin.h"
#else
#include "llvm/Passes/PassPlugin.h"
#endif

static_assert(LLVM_VERSION_MAJOR == 19 || LLVM_VERSION_MAJOR == 22, "the pass is tested with LLVM 19 and 22 only");

#endif
