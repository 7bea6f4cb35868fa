/* An AD stack, and binomial checkpointing, with the interface of the AD tool: for adjoint programs that bring none, and
 * the truth that tests compare the profiler with. Include this header in generated C code; Fortran code needs none.
 * Links with libc and threads only, knows nothing of the profiler.
 *
 * Each thread has a stack of its own; it is freed when the thread ends. A size counts payload: 8 bits a byte, one bit a
 * Boolean, N bits a ControlNb, and is shown in bytes, rounded up once.
 *
 * Fortran names are the same in lower case with one underscore behind, every argument by reference, counts and controls
 * of type integer(4), logicals of four bytes: `call pushreal8array(x, n)`. Counts of C arrays are of 64 bits, so
 * compile C code against this header and not against one with `int` counts. A count below one means nothing.
 *
 * Popping more than there is, running out of memory and calling out of order end the program through exit(1) with one
 * line on stderr that names the call. */
#ifndef ADPROF_RUNTIME_ADSTACK_ADSTACK_H
#define ADPROF_RUNTIME_ADSTACK_ADSTACK_H

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

__extension__ typedef float _Complex adStack_complex8;
__extension__ typedef double _Complex adStack_complex16;

#define AD_TYPE(Name, name, type)                                                                                      \
  void push##Name(type x);                                                                                             \
  void pop##Name(type *x);                                                                                             \
  void push##Name##Array(const type *x, int64_t n);                                                                    \
  void pop##Name##Array(type *x, int64_t n);                                                                           \
  void push##name##_(const type *x);                                                                                   \
  void pop##name##_(type *x);                                                                                          \
  void push##name##array_(const type *x, const int32_t *n);                                                            \
  void pop##name##array_(type *x, const int32_t *n);
#include "types.def"

#define AD_CONTROL(N)                                                                                                  \
  void pushControl##N##b(int c);                                                                                       \
  void popControl##N##b(int *c);                                                                                       \
  void pushcontrol##N##b_(const int *c);                                                                               \
  void popcontrol##N##b_(int *c);
AD_CONTROL(1)
AD_CONTROL(2)
AD_CONTROL(3)
AD_CONTROL(4)
AD_CONTROL(5)
AD_CONTROL(6)
AD_CONTROL(7)
AD_CONTROL(8)
#undef AD_CONTROL

/** Anything but zero is true, and is popped as 1. */
void pushBoolean(int x);
void popBoolean(int *x);
void pushboolean_(const int32_t *x);
void popboolean_(int32_t *x);
void pushbooleanarray_(const int32_t *x, const int32_t *n);
void popbooleanarray_(int32_t *x, const int32_t *n);

/** Stores as many bytes as the name says: a Pointer4 keeps the lower half of an address only. */
void pushPointer4(void *x);
void popPointer4(void **x);
void pushPointer8(void *x);
void popPointer8(void **x);
void pushpointer4_(void *const *x);
void poppointer4_(void **x);
void pushpointer8_(void *const *x);
void poppointer8_(void **x);

/** Any number of bytes of any type. */
void pushNArray(const char *x, int64_t bytes);
void popNArray(char *x, int64_t bytes);
void pushnarray_(const char *x, const int32_t *bytes);
void popnarray_(char *x, const int32_t *bytes);

/** Opens a repeat level: what is on the stack now can be read again and again. Levels nest. What is pushed within a
 * level lies beside what will be read again, never on it. */
void adStack_startRepeat(void);
/** Puts the stack back to where it was when the innermost level was opened. */
void adStack_resetRepeat(void);
/** Drops the innermost level; the stack stays where it is, and what had been popped is gone. */
void adStack_endRepeat(void);
void adstack_startrepeat_(void);
void adstack_resetrepeat_(void);
void adstack_endrepeat_(void);

/** Bytes on the calling thread's stack. */
int64_t adStack_getCurrentStackSize(void);
/** Most bytes that were ever on the calling thread's stack. */
int64_t adStack_getPeakSize(void);
/** Bytes that the calling thread has pushed so far. What is read again in a repeat level is not pushed again. */
int64_t adStack_getTotalTraffic(void);
/** Sums over all threads, those that have ended included: of each thread's own peak, whenever it was, and of traffic.
 * Exact when no other thread is pushing; else each is a value of a moment ago. */
int64_t adStack_getProcessPeakSize(void);
int64_t adStack_getProcessTotalTraffic(void);
/** One line on stdout with the process's sum, and the calling thread's share if there was more than one thread. */
void adStack_showPeakSize(void);
void adStack_showTotalTraffic(void);
int64_t adstack_getcurrentstacksize_(void);
int64_t adstack_getpeaksize_(void);
int64_t adstack_gettotaltraffic_(void);
int64_t adstack_getprocesspeaksize_(void);
int64_t adstack_getprocesstotaltraffic_(void);
void adstack_showpeaksize_(void);
void adstack_showtotaltraffic_(void);

/** What a binomial loop has to do next. The step given with a snapshot is the first that runs from it. */
enum adBinomial_action {
  ADBINOMIAL_PUSH_SNAPSHOT = 1,
  ADBINOMIAL_LOOK_SNAPSHOT = 2, /* restore, and keep it */
  ADBINOMIAL_POP_SNAPSHOT = 3,
  ADBINOMIAL_ADVANCE = 4,    /* one primal step */
  ADBINOMIAL_FIRST_TURN = 5, /* forward and backward sweep of the last step */
  ADBINOMIAL_TURN = 6,       /* forward and backward sweep of one step */
};

/** Starts reversing `length` steps, numbered from `first`, with at most `snapshots` snapshots on the stack at a time.
 * Loops nest: the one begun last is served until it ends. One set of loops per thread; no limit to snapshots. */
void adBinomial_init(int length, int snapshots, int first);
/** Gives the next action; 0 (with -1 for both) at the end of the loop. The number of advances is the least possible:
 * r*length - C(snapshots + r, r - 1) with the least r such that length <= C(snapshots + r, r). */
int adBinomial_next(int *action, int *step);
/** The advance just ordered found the loop's exit: that step is the last, and is turned next. */
void adBinomial_resize(void);
void adbinomial_init_(const int *length, const int *snapshots, const int *first);
int adbinomial_next_(int *action, int *step);
void adbinomial_resize_(void);

#ifdef __cplusplus
}
#endif
#endif
