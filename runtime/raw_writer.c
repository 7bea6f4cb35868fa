#include "runtime/raw_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

/* Segments are multiples of this, so that each can be mapped by itself: mappings never move, and pointers into them stay valid.
 * The largest page size in use on the machines people have is 64 KiB; 4096 is enough on x86-64, where we measured. */
static uint64_t page_bytes = 4096;

struct adprof_raw_header *raw_header;

static int file = -1;
static pthread_mutex_t extend_lock = PTHREAD_MUTEX_INITIALIZER;

/* Reserves the blocks: a store into a hole of a full file system is a SIGBUS in the user's program. */
static void *extend(uint64_t offset, uint64_t bytes) {
  int error;
  do
    error = posix_fallocate(file, (off_t)offset, (off_t)bytes);
  while (error == EINTR);
  if (error)
    return NULL;
  void *mapping = mmap(NULL, bytes, PROT_READ | PROT_WRITE, MAP_SHARED, file, (off_t)offset);
  return mapping == MAP_FAILED ? NULL : mapping;
}

int raw_open(const char *path) {
  char name[4096];
  size_t used = 0;
  for (const char *c = path; *c; c++) {
    int written;
    if (c[0] == '%' && c[1] == 'p') {
      written = snprintf(name + used, sizeof name - used, "%ld", (long)getpid());
      c++;
    } else {
      written = snprintf(name + used, sizeof name - used, "%c", *c);
    }
    used += (size_t)written;
    if (used >= sizeof name)
      return ENAMETOOLONG;
  }
  name[used] = 0;
  file = open(name, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0644);
  if (file < 0)
    return errno;
  long page = sysconf(_SC_PAGESIZE);
  if (page > (long)page_bytes)
    page_bytes = (uint64_t)page;
  if (page_bytes > ADPROF_RAW_HEADER_BYTES)
    return ENOTSUP;
  struct adprof_raw_header *header = extend(0, ADPROF_RAW_HEADER_BYTES);
  if (!header)
    return ENOSPC;
  header->version = ADPROF_RAW_VERSION;
  header->oldest_reader = ADPROF_RAW_OLDEST_READER;
  header->endian_mark = ADPROF_RAW_ENDIAN_MARK;
  header->process_id = (uint32_t)getpid();
  header->adstack_peak_bytes = header->adstack_traffic_bytes = UINT64_MAX;
  header->file_bytes = ADPROF_RAW_HEADER_BYTES;
  memcpy(header->magic, ADPROF_RAW_MAGIC, sizeof header->magic); /* last: a file without it is no profile yet */
  raw_header = header;
  return 0;
}

struct adprof_raw_segment *raw_new_segment(uint32_t type, uint32_t thread, uint64_t data_bytes) {
  uint64_t bytes = (data_bytes + ADPROF_RAW_SEGMENT_HEADER_BYTES + page_bytes - 1) / page_bytes * page_bytes;
  pthread_mutex_lock(&extend_lock);
  struct adprof_raw_segment *segment = extend(raw_header->file_bytes, bytes);
  if (segment) {
    segment->thread = thread;
    segment->bytes = bytes;
    segment->type = type;
    __atomic_store_n(&raw_header->file_bytes, raw_header->file_bytes + bytes, __ATOMIC_RELEASE);
  }
  pthread_mutex_unlock(&extend_lock);
  return segment;
}

int raw_write_text(uint32_t type, const char *text, uint64_t bytes) {
  struct adprof_raw_segment *segment = raw_new_segment(type, 0, bytes);
  if (!segment)
    return 0;
  memcpy(raw_data(segment), text, bytes);
  raw_publish(segment, bytes);
  return 1;
}
