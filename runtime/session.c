#include "runtime/session.h"
#include "runtime/call_tree.h"
#include "runtime/hooks.h"
#include "runtime/raw_writer.h"

#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <unistd.h>

#ifndef ADPROF_VERSION
#error "ADPROF_VERSION is set by the build"
#endif

enum { kMostSites = 1 << 20 };

int session_on;
uint64_t session_sample_ticks = 1000000;
uint64_t session_interval_ticks;

/* The AD stack's own counts over all threads, where the program's AD stack has them. Weak: the runtime must link without. */
extern int64_t adStack_getProcessPeakSize(void) __attribute__((weak));
extern int64_t adStack_getProcessTotalTraffic(void) __attribute__((weak));

static int started;
static int statm = -1, schedstat = -1;
static uint64_t start_ns;
static uint64_t call_milliticks;

static uint64_t clock_ns(clockid_t id) {
  struct timespec now;
  clock_gettime(id, &now);
  return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

void session_stop(enum adprof_raw_stop_reason reason, const char *what) {
  if (!__atomic_exchange_n(&session_on, 0, __ATOMIC_ACQ_REL))
    return;
  raw_header->stop_reason = reason;
  raw_header->state = ADPROF_RAW_STOPPED;
  fprintf(stderr, "adprof: %s; collection stops here, the program goes on. What was collected is kept.\n", what);
}

uint64_t session_resident_bytes(void) {
  char text[128];
  ssize_t length = statm < 0 ? -1 : pread(statm, text, sizeof text - 1, 0);
  if (length <= 0)
    return 0;
  text[length] = 0;
  const char *resident = strchr(text, ' ');
  return resident ? strtoull(resident + 1, NULL, 10) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

/* On a shared machine a process waits for a processor, and so do all intervals measured in it: the reader takes that share off. */
static void refresh_waiting(void) {
  char text[128];
  ssize_t length = schedstat < 0 ? -1 : pread(schedstat, text, sizeof text - 1, 0);
  if (length <= 0)
    return;
  text[length] = 0;
  char *end;
  raw_header->main_cpu_ns = strtoull(text, &end, 10);
  raw_header->main_wait_ns = strtoull(end, NULL, 10);
}

void session_refresh(uint64_t hook_milliticks) {
  static int refreshing;
  if (__atomic_exchange_n(&refreshing, 1, __ATOMIC_ACQUIRE))
    return;
  raw_header->hook_ticks = hook_milliticks ? hook_milliticks + call_milliticks : 0;
  uint64_t ticks = session_ticks(), now = clock_ns(CLOCK_MONOTONIC);
  raw_header->last_tick = ticks;
  refresh_waiting();
  raw_header->wall_ns = now - start_ns;
  raw_header->cpu_ns = clock_ns(CLOCK_PROCESS_CPUTIME_ID);
  if (raw_header->wall_ns > 1000000)
    raw_header->tick_hz = (uint64_t)((double)(ticks - raw_header->start_tick) * 1e9 / (double)raw_header->wall_ns);
  __atomic_store_n(&refreshing, 0, __ATOMIC_RELEASE);
}

int session_grow(void **memory, uint64_t *bytes, uint64_t wanted) {
  if (wanted <= *bytes)
    return 1;
  uint64_t larger = *bytes ? *bytes : 1 << 14;
  while (larger < wanted)
    larger *= 2;
  void *grown = *bytes ? mremap(*memory, *bytes, larger, MREMAP_MAYMOVE)
                       : mmap(NULL, larger, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (grown == MAP_FAILED)
    return 0;
  *memory = grown;
  *bytes = larger;
  return 1;
}

/* ---- numbers of sites and procedures ---- */

struct key_table {
  uint64_t *keys;    /* in order of their numbers */
  uint32_t *slots;   /* number + 1; 0 is free */
  uint64_t keys_bytes, slots_bytes;
  uint32_t count;
  uint32_t segment_type;
  struct adprof_raw_segment *segment;
};

static pthread_mutex_t registration_lock = PTHREAD_MUTEX_INITIALIZER;
static struct key_table sites = {.segment_type = ADPROF_SEGMENT_SITES};
static struct key_table procedures = {.segment_type = ADPROF_SEGMENT_PROCEDURES};

static uint32_t *key_slot(const struct key_table *table, uint64_t key) {
  uint64_t mask = table->slots_bytes / sizeof *table->slots - 1;
  for (uint64_t i = (key ^ key >> 32) & mask;; i = (i + 1) & mask)
    if (!table->slots[i] || table->keys[table->slots[i] - 1] == key)
      return &table->slots[i];
}

/* Under registration_lock. UINT32_MAX where there is no room. */
static uint32_t number_of_key(struct key_table *table, uint64_t key) {
  if ((uint64_t)(table->count + 1) * 2 * sizeof *table->slots > table->slots_bytes) {
    uint64_t wanted = table->slots_bytes ? table->slots_bytes * 2 : 1 << 14;
    if (!session_grow((void **)&table->slots, &table->slots_bytes, wanted))
      return UINT32_MAX;
    memset(table->slots, 0, table->slots_bytes);
    for (uint32_t i = 0; i < table->count; i++)
      *key_slot(table, table->keys[i]) = i + 1;
  }
  uint32_t *slot = key_slot(table, key);
  if (*slot)
    return *slot - 1;
  if (table->count >= kMostSites || !session_grow((void **)&table->keys, &table->keys_bytes, ((uint64_t)table->count + 1) * sizeof key))
    return UINT32_MAX;
  if (!table->segment || table->segment->used_bytes + sizeof key > raw_capacity(table->segment)) {
    table->segment = raw_new_segment(table->segment_type, 0, 1);
    if (!table->segment)
      return UINT32_MAX;
  }
  memcpy(raw_data(table->segment) + table->segment->used_bytes, &key, sizeof key);
  raw_publish(table->segment, table->segment->used_bytes + sizeof key);
  table->keys[table->count] = key;
  *slot = ++table->count;
  return table->count - 1;
}

/* ---- start and end ---- */

struct build_id {
  char text[2 * 64 + 1];
};

static int read_build_id(struct dl_phdr_info *info, size_t size, void *result) {
  (void)size;
  for (int i = 0; i < info->dlpi_phnum; i++) {
    const ElfW(Phdr) *header = &info->dlpi_phdr[i];
    if (header->p_type != PT_NOTE)
      continue;
    const char *note = (const char *)(info->dlpi_addr + header->p_vaddr), *end = note + header->p_memsz;
    while (note + sizeof(ElfW(Nhdr)) <= end) {
      const ElfW(Nhdr) *head = (const ElfW(Nhdr) *)note;
      const char *name = note + sizeof *head;
      const unsigned char *content = (const unsigned char *)name + ((head->n_namesz + 3u) & ~3u);
      if (head->n_type == NT_GNU_BUILD_ID && head->n_namesz == 4 && !memcmp(name, "GNU", 4)) {
        char *text = ((struct build_id *)result)->text;
        for (unsigned j = 0; j < head->n_descsz && j < 64; j++)
          snprintf(text + 2 * j, 3, "%02x", content[j]);
      }
      note = (const char *)content + ((head->n_descsz + 3u) & ~3u);
    }
  }
  return 1; /* the first object is the program itself */
}

static size_t append_text(char *text, size_t used, size_t room, const char *key, const char *value) {
  int written = snprintf(text + used, room - used, "%s=%s\n", key, value);
  return written < 0 || (size_t)written >= room - used ? used : used + (size_t)written;
}

static int write_description(void) {
  char text[16384], value[8192];
  size_t used = append_text(text, 0, sizeof text, "runtime_version", ADPROF_VERSION);
  int file = open("/proc/self/cmdline", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? 0 : read(file, value, sizeof value - 1);
  if (file >= 0)
    close(file);
  for (ssize_t i = 0; i + 1 < length; i++)
    if (value[i] == 0 || value[i] == '\n')
      value[i] = ' ';
  value[length > 0 ? length : 0] = 0;
  used = append_text(text, used, sizeof text, "command", value);
  length = readlink("/proc/self/exe", value, sizeof value - 1);
  value[length > 0 ? length : 0] = 0;
  used = append_text(text, used, sizeof text, "executable", value);
  if (!getcwd(value, sizeof value))
    value[0] = 0;
  used = append_text(text, used, sizeof text, "cwd", value);
  if (gethostname(value, 256))
    value[0] = 0;
  used = append_text(text, used, sizeof text, "host", value);
  struct build_id id = {{0}};
  dl_iterate_phdr(read_build_id, &id);
  used = append_text(text, used, sizeof text, "build_id", id.text);
  static const char *const kRankVariables[] = {"OMPI_COMM_WORLD_RANK", "PMIX_RANK", "PMI_RANK", "MPI_LOCALRANKID", "SLURM_PROCID"};
  for (unsigned i = 0; i < sizeof kRankVariables / sizeof *kRankVariables; i++) {
    const char *rank = getenv(kRankVariables[i]);
    if (rank) {
      used = append_text(text, used, sizeof text, "rank", rank);
      break;
    }
  }
  return raw_write_text(ADPROF_SEGMENT_TEXT, text, used);
}

static __attribute__((noinline)) uint64_t stamp(void) { return session_ticks(); }

/* Has the shape of a hook and does nothing. */
static __attribute__((noinline)) void empty_hook(struct adprof_module *module, uint32_t call, uint32_t frame, int64_t pushed,
                                                 int64_t popped, int64_t high, int64_t low) {
  __asm__ volatile("" : : "r"(module), "r"(call), "r"(frame), "r"(pushed), "r"(popped), "r"(high), "r"(low) : "memory");
}

/* What measuring itself takes, and what is taken off again: the two time stamps of an interval (primals of 20 ns are common, and the
 * stamps alone take 10), and the call of a hook around what the hook can time of itself. Medians: an interrupt only adds. */
static void calibrate_cost(void) {
  enum { kTries = 101, kCalls = 100 };
  uint64_t intervals[kTries], calls[kTries];
  for (int i = 0; i < kTries; i++) {
    uint64_t first = stamp(), second = stamp();
    for (int j = 0; j < kCalls; j++)
      empty_hook(NULL, (uint32_t)j, 0, j, 0, 0, 0);
    uint64_t third = stamp(), interval = second - first, call = third - second > interval ? third - second - interval : 0;
    int at;
    for (at = i; at > 0 && intervals[at - 1] > interval; at--)
      intervals[at] = intervals[at - 1];
    intervals[at] = interval;
    for (at = i; at > 0 && calls[at - 1] > call; at--)
      calls[at] = calls[at - 1];
    calls[at] = call;
  }
  session_interval_ticks = intervals[kTries / 2];
  call_milliticks = calls[kTries / 2] * 1000 / kCalls;
}

/* The counter's rate, to about 0.1 %; session_refresh makes it exact as time goes by. */
static void calibrate(void) {
  start_ns = clock_ns(CLOCK_MONOTONIC);
  raw_header->start_tick = session_ticks();
  uint64_t now;
  do
    now = clock_ns(CLOCK_MONOTONIC);
  while (now - start_ns < 200000);
  double rate = (double)(session_ticks() - raw_header->start_tick) / (double)(now - start_ns);
  raw_header->tick_hz = (uint64_t)(rate * 1e9);
  session_sample_ticks = (uint64_t)(rate * 1e6);
}

static void in_child(void) { session_on = 0; } /* the mapping belongs to the parent */

static uint64_t resident_high_water(void) {
  char text[4096];
  int file = open("/proc/self/status", O_RDONLY | O_CLOEXEC);
  ssize_t length = file < 0 ? -1 : read(file, text, sizeof text - 1);
  if (file >= 0)
    close(file);
  if (length <= 0)
    return 0;
  text[length] = 0;
  const char *line = strstr(text, "VmHWM:");
  return line ? strtoull(line + 6, NULL, 10) * 1024 : 0;
}

/* As early as a destructor can be late: the program's own destructors may still run an adjoint. */
static void finish(void) {
  if (!started || !raw_header)
    return;
  if (raw_header->process_id != (uint32_t)getpid())
    return; /* a child that was forked and did not exec */
  hooks_publish_all();
  uint64_t resident = resident_high_water();
  if (resident > raw_header->resident_peak_bytes)
    raw_header->resident_peak_bytes = resident;
  if (adStack_getProcessPeakSize)
    raw_header->adstack_peak_bytes = (uint64_t)adStack_getProcessPeakSize();
  if (adStack_getProcessTotalTraffic)
    raw_header->adstack_traffic_bytes = (uint64_t)adStack_getProcessTotalTraffic();
  if (raw_header->state == ADPROF_RAW_RUNNING)
    __atomic_store_n(&raw_header->state, ADPROF_RAW_FINISHED, __ATOMIC_RELEASE);
}

/* Under registration_lock, at the first registration. */
static void start(void) {
  started = 1;
  const char *path = getenv("ADPROF_OUTPUT");
  if (!path || !*path)
    return;
  int error = raw_open(path);
  if (error) {
    fprintf(stderr, "adprof: can't create the raw profile %s: %s; the program runs without being measured. Set ADPROF_OUTPUT to a new file "
                    "in a writable folder.\n",
            path, strerror(error));
    return;
  }
  statm = open("/proc/self/statm", O_RDONLY | O_CLOEXEC);
  schedstat = open("/proc/self/schedstat", O_RDONLY | O_CLOEXEC);
  calibrate();
  calibrate_cost();
  raw_header->start_unix_ns = clock_ns(CLOCK_REALTIME);
  if (!write_description()) {
    fprintf(stderr, "adprof: no space for the raw profile %s; the program runs without being measured\n", path);
    raw_header->state = ADPROF_RAW_STOPPED;
    raw_header->stop_reason = ADPROF_STOP_NO_SPACE;
    return;
  }
  pthread_atfork(NULL, NULL, in_child);
  atexit(finish);
  session_on = 1;
}

const char ADPROF_ABI_GUARD = 1;

void __adprof_register(struct adprof_module *module) {
  pthread_mutex_lock(&registration_lock);
  if (!started)
    start();
  if (session_on && module->state == 0) {
    int ok = module->abi_version == ADPROF_ABI_VERSION;
    if (!ok)
      session_stop(ADPROF_STOP_ABI, "an object was instrumented by another version of adprof; compile all objects with one version");
    else
      ok = raw_write_text(ADPROF_SEGMENT_MODULE, module->text, module->text_bytes);
    for (uint32_t i = 0; ok && i < module->call_count; i++)
      ok = (module->site_ids[2 * i] = number_of_key(&sites, module->calls[i].site_key)) != UINT32_MAX &&
           (module->site_ids[2 * i + 1] = number_of_key(&procedures, module->calls[i].callee_hash)) != UINT32_MAX;
    for (uint32_t i = 0; ok && i < module->procedure_count; i++)
      ok = (module->procedure_ids[i] = number_of_key(&procedures, module->procedures[i].primal_hash)) != UINT32_MAX;
    if (!ok && session_on)
      session_stop(ADPROF_STOP_TOO_MANY, "no room in the raw profile for the sites of one more object");
    module->state = 1;
  }
  pthread_mutex_unlock(&registration_lock);
}

void __adprof_unregister(struct adprof_module *module) { (void)module; /* its text was copied; nothing refers to it */ }
