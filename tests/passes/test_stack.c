/* The few functions of an AD stack that the tests' programs call, in C and for Fortran. Checks that what is popped is
 * what was pushed: a last-in first-out error ends the program. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static char bytes[1 << 20];
static size_t top;

static void push(const void *from, size_t size) {
  if (top + size > sizeof bytes)
    abort();
  memcpy(bytes + top, from, size);
  top += size;
}
static void pop(void *to, size_t size) {
  if (size > top) {
    fputs("test stack: popped more than was pushed\n", stderr);
    abort();
  }
  top -= size;
  memcpy(to, bytes + top, size);
}

void pushReal8(double x) { push(&x, sizeof x); }
void popReal8(double *x) { pop(x, sizeof *x); }
void pushReal8Array(double *x, int n) { push(x, 8 * (size_t)n); }
void popReal8Array(double *x, int n) { pop(x, 8 * (size_t)n); }
void pushInteger4(int x) { push(&x, sizeof x); }
void popInteger4(int *x) { pop(x, sizeof *x); }
void pushControl1b(int c) { push(&c, sizeof c); }
void popControl1b(int *c) { pop(c, sizeof *c); }

void pushreal8_(double *x) { pushReal8(*x); }
void popreal8_(double *x) { popReal8(x); }
void pushreal8array_(double *x, int *n) { pushReal8Array(x, *n); }
void popreal8array_(double *x, int *n) { popReal8Array(x, *n); }
void pushinteger4_(int *x) { pushInteger4(*x); }
void popinteger4_(int *x) { popInteger4(x); }
void pushcontrol1b_(int *c) { pushControl1b(*c); }
void popcontrol1b_(int *c) { popControl1b(c); }
