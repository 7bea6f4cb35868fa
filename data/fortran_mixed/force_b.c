/* The adjoint of force.c, written by hand in the shape that the AD tool gives it: force split, stiffness joint. */
#include <math.h>
#include "adStack.h"

double stiffness(double k, double stretch);

/*  Differentiation of stiffness in reverse (adjoint) mode: */
void stiffness_b(double k, double *kb, double stretch, double *stretchb, double stiffnessb) {
  double t = tanh(stretch * stretch);
  *kb = *kb + (1.0 + 0.3 * t) * stiffnessb;
  *stretchb = *stretchb + 0.6 * k * stretch * (1.0 - t * t) * stiffnessb;
}

/*  Differentiation of force in reverse (adjoint) mode, forward sweep: */
void force_fwd_(const int *n, const double *k, const double *x, double *f) {
  double result1 = 0.0;
  double stretch = 0.0;
  for (int i = 0; i < *n; ++i) {
    double left = i > 0 ? x[i - 1] : 0.0;
    pushReal8(stretch);
    stretch = x[i] - left;
    pushReal8(result1);
    result1 = stiffness(k[i], stretch);
    f[i] = -result1 * stretch;
    if (i > 0) {
      f[i - 1] -= f[i];
      pushControl1b(1);
    } else {
      pushControl1b(0);
    }
  }
  pushReal8(stretch);
  pushReal8(result1);
}

/*  Differentiation of force in reverse (adjoint) mode, backward sweep: */
void force_bwd_(const int *n, const double *k, double *kb, const double *x, double *xb, double *f, double *fb) {
  double result1, result1b;
  double stretch, stretchb;
  int branch;
  (void)x;
  (void)f;
  popReal8(&result1);
  popReal8(&stretch);
  for (int i = *n - 1; i > -1; --i) {
    popControl1b(&branch);
    if (branch != 0)
      fb[i] = fb[i] - fb[i - 1];
    result1b = -(stretch * fb[i]);
    stretchb = -(result1 * fb[i]);
    fb[i] = 0.0;
    popReal8(&result1);
    stiffness_b(k[i], &kb[i], stretch, &stretchb, result1b);
    popReal8(&stretch);
    xb[i] = xb[i] + stretchb;
    if (i > 0)
      xb[i - 1] = xb[i - 1] - stretchb;
  }
}
