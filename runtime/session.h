/* What belongs to the process: switching on and off, the clock, numbers of sites and procedures, resident memory, and the
 * counters of the header. Used by hooks.c and call_tree.c.
 *
 * Collection is on only where ADPROF_OUTPUT is set; otherwise every hook returns after one test. */
#ifndef ADPROF_RUNTIME_SESSION_H
#define ADPROF_RUNTIME_SESSION_H

#include "runtime/abi/raw_layout.h"
#include "runtime/abi/site.h"

#include <stdint.h>
#include <time.h>

/** 1 while events are collected. Read without a lock by every hook. */
extern int session_on;

/** Stops collection for good; the first call says why in one line on stderr. The program goes on. */
void session_stop(enum adprof_raw_stop_reason reason, const char *what);

/** Ticks of the session clock: the time-stamp counter where it is invariant, else nanoseconds. About 10 ns per call. */
static inline uint64_t session_ticks(void) {
#if defined(__x86_64__)
  return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
  uint64_t ticks;
  __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
  return ticks;
#else
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
#endif
}

/** Ticks per millisecond: how often resident memory is read at most. */
extern uint64_t session_sample_ticks;

/** Ticks of an interval between two hooks in which nothing runs. */
extern uint64_t session_interval_ticks;

/** Ticks between two stamps taken in two hooks, without the stamps' own cost. */
static inline uint64_t session_elapsed(uint64_t begin, uint64_t end) {
  uint64_t elapsed = end - begin;
  return elapsed > session_interval_ticks ? elapsed - session_interval_ticks : 0;
}

/** Resident bytes of the process now, from the kernel; 0 where it does not tell. A system call: a microsecond or two. */
uint64_t session_resident_bytes(void);

/** Brings wall, CPU time, clock rate and the cost of a hook (ticks times 1000) in the header up to date. Called at most once a
 *  millisecond per thread; where two threads come at once, one does it. */
void session_refresh(uint64_t hook_milliticks);


/** Memory that never goes through malloc: grows `*memory` from `*bytes` to at least `wanted`; zero-filled. Returns 0 on failure. */
int session_grow(void **memory, uint64_t *bytes, uint64_t wanted);

#endif
