#include <stdio.h>

void g_b(double *x, double *xb);

int main(void) {
  double x = 3, xb = 1;
  g_b(&x, &xb);
  printf("%g\n", xb);
  return 0;
}
