/* Folding: equal nodes are stored once, repeated tails of entries become loops. See call_tree.h.
 *
 * Rejected: hashing whole subtrees at the end (a crash would lose them), and suffix automata over the entries (loop bodies of real
 * adjoints are short; a scan over at most kLongestBody entries costs about 0.1 us and only in frames that have not folded). */
#include "runtime/call_tree.h"
#include "runtime/raw_writer.h"
#include "runtime/session.h"

#include <string.h>

enum {
  kLongestBody = 256,        /* calls in one iteration that are still recognised as a loop */
  kExactShapes = 1024,       /* distinct nodes of one procedure before sizes are rounded up to 1/8 of an octave */
  kCoarseShapes = 8192,      /* ... and to whole octaves */
  kExactEntries = 4096,      /* entries of one frame before tails that differ in sizes only are folded */
  kNodeSegmentBytes = 1 << 18,
};

static const uint64_t kKeptMask = ((uint64_t)1 << 48) - 1;

static int is_call(const uint64_t entry[4]) { return (entry[1] >> 32) != ADPROF_ENTRY_LOOP && (entry[1] >> 32) != ADPROF_ENTRY_BLOCK; }

/* What the entry leaves on the tape of its frame, as measured. */
static uint64_t entry_bits(const struct thread *thread, const uint64_t entry[4]) {
  uint32_t child = (uint32_t)entry[1];
  switch (entry[1] >> 32) {
  case ADPROF_ENTRY_LOOP:
    return entry[0] + entry[2] * thread->tapes[child];
  case ADPROF_ENTRY_BLOCK:
    return entry[0];
  default:
    return entry[0] + (entry[3] & kKeptMask) + (entry[3] >> 48 & ADPROF_EDGE_OFF ? thread->tapes[child] : entry[2]);
  }
}

static uint64_t mix(uint64_t hash, uint64_t word) {
  hash = (hash ^ word) * 0x9e3779b97f4a7c15u;
  return hash ^ hash >> 32;
}

static uint64_t hash_node(const uint64_t header[ADPROF_NODE_HEADER_WORDS], uint64_t (*entries)[4], uint32_t entry_count) {
  uint64_t hash = 0;
  for (unsigned i = 0; i < ADPROF_NODE_HEADER_WORDS; i++)
    hash = mix(hash, header[i]);
  for (uint32_t i = 0; i < entry_count; i++)
    for (unsigned j = 0; j < ADPROF_NODE_ENTRY_WORDS; j++)
      hash = mix(hash, entries[i][j]);
  return hash;
}

/* A slot is the node's number plus one; 0 is free. */
static uint32_t *find_slot(struct thread *thread, uint64_t hash, const uint64_t *header, uint64_t (*entries)[4], uint32_t entry_count) {
  uint64_t mask = thread->node_table_bytes / sizeof(uint32_t) - 1;
  for (uint64_t i = hash & mask;; i = (i + 1) & mask) {
    uint32_t *slot = &thread->node_table[i];
    if (!*slot)
      return slot;
    const uint64_t *node = thread->nodes[*slot - 1];
    if (node[0] == header[0] && node[1] == header[1] && node[2] == header[2] &&
        (!entry_count || !memcmp(node + ADPROF_NODE_HEADER_WORDS, entries, (size_t)entry_count * sizeof *entries)))
      return slot;
  }
}

static int grow_node_table(struct thread *thread) {
  uint64_t slots = thread->node_table_bytes / sizeof(uint32_t);
  if ((uint64_t)thread->node_count * 2 < slots)
    return 1;
  if (!session_grow((void **)&thread->node_table, &thread->node_table_bytes, slots ? slots * 2 * sizeof(uint32_t) : 1 << 14))
    return 0;
  memset(thread->node_table, 0, thread->node_table_bytes);
  for (uint32_t i = 0; i < thread->node_count; i++) {
    uint64_t *node = thread->nodes[i];
    uint64_t (*entries)[4] = (uint64_t (*)[4])(node + ADPROF_NODE_HEADER_WORDS);
    uint32_t count = (uint32_t)node[0];
    *find_slot(thread, hash_node(node, entries, count), node, entries, count) = i + 1;
  }
  return 1;
}

static uint64_t *append_node(struct thread *thread, const uint64_t *header, uint64_t (*entries)[4], uint32_t entry_count) {
  uint64_t bytes = sizeof(uint64_t) * (ADPROF_NODE_HEADER_WORDS + (uint64_t)entry_count * ADPROF_NODE_ENTRY_WORDS);
  struct adprof_raw_segment *segment = thread->node_segment;
  if (!segment || segment->used_bytes + bytes > raw_capacity(segment)) {
    segment = raw_new_segment(ADPROF_SEGMENT_NODES, thread->index, bytes > kNodeSegmentBytes ? bytes : kNodeSegmentBytes);
    if (!segment)
      return NULL;
    thread->node_segment = segment;
  }
  uint64_t *node = (uint64_t *)(raw_data(segment) + segment->used_bytes);
  memcpy(node, header, ADPROF_NODE_HEADER_WORDS * sizeof(uint64_t));
  if (entry_count)
    memcpy(node + ADPROF_NODE_HEADER_WORDS, entries, (size_t)entry_count * sizeof *entries);
  raw_publish(segment, segment->used_bytes + bytes);
  return node;
}

/* Rounds up so that an octave has 2^digits values; zero and small numbers stay. */
static uint64_t round_up(uint64_t value, unsigned digits) {
  if (value >> (digits + 1) == 0)
    return value;
  unsigned shift = 63u - (unsigned)__builtin_clzll(value) - digits;
  return (value + ((uint64_t)1 << shift) - 1) >> shift << shift;
}

static void round_entries(uint64_t (*entries)[4], uint32_t entry_count, unsigned digits) {
  for (uint32_t i = 0; i < entry_count; i++) {
    entries[i][0] = round_up(entries[i][0], digits);
    if (is_call(entries[i]))
      entries[i][2] = round_up(entries[i][2], digits);
  }
}

uint32_t fold_node(struct thread *thread, uint32_t procedure, uint64_t own_first_bits, uint64_t flags, uint64_t (*entries)[4],
                   uint32_t entry_count, uint64_t tape_bits) {
  if (!grow_node_table(thread))
    return kNone;
  uint64_t header[ADPROF_NODE_HEADER_WORDS] = {(uint64_t)procedure << 32 | entry_count, own_first_bits, flags};
  uint32_t *slot = find_slot(thread, hash_node(header, entries, entry_count), header, entries, entry_count);
  if (*slot)
    return *slot - 1;
  if (procedure < ADPROF_NODE_ORDINARY) {
    if (!session_grow((void **)&thread->shapes, &thread->shapes_bytes, ((uint64_t)procedure + 1) * sizeof *thread->shapes))
      return kNone;
    uint32_t shapes = thread->shapes[procedure];
    if (shapes >= kExactShapes) {
      unsigned digits = shapes >= kCoarseShapes ? 0 : 3;
      header[1] = round_up(own_first_bits, digits);
      header[2] |= ADPROF_NODE_ENVELOPE;
      round_entries(entries, entry_count, digits);
      slot = find_slot(thread, hash_node(header, entries, entry_count), header, entries, entry_count);
      if (*slot)
        return *slot - 1;
      tape_bits = header[1];
      for (uint32_t i = 0; i < entry_count; i++)
        tape_bits += entry_bits(thread, entries[i]);
    }
    thread->shapes[procedure]++;
  }
  uint32_t number = thread->node_count;
  if (!session_grow((void **)&thread->nodes, &thread->nodes_bytes, ((uint64_t)number + 1) * sizeof *thread->nodes) ||
      !session_grow((void **)&thread->tapes, &thread->tapes_bytes, ((uint64_t)number + 1) * sizeof *thread->tapes))
    return kNone;
  uint64_t *node = append_node(thread, header, entries, entry_count);
  if (!node)
    return kNone;
  if (header[2] & ADPROF_NODE_ENVELOPE)
    thread->counters.envelope_nodes++;
  thread->nodes[number] = node;
  thread->tapes[number] = tape_bits;
  thread->node_count = number + 1;
  thread->raw->node_count = number + 1;
  *slot = number + 1;
  return number;
}

static int same_entry(const uint64_t a[4], const uint64_t b[4]) {
  return a[1] == b[1] && a[0] == b[0] && a[2] == b[2] && a[3] == b[3];
}

/* In a frame that does not fold exactly: entries that differ in sizes only, and loops whose bodies do. */
static int alike(const struct thread *thread, const uint64_t a[4], const uint64_t b[4]) {
  if (a[1] >> 32 != b[1] >> 32 || a[3] >> 48 != b[3] >> 48)
    return 0;
  if (a[1] >> 32 != ADPROF_ENTRY_LOOP)
    return 1;
  const uint64_t *body_a = thread->nodes[(uint32_t)a[1]], *body_b = thread->nodes[(uint32_t)b[1]];
  if (body_a == body_b)
    return 1;
  if ((uint32_t)body_a[0] != (uint32_t)body_b[0])
    return 0;
  for (uint32_t i = 0; i < (uint32_t)body_a[0]; i++)
    if (!alike(thread, body_a + ADPROF_NODE_HEADER_WORDS + 4 * i, body_b + ADPROF_NODE_HEADER_WORDS + 4 * i))
      return 0;
  return 1;
}

static int alike_run(const struct thread *thread, const uint64_t *a, const uint64_t *b, uint32_t count) {
  for (uint32_t i = 0; i < count; i++)
    if (!alike(thread, a + 4 * i, b + 4 * i))
      return 0;
  return 1;
}

static uint64_t largest(uint64_t a, uint64_t b) { return a > b ? a : b; }

static uint32_t sequence(struct thread *thread, uint64_t (*entries)[4], uint32_t count, uint64_t flags);

/* Raises `into` to cover `from`: the larger of each size, and the child with the larger tape. Returns 0 where there is no space. */
static int cover(struct thread *thread, uint64_t into[4], const uint64_t from[4]) {
  uint32_t child = (uint32_t)into[1], other = (uint32_t)from[1];
  if (child != other) {
    if (into[1] >> 32 == ADPROF_ENTRY_LOOP) {
      uint32_t count = (uint32_t)thread->nodes[child][0];
      uint64_t body[kLongestBody][4];
      memcpy(body, thread->nodes[child] + ADPROF_NODE_HEADER_WORDS, count * sizeof *body);
      for (uint32_t i = 0; i < count; i++)
        if (!cover(thread, body[i], thread->nodes[other] + ADPROF_NODE_HEADER_WORDS + 4 * i))
          return 0;
      child = sequence(thread, body, count, ADPROF_NODE_ENVELOPE);
      if (child == kNone)
        return 0;
    } else if (thread->tapes[other] > thread->tapes[child]) {
      child = other;
    }
    into[1] = (into[1] >> 32 << 32) | child;
  }
  into[0] = largest(into[0], from[0]);
  into[2] = largest(into[2], from[2]);
  into[3] = (into[3] >> 48 << 48) | largest(into[3] & kKeptMask, from[3] & kKeptMask);
  return 1;
}

static uint32_t sequence(struct thread *thread, uint64_t (*entries)[4], uint32_t count, uint64_t flags) {
  uint64_t bits = 0;
  for (uint32_t i = 0; i < count; i++)
    bits += entry_bits(thread, entries[i]);
  return fold_node(thread, ADPROF_NODE_SEQUENCE, 0, flags, entries, count, bits);
}

static void set_entry_count(struct thread *thread, uint32_t count) {
  __atomic_store_n(&thread->raw->entry_count, count, __ATOMIC_RELEASE);
}

/* One step of folding at the tail. Returns 1 if something was folded, 0 if not, -1 where there is no space. */
static int fold_tail(struct thread *thread, uint32_t first, int lossy) {
  uint64_t (*entries)[4] = thread->raw->entries;
  uint32_t count = (uint32_t)thread->raw->entry_count, last = count - 1;
  uint32_t longest = last - first < kLongestBody ? last - first : kLongestBody;
  for (uint32_t length = 1; length <= longest; length++) {
    uint64_t *entry = entries[last - length];
    if (entry[1] >> 32 == ADPROF_ENTRY_LOOP) {
      uint64_t *node = thread->nodes[(uint32_t)entry[1]];
      if ((uint32_t)node[0] == length) {
        uint64_t *tail = entries[last - length + 1];
        if (!memcmp(node + ADPROF_NODE_HEADER_WORDS, tail, length * sizeof *entries)) {
          entry[2]++;
          set_entry_count(thread, count - length);
          return 1;
        }
        if (lossy && alike_run(thread, node + ADPROF_NODE_HEADER_WORDS, tail, length)) {
          for (uint32_t i = 0; i < length; i++)
            if (!cover(thread, tail + 4 * i, node + ADPROF_NODE_HEADER_WORDS + 4 * i))
              return -1;
          uint32_t body = sequence(thread, entries + (last - length + 1), length, ADPROF_NODE_ENVELOPE);
          if (body == kNone)
            return -1;
          entry[1] = (uint64_t)ADPROF_ENTRY_LOOP << 32 | body;
          entry[2]++;
          set_entry_count(thread, count - length);
          return 1;
        }
      }
    }
    if (length * 2 > count - first)
      continue;
    int exact = same_entry(entry, entries[last]);
    if (!exact && !(lossy && alike(thread, entry, entries[last])))
      continue;
    uint64_t *before = entries[count - 2 * length], *tail = entries[count - length];
    exact = exact && !memcmp(before, tail, length * sizeof *entries);
    if (!exact && !(lossy && alike_run(thread, before, tail, length)))
      continue;
    if (!exact)
      for (uint32_t i = 0; i < length; i++)
        if (!cover(thread, tail + 4 * i, before + 4 * i))
          return -1;
    uint32_t body = sequence(thread, entries + (count - length), length, exact ? 0 : ADPROF_NODE_ENVELOPE);
    if (body == kNone)
      return -1;
    before[0] = 0;
    before[1] = (uint64_t)ADPROF_ENTRY_LOOP << 32 | body;
    before[2] = 2;
    before[3] = 0;
    set_entry_count(thread, count - 2 * length + 1);
    return 1;
  }
  return 0;
}

int fold_append(struct thread *thread, const uint64_t entry[4]) {
  uint64_t count = thread->raw->entry_count;
  if (count >= ADPROF_RAW_ENTRIES)
    return 0;
  memcpy(thread->raw->entries[count], entry, sizeof thread->raw->entries[count]);
  set_entry_count(thread, (uint32_t)count + 1);
  struct frame *frame = &thread->frames[thread->frame_count - 1];
  if (count + 1 - frame->first_entry > kExactEntries)
    frame->lossy = 1;
  int folded;
  while ((folded = fold_tail(thread, frame->fold_from, frame->lossy)) > 0)
    ;
  return folded == 0;
}
