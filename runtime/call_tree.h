/* The call tree of one thread, built while the program runs: frames, matching of reverse calls with forward calls by stack
 * height, and folding. Called by hooks.c; must not know how hooks are called.
 *
 * Matching. A forward sweep leaves a *record* per primal or forward call, with the stack height at the call. Records of a
 * frame form a chain, newest first; all records of a thread live on one stack, since the tape itself is last in, first
 * out. A reverse call at height h belongs to a record of its callee in its frame: the oldest one above h (what lies between is its
 * snapshot), or else the newest one exactly at h (a snapshot of nothing). Where that leaves several, the site that the pass paired
 * with the call decides.
 *
 * Folding. A reversed call is an *entry* of its frame; entries of all open frames stand behind one another. A tail that
 * repeats becomes a loop entry. At its end a frame becomes a node, and equal nodes are stored once. */
#ifndef ADPROF_RUNTIME_CALL_TREE_H
#define ADPROF_RUNTIME_CALL_TREE_H

#include "runtime/abi/raw_layout.h"
#include "runtime/abi/site.h"

#include <stdint.h>

enum { kNone = 0xffffffffu };

/** A primal or forward call that waits for its reversal. */
struct record {
  uint32_t previous; /* of the same frame, older; kNone */
  uint32_t site;
  uint32_t procedure; /* callee */
  uint32_t inner;     /* forward calls: newest record of the callee's own frame */
  uint8_t is_forward;
  uint8_t reversed;   /* once already: this is repeated reading */
  uint16_t reserved;
  uint32_t padding;
  uint64_t height_bits; /* primal: behind the snapshot; forward: where the callee's tape begins */
  uint64_t end_bits;    /* forward: where the callee's tape ends; primal: equal to height_bits */
  uint64_t kept_bits;
  uint64_t ticks; /* of the primal run, or of the forward sweep */
  uint64_t write_ticks, write_bits; /* of the pushes that were timed before the call */
};

/** What a begin hook knows and the callee's `enter` takes over. */
struct expected {
  uint32_t procedure; /* kNone: nothing is expected */
  uint32_t site;
  uint32_t context;
  uint32_t record;     /* record that is reversed, or the one of a forward call; kNone */
  uint32_t flags;      /* ADPROF_EDGE_... */
  uint32_t kind;       /* enum adprof_call_kind */
  uint64_t start_bits; /* of the child on the stack, end_bits its end as the caller's forward sweep left it */
  uint64_t end_bits;
  uint64_t kept_bits;
  uint64_t begin_ticks;
};

enum phase { kForward, kBackward };
enum frame_kind { kOrdinary, kJoint, kSplitForward, kSplitBackward, kBlock };

struct frame {
  struct expected call; /* how it was entered */
  const char *address;  /* of the machine frame that entered it: tells frames that longjmp left */
  uint64_t base_bits;
  uint64_t high_bits;  /* largest height in its own code in the current forward phase */
  uint64_t floor_bits; /* backward phase: everything above has been reversed */
  uint64_t enter_ticks, turn_ticks;
  uint64_t hook_calls_at_enter;
  uint32_t newest;       /* record */
  uint32_t record_base;  /* records from here on belong to it and to what it calls */
  uint32_t first_entry;
  uint32_t fold_from; /* entries before this one are left as they are */
  uint32_t procedure;
  uint32_t context;
  uint8_t kind, phase, lossy, in_binomial;
  uint8_t abandoned;
  int64_t action;         /* of the binomial schedule */
  uint64_t binomial_base_bits, binomial_high_bits;
  uint32_t pending; /* record of the primal or forward call that runs now */
  uint64_t primal_begin_ticks;
};

struct repeat_level {
  uint32_t frame, newest, entry_count;
  uint8_t phase;
  uint64_t height_bits, floor_bits;
  uint64_t least_bits;    /* least height since the level began or was reset */
  uint64_t physical_bits; /* what the AD stack held when the level began */
};
enum { kRepeatLevels = 64 };

struct counters {
  uint64_t reverse_calls, matched_unique, matched_static, matched_latest, unmatched_sliced, unmatched_unexplained;
  uint64_t unreversed_primal, advance_calls, anomalies, hook_calls, roots, root_ticks, traffic_bits, envelope_nodes;
};

/** Everything about one thread. Memory comes from the kernel, never from malloc. */
struct thread {
  struct adprof_raw_thread *raw;
  uint32_t index;
  uint32_t frame_count; /* >= 1: frames[0] is ordinary code */
  uint8_t busy;         /* in a hook: guards against re-entry from a signal handler */
  uint64_t height_bits;
  uint64_t peak_bits;
  uint64_t last_sample_ticks;
  uint64_t sampled_hook_ticks, sampled_hooks;
  struct expected expected;
  struct {
    const struct adprof_call *call;
    uint64_t ticks, height_bits;
  } snapshot; /* latest snapshot_begin */

  struct frame *frames; /* ADPROF_RAW_FRAMES */
  struct record *records;
  uint64_t records_bytes;
  uint32_t record_count;
  struct repeat_level repeats[kRepeatLevels];
  uint32_t repeat_count;

  /* nodes: address of each record in the file, its tape as measured, and a hash table of numbers */
  uint64_t **nodes;
  uint64_t nodes_bytes;
  uint64_t *tapes;
  uint64_t tapes_bytes;
  uint32_t node_count;
  uint32_t *node_table;
  uint64_t node_table_bytes;
  struct adprof_raw_segment *node_segment;
  uint32_t *shapes; /* distinct nodes per procedure */
  uint64_t shapes_bytes;

  struct adprof_raw_context **contexts;
  uint64_t contexts_bytes;
  uint32_t context_count;
  struct {
    uint32_t parent, site, procedure, context;
  } *context_table;
  uint64_t context_table_bytes;
  struct adprof_raw_segment *context_segment;
  uint32_t *active; /* per context: open frames, for recursion */
  uint64_t active_bytes;

  struct counters counters, published;
  struct thread *next;
  struct thread *next_idle;
};

/** Creates the state of the calling thread. Null where there is no memory. */
struct thread *tree_new_thread(void);
/** The thread ends: closes what is open, so that another thread, with an empty AD stack, can take the state over. */
void tree_end_of_thread(struct thread *thread);
/** Adds what the thread counted since the last call to the header. Any thread may call it for any other at the end. */
void tree_publish_counters(struct thread *thread);

/** Folds the accumulators of the function whose frame is `frame` into the height. First call of every hook that takes them; drops
 *  frames above `frame` that were left without `leave`. ADPROF_NO_FRAME leaves open frames alone: ordinary code may run below them. */
void tree_advance(struct thread *thread, uint32_t frame, int64_t pushed, int64_t popped, int64_t high, int64_t low);
/** As tree_advance, for hooks without accumulators. */
void tree_unwind(struct thread *thread, uint32_t frame);

/** Drops frames that longjmp, an exception or a tail call left: a live frame stands above `address` on the machine stack. */
void tree_drop_left(struct thread *thread, const char *address);
/** Opens a frame and returns its token. `guessed`: an adjoint procedure only where its call is open. */
uint32_t tree_enter(struct thread *thread, uint32_t procedure, uint32_t role, int guessed, const char *address, uint64_t now);
void tree_leave(struct thread *thread, uint64_t now);
void tree_turn(struct thread *thread, uint64_t now);
void tree_call_forward(struct thread *thread, const struct adprof_call *call, uint32_t site, uint32_t procedure, uint64_t kept_bits,
                       uint64_t now);
void tree_return_forward(struct thread *thread, const struct adprof_call *call, uint64_t now);
void tree_call_reverse(struct thread *thread, const struct adprof_call *call, uint32_t site, uint32_t procedure, uint64_t now);
void tree_return_reverse(struct thread *thread, const struct adprof_call *call, uint64_t now);
void tree_repeat_start(struct thread *thread);
void tree_repeat_reset(struct thread *thread);
void tree_repeat_end(struct thread *thread);
void tree_binomial_init(struct thread *thread);
void tree_binomial_next(struct thread *thread, int more, int64_t action);

/* fold.c */

/** Number of the node with this content; stored once. kNone where there is no space. `tape_bits` is its tape as measured. */
uint32_t fold_node(struct thread *thread, uint32_t procedure, uint64_t own_first_bits, uint64_t flags, uint64_t (*entries)[4],
                   uint32_t entry_count, uint64_t tape_bits);
/** Appends an entry to the top frame and folds a repeated tail. Returns 0 where there is no room. */
int fold_append(struct thread *thread, const uint64_t entry[4]);

#endif
