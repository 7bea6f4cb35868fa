/* What the pass writes into every object file, and the runtime and the tools read: which procedures and calls of an
 * adjoint the object holds. The runtime needs the fixed-size records only; the text is for the tools.
 *
 * One `struct adprof_module` per object file, passed to `__adprof_register` by a constructor of that object. The
 * constructor also stores the address of ADPROF_ABI_GUARD, so that objects and runtime of different ABI versions do not
 * link. C11, depends on nothing.
 */
#ifndef ADPROF_RUNTIME_ABI_SITE_H
#define ADPROF_RUNTIME_ABI_SITE_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define ADPROF_ABI_VERSION 1
/** Name of the symbol that both sides must agree on: it carries the ABI version. */
#define ADPROF_ABI_GUARD __adprof_abi_1
/** ELF section of the text; retained through --gc-sections. */
#define ADPROF_TEXT_SECTION "adprof_sites"

/** What a call is. */
enum adprof_call_kind {
  ADPROF_CALL_PRIMAL = 1,   /* callee, in a forward sweep; callee has an adjoint */
  ADPROF_CALL_ADJOINT = 2,  /* callee_b */
  ADPROF_CALL_FORWARD = 3,  /* callee_fwd */
  ADPROF_CALL_BACKWARD = 4, /* callee_bwd */
};

/** What an instrumented procedure is. */
enum adprof_procedure_role {
  ADPROF_ROLE_JOINT = 1,           /* f_b */
  ADPROF_ROLE_FORWARD = 2,         /* f_fwd */
  ADPROF_ROLE_BACKWARD = 3,        /* f_bwd */
  ADPROF_ROLE_REGION_FORWARD = 4,  /* parallel region of a forward sweep; one that holds both sweeps is JOINT */
  ADPROF_ROLE_REGION_BACKWARD = 5, /* parallel region of a backward sweep */
};

enum {
  /* The pass knows of no primal call for this reverse call (the tool sliced it away). */
  ADPROF_CALL_SLICED = 1u << 0,
  /* The pass paired this primal call with no reverse call (inactive). */
  ADPROF_CALL_UNPAIRED = 1u << 1,
  /* The caller is ordinary code: a root. */
  ADPROF_CALL_ROOT = 1u << 2,
  /* Known by the callee's name only: no primal and no body of it in this object. Where no adjoint procedure is entered
   * inside such a root call, it was none: forget it. */
  ADPROF_CALL_GUESSED = 1u << 3,
};

enum {
  /* Known by its name only: no push, no pop, no call of an adjoint in it and no primal beside it. It is an adjoint
   * procedure only where a reverse (or forward) call of its primal's hash is open and has not been entered; elsewhere
   * `enter` returns ADPROF_NO_FRAME. */
  ADPROF_PROCEDURE_GUESSED = 1u << 0,
};

struct adprof_procedure {
  uint64_t primal_hash; /* FNV-1a of the primal's name */
  uint32_t role;        /* enum adprof_procedure_role */
  uint32_t flags;       /* ADPROF_PROCEDURE_... */
};

struct adprof_call {
  uint64_t site_key;    /* FNV-1a of "caller\0callee\0ordinal"; equal in joint and split callers, in every object */
  uint64_t callee_hash; /* FNV-1a of the callee's primal name */
  uint32_t kind;        /* enum adprof_call_kind */
  uint32_t flags;       /* ADPROF_CALL_... */
};

/** Static, writable, one per object file; all arrays live as long as the object is mapped. */
struct adprof_module {
  uint32_t abi_version;
  uint32_t procedure_count;
  uint32_t call_count;
  uint32_t state; /* runtime's own: 0 before registration */
  const struct adprof_procedure *procedures;
  const struct adprof_call *calls;
  uint32_t *site_ids;      /* 2 * call_count entries, filled by the runtime: site number, procedure number of the callee */
  uint32_t *procedure_ids; /* procedure_count entries, filled by the runtime */
  const char *text;        /* see below */
  uint64_t text_bytes;
  struct adprof_module *next; /* runtime's own */
};

/* The text: UTF-8 lines ended by '\n', fields separated by tabs; a tab, newline or backslash in a field is written \t,
 * \n, \\. Unknown line kinds and further fields are to be ignored. In this order:
 *
 *   adprof  1  <source file>  <producer>
 *   dialect <name>
 *   proc    <index>  <primal>  joint|forward|backward|region_forward|region_backward  <IR name>  <file>  <line>
 *   call    <index>  <site key, 16 hex digits>  primal|adjoint|forward|backward  <caller>  <callee>  <ordinal>
 *           <flags, decimal>  <file>  <line>  <IR name called>  <IR name of the function that holds the call>
 *           <argument signature>
 *   source  <caller>  <callee>  <ordinal>  <file>  <line>  <argument signature>
 *           a call in a primal procedure compiled in this object; a further field "copy" where that procedure is a
 *           copy in generated code: prefer other lines
 *   doubt   <kind>  <IR function>  <line>  <text>
 *           something that looks like adjoint code and was not understood
 *
 * `line` is 0 and `file` empty where the object was compiled without line tables. <caller> and <callee> are names of
 * primals: for Fortran module procedures `module.name`, lower case; for ordinary callers the function itself. */

#ifdef __cplusplus
}
#endif
#endif
