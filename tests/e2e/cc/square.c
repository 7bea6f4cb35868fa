/* The smallest program with a site: f(x) = x * x called by g, its adjoint in joint mode, g_b called from main. */
#include "adStack.h"
#include <stdio.h>

void f(double *x) { *x = *x * *x; }

void f_b(double *x, double *xb) {
  pushReal8(*x);
  *x = *x * *x;
  popReal8(x);
  *xb = 2 * *x * *xb;
}

void g_b(double *x, double *xb) {
  pushReal8(*x);
  f(x);
  popReal8(x);
  f_b(x, xb);
}

#ifndef NO_MAIN
int main(void) {
  double x = 3, xb = 1;
  g_b(&x, &xb);
  printf("%g\n", xb);
  return 0;
}
#endif
