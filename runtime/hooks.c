/* The hooks: from instrumented code into the call tree. Each one takes a time stamp where it is entered and, where it opens a measured
 * interval, where it is left, so that the time of the hook itself is in no interval of a primal call. */
#include "runtime/hooks.h"
#include "runtime/abi/events.h"
#include "runtime/call_tree.h"
#include "runtime/raw_writer.h"
#include "runtime/session.h"

#include <pthread.h>

/* A pointer in the static TLS block: no call to __tls_get_addr in a hook, and small enough for libraries that are loaded later. */
static _Thread_local struct thread *self __attribute__((tls_model("initial-exec")));
static struct thread *all_threads;

enum {
  kSampleHooks = 64,     /* every so many hooks one is timed */
  kLongestSample = 4096, /* ticks: longer is an interrupt, not a hook */
};

/* Threads that have ended leave their state to those that start later: programs that start a thread per task have one state per thread
 * that runs at a time. */
static pthread_mutex_t thread_lock = PTHREAD_MUTEX_INITIALIZER;
static struct thread *idle_threads;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;
static pthread_key_t thread_key;

static void retire(void *state) {
  struct thread *thread = state;
  self = 0;
  if (!__atomic_load_n(&session_on, __ATOMIC_RELAXED))
    return;
  tree_end_of_thread(thread);
  pthread_mutex_lock(&thread_lock);
  thread->next_idle = idle_threads;
  idle_threads = thread;
  pthread_mutex_unlock(&thread_lock);
}

static void make_key(void) { (void)pthread_key_create(&thread_key, retire); }

static struct thread *new_thread(void) {
  pthread_once(&key_once, make_key);
  pthread_mutex_lock(&thread_lock);
  struct thread *thread = idle_threads;
  if (thread)
    idle_threads = thread->next_idle;
  pthread_mutex_unlock(&thread_lock);
  if (!thread) {
    thread = tree_new_thread();
    if (!thread) {
      session_stop(ADPROF_STOP_NO_MEMORY, "no memory for one more thread");
      return 0;
    }
    thread->next = __atomic_load_n(&all_threads, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&all_threads, &thread->next, thread, 1, __ATOMIC_RELEASE, __ATOMIC_RELAXED))
      ;
  }
  self = thread;
  pthread_setspecific(thread_key, thread);
  return thread;
}

/* Resident memory, clocks and counters: at most once a millisecond. */
static void sample(struct thread *thread, uint64_t now) {
  thread->last_sample_ticks = now;
  uint64_t resident = session_resident_bytes();
  if (resident > __atomic_load_n(&raw_header->resident_peak_bytes, __ATOMIC_RELAXED))
    __atomic_store_n(&raw_header->resident_peak_bytes, resident, __ATOMIC_RELAXED);
  uint32_t context = thread->frames[thread->frame_count - 1].context;
  for (; context != kNone; context = thread->contexts[context]->parent)
    if (resident > thread->contexts[context]->resident_peak_bytes)
      thread->contexts[context]->resident_peak_bytes = resident;
  /* The AD stack does not give memory back, so what it has held at most is taken off. */
  uint64_t stacks = 0;
  for (struct thread *other = __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE); other; other = other->next)
    stacks += __atomic_load_n(&other->raw->peak_bits, __ATOMIC_RELAXED) / 8;
  if (resident > stacks && resident - stacks > __atomic_load_n(&raw_header->resident_other_bytes, __ATOMIC_RELAXED))
    __atomic_store_n(&raw_header->resident_other_bytes, resident - stacks, __ATOMIC_RELAXED);
  session_refresh(thread->sampled_hooks ? thread->sampled_hook_ticks * 1000 / thread->sampled_hooks : 0);
  tree_publish_counters(thread);
}

static inline struct thread *begin(void) {
  if (__builtin_expect(!__atomic_load_n(&session_on, __ATOMIC_RELAXED), 1))
    return 0;
  struct thread *thread = self ? self : new_thread();
  if (!thread)
    return 0;
  if (thread->busy) { /* from a signal handler, within a hook */
    thread->counters.anomalies++;
    return 0;
  }
  thread->busy = 1;
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->counters.hook_calls++;
  return thread;
}

static inline void end(struct thread *thread, uint64_t now, int may_sample) {
  if (may_sample && now - thread->last_sample_ticks > session_sample_ticks)
    sample(thread, now);
  if (thread->counters.hook_calls % kSampleHooks == kSampleHooks / 2) {
    uint64_t ticks = session_ticks() - now;
    thread->sampled_hook_ticks += ticks < kLongestSample ? ticks : kLongestSample;
    thread->sampled_hooks++;
  }
  __atomic_signal_fence(__ATOMIC_SEQ_CST);
  thread->busy = 0;
}

#define SITE module->site_ids[2 * call]
#define CALLEE module->site_ids[2 * call + 1]

uint32_t __adprof_enter(struct adprof_module *module, uint32_t procedure) {
  struct thread *thread = begin();
  if (!thread)
    return ADPROF_NO_FRAME;
  uint64_t now = session_ticks();
  const struct adprof_procedure *entered = &module->procedures[procedure];
  uint32_t frame = tree_enter(thread, module->procedure_ids[procedure], entered->role, (entered->flags & ADPROF_PROCEDURE_GUESSED) != 0,
                              (const char *)__builtin_frame_address(0), now);
  end(thread, now, 0);
  return frame;
}

void __adprof_leave(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  if (frame != ADPROF_NO_FRAME)
    tree_leave(thread, now);
  end(thread, now, 0);
}

void __adprof_flush(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  end(thread, now, 0);
}

void __adprof_turn(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  tree_turn(thread, now);
  end(thread, now, 1);
}

void __adprof_snapshot_begin(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                             int64_t low) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  thread->snapshot.call = &module->calls[call];
  thread->snapshot.height_bits = thread->height_bits;
  end(thread, now, 0);
  thread->snapshot.ticks = session_ticks();
}

static void begin_forward_call(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                               int64_t low, int64_t kept) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  tree_call_forward(thread, &module->calls[call], SITE, CALLEE, (uint64_t)kept, now);
  end(thread, now, 1);
  thread->frames[thread->frame_count - 1].primal_begin_ticks = session_ticks();
}

static void end_forward_call(struct adprof_module *module, uint32_t call, uint32_t frame) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_unwind(thread, frame);
  tree_return_forward(thread, &module->calls[call], now);
  end(thread, now, 0);
}

static void begin_reverse_call(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                               int64_t low) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  if (frame == ADPROF_NO_FRAME)
    tree_drop_left(thread, (const char *)__builtin_frame_address(0));
  tree_advance(thread, frame, pushed, popped, high, low);
  tree_call_reverse(thread, &module->calls[call], SITE, CALLEE, now);
  end(thread, now, 1);
}

static void end_reverse_call(struct adprof_module *module, uint32_t call, uint32_t frame) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_unwind(thread, frame);
  tree_return_reverse(thread, &module->calls[call], now);
  end(thread, now, 0);
}

void __adprof_primal_begin(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                           int64_t low, int64_t kept) {
  begin_forward_call(module, call, frame, pushed, popped, high, low, kept);
}
void __adprof_primal_end(struct adprof_module *module, uint32_t call, uint32_t frame) { end_forward_call(module, call, frame); }
void __adprof_forward_begin(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                            int64_t low, int64_t kept) {
  begin_forward_call(module, call, frame, pushed, popped, high, low, kept);
}
void __adprof_forward_end(struct adprof_module *module, uint32_t call, uint32_t frame) { end_forward_call(module, call, frame); }
void __adprof_adjoint_begin(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                            int64_t low) {
  begin_reverse_call(module, call, frame, pushed, popped, high, low);
}
void __adprof_adjoint_end(struct adprof_module *module, uint32_t call, uint32_t frame) { end_reverse_call(module, call, frame); }
void __adprof_backward_begin(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed, int64_t popped, int64_t high,
                             int64_t low) {
  begin_reverse_call(module, call, frame, pushed, popped, high, low);
}
void __adprof_backward_end(struct adprof_module *module, uint32_t call, uint32_t frame) { end_reverse_call(module, call, frame); }

#define REPEAT_HOOK(event, action)                                                                                                 \
  void __adprof_##event(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low) {                               \
    struct thread *thread = begin();                                                                                               \
    if (!thread)                                                                                                                   \
      return;                                                                                                                      \
    uint64_t now = session_ticks();                                                                                                \
    tree_advance(thread, frame, pushed, popped, high, low);                                                                        \
    action(thread);                                                                                                                \
    end(thread, now, 0);                                                                                                           \
  }
REPEAT_HOOK(repeat_start, tree_repeat_start)
REPEAT_HOOK(repeat_reset, tree_repeat_reset)
REPEAT_HOOK(repeat_end, tree_repeat_end)

void __adprof_binomial_init(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low, int64_t steps, int64_t snapshots) {
  (void)steps;
  (void)snapshots;
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  tree_binomial_init(thread);
  end(thread, now, 0);
}

void __adprof_binomial_next(uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low, int64_t more, int64_t action) {
  struct thread *thread = begin();
  if (!thread)
    return;
  uint64_t now = session_ticks();
  tree_advance(thread, frame, pushed, popped, high, low);
  tree_binomial_next(thread, more != 0, action);
  end(thread, now, 0);
}

void hooks_publish_all(void) {
  uint64_t ticks = 0, hooks = 0;
  for (struct thread *thread = __atomic_load_n(&all_threads, __ATOMIC_ACQUIRE); thread; thread = thread->next) {
    tree_publish_counters(thread);
    ticks += thread->sampled_hook_ticks;
    hooks += thread->sampled_hooks;
  }
  session_refresh(hooks ? ticks * 1000 / hooks : 0);
}
