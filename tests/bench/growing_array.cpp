#include "tests/bench/growing_array.h"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <malloc.h>

namespace {
char *base = nullptr;
std::size_t used = 0, capacity = 0;

[[gnu::noinline, gnu::cold]] void grow(std::size_t bytes) {
  capacity = std::max(std::max<std::size_t>(2 * capacity, 65536), used + bytes);
  base = static_cast<char *>(std::realloc(base, capacity));
  if (!base)
    std::abort();
}

inline void push(const void *x, std::size_t bytes) {
  if (__builtin_expect(used + bytes > capacity, 0))
    grow(bytes);
  std::memcpy(base + used, x, bytes);
  used += bytes;
}

inline void pop(void *x, std::size_t bytes) {
  used -= bytes;
  std::memcpy(x, base + used, bytes);
}
} // namespace

void growing_array_push_real8(double x) {
  push(&x, sizeof x);
}
void growing_array_pop_real8(double *x) {
  pop(x, sizeof *x);
}
void growing_array_push_control(int c) {
  push(&c, sizeof c);
}
void growing_array_pop_control(int *c) {
  pop(c, sizeof *c);
}
void growing_array_push(const void *x, std::size_t bytes) {
  push(x, bytes);
}
void growing_array_pop(void *x, std::size_t bytes) {
  pop(x, bytes);
}

void growing_array_release() {
  std::free(base);
  malloc_trim(0); // or the next cold sweep finds touched pages
  base = nullptr;
  used = capacity = 0;
}
