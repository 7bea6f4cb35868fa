/* The force law: called from Fortran. */
#include <math.h>

double stiffness(double k, double stretch) {
  return k * (1.0 + 0.3 * tanh(stretch * stretch));
}

void force_(const int *n, const double *k, const double *x, double *f) {
  for (int i = 0; i < *n; ++i) {
    double left = i > 0 ? x[i - 1] : 0.0;
    double stretch = x[i] - left;
    f[i] = -stiffness(k[i], stretch) * stretch;
    if (i > 0)
      f[i - 1] -= f[i];
  }
}
