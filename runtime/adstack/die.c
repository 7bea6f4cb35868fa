#include "runtime/adstack/die.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

void adstack_die(const char *call, const char *format, ...) {
  char what[256];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(what, sizeof what, format, arguments);
  va_end(arguments);
  fflush(stdout);
  fprintf(stderr, "adstack: %s: %s\n", call, what); /* one call: lines of several threads stay whole */
  exit(1);
}
