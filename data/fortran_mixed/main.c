/* Calls the Fortran adjoint from C and checks its gradient; ends with status 1 if it is wrong. */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

void chain_(const int *n, const int *nsteps, const double *k, double *x, double *energy);
void chain_b_(const int *n, const int *nsteps, const double *k, double *kb, double *x, double *xb, double *energy,
              double *energyb);

enum { N = 8, STEPS = 20 };
static const int n = N, nsteps = STEPS;

/* Along direction d, by central differences of fourth order. */
static double derivative(const double *k, const double *x, const double *d) {
  static const double s[4] = {1, -1, 2, -2}, c[4] = {8, -8, -1, 1};
  double step = 1e-3, sum = 0, kk[N], xx[N], energy;
  for (int j = 0; j < 4; ++j) {
    for (int i = 0; i < N; ++i) {
      kk[i] = k[i] + s[j] * step * d[i];
      xx[i] = x[i] + s[j] * step * d[N + i];
    }
    chain_(&n, &nsteps, kk, xx, &energy);
    sum += c[j] * energy / (12 * step);
  }
  return sum;
}

int main(void) {
  double k[N], x[N], xx[N], g[2 * N], d[2 * N], energy, energyb = 1, dot = 0, along;
  int bad = 0;
  for (int i = 0; i < N; ++i) {
    k[i] = 2 + 0.1 * i;
    x[i] = xx[i] = sin(0.7 * (i + 1));
  }
  chain_b_(&n, &nsteps, k, g, xx, g + N, &energy, &energyb);
  for (int i = 0; i < 2 * N; ++i) {
    uint64_t bits;
    memset(d, 0, sizeof d);
    d[i] = 1;
    along = derivative(k, x, d);
    bad += fabs(along - g[i]) > 1e-8 * (1 + fabs(along));
    memcpy(&bits, &g[i], sizeof bits);
    printf("gradient %2d %016" PRIX64 " %.10f %.10f\n", i + 1, bits, g[i], along);
  }
  for (int i = 0; i < 2 * N; ++i) {
    d[i] = cos(1.7 * (i + 1));
    dot += d[i] * g[i];
  }
  along = derivative(k, x, d);
  bad += fabs(along - dot) > 1e-8 * (1 + fabs(along));
  printf("dot product %.10f %.10f\n", along, dot);
  if (bad) {
    printf("wrong: %d\n", bad);
    return 1;
  }
  printf("the gradient is right\n");
  return 0;
}
