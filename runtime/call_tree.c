#include "runtime/call_tree.h"
#include "runtime/abi/events.h"
#include "runtime/raw_writer.h"
#include "runtime/session.h"

#include <string.h>
#include <sys/mman.h>

enum {
  kContexts = 1 << 20,         /* distinct calling contexts of one thread; recursion is folded before */
  kContextSegmentBytes = 1 << 16,
  kLongestWalk = 1 << 16,      /* records looked at for one reverse call */
};

/* Actions of a binomial schedule that matter here. */
enum { kAdvance = 4, kTurn = 6 };

static const struct expected kNothingExpected = {.procedure = kNone, .site = ADPROF_ENTRY_NO_SITE, .context = kNone, .record = kNone};

static struct frame *top_frame(struct thread *thread) { return &thread->frames[thread->frame_count - 1]; }

static void out_of_space(void) { session_stop(ADPROF_STOP_NO_SPACE, "the raw profile can't be extended"); }
static void out_of_memory(void) { session_stop(ADPROF_STOP_NO_MEMORY, "no memory can be mapped"); }

/* The latest record of a thread is only ever this one, so that records of closed frames need no clean-up. While the tape is being read
 * repeatedly, records above must stay: they come back with repeat_reset. */
static void release_records(struct thread *thread, uint32_t from) {
  if (thread->repeat_count == 0 && from < thread->record_count)
    thread->record_count = from;
}

/* ---- contexts ---- */

static struct adprof_raw_context *context_of(struct thread *thread, uint32_t context) {
  return context == kNone ? NULL : thread->contexts[context];
}

static uint64_t context_hash(uint32_t parent, uint32_t site, uint32_t procedure) {
  uint64_t hash = ((uint64_t)parent << 32 | site) * 0x9e3779b97f4a7c15u ^ procedure * 0xc2b2ae3d27d4eb4fu;
  return hash ^ hash >> 29;
}

static uint32_t *context_slot(struct thread *thread, uint32_t parent, uint32_t site, uint32_t procedure) {
  uint64_t mask = thread->context_table_bytes / sizeof *thread->context_table - 1;
  for (uint64_t i = context_hash(parent, site, procedure) & mask;; i = (i + 1) & mask) {
    if (thread->context_table[i].context == 0 || (thread->context_table[i].parent == parent && thread->context_table[i].site == site &&
                                                  thread->context_table[i].procedure == procedure)) {
      thread->context_table[i].parent = parent;
      thread->context_table[i].site = site;
      thread->context_table[i].procedure = procedure;
      return &thread->context_table[i].context;
    }
  }
}

/* The context of `site` below `parent`; kNone, with collection stopped, where there is no space. The value in the table is the number
 * plus one. A recursive call gets the context of the outer call: contexts would otherwise grow with the depth of the recursion. */
static uint32_t find_context(struct thread *thread, uint32_t parent, uint32_t site, uint32_t procedure) {
  uint32_t *slot = context_slot(thread, parent, site, procedure);
  if (*slot)
    return *slot - 1;
  for (uint32_t outer = parent; outer != kNone; outer = thread->contexts[outer]->parent)
    if (thread->contexts[outer]->site == site && thread->contexts[outer]->procedure == procedure) {
      *slot = outer + 1;
      return outer;
    }
  uint32_t number = thread->context_count;
  if ((uint64_t)(number + 1) * 2 * sizeof *thread->context_table > thread->context_table_bytes || number >= kContexts) {
    /* The table is never rehashed: it is reserved whole, and touched as it fills. */
    session_stop(ADPROF_STOP_TOO_MANY, "more calling contexts than the profile holds");
    return kNone;
  }
  struct adprof_raw_segment *segment = thread->context_segment;
  if (!segment || segment->used_bytes + sizeof(struct adprof_raw_context) > raw_capacity(segment)) {
    segment = raw_new_segment(ADPROF_SEGMENT_CONTEXTS, thread->index, kContextSegmentBytes);
    if (!segment) {
      out_of_space();
      return kNone;
    }
    thread->context_segment = segment;
  }
  if (!session_grow((void **)&thread->contexts, &thread->contexts_bytes, ((uint64_t)number + 1) * sizeof *thread->contexts) ||
      !session_grow((void **)&thread->active, &thread->active_bytes, ((uint64_t)number + 1) * sizeof *thread->active)) {
    out_of_memory();
    return kNone;
  }
  struct adprof_raw_context *context = (struct adprof_raw_context *)(raw_data(segment) + segment->used_bytes);
  context->parent = parent;
  context->site = site;
  context->procedure = procedure;
  context->tape_least_bits = context->snapshot_least_bits = UINT64_MAX;
  raw_publish(segment, segment->used_bytes + sizeof *context);
  thread->contexts[number] = context;
  thread->context_count = number + 1;
  thread->raw->context_count = number + 1;
  *slot = number + 1;
  return number;
}

static void add_range(uint64_t *total, uint64_t *least, uint64_t *largest, uint64_t value) {
  *total += value;
  if (value < *least)
    *least = value;
  if (value > *largest)
    *largest = value;
}

/* ---- threads ---- */

static void *map_private(uint64_t bytes) {
  void *memory = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  return memory == MAP_FAILED ? NULL : memory;
}

struct thread *tree_new_thread(void) {
  static uint32_t next_index;
  struct thread *thread = map_private(sizeof *thread);
  if (!thread)
    return NULL;
  thread->frames = map_private(sizeof(struct frame) * ADPROF_RAW_FRAMES);
  thread->context_table_bytes = sizeof *thread->context_table << 15;
  thread->context_table = map_private(thread->context_table_bytes);
  if (!thread->frames || !thread->context_table)
    return NULL;
  thread->index = __atomic_fetch_add(&next_index, 1, __ATOMIC_RELAXED);
  struct adprof_raw_segment *segment = raw_new_segment(ADPROF_SEGMENT_THREAD, thread->index, sizeof(struct adprof_raw_thread));
  if (!segment)
    return NULL;
  thread->raw = (struct adprof_raw_thread *)raw_data(segment);
  thread->raw->root_node = UINT64_MAX;
  thread->raw->start_tick = session_ticks();
  thread->raw->frame_count = 1;
  raw_publish(segment, sizeof(struct adprof_raw_thread));
  __atomic_fetch_add(&raw_header->thread_count, 1, __ATOMIC_RELAXED);
  thread->expected = kNothingExpected;
  thread->frame_count = 1;
  struct frame *ordinary = &thread->frames[0];
  ordinary->kind = kOrdinary;
  ordinary->procedure = ADPROF_NODE_ORDINARY;
  ordinary->context = ordinary->newest = ordinary->pending = kNone;
  thread->raw->frames[0] = (struct adprof_raw_frame){.procedure = ADPROF_NODE_ORDINARY, .site = ADPROF_ENTRY_NO_SITE, .context = kNone};
  return thread;
}

void tree_publish_counters(struct thread *thread) {
#define PUBLISH(name)                                                                                                              \
  do {                                                                                                                             \
    uint64_t now = __atomic_load_n(&thread->counters.name, __ATOMIC_RELAXED);                                                      \
    __atomic_fetch_add(&raw_header->name, now - thread->published.name, __ATOMIC_RELAXED);                                         \
    thread->published.name = now;                                                                                                  \
  } while (0)
  PUBLISH(reverse_calls);
  PUBLISH(matched_unique);
  PUBLISH(matched_static);
  PUBLISH(matched_latest);
  PUBLISH(unmatched_sliced);
  PUBLISH(unmatched_unexplained);
  PUBLISH(unreversed_primal);
  PUBLISH(advance_calls);
  PUBLISH(anomalies);
  PUBLISH(hook_calls);
  PUBLISH(roots);
  PUBLISH(root_ticks);
  PUBLISH(traffic_bits);
  PUBLISH(envelope_nodes);
#undef PUBLISH
  uint64_t peak = thread->peak_bits, seen = __atomic_load_n(&raw_header->stack_peak_bits, __ATOMIC_RELAXED);
  while (peak > seen && !__atomic_compare_exchange_n(&raw_header->stack_peak_bits, &seen, peak, 1, __ATOMIC_RELAXED, __ATOMIC_RELAXED))
    ;
}

/* ---- frames ---- */

static uint64_t distance(struct thread *thread, uint64_t above, uint64_t below) {
  if (above >= below)
    return above - below;
  thread->counters.anomalies++;
  return 0;
}

static int open_frame(struct thread *thread, enum frame_kind kind, uint32_t procedure, uint32_t context, uint64_t base_bits) {
  if (thread->frame_count >= ADPROF_RAW_FRAMES) {
    session_stop(ADPROF_STOP_TOO_DEEP, "adjoint procedures are nested deeper than the profile holds");
    return 0;
  }
  struct frame *frame = &thread->frames[thread->frame_count];
  memset(frame, 0, sizeof *frame);
  frame->call = kNothingExpected;
  frame->kind = (uint8_t)kind;
  frame->procedure = procedure;
  frame->context = context;
  frame->base_bits = frame->high_bits = frame->floor_bits = base_bits;
  frame->newest = frame->pending = kNone;
  frame->record_base = thread->record_count;
  frame->first_entry = frame->fold_from = (uint32_t)thread->raw->entry_count;
  thread->raw->frames[thread->frame_count] = (struct adprof_raw_frame){.procedure = procedure,
                                                                       .site = ADPROF_ENTRY_NO_SITE,
                                                                       .context = context,
                                                                       .first_entry = frame->first_entry,
                                                                       .base_bits = base_bits,
                                                                       .start_of_last_child_bits = base_bits};
  thread->frame_count++;
  __atomic_store_n(&thread->raw->frame_count, thread->frame_count, __ATOMIC_RELEASE);
  return 1;
}

static void drop_frame(struct thread *thread) {
  struct frame *frame = top_frame(thread);
  __atomic_store_n(&thread->raw->entry_count, frame->first_entry, __ATOMIC_RELEASE);
  thread->frame_count--;
  __atomic_store_n(&thread->raw->frame_count, thread->frame_count, __ATOMIC_RELEASE);
  while (thread->repeat_count && thread->repeats[thread->repeat_count - 1].frame >= thread->frame_count)
    thread->repeat_count--;
}

/* The first backward event of a frame: the turn lies behind it, and all that was recorded is below `floor`. */
static void turn_backward(struct frame *frame) {
  if (frame->phase == kForward) {
    frame->phase = kBackward;
    frame->floor_bits = frame->high_bits;
  }
}

static void append(struct thread *thread, const uint64_t entry[4]) {
  if (!fold_append(thread, entry))
    out_of_space();
}

/* Turns the top frame into a node. The frame stays open: its caller drops it. */
static uint32_t close_node(struct thread *thread) {
  struct frame *frame = top_frame(thread);
  turn_backward(frame);
  uint64_t own_first = distance(thread, frame->floor_bits, frame->base_bits);
  uint32_t count = (uint32_t)thread->raw->entry_count - frame->first_entry;
  uint64_t tape;
  if (frame->kind == kSplitBackward)
    tape = distance(thread, frame->call.end_bits, frame->base_bits);
  else
    tape = frame->high_bits > frame->base_bits ? frame->high_bits - frame->base_bits : 0;
  uint32_t node = fold_node(thread, frame->procedure, own_first, frame->abandoned ? ADPROF_NODE_ABANDONED : 0,
                            thread->raw->entries + frame->first_entry, count, tape);
  if (node == kNone)
    out_of_space();
  return node;
}

/* Appends the call `child` with the node of its behaviour to the top frame. */
static void append_child(struct thread *thread, const struct expected *child, uint32_t node) {
  struct frame *frame = top_frame(thread);
  uint64_t kept = child->kept_bits, flags = child->flags;
  uint64_t snapshot = 0;
  if (!(flags & ADPROF_EDGE_OFF))
    snapshot = child->end_bits - child->start_bits - kept;
  uint64_t entry[4] = {0, (uint64_t)child->site << 32 | node, snapshot, flags << 48 | (kept & (((uint64_t)1 << 48) - 1))};
  if (frame->in_binomial && frame->kind != kBlock) {
    /* A step of a binomial loop stands at many heights, among snapshots that no decision moves. One block per distinct (height, step) says all
     * that the peak needs; how often is in the context. */
    uint64_t above = distance(thread, child->start_bits, frame->binomial_base_bits);
    uint32_t block = fold_node(thread, ADPROF_NODE_BLOCK, above, 0, &entry, 1, above);
    if (block == kNone) {
      out_of_space();
      return;
    }
    uint64_t number = (uint64_t)ADPROF_ENTRY_BLOCK << 32 | block;
    for (uint64_t i = frame->first_entry; i < thread->raw->entry_count; i++)
      if (thread->raw->entries[i][1] == number)
        return;
    append(thread, (const uint64_t[4]){0, number, 0, 0});
    return;
  }
  entry[0] = distance(thread, frame->floor_bits, child->end_bits);
  frame->floor_bits = child->start_bits;
  thread->raw->frames[thread->frame_count - 1].start_of_last_child_bits = child->start_bits;
  append(thread, entry);
}

/* A pseudo-frame for what is pushed after the turn of its function: blocks that are checkpointed by themselves, hand-made code. It takes over no
 * records; its entries fold by themselves. */
static void open_block(struct thread *thread, uint64_t base_bits) {
  struct frame *owner = top_frame(thread);
  if (open_frame(thread, kBlock, ADPROF_NODE_BLOCK, owner->context, base_bits))
    top_frame(thread)->newest = kNone;
}

static void count_unreversed(struct thread *thread, uint32_t newest, uint32_t until) {
  for (uint32_t record = newest; record != until && record != kNone; record = thread->records[record].previous)
    if (!thread->records[record].reversed)
      thread->counters.unreversed_primal++;
}

static void close_block(struct thread *thread) {
  struct frame *block = top_frame(thread);
  uint64_t base = block->base_bits, high = block->high_bits;
  uint32_t newest = block->newest, record_base = block->record_base;
  int worthwhile = thread->raw->entry_count > block->first_entry || high > thread->frames[thread->frame_count - 2].floor_bits;
  uint32_t node = worthwhile ? close_node(thread) : kNone;
  count_unreversed(thread, newest, kNone);
  drop_frame(thread);
  release_records(thread, record_base);
  struct frame *frame = top_frame(thread);
  if (node == kNone)
    return;
  uint64_t entry[4] = {distance(thread, frame->floor_bits, base), (uint64_t)ADPROF_ENTRY_BLOCK << 32 | node, 0, 0};
  frame->floor_bits = base;
  append(thread, entry);
}

/* Blocks end where the stack falls below their base, or where nothing of them is left and something new begins. */
static void close_blocks_above(struct thread *thread, uint64_t low_bits) {
  while (top_frame(thread)->kind == kBlock && low_bits < top_frame(thread)->base_bits)
    close_block(thread);
}

static void leave_frame(struct thread *thread, uint64_t now);

/* Drops the frames above `frame` that nobody left: longjmp, an exception, a tail call. */
static void abandon_above(struct thread *thread, uint32_t frame) {
  uint32_t keep = frame + 1;
  while (keep < thread->frame_count && thread->frames[keep].kind == kBlock)
    keep++;
  while (thread->frame_count > keep) {
    if (top_frame(thread)->kind == kBlock) {
      close_block(thread);
      continue;
    }
    thread->counters.anomalies++;
    top_frame(thread)->abandoned = 1;
    thread->height_bits = top_frame(thread)->base_bits;
    leave_frame(thread, session_ticks());
  }
  thread->expected = kNothingExpected;
}

void tree_unwind(struct thread *thread, uint32_t frame) {
  if (frame != ADPROF_NO_FRAME && frame + 1 < thread->frame_count) {
    uint32_t real = thread->frame_count - 1;
    while (real > frame && thread->frames[real].kind == kBlock)
      real--;
    if (real > frame)
      abandon_above(thread, frame);
  }
}

/* The end of a binomial loop: what its own snapshots reached stays as a block. */
static void finish_binomial(struct thread *thread) {
  struct frame *frame = top_frame(thread);
  frame->in_binomial = 0;
  turn_backward(frame);
  uint64_t above = distance(thread, frame->binomial_high_bits, frame->binomial_base_bits);
  uint32_t node = fold_node(thread, ADPROF_NODE_BLOCK, above, 0, NULL, 0, above);
  if (node == kNone)
    out_of_space();
  else
    append(thread, (const uint64_t[4]){0, (uint64_t)ADPROF_ENTRY_BLOCK << 32 | node, 0, 0});
}

/* What the AD stack really holds: within repeated reading, pushes go above the tape that will be read again. */
static uint64_t physical_bits(struct thread *thread, uint64_t bits) {
  if (!thread->repeat_count)
    return bits;
  const struct repeat_level *level = &thread->repeats[thread->repeat_count - 1];
  return level->physical_bits + distance(thread, bits, level->least_bits);
}

void tree_advance(struct thread *thread, uint32_t frame_number, int64_t pushed, int64_t popped, int64_t high, int64_t low) {
  tree_unwind(thread, frame_number);
  if ((pushed | popped) == 0)
    return;
  uint64_t before = thread->height_bits;
  uint64_t highest = before + (uint64_t)high;
  uint64_t after = before + (uint64_t)(pushed - popped), lowest = before + (uint64_t)low;
  if ((int64_t)lowest < 0) { /* popped what was pushed by code that was not instrumented */
    thread->counters.anomalies++;
    lowest = 0;
    if ((int64_t)after < 0)
      after = 0;
  }
  thread->counters.traffic_bits += (uint64_t)pushed;
  thread->raw->traffic_bits = thread->counters.traffic_bits;
  uint64_t physical = physical_bits(thread, highest);
  if (thread->repeat_count && lowest < thread->repeats[thread->repeat_count - 1].least_bits)
    thread->repeats[thread->repeat_count - 1].least_bits = lowest;
  if (physical > thread->peak_bits) {
    thread->peak_bits = physical;
    __atomic_store_n(&thread->raw->peak_bits, physical, __ATOMIC_RELAXED); /* other threads read it */
  }
  thread->height_bits = after;
  thread->raw->height_bits = after;
  struct frame *frame = top_frame(thread);
  if (frame->in_binomial) {
    if (highest > frame->binomial_high_bits)
      frame->binomial_high_bits = highest;
    if (lowest < frame->binomial_base_bits) /* the loop was left by a jump */
      finish_binomial(thread);
  } else if (frame->phase == kForward || frame->kind == kBlock) {
    if (highest > frame->high_bits)
      frame->high_bits = highest;
  } else if (pushed && (after > lowest || highest > frame->floor_bits)) {
    /* Pushed after the turn: an excursion from where the backward sweep stands. Calls in it join the block. */
    open_block(thread, lowest < frame->floor_bits ? lowest : frame->floor_bits);
    top_frame(thread)->high_bits = highest;
    if (after <= lowest)
      close_block(thread);
    return;
  }
  close_blocks_above(thread, lowest);
}

/* ---- entering and leaving ---- */

static int forward_region(uint32_t role) { return role == ADPROF_ROLE_REGION_FORWARD; }

static uint32_t new_record(struct thread *thread, uint32_t site, uint32_t procedure, int is_forward, uint64_t kept_bits) {
  struct frame *frame = top_frame(thread);
  uint32_t number = thread->record_count;
  if (!session_grow((void **)&thread->records, &thread->records_bytes, ((uint64_t)number + 1) * sizeof *thread->records)) {
    out_of_memory();
    return kNone;
  }
  struct record *record = &thread->records[number];
  memset(record, 0, sizeof *record);
  record->previous = frame->newest;
  record->site = site;
  record->procedure = procedure;
  record->inner = kNone;
  record->is_forward = (uint8_t)is_forward;
  record->height_bits = record->end_bits = thread->height_bits;
  record->kept_bits = kept_bits;
  frame->newest = number;
  thread->record_count = number + 1;
  return number;
}

/* Before a forward event: in a backward phase it begins a block, unless that block is open. */
static void begin_forward(struct thread *thread) {
  struct frame *frame = top_frame(thread);
  if (frame->in_binomial)
    return;
  if (frame->kind == kBlock && frame->phase == kBackward && frame->newest == kNone && thread->height_bits <= frame->base_bits) {
    close_block(thread);
    frame = top_frame(thread);
  }
  if (frame->phase == kBackward)
    open_block(thread, thread->height_bits < frame->floor_bits || frame->kind == kOrdinary ? thread->height_bits : frame->floor_bits);
}

void tree_call_forward(struct thread *thread, const struct adprof_call *call, uint32_t site, uint32_t procedure, uint64_t kept_bits,
                       uint64_t now) {
  int is_forward = call->kind == ADPROF_CALL_FORWARD;
  struct frame *frame = top_frame(thread);
  if (frame->in_binomial && frame->action == kAdvance && !is_forward) {
    thread->counters.advance_calls++;
    frame->pending = kNone;
    return;
  }
  if (!is_forward && call->flags & ADPROF_CALL_ROOT)
    return;
  begin_forward(thread);
  uint32_t number = new_record(thread, site, procedure, is_forward, kept_bits);
  if (number == kNone)
    return;
  frame = top_frame(thread);
  frame->pending = number;
  if (thread->snapshot.call == call && !is_forward) {
    thread->records[number].write_ticks = session_elapsed(thread->snapshot.ticks, now);
    thread->records[number].write_bits = distance(thread, thread->height_bits, thread->snapshot.height_bits);
  }
  thread->snapshot.call = NULL;
  if (is_forward) {
    thread->expected = kNothingExpected;
    thread->expected.procedure = procedure;
    thread->expected.site = site;
    thread->expected.kind = ADPROF_CALL_FORWARD;
    thread->expected.record = number;
    thread->expected.context = find_context(thread, frame->context, site, procedure);
    thread->expected.begin_ticks = now;
  }
}

void tree_return_forward(struct thread *thread, const struct adprof_call *call, uint64_t now) {
  (void)call;
  struct frame *frame = top_frame(thread);
  if (frame->pending == kNone)
    return;
  struct record *record = &thread->records[frame->pending];
  record->ticks = session_elapsed(frame->primal_begin_ticks, now);
  record->end_bits = thread->height_bits;
  if (frame->phase == kForward && thread->height_bits > frame->high_bits)
    frame->high_bits = thread->height_bits;
  frame->pending = kNone;
  thread->expected = kNothingExpected;
}

/* How a reverse call found its record. */
struct match {
  uint32_t record;          /* kNone */
  uint8_t of_site, of_others; /* were there candidates of the call's own site, and of other sites? */
};

static struct match find_record(const struct thread *thread, const struct frame *frame, const struct adprof_call *call, uint32_t site,
                                uint32_t procedure) {
  uint64_t height = thread->height_bits;
  int is_forward = call->kind == ADPROF_CALL_BACKWARD;
  uint32_t best = kNone, best_of_site = kNone, walked = 0;
  struct match match = {.record = kNone};
  for (uint32_t i = frame->newest; i != kNone && walked < kLongestWalk; i = thread->records[i].previous, walked++) {
    const struct record *record = &thread->records[i];
    if (record->end_bits < height)
      break;
    if (record->procedure != procedure || record->is_forward != is_forward || (is_forward && record->end_bits != height))
      continue;
    /* The oldest one above the height, else the newest one at it. Of one site there is nothing to choose: the latest invocation is
     * reversed first. */
    int above = record->end_bits > height;
    if (record->site == site) {
      match.of_site = 1;
      if (best_of_site == kNone || above)
        best_of_site = i;
      if (!above)
        break;
    } else {
      match.of_others = 1;
      if (best == kNone || above)
        best = i;
    }
  }
  /* A call that the pass knows to have no primal must not take the record of another site. */
  if (match.of_site)
    match.record = best_of_site;
  else if (!(call->flags & ADPROF_CALL_SLICED))
    match.record = best;
  return match;
}

/* `alone`: nobody expects a primal call, be it sliced away or the turn of a binomial loop. */
static void count_match(struct counters *counters, const struct match *match, int alone) {
  counters->reverse_calls++;
  if (match->record == kNone)
    (*(alone ? &counters->unmatched_sliced : &counters->unmatched_unexplained))++;
  else if (match->of_site)
    (*(match->of_others ? &counters->matched_static : &counters->matched_unique))++;
  else
    counters->matched_latest++;
}

void tree_call_reverse(struct thread *thread, const struct adprof_call *call, uint32_t site, uint32_t procedure, uint64_t now) {
  struct frame *frame = top_frame(thread);
  int root = frame->kind == kOrdinary && call->kind == ADPROF_CALL_ADJOINT;
  struct expected child = kNothingExpected;
  child.procedure = procedure;
  child.site = site;
  child.kind = call->kind;
  child.start_bits = child.end_bits = thread->height_bits;
  uint32_t found = kNone;
  if (!root) {
    /* The newest block first; a call that belongs to a frame around it shows that the block is over. */
    uint32_t holder = thread->frame_count - 1;
    struct match match = find_record(thread, frame, call, site, procedure);
    while (match.record == kNone && thread->frames[holder].kind == kBlock)
      match = find_record(thread, &thread->frames[--holder], call, site, procedure);
    if (match.record != kNone)
      while (thread->frame_count - 1 > holder)
        close_block(thread);
    frame = top_frame(thread);
    found = match.record;
    /* Entered by a call that the pass did not see (a procedure argument): its primal was not seen either. */
    if (found != kNone || site != ADPROF_ENTRY_NO_SITE)
      count_match(&thread->counters, &match, call->flags & ADPROF_CALL_SLICED || (frame->in_binomial && frame->action == kTurn));
  }
  if (!frame->in_binomial)
    turn_backward(frame);
  if (found != kNone) {
    struct record *record = &thread->records[found];
    if (!thread->repeat_count)
      count_unreversed(thread, frame->newest, found);
    frame->newest = record->previous;
    child.record = found;
    child.site = record->site;
    child.kept_bits = record->kept_bits;
    if (record->is_forward) {
      child.flags = ADPROF_EDGE_OFF;
      child.start_bits = distance(thread, record->height_bits, record->kept_bits);
      child.end_bits = record->end_bits;
    } else {
      child.end_bits = record->height_bits;
      if (child.kept_bits > child.end_bits - child.start_bits) {
        child.kept_bits = child.end_bits - child.start_bits;
        child.flags |= ADPROF_EDGE_ESTIMATE;
      }
      release_records(thread, found);
    }
  } else {
    child.flags = ADPROF_EDGE_NO_PRIMAL;
  }
  child.context = find_context(thread, frame->context, child.site, procedure);
  if (child.context == kNone)
    return;
  struct adprof_raw_context *context = thread->contexts[child.context];
  if (!context->first_invocation_tick)
    context->first_invocation_tick = now;
  int again = found != kNone && thread->records[found].reversed;
  if (again) {
    context->repeats++;
  } else if (child.flags & ADPROF_EDGE_OFF) {
    context->invocations_off++;
    context->kept_total_bits += child.kept_bits;
  } else {
    context->invocations_on++;
    context->invocations_sliced += found == kNone && !root;
    if (found != kNone) {
      thread->records[found].reversed = 1;
      context->primal_calls++;
      context->primal_ticks += thread->records[found].ticks;
      context->write_ticks += thread->records[found].write_ticks;
      context->write_bits += thread->records[found].write_bits;
      context->kept_total_bits += child.kept_bits;
      add_range(&context->snapshot_total_bits, &context->snapshot_least_bits, &context->snapshot_largest_bits,
                child.end_bits - child.start_bits - child.kept_bits);
    }
  }
  if (found != kNone)
    thread->records[found].reversed = 1;
  if (thread->snapshot.call == call && found != kNone && call->kind == ADPROF_CALL_ADJOINT) {
    context->read_ticks += session_elapsed(thread->snapshot.ticks, now);
    context->read_bits += distance(thread, thread->snapshot.height_bits, thread->height_bits);
  }
  thread->snapshot.call = NULL;
  child.begin_ticks = now;
  thread->expected = child;
  if (root) {
    thread->counters.roots++;
    if (!raw_header->resident_start_bytes)
      raw_header->resident_start_bytes = session_resident_bytes();
  }
}

void tree_return_reverse(struct thread *thread, const struct adprof_call *call, uint64_t now) {
  struct expected child = thread->expected;
  thread->expected = kNothingExpected;
  if (child.procedure == kNone) /* `leave` has done all */
    return;
  if (call->flags & ADPROF_CALL_GUESSED && top_frame(thread)->kind == kOrdinary) {
    /* A function that is only named like an adjoint. */
    thread->contexts[child.context]->invocations_on--;
    thread->counters.roots--;
    return;
  }
  /* The callee was not instrumented: a leaf of unknown tape. */
  child.flags |= ADPROF_EDGE_OPAQUE;
  uint32_t node = fold_node(thread, child.procedure, 0, 0, NULL, 0, 0);
  if (node == kNone) {
    out_of_space();
    return;
  }
  struct adprof_raw_context *context = thread->contexts[child.context];
  context->backward_ticks += now - child.begin_ticks;
  append_child(thread, &child, node);
}

void tree_drop_left(struct thread *thread, const char *address) {
  for (;;) {
    uint32_t real = thread->frame_count - 1;
    while (thread->frames[real].kind == kBlock)
      real--;
    if (real == 0 || thread->frames[real].address >= address)
      return;
    abandon_above(thread, real - 1);
  }
}

uint32_t tree_enter(struct thread *thread, uint32_t procedure, uint32_t role, int guessed, const char *address, uint64_t now) {
  if (thread->expected.procedure != procedure && guessed)
    return ADPROF_NO_FRAME;
  tree_drop_left(thread, address);
  struct expected call = thread->expected;
  thread->expected = kNothingExpected;
  if (call.procedure != procedure) {
    /* A parallel region, or a call the pass did not see: find its place by height alone. */
    struct adprof_call unseen = {.kind = ADPROF_CALL_ADJOINT};
    if (role == ADPROF_ROLE_FORWARD || forward_region(role))
      unseen.kind = ADPROF_CALL_FORWARD;
    else if (role == ADPROF_ROLE_BACKWARD || role == ADPROF_ROLE_REGION_BACKWARD)
      unseen.kind = ADPROF_CALL_BACKWARD;
    if (unseen.kind == ADPROF_CALL_FORWARD) {
      tree_call_forward(thread, &unseen, ADPROF_ENTRY_NO_SITE, procedure, 0, now);
      top_frame(thread)->primal_begin_ticks = now;
    } else
      tree_call_reverse(thread, &unseen, ADPROF_ENTRY_NO_SITE, procedure, now);
    call = thread->expected;
    thread->expected = kNothingExpected;
    if (call.procedure != procedure)
      return ADPROF_NO_FRAME;
    call.begin_ticks = now;
    call.kind |= 0x100u; /* nobody will call the return hook */
  }
  uint32_t kind = call.kind & 0xffu;
  enum frame_kind frame_kind = kind == ADPROF_CALL_FORWARD ? kSplitForward : kind == ADPROF_CALL_BACKWARD ? kSplitBackward : kJoint;
  if (!open_frame(thread, frame_kind, procedure, call.context, frame_kind == kSplitBackward ? call.start_bits + call.kept_bits : thread->height_bits))
    return ADPROF_NO_FRAME;
  struct frame *frame = top_frame(thread);
  frame->call = call;
  frame->address = address;
  frame->enter_ticks = now;
  frame->hook_calls_at_enter = thread->counters.hook_calls;
  thread->raw->frames[thread->frame_count - 1].site = call.site;
  if (call.context != kNone)
    thread->active[call.context]++;
  if (frame_kind == kSplitBackward && call.record != kNone) {
    frame->newest = thread->records[call.record].inner;
    frame->high_bits = frame->floor_bits = call.end_bits;
    frame->phase = kBackward;
    frame->record_base = call.record;
  }
  return thread->frame_count - 1;
}

void tree_turn(struct thread *thread, uint64_t now) {
  struct frame *frame = top_frame(thread);
  if (!frame->turn_ticks)
    frame->turn_ticks = now;
  if (!frame->in_binomial)
    turn_backward(frame);
}

static void leave_frame(struct thread *thread, uint64_t now) {
  struct frame *frame = top_frame(thread);
  struct expected call = frame->call;
  struct adprof_raw_context *context = context_of(thread, frame->context);
  int outermost = context && thread->active[frame->context] && --thread->active[frame->context] == 0;
  uint64_t elapsed = now - frame->enter_ticks, turn = frame->turn_ticks ? frame->turn_ticks - frame->enter_ticks : 0;
  if (context) {
    if (frame->kind == kSplitForward || frame->kind == kSplitBackward) {
      if (outermost)
        *(frame->kind == kSplitForward ? &context->forward_ticks : &context->backward_ticks) += elapsed;
    } else if (outermost) {
      context->forward_ticks += turn;
      context->backward_ticks += elapsed - turn;
    }
    if (outermost)
      context->hook_calls += thread->counters.hook_calls - frame->hook_calls_at_enter;
    uint64_t high = physical_bits(thread, frame->high_bits);
    if (high > context->stack_peak_bits)
      context->stack_peak_bits = high;
    struct adprof_raw_context *parent = context_of(thread, context->parent);
    if (parent && context->stack_peak_bits > parent->stack_peak_bits)
      parent->stack_peak_bits = context->stack_peak_bits;
  }
  if (frame->kind == kSplitForward) {
    uint32_t newest = frame->newest;
    uint64_t end = thread->height_bits;
    drop_frame(thread);
    struct record *record = &thread->records[call.record];
    record->inner = newest;
    record->end_bits = end;
    struct frame *caller = top_frame(thread);
    if (caller->phase == kForward && end > caller->high_bits)
      caller->high_bits = end;
    if (call.kind & 0x100u) {
      record->ticks = elapsed;
      caller->pending = kNone;
    }
    return;
  }
  if (!thread->repeat_count)
    count_unreversed(thread, frame->newest, kNone);
  if (!frame->abandoned && thread->height_bits != frame->base_bits && thread->repeat_count == 0)
    thread->counters.anomalies++;
  uint32_t node = close_node(thread), record_base = frame->record_base;
  drop_frame(thread);
  release_records(thread, record_base);
  if (node == kNone)
    return;
  if (context)
    add_range(&context->tape_total_bits, &context->tape_least_bits, &context->tape_largest_bits, thread->tapes[node]);
  if (top_frame(thread)->kind == kOrdinary && call.kind != ADPROF_CALL_BACKWARD)
    thread->counters.root_ticks += now - call.begin_ticks;
  append_child(thread, &call, node);
}

void tree_leave(struct thread *thread, uint64_t now) {
  while (top_frame(thread)->kind == kBlock)
    close_block(thread);
  if (thread->frame_count > 1)
    leave_frame(thread, now);
  thread->expected = kNothingExpected;
}

void tree_end_of_thread(struct thread *thread) {
  abandon_above(thread, 0);
  while (top_frame(thread)->kind == kBlock)
    close_block(thread);
  struct frame *ordinary = top_frame(thread);
  if (thread->height_bits != 0)
    thread->counters.anomalies++;
  count_unreversed(thread, ordinary->newest, kNone);
  ordinary->newest = ordinary->pending = kNone;
  ordinary->phase = kForward;
  ordinary->high_bits = ordinary->floor_bits = thread->height_bits = thread->raw->height_bits = 0;
  thread->repeat_count = 0;
  release_records(thread, 0);
}

/* ---- repeated reading ---- */

void tree_repeat_start(struct thread *thread) {
  if (thread->repeat_count == kRepeatLevels) {
    thread->counters.anomalies++;
    return;
  }
  struct frame *frame = top_frame(thread);
  struct repeat_level level = {.frame = thread->frame_count - 1,
                               .newest = frame->newest,
                               .entry_count = (uint32_t)thread->raw->entry_count,
                               .phase = frame->phase,
                               .height_bits = thread->height_bits,
                               .least_bits = thread->height_bits,
                               .floor_bits = frame->floor_bits,
                               .physical_bits = physical_bits(thread, thread->height_bits)};
  thread->repeats[thread->repeat_count++] = level;
  frame->fold_from = level.entry_count; /* so that a reset can cut off what came after */
}

void tree_repeat_reset(struct thread *thread) {
  if (!thread->repeat_count) {
    thread->counters.anomalies++;
    return;
  }
  struct repeat_level *level = &thread->repeats[thread->repeat_count - 1];
  while (thread->frame_count - 1 > level->frame && top_frame(thread)->kind == kBlock)
    close_block(thread);
  thread->height_bits = level->least_bits = level->height_bits;
  if (thread->frame_count - 1 != level->frame)
    return; /* reset from another procedure than the one that started: heights only */
  struct frame *frame = top_frame(thread);
  frame->newest = level->newest;
  frame->phase = level->phase;
  frame->floor_bits = level->floor_bits;
  __atomic_store_n(&thread->raw->entry_count, level->entry_count, __ATOMIC_RELEASE);
}

void tree_repeat_end(struct thread *thread) {
  if (thread->repeat_count)
    thread->repeat_count--;
  else
    thread->counters.anomalies++;
}

/* ---- binomial loops ---- */

void tree_binomial_init(struct thread *thread) {
  struct frame *frame = top_frame(thread);
  if (frame->kind == kOrdinary)
    return;
  frame->in_binomial = 1;
  frame->action = 0;
  frame->binomial_base_bits = frame->binomial_high_bits = thread->height_bits;
}

void tree_binomial_next(struct thread *thread, int more, int64_t action) {
  struct frame *frame = top_frame(thread);
  if (!frame->in_binomial)
    return;
  frame->action = action;
  if (!more)
    finish_binomial(thread);
}
