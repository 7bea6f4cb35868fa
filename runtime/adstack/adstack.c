/* The AD stack of adStack.h. Called by generated code only.
 *
 * A stack is two regions, one of bytes and one of 64-bit words of bits. A region is one piece of address space that
 * grows by mremap: pages move, bytes are never copied, and a push is one comparison and one copy. Rejected: a list of
 * blocks (every push and pop of an array is cut at block edges).
 *
 * Within a repeat level everything below `protect` must stay. A push then opens a segment at `protect`: a link, and
 * behind it what is pushed. A pop that reaches the floor of a segment goes on where the link says. Links lie in the
 * region itself, below the floor, and are protected like everything else. A region that may not be pushed on where its
 * top stands has `limit` at its base, so that levels cost the common path nothing. */
#define _GNU_SOURCE /* mremap */
#include "runtime/adstack/adStack.h"
#include "runtime/adstack/die.h"

#include <pthread.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#define COLD __attribute__((noinline, cold))
#define LIKELY(x) __builtin_expect(!!(x), 1)
#define UNLIKELY(x) __builtin_expect(!!(x), 0)
#define KIB 1024
#define MIB (1024 * KIB)

struct region {
  char *top;   /* next free byte */
  char *limit; /* a push must not pass it; the base where no push may be */
  char *floor; /* a pop below it follows the link that ends here, or is one too many if this is the base */
  char *base;
  int64_t capacity;
  int64_t protect; /* offset: bytes below it are read again in some open level */
};

/* Ends at the floor of the segment it opens. Offsets, because regions move. */
struct link {
  int64_t top, floor;
};

struct level {
  struct link bytes, bits; /* where each region stood */
  int64_t bytes_protect, bits_protect;
  uint64_t word;
  int64_t height_bits;
};

struct stack {
  struct region bytes, bits;
  uint64_t word; /* newest bits, below a leading one; older ones are in `bits`, word by word; 0 before the first */
  /* Read by other threads (the sums), hence stored as relaxed atomics. Height is pushed - popped. */
  int64_t pushed_bits, popped_bits, peak_bits;
  struct level *levels;
  int64_t level_count, level_room;
  struct stack *next, *previous; /* all live stacks, under `registry` */
  bool registered;
};

/* Initial exec: no call to find it, also within a shared library; it is small enough for dlopen. */
static _Thread_local struct stack self __attribute__((tls_model("initial-exec")));

static pthread_mutex_t registry = PTHREAD_MUTEX_INITIALIZER;
static struct stack *live;
static int64_t ended_peak_bits, ended_pushed_bits;
static int64_t stack_count;
static pthread_key_t at_thread_end;
static pthread_once_t key_once = PTHREAD_ONCE_INIT;

#define STORE(field, value) __atomic_store_n(&(field), (value), __ATOMIC_RELAXED)
#define LOAD(field) __atomic_load_n(&(field), __ATOMIC_RELAXED)

static int64_t height_bits(const struct stack *s) {
  return LOAD(s->pushed_bits) - LOAD(s->popped_bits);
}

static int64_t bytes_of(int64_t bits) {
  return (bits + 7) / 8;
}

/* The peak is looked for where the height is about to fall, and where somebody asks. */
static int64_t peak_bits(const struct stack *s) {
  int64_t height = height_bits(s), peak = LOAD(s->peak_bits);
  return height > peak ? height : peak;
}

/* --- threads --- */

static void unmap(struct region *r) {
  if (r->base)
    munmap(r->base, (size_t)r->capacity);
}

static void end_thread(void *stack) {
  struct stack *s = stack;
  pthread_mutex_lock(&registry);
  ended_peak_bits += peak_bits(s);
  ended_pushed_bits += s->pushed_bits;
  *(s->previous ? &s->previous->next : &live) = s->next;
  if (s->next)
    s->next->previous = s->previous;
  pthread_mutex_unlock(&registry);
  unmap(&s->bytes);
  unmap(&s->bits);
  free(s->levels);
  *s = (struct stack){0}; /* a later destructor of this thread may push again */
}

static void make_key(void) {
  pthread_key_create(&at_thread_end, end_thread);
}

static void enter_registry(struct stack *s) {
  s->registered = true;
  pthread_once(&key_once, make_key);
  pthread_setspecific(at_thread_end, s);
  pthread_mutex_lock(&registry);
  s->next = live;
  if (live)
    live->previous = s;
  live = s;
  stack_count++;
  pthread_mutex_unlock(&registry);
}

/* --- regions --- */

/* A base is null before the first push, when its offsets are all zero. */
static char *at(const struct region *r, int64_t offset) {
  return r->base ? r->base + offset : NULL;
}

static int64_t offset_of(const struct region *r, const char *p) {
  return r->base ? p - r->base : 0;
}

static void open_or_close(struct region *r) {
  r->limit = offset_of(r, r->floor) >= r->protect ? at(r, r->capacity) : r->base;
}

static void *map(int64_t bytes, int protection) {
  return mmap(NULL, (size_t)bytes, protection, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

static void *move(const struct region *r, int64_t capacity) {
  if (!r->base)
    return map(capacity, PROT_READ | PROT_WRITE);
  /* Onto a fresh mapping: thread checkers learn of it from mmap, and not from mremap. */
  void *fresh = map(capacity, PROT_NONE);
  if (fresh == MAP_FAILED)
    return MAP_FAILED;
  void *base = mremap(r->base, (size_t)r->capacity, (size_t)capacity, MREMAP_MAYMOVE | MREMAP_FIXED, fresh);
  if (base == MAP_FAILED)
    munmap(fresh, (size_t)capacity);
  return base;
}

/* Address space at least doubles, so that growing is rare; where that much is refused, what is needed will do, without
 * room for old and new side by side. */
static void grow(struct region *r, int64_t needed, const char *call) {
  const int64_t exact = (needed + MIB - 1) / MIB * MIB;
  int64_t capacity = r->capacity ? 2 * r->capacity : 64 * KIB;
  if (capacity < needed)
    capacity = exact;
  void *base = move(r, capacity);
  if (base == MAP_FAILED && r->base) {
    capacity = exact;
    base = mremap(r->base, (size_t)r->capacity, (size_t)capacity, MREMAP_MAYMOVE);
  }
  if (base == MAP_FAILED)
    adstack_die(
        call, "out of memory: the AD stack of this thread holds %lld bytes, and %lld more bytes of memory were refused",
        (long long)bytes_of(height_bits(&self)), (long long)(exact - r->capacity));
  const struct link now = {offset_of(r, r->top), offset_of(r, r->floor)};
  r->base = base;
  r->capacity = capacity;
  r->top = r->base + now.top;
  r->floor = r->base + now.floor;
  /* The first touch of a page costs more than the copy into it: 2 MiB pages where the stack is large anyway. */
  if (r->capacity >= 4 * MIB)
    madvise(r->base, (size_t)r->capacity, MADV_HUGEPAGE);
}

static COLD void make_room(struct region *r, int64_t bytes, const char *call) {
  if (!self.registered)
    enter_registry(&self);
  bool closed = offset_of(r, r->floor) < r->protect;
  int64_t start = offset_of(r, r->top);
  if (closed)
    start = (start > r->protect ? start : r->protect) + (int64_t)sizeof(struct link);
  if (bytes > INT64_MAX / 4)
    adstack_die(call, "out of memory: %lld bytes at once", (long long)bytes);
  if (r->capacity - start < bytes)
    grow(r, start + bytes, call);
  if (closed) {
    struct link below = {r->top - r->base, r->floor - r->base};
    r->top = r->floor = r->base + start;
    memcpy(r->floor - sizeof below, &below, sizeof below);
  }
  open_or_close(r);
}

static void go_to(struct region *r, struct link place) {
  r->top = at(r, place.top);
  r->floor = at(r, place.floor);
  open_or_close(r);
}

/* Pops what lies in more than one segment. */
static COLD void pop_across(struct region *r, char *x, int64_t bytes, const char *call) {
  int64_t wanted = bytes;
  while (r->base) {
    int64_t here = r->top - r->floor < bytes ? r->top - r->floor : bytes;
    r->top -= here;
    bytes -= here;
    if (here)
      memcpy(x + bytes, r->top, (size_t)here);
    if (!bytes)
      return;
    if (r->floor == r->base)
      break;
    struct link below;
    memcpy(&below, r->floor - sizeof below, sizeof below);
    go_to(r, below);
  }
  if (r == &self.bits)
    adstack_die(call, "the AD stack of this thread holds no more bits");
  adstack_die(call, "pops %lld bytes, and the AD stack of this thread holds %lld", (long long)wanted,
              (long long)(wanted - bytes));
}

static inline bool has_room(const struct region *r, int64_t bytes) {
  return LIKELY(r->limit - r->top >= bytes);
}

static inline void put(struct region *r, const void *x, int64_t bytes) {
  char *top = r->top;
  r->top = top + bytes;
  memcpy(top, x, (size_t)bytes);
}

static inline void region_pop(struct region *r, void *x, int64_t bytes, const char *call) {
  char *top = r->top;
  if (UNLIKELY(top - r->floor < bytes)) {
    pop_across(r, x, bytes, call);
    return;
  }
  r->top = top - bytes;
  memcpy(x, top - bytes, (size_t)bytes);
}

/* --- counting --- */

static inline void count_push(struct stack *s, int64_t bits) {
  STORE(s->pushed_bits, s->pushed_bits + bits);
}

static inline void count_pop(struct stack *s, int64_t bits) {
  int64_t popped = s->popped_bits, height = s->pushed_bits - popped;
  if (UNLIKELY(height > s->peak_bits))
    STORE(s->peak_bits, height);
  STORE(s->popped_bits, popped + bits);
}

/* --- values, arrays and bits --- */

static inline void push_bytes(const void *x, int64_t bytes, const char *call) {
  if (!has_room(&self.bytes, bytes))
    make_room(&self.bytes, bytes, call);
  put(&self.bytes, x, bytes);
  count_push(&self, 8 * bytes);
}

static inline void pop_bytes(void *x, int64_t bytes, const char *call) {
  count_pop(&self, 8 * bytes);
  region_pop(&self.bytes, x, bytes, call);
}

static inline int64_t array_bytes(int64_t n, int64_t size, const char *call) {
  int64_t bytes;
  if (UNLIKELY(__builtin_mul_overflow(n, size, &bytes)))
    adstack_die(call, "out of memory: %lld elements", (long long)n);
  return bytes;
}

static inline void push_array(const void *x, int64_t n, int64_t size, const char *call) {
  if (n > 0)
    push_bytes(x, array_bytes(n, size, call), call);
}

static inline void pop_array(void *x, int64_t n, int64_t size, const char *call) {
  if (n > 0)
    pop_bytes(x, array_bytes(n, size, call), call);
}

static inline uint64_t low_bits(uint64_t word, int count) {
  return word & (((uint64_t)1 << count) - 1);
}

static inline void append_bits(struct stack *s, int value, int count) {
  s->word = (s->word << count) + low_bits((uint64_t)value, count); /* + and not |: one instruction */
  count_push(s, count);
}

/* The word is full, or is the first. */
static COLD void push_bits_on_new_word(int value, int count, const char *call) {
  struct stack *s = &self;
  if (!s->registered)
    enter_registry(s);
  if (s->word) {
    if (!has_room(&s->bits, sizeof s->word))
      make_room(&s->bits, sizeof s->word, call);
    put(&s->bits, &s->word, sizeof s->word);
  }
  s->word = 1;
  append_bits(s, value, count);
}

static inline void push_bits(int value, int count, const char *call) {
  if (UNLIKELY((self.word - 1) >> (63 - count))) /* one test for both, at the price of the top bit */
    push_bits_on_new_word(value, count, call);
  else
    append_bits(&self, value, count);
}

/* Pops bits that lie in more than one word. */
static COLD void pop_bits_across(int *x, int count, const char *call) {
  struct stack *s = &self;
  uint64_t value = 0;
  for (int got = 0;;) {
    int here = s->word ? 63 - __builtin_clzll(s->word) : 0;
    int take = here < count - got ? here : count - got;
    value |= low_bits(s->word, take) << got;
    s->word >>= take;
    got += take;
    if (got == count)
      break;
    region_pop(&s->bits, &s->word, sizeof s->word, call);
  }
  *x = (int)value;
}

static inline void pop_bits(int *x, int count, const char *call) {
  struct stack *s = &self;
  count_pop(s, count);
  uint64_t word = s->word;
  if (UNLIKELY(!(word >> count))) {
    pop_bits_across(x, count, call);
    return;
  }
  s->word = word >> count;
  *x = (int)low_bits(word, count);
}

/* A slow path of its own keeps the address of x, and with it a stack frame, out of the fast one. */
#define AD_TYPE(Name, name, type)                                                                                      \
  static COLD void push##Name##_slowly(type x) {                                                                       \
    push_bytes(&x, sizeof x, "push" #Name);                                                                            \
  }                                                                                                                    \
  void push##Name(type x) {                                                                                            \
    if (!has_room(&self.bytes, sizeof x)) {                                                                            \
      push##Name##_slowly(x);                                                                                          \
      return;                                                                                                          \
    }                                                                                                                  \
    put(&self.bytes, &x, sizeof x);                                                                                    \
    count_push(&self, 8 * sizeof x);                                                                                   \
  }                                                                                                                    \
  void pop##Name(type *x) {                                                                                            \
    pop_bytes(x, sizeof *x, "pop" #Name);                                                                              \
  }                                                                                                                    \
  void push##Name##Array(const type *x, int64_t n) {                                                                   \
    push_array(x, n, sizeof *x, "push" #Name "Array");                                                                 \
  }                                                                                                                    \
  void pop##Name##Array(type *x, int64_t n) {                                                                          \
    pop_array(x, n, sizeof *x, "pop" #Name "Array");                                                                   \
  }                                                                                                                    \
  void push##name##_(const type *x) {                                                                                  \
    push_bytes(x, sizeof *x, "push" #name);                                                                            \
  }                                                                                                                    \
  void pop##name##_(type *x) {                                                                                         \
    pop_bytes(x, sizeof *x, "pop" #name);                                                                              \
  }                                                                                                                    \
  void push##name##array_(const type *x, const int32_t *n) {                                                           \
    push_array(x, *n, sizeof *x, "push" #name "array");                                                                \
  }                                                                                                                    \
  void pop##name##array_(type *x, const int32_t *n) {                                                                  \
    pop_array(x, *n, sizeof *x, "pop" #name "array");                                                                  \
  }
#include "runtime/adstack/types.def"

#define AD_CONTROL(N)                                                                                                  \
  void pushControl##N##b(int c) {                                                                                      \
    push_bits(c, N, "pushControl" #N "b");                                                                             \
  }                                                                                                                    \
  void popControl##N##b(int *c) {                                                                                      \
    pop_bits(c, N, "popControl" #N "b");                                                                               \
  }                                                                                                                    \
  void pushcontrol##N##b_(const int *c) {                                                                              \
    push_bits(*c, N, "pushcontrol" #N "b");                                                                            \
  }                                                                                                                    \
  void popcontrol##N##b_(int *c) {                                                                                     \
    pop_bits(c, N, "popcontrol" #N "b");                                                                               \
  }
AD_CONTROL(1)
AD_CONTROL(2)
AD_CONTROL(3)
AD_CONTROL(4)
AD_CONTROL(5)
AD_CONTROL(6)
AD_CONTROL(7)
AD_CONTROL(8)

void pushBoolean(int x) {
  push_bits(x != 0, 1, "pushBoolean");
}
void popBoolean(int *x) {
  pop_bits(x, 1, "popBoolean");
}
void pushboolean_(const int32_t *x) {
  push_bits(*x != 0, 1, "pushboolean");
}
void popboolean_(int32_t *x) {
  pop_bits(x, 1, "popboolean");
}

void pushbooleanarray_(const int32_t *x, const int32_t *n) {
  for (int32_t i = 0; i < *n; i++)
    push_bits(x[i] != 0, 1, "pushbooleanarray");
}

void popbooleanarray_(int32_t *x, const int32_t *n) {
  for (int32_t i = *n - 1; i >= 0; i--)
    pop_bits(&x[i], 1, "popbooleanarray");
}

static inline void push_half_pointer(void *x, const char *call) {
  uint32_t half = (uint32_t)(uintptr_t)x;
  push_bytes(&half, sizeof half, call);
}

static inline void *pop_half_pointer(const char *call) {
  uint32_t half;
  pop_bytes(&half, sizeof half, call);
  return (void *)(uintptr_t)half;
}

void pushPointer4(void *x) {
  push_half_pointer(x, "pushPointer4");
}
void popPointer4(void **x) {
  *x = pop_half_pointer("popPointer4");
}
void pushPointer8(void *x) {
  push_bytes(&x, sizeof x, "pushPointer8");
}
void popPointer8(void **x) {
  pop_bytes(x, sizeof *x, "popPointer8");
}
void pushpointer4_(void *const *x) {
  push_half_pointer(*x, "pushpointer4");
}
void poppointer4_(void **x) {
  *x = pop_half_pointer("poppointer4");
}
void pushpointer8_(void *const *x) {
  push_bytes(x, sizeof *x, "pushpointer8");
}
void poppointer8_(void **x) {
  pop_bytes(x, sizeof *x, "poppointer8");
}

void pushNArray(const char *x, int64_t bytes) {
  push_array(x, bytes, 1, "pushNArray");
}
void popNArray(char *x, int64_t bytes) {
  pop_array(x, bytes, 1, "popNArray");
}
void pushnarray_(const char *x, const int32_t *bytes) {
  push_array(x, *bytes, 1, "pushnarray");
}
void popnarray_(char *x, const int32_t *bytes) {
  pop_array(x, *bytes, 1, "popnarray");
}

/* --- repeat levels --- */

static struct link place_of(const struct region *r) {
  return (struct link){offset_of(r, r->top), offset_of(r, r->floor)};
}

static void protect(struct region *r) {
  int64_t top = offset_of(r, r->top);
  r->protect = top > r->protect ? top : r->protect;
  open_or_close(r);
}

static struct level *innermost(struct stack *s, const char *call) {
  if (!s->level_count)
    adstack_die(call, "no repeat level is open: adStack_startRepeat comes first");
  return &s->levels[s->level_count - 1];
}

void adStack_startRepeat(void) {
  struct stack *s = &self;
  if (!s->registered)
    enter_registry(s);
  if (s->level_count == s->level_room) {
    int64_t room = s->level_room ? 2 * s->level_room : 4;
    struct level *levels = realloc(s->levels, (size_t)room * sizeof *levels);
    if (!levels)
      adstack_die("adStack_startRepeat", "out of memory: %lld repeat levels are open", (long long)s->level_count);
    s->levels = levels;
    s->level_room = room;
  }
  s->levels[s->level_count++] = (struct level){.bytes = place_of(&s->bytes),
                                               .bits = place_of(&s->bits),
                                               .bytes_protect = s->bytes.protect,
                                               .bits_protect = s->bits.protect,
                                               .word = s->word,
                                               .height_bits = height_bits(s)};
  protect(&s->bytes);
  protect(&s->bits);
}

void adStack_resetRepeat(void) {
  struct stack *s = &self;
  const struct level *level = innermost(s, "adStack_resetRepeat");
  STORE(s->peak_bits, peak_bits(s));
  STORE(s->popped_bits, s->pushed_bits - level->height_bits);
  s->word = level->word;
  go_to(&s->bytes, level->bytes);
  go_to(&s->bits, level->bits);
}

void adStack_endRepeat(void) {
  struct stack *s = &self;
  const struct level *level = innermost(s, "adStack_endRepeat");
  s->bytes.protect = level->bytes_protect;
  s->bits.protect = level->bits_protect;
  s->level_count--;
  open_or_close(&s->bytes);
  open_or_close(&s->bits);
}

/* --- reports --- */

int64_t adStack_getCurrentStackSize(void) {
  return bytes_of(height_bits(&self));
}
int64_t adStack_getPeakSize(void) {
  return bytes_of(peak_bits(&self));
}
int64_t adStack_getTotalTraffic(void) {
  return bytes_of(self.pushed_bits);
}

int64_t adStack_getProcessPeakSize(void) {
  pthread_mutex_lock(&registry);
  int64_t bits = ended_peak_bits;
  for (const struct stack *s = live; s; s = s->next)
    bits += peak_bits(s);
  pthread_mutex_unlock(&registry);
  return bytes_of(bits);
}

int64_t adStack_getProcessTotalTraffic(void) {
  pthread_mutex_lock(&registry);
  int64_t bits = ended_pushed_bits;
  for (const struct stack *s = live; s; s = s->next)
    bits += LOAD(s->pushed_bits);
  pthread_mutex_unlock(&registry);
  return bytes_of(bits);
}

static void show(const char *what, int64_t process, int64_t thread) {
  pthread_mutex_lock(&registry);
  int64_t threads = stack_count;
  pthread_mutex_unlock(&registry);
  if (threads > 1)
    printf("AD stack: %s %lld bytes in %lld threads, %lld of them in this one\n", what, (long long)process,
           (long long)threads, (long long)thread);
  else
    printf("AD stack: %s %lld bytes\n", what, (long long)process);
  fflush(stdout);
}

void adStack_showPeakSize(void) {
  show("peak size", adStack_getProcessPeakSize(), adStack_getPeakSize());
}
void adStack_showTotalTraffic(void) {
  show("total traffic", adStack_getProcessTotalTraffic(), adStack_getTotalTraffic());
}

void adstack_startrepeat_(void) {
  adStack_startRepeat();
}
void adstack_resetrepeat_(void) {
  adStack_resetRepeat();
}
void adstack_endrepeat_(void) {
  adStack_endRepeat();
}
int64_t adstack_getcurrentstacksize_(void) {
  return adStack_getCurrentStackSize();
}
int64_t adstack_getpeaksize_(void) {
  return adStack_getPeakSize();
}
int64_t adstack_gettotaltraffic_(void) {
  return adStack_getTotalTraffic();
}
int64_t adstack_getprocesspeaksize_(void) {
  return adStack_getProcessPeakSize();
}
int64_t adstack_getprocesstotaltraffic_(void) {
  return adStack_getProcessTotalTraffic();
}
void adstack_showpeaksize_(void) {
  adStack_showPeakSize();
}
void adstack_showtotaltraffic_(void) {
  adStack_showTotalTraffic();
}
