/* C declarations of the hooks, expanded from events.def. Called by instrumented code only. */
#ifndef ADPROF_RUNTIME_ABI_EVENTS_H
#define ADPROF_RUNTIME_ABI_EVENTS_H

#include "runtime/abi/site.h"

#ifdef __cplusplus
extern "C" {
#endif

/** The token of code that is in no adjoint procedure. */
#define ADPROF_NO_FRAME 0u

#define MODULE struct adprof_module *
#define U32 uint32_t
#define I64 int64_t
#define VOID void
#define ADPROF_EVENT(name, result, parameters) result __adprof_##name parameters;
#include "runtime/abi/events.def"
#undef MODULE
#undef U32
#undef I64
#undef VOID

/** Called by the constructor of every instrumented object, before main or from dlopen. */
void __adprof_register(struct adprof_module *module);
/** Called by the destructor of every instrumented object: its memory is about to be unmapped. */
void __adprof_unregister(struct adprof_module *module);
/** Its name carries the ABI version; never called. */
extern const char ADPROF_ABI_GUARD;

#ifdef __cplusplus
}
#endif
#endif
