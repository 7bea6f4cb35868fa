/* The raw profile as a file that is mapped and extended while the program runs. Used by session.c and call_tree.c only;
 * must not know of frames or matching. The format is specified in abi/raw_layout.h.
 *
 * Never stops the program: every function that can fail says so by its result, and the caller stops collecting. */
#ifndef ADPROF_RUNTIME_RAW_WRITER_H
#define ADPROF_RUNTIME_RAW_WRITER_H

#include "runtime/abi/raw_layout.h"

#include <stddef.h>

/** The one raw profile of this process; null before raw_open and after a failed one. Stays mapped until the process ends. */
extern struct adprof_raw_header *raw_header;

/** Creates the file `path` ("%p" stands for the process id). Returns 0, or an errno value. An existing file is never
 *  overwritten: EEXIST. */
int raw_open(const char *path);

/** Appends a segment with room for at least `data_bytes` of data. Thread-safe. Null where the file can't be extended. */
struct adprof_raw_segment *raw_new_segment(uint32_t type, uint32_t thread, uint64_t data_bytes);

/** First byte behind the header of a segment. */
static inline unsigned char *raw_data(struct adprof_raw_segment *segment) {
  return (unsigned char *)segment + ADPROF_RAW_SEGMENT_HEADER_BYTES;
}
/** Bytes of data a segment has room for. */
static inline uint64_t raw_capacity(const struct adprof_raw_segment *segment) {
  return segment->bytes - ADPROF_RAW_SEGMENT_HEADER_BYTES;
}
/** Makes data visible to a reader: everything stored before is seen with it. */
static inline void raw_publish(struct adprof_raw_segment *segment, uint64_t used_bytes) {
  __atomic_store_n(&segment->used_bytes, used_bytes, __ATOMIC_RELEASE);
}

/** A segment that holds `text` and nothing else. Returns 0 where there is no space. */
int raw_write_text(uint32_t type, const char *text, uint64_t bytes);

#endif
