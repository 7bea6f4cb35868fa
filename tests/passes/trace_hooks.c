/* A stand-in for the runtime: prints each event as one line, indented by the frames that are open, so that tests can check with
 * FileCheck what a compiled program reports. Not thread-safe. */
#include "runtime/abi/events.h"

#include <stdio.h>
#include <stdlib.h>

const char ADPROF_ABI_GUARD = 0;
static unsigned depth, token;
static struct adprof_module *last_module;

static void indent(void) {
  for (unsigned i = 0; i < depth; ++i)
    printf("  ");
}

#define SUMS_PARAMETERS uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low
#define SUMS " frame %u push %lld pop %lld high %lld low %lld"
#define SUMS_VALUES frame, (long long)pushed, (long long)popped, (long long)high, (long long)low
#define CALL_PARAMETERS struct adprof_module *module, uint32_t call

/* ADPROF_TRACE_TEXT=1 prints the text of each module as it is registered. */
void __adprof_register(struct adprof_module *module) {
  last_module = module;
  if (getenv("ADPROF_TRACE_TEXT"))
    fwrite(module->text, 1, module->text_bytes, stdout);
}
void __adprof_unregister(struct adprof_module *module) { (void)module; }

uint32_t __adprof_enter(struct adprof_module *module, uint32_t procedure) {
  indent();
  printf("enter role %u\n", module->procedures[procedure].role);
  ++depth;
  return ++token;
}
void __adprof_leave(SUMS_PARAMETERS) {
  indent();
  printf("leave" SUMS "\n", SUMS_VALUES);
  --depth;
}

#define PLAIN(name)                                                                                                             \
  void __adprof_##name(SUMS_PARAMETERS) {                                                                                       \
    indent();                                                                                                                   \
    printf(#name SUMS "\n", SUMS_VALUES);                                                                                       \
  }
PLAIN(flush)
PLAIN(turn)
PLAIN(repeat_start)
PLAIN(repeat_reset)
PLAIN(repeat_end)

static void print_call(const char *event, const struct adprof_module *module, uint32_t call) {
  indent();
  printf("%s call %u kind %u flags %u", event, call, module->calls[call].kind, module->calls[call].flags);
}

void __adprof_snapshot_begin(CALL_PARAMETERS, SUMS_PARAMETERS) {
  print_call("snapshot", module, call);
  printf(SUMS "\n", SUMS_VALUES);
}

#define REVERSE(name)                                                                                                           \
  void __adprof_##name##_begin(CALL_PARAMETERS, SUMS_PARAMETERS) {                                                              \
    print_call(#name, module, call);                                                                                            \
    printf(SUMS "\n", SUMS_VALUES);                                                                                             \
  }                                                                                                                             \
  void __adprof_##name##_end(CALL_PARAMETERS, uint32_t frame) {                                                                 \
    print_call(#name "_end", module, call);                                                                                     \
    printf(" frame %u\n", frame);                                                                                               \
  }
#define FORWARD(name)                                                                                                           \
  void __adprof_##name##_begin(CALL_PARAMETERS, SUMS_PARAMETERS, int64_t kept) {                                                \
    print_call(#name, module, call);                                                                                            \
    printf(SUMS " kept %lld\n", SUMS_VALUES, (long long)kept);                                                                  \
  }                                                                                                                             \
  void __adprof_##name##_end(CALL_PARAMETERS, uint32_t frame) {                                                                 \
    print_call(#name "_end", module, call);                                                                                     \
    printf(" frame %u\n", frame);                                                                                               \
  }
FORWARD(primal)
FORWARD(forward)
REVERSE(adjoint)
REVERSE(backward)

void __adprof_binomial_init(SUMS_PARAMETERS, int64_t steps, int64_t snapshots) {
  indent();
  printf("binomial_init" SUMS " steps %lld snapshots %lld\n", SUMS_VALUES, (long long)steps, (long long)snapshots);
}
void __adprof_binomial_next(SUMS_PARAMETERS, int64_t more, int64_t action) {
  indent();
  printf("binomial_next" SUMS " more %lld action %lld\n", SUMS_VALUES, (long long)more, (long long)action);
}
