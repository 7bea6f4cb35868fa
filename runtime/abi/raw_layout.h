/* The raw profile: what the runtime writes while the program runs and `optimizer/profile` reads afterwards.
 *
 * Constraints: written in place through a shared file mapping, so that it is readable after SIGKILL at any moment; only
 * appended to, apart from counters, which are single aligned 64-bit stores; never needs a repair pass. Rejected: a log
 * of events (a profile must not grow with the length of the run), and writing at exit (adjoints die of memory).
 *
 * The counters of the header are brought up to date at most once a millisecond, and at the end; nodes, contexts and threads at once.
 *
 * All fields are little-endian. The file is a header of ADPROF_RAW_HEADER_BYTES followed by segments, each a multiple
 * of 4096 bytes long, contiguous, up to header.file_bytes. A reader goes from segment to segment by `bytes`; a segment of type 0, or one
 * that does not fit into the file, ends the walk. Data counts up to `used_bytes` only; a writer stores the data first.
 *
 * Sizes of tape are in bits, because controls and booleans are bits on the stack. Times are in ticks of header.tick_hz.
 * Offsets of fields are part of the format: tests compare them with literals.
 */
#ifndef ADPROF_RUNTIME_ABI_RAW_LAYOUT_H
#define ADPROF_RUNTIME_ABI_RAW_LAYOUT_H

#include <stdint.h>

#define ADPROF_RAW_MAGIC "ADPROFRW"
#define ADPROF_RAW_VERSION 1u
#define ADPROF_RAW_OLDEST_READER 1u
#define ADPROF_RAW_ENDIAN_MARK 0x01020304u
#define ADPROF_RAW_HEADER_BYTES 4096u
#define ADPROF_RAW_SEGMENT_HEADER_BYTES 32u

enum adprof_raw_state {
  ADPROF_RAW_RUNNING = 0,  /* the program is running, or was killed */
  ADPROF_RAW_FINISHED = 1, /* the program ended by exit or by returning from main */
  ADPROF_RAW_STOPPED = 2,  /* collection stopped early: see stop_reason; the program went on */
};

enum adprof_raw_stop_reason {
  ADPROF_STOP_NONE = 0,
  ADPROF_STOP_NO_SPACE = 1,     /* the file could not be extended */
  ADPROF_STOP_TOO_DEEP = 2,     /* more nested adjoint procedures than ADPROF_RAW_FRAMES */
  ADPROF_STOP_NO_MEMORY = 3,    /* anonymous memory could not be mapped */
  ADPROF_STOP_ABI = 4,          /* an object was instrumented for another version */
  ADPROF_STOP_TOO_MANY = 5,     /* more threads, sites or procedures than the format holds */
};

struct adprof_raw_header {
  char magic[8];              /* 0 */
  uint32_t version;           /* 8 */
  uint32_t oldest_reader;     /* 12 */
  uint32_t endian_mark;       /* 16 */
  uint32_t feature_bits;      /* 20: none defined; a reader refuses bits it does not know */
  uint64_t file_bytes;        /* 24: header and segments that are allocated */
  uint32_t state;             /* 32: enum adprof_raw_state */
  uint32_t stop_reason;       /* 36: enum adprof_raw_stop_reason */
  uint32_t reserved_word;     /* 40 */
  uint32_t process_id;        /* 44 */
  uint64_t tick_hz;           /* 48: ticks per second; set at start from a short calibration, refined at the end */
  uint64_t start_tick;        /* 56 */
  uint64_t last_tick;         /* 64: of the latest update */
  uint64_t start_unix_ns;     /* 72 */
  uint64_t wall_ns;           /* 80: at the latest update */
  uint64_t cpu_ns;            /* 88: user and system time of the process at the latest update */
  uint64_t resident_peak_bytes;     /* 96: largest seen, VmHWM at the end */
  uint64_t resident_start_bytes;    /* 104: when the first adjoint root began */
  uint64_t resident_other_bytes;    /* 112: largest (resident - AD stack of all threads) seen */
  uint64_t adstack_peak_bytes;      /* 120: the AD stack's own count; all ones where it offers none */
  uint64_t adstack_traffic_bytes;   /* 128: bytes pushed by its own count; all ones where it offers none */
  uint64_t thread_count;            /* 136 */
  uint64_t reverse_calls;           /* 144: adjoint and backward calls inside adjoint procedures */
  uint64_t matched_unique;          /* 152: reverse calls whose candidates were all of their own site */
  uint64_t matched_static;          /* 160: candidates of several sites, decided by the pass's pairing */
  uint64_t matched_latest;          /* 168: candidates of other sites only: decided by height alone */
  uint64_t unmatched_sliced;        /* 176: no primal call, as the pass expected */
  uint64_t unmatched_unexplained;   /* 184: no primal call, though the pass expected one */
  uint64_t unreversed_primal;       /* 192: primal calls never reversed (inactive or advances excluded) */
  uint64_t advance_calls;           /* 200: primal calls of binomial loops */
  uint64_t anomalies;               /* 208: heights that contradict LIFO order, frames that were left by longjmp, ... */
  uint64_t hook_ticks;              /* 216: ticks per hook, times 1000, calibrated at start */
  uint64_t hook_calls;              /* 224 */
  uint64_t roots;                   /* 232: calls of adjoint procedures from ordinary code */
  uint64_t root_ticks;              /* 240: time inside them */
  uint64_t stack_peak_bits;         /* 248: largest height counted on one thread */
  uint64_t traffic_bits;            /* 256: pushed on all threads */
  uint64_t envelope_nodes;          /* 264: nodes whose sizes are no longer exact */
  uint64_t main_cpu_ns;             /* 272: processor time of the main thread, as the scheduler counts it; 0 where it does not tell */
  uint64_t main_wait_ns;            /* 280: time the main thread was ready to run and had no processor */
};

enum adprof_raw_segment_type {
  ADPROF_SEGMENT_NONE = 0,
  ADPROF_SEGMENT_TEXT = 1,       /* "key=value\n" lines: command, executable, build_id, runtime_version, host, rank, cwd */
  ADPROF_SEGMENT_MODULE = 2,     /* the text of one adprof_module, see site.h */
  ADPROF_SEGMENT_SITES = 3,      /* u64 site keys; site number = index over all such segments in file order */
  ADPROF_SEGMENT_PROCEDURES = 4, /* u64 primal hashes; procedure number = index likewise */
  ADPROF_SEGMENT_NODES = 5,      /* node records of one thread */
  ADPROF_SEGMENT_CONTEXTS = 6,   /* struct adprof_raw_context of one thread */
  ADPROF_SEGMENT_THREAD = 7,     /* struct adprof_raw_thread */
};

struct adprof_raw_segment {
  uint32_t type;       /* 0 */
  uint32_t thread;     /* 4: index of the thread it belongs to */
  uint64_t bytes;      /* 8: of the whole segment, this header included */
  uint64_t used_bytes; /* 16: of data behind this header */
  uint64_t reserved;   /* 24 */
};

/* A node record is a sequence of u64 words:
 *
 *   word 0  entry count (low 32 bits) | procedure number (high 32 bits; ADPROF_NODE_SEQUENCE for the body of a loop,
 *           ADPROF_NODE_BLOCK for an excursion)
 *   word 1  own bits before the first call of the forward sweep (the whole tape of a leaf)
 *   word 2  flags: ADPROF_NODE_...
 *   then per entry four words:
 *     0     own bits after this call, before the next call or the turn
 *     1     child node number of the same thread (low 32 bits) | site number (high 32; ADPROF_ENTRY_... if >= 0xfffffff0)
 *     2     snapshot bits; for a loop the number of iterations
 *     3     kept bits (low 48) | ADPROF_EDGE_... flags (high 16)
 *
 * Entries stand in the order in which the calls were reversed: the last call of the forward sweep comes first. The same holds
 * inside the body of a loop. Node numbers of a thread count its records from 0, in file order; a child's number is less than its parent's. */
#define ADPROF_NODE_HEADER_WORDS 3u
#define ADPROF_NODE_ENTRY_WORDS 4u
#define ADPROF_NODE_SEQUENCE 0xffffffffu
#define ADPROF_NODE_BLOCK 0xfffffffeu
#define ADPROF_NODE_ORDINARY 0xfffffffdu /* ordinary code: the parent of the roots */
#define ADPROF_ENTRY_LOOP 0xffffffffu    /* word 1 high half: child is a SEQUENCE node */
#define ADPROF_ENTRY_BLOCK 0xfffffffeu   /* word 1 high half: child is a BLOCK node: pushed and popped in the backward sweep, keeps nothing */
#define ADPROF_ENTRY_NO_SITE 0xfffffffdu /* an adjoint procedure entered by a call the pass did not see */

enum {
  ADPROF_NODE_ENVELOPE = 1u << 0, /* sizes are upper bounds of several behaviours */
  ADPROF_NODE_ABANDONED = 1u << 1 /* left by longjmp, an exception, or the end of the program */
};
enum {
  ADPROF_EDGE_OFF = 1u << 0,       /* measured in split mode: there is no snapshot */
  ADPROF_EDGE_NO_PRIMAL = 1u << 1, /* reversed without a primal call */
  ADPROF_EDGE_OPAQUE = 1u << 2,    /* the adjoint was not instrumented: its inside is unknown */
  ADPROF_EDGE_ESTIMATE = 1u << 3   /* snapshot and own bits could not be told apart exactly */
};

/* One calling context: a site under its parent context. Written in place. parent of a root: 0xffffffff. */
struct adprof_raw_context {
  uint32_t parent; /* 0: context number of the same thread; less than this context's own number */
  uint32_t site;   /* 4: ADPROF_ENTRY_NO_SITE for a procedure entered by a call the pass did not see, or a parallel region */
  uint64_t invocations_on;   /* 8: reversed in joint mode */
  uint64_t invocations_off;  /* 16: reversed in split mode */
  uint64_t invocations_sliced; /* 24: of invocations_on: without a primal call */
  uint64_t repeats;          /* 32: further reversals of an invocation already counted (repeated reading) */
  uint64_t primal_calls;     /* 40: primal calls that primal_ticks covers */
  uint64_t unreversed;       /* 48: primal or forward calls that were never reversed */
  uint64_t tape_total_bits, tape_least_bits, tape_largest_bits;             /* 56 64 72 */
  uint64_t snapshot_total_bits, snapshot_least_bits, snapshot_largest_bits; /* 80 88 96 */
  uint64_t kept_total_bits;      /* 104 */
  uint64_t primal_ticks;         /* 112: of primal calls that were reversed in joint mode; each once, however often reversed */
  uint64_t write_ticks;          /* 120: snapshots, where timed */
  uint64_t write_bits;           /* 128: bits pushed while write_ticks ran; divide for the rate */
  uint64_t read_ticks;           /* 136 */
  uint64_t read_bits;            /* 144 */
  uint64_t forward_ticks;        /* 152: forward sweeps, nested calls included */
  uint64_t backward_ticks;       /* 160: backward sweeps, nested calls included */
  uint64_t stack_peak_bits;      /* 168: highest AD stack while in it, absolute */
  uint64_t resident_peak_bytes;  /* 176 */
  uint64_t hook_calls;           /* 184: hooks executed inside its forward and backward sweeps */
  uint64_t first_invocation_tick; /* 192 */
  uint64_t procedure;            /* 200: number of the callee, also where site is ADPROF_ENTRY_NO_SITE */
  uint64_t reserved[6];          /* 208 */
};

#define ADPROF_RAW_FRAMES 4096u
#define ADPROF_RAW_ENTRIES 16384u

/* An open frame of a thread: its entries are not a node yet. */
struct adprof_raw_frame {
  uint32_t procedure;   /* 0: number */
  uint32_t site;        /* 4 */
  uint32_t context;     /* 8 */
  uint32_t first_entry; /* 12: index into adprof_raw_thread.entries */
  uint64_t base_bits;   /* 16 */
  uint64_t start_of_last_child_bits; /* 24: where the child reversed last begins; own bits before it are not known yet */
};

/* State of one thread. frames[0] is the ordinary code of the thread: its entries are the roots. */
struct adprof_raw_thread {
  uint64_t os_thread;       /* 0 */
  uint64_t height_bits;     /* 8: now */
  uint64_t peak_bits;       /* 16 */
  uint64_t traffic_bits;    /* 24 */
  uint64_t frame_count;     /* 32: open frames, frames[0] included; 0 when the thread has ended */
  uint64_t entry_count;     /* 40: entries in use by all open frames */
  uint64_t root_node;       /* 48: all ones: the roots are the entries of frames[0]. Reserved for a node of ordinary code */
  uint64_t node_count;      /* 56 */
  uint64_t context_count;   /* 64 */
  uint64_t start_tick;      /* 72 */
  uint64_t end_tick;        /* 80 */
  uint64_t reserved[5];     /* 88 */
  struct adprof_raw_frame frames[ADPROF_RAW_FRAMES];                       /* 128 */
  uint64_t entries[ADPROF_RAW_ENTRIES][ADPROF_NODE_ENTRY_WORDS];           /* 131200 */
};

#endif
