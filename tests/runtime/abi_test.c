/* Do pass, runtime and reader mean the same bytes? The offsets of the format, as literals: a change here is a new format version. */
#include "runtime/abi/events.h"
#include "runtime/abi/raw_layout.h"

#include <stddef.h>
#include <stdio.h>
#include <string.h>

#define AT(type, field, offset) _Static_assert(offsetof(struct type, field) == (offset), #type "." #field)
#define SIZE(type, bytes) _Static_assert(sizeof(struct type) == (bytes), #type)

AT(adprof_raw_header, version, 8);
AT(adprof_raw_header, endian_mark, 16);
AT(adprof_raw_header, file_bytes, 24);
AT(adprof_raw_header, state, 32);
AT(adprof_raw_header, tick_hz, 48);
AT(adprof_raw_header, wall_ns, 80);
AT(adprof_raw_header, resident_peak_bytes, 96);
AT(adprof_raw_header, adstack_peak_bytes, 120);
AT(adprof_raw_header, reverse_calls, 144);
AT(adprof_raw_header, unreversed_primal, 192);
AT(adprof_raw_header, hook_ticks, 216);
AT(adprof_raw_header, roots, 232);
AT(adprof_raw_header, traffic_bits, 256);
AT(adprof_raw_header, envelope_nodes, 264);
AT(adprof_raw_header, main_wait_ns, 280);
_Static_assert(sizeof(struct adprof_raw_header) <= ADPROF_RAW_HEADER_BYTES, "header");

AT(adprof_raw_segment, bytes, 8);
AT(adprof_raw_segment, used_bytes, 16);
SIZE(adprof_raw_segment, ADPROF_RAW_SEGMENT_HEADER_BYTES);

AT(adprof_raw_context, invocations_on, 8);
AT(adprof_raw_context, tape_total_bits, 56);
AT(adprof_raw_context, snapshot_total_bits, 80);
AT(adprof_raw_context, primal_ticks, 112);
AT(adprof_raw_context, stack_peak_bits, 168);
AT(adprof_raw_context, first_invocation_tick, 192);
AT(adprof_raw_context, procedure, 200);
SIZE(adprof_raw_context, 256);

AT(adprof_raw_frame, base_bits, 16);
SIZE(adprof_raw_frame, 32);
AT(adprof_raw_thread, frame_count, 32);
AT(adprof_raw_thread, entry_count, 40);
AT(adprof_raw_thread, frames, 128);
AT(adprof_raw_thread, entries, 131200);

/* What the pass lays out in every object file. */
SIZE(adprof_procedure, 16);
AT(adprof_procedure, role, 8);
AT(adprof_procedure, flags, 12);
SIZE(adprof_call, 24);
AT(adprof_call, callee_hash, 8);
AT(adprof_call, kind, 16);
AT(adprof_call, flags, 20);
AT(adprof_module, procedures, 16);
AT(adprof_module, calls, 24);
AT(adprof_module, site_ids, 32);
AT(adprof_module, procedure_ids, 40);
AT(adprof_module, text, 48);
AT(adprof_module, text_bytes, 56);
SIZE(adprof_module, 72);

#define MODULE 1
#define U32 1
#define I64 1
#define VOID 0
#define ADPROF_EVENT(name, result, parameters) #name " "
static const char kEvents[] =
#include "runtime/abi/events.def"
    ;

int main(void) {
  const char *expected = "enter leave flush turn snapshot_begin primal_begin primal_end adjoint_begin adjoint_end forward_begin forward_end "
                         "backward_begin backward_end repeat_start repeat_reset repeat_end binomial_init binomial_next ";
  if (strcmp(kEvents, expected) != 0) {
    fprintf(stderr, "events.def holds %s\nexpected %s\n", kEvents, expected);
    return 1;
  }
  return 0;
}
