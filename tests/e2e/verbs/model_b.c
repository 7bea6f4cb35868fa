/* A joint-mode adjoint in the tool's shape, small enough to be read: a loop of steps, each with two calls. The macros seed what a gate must
 * catch: LARGER_TAPE pushes one more value in flux, SPLIT_FIRST puts the first call of flux into split mode.
 * usage: model SIZE STEPS [exit N | abort | wait | none | ranks] */
#include "adStack.h"
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static volatile sig_atomic_t told;
static void on_signal(int signal) { told = signal; }

void flux(double *u, int n) {
  for (int i = 0; i < n; i++)
    u[i] = sin(u[i]) * u[i];
}

void flux_fwd(double *u, int n) {
#ifdef LARGER_TAPE
  pushReal8(u[0]);
#endif
  for (int i = 0; i < n; i++) {
    pushReal8(u[i]);
    u[i] = sin(u[i]) * u[i];
  }
}

void flux_bwd(double *u, double *ub, int n) {
  for (int i = n - 1; i >= 0; i--) {
    popReal8(&u[i]);
    ub[i] = ub[i] * (cos(u[i]) * u[i] + sin(u[i]));
  }
#ifdef LARGER_TAPE
  popReal8(&u[0]);
#endif
}

void flux_b(double *u, double *ub, int n) {
#ifdef LARGER_TAPE
  pushReal8(u[0]);
#endif
  for (int i = 0; i < n; i++) {
    pushReal8(u[i]);
    u[i] = sin(u[i]) * u[i];
  }
  for (int i = n - 1; i >= 0; i--) {
    popReal8(&u[i]);
    ub[i] = ub[i] * (cos(u[i]) * u[i] + sin(u[i]));
  }
#ifdef LARGER_TAPE
  popReal8(&u[0]);
#endif
}

void step(double *u, int n) {
  flux(u, n);
  for (int i = 0; i < n; i++)
    u[i] *= 1.5;
  flux(u, n);
}

void step_b(double *u, double *ub, int n) {
#ifdef SPLIT_FIRST
  flux_fwd(u, n);
#else
  pushReal8Array(u, n);
  flux(u, n);
#endif
  for (int i = 0; i < n; i++)
    u[i] *= 1.5;
  pushReal8Array(u, n);
  flux(u, n);
  popReal8Array(u, n);
  flux_b(u, ub, n);
  for (int i = n - 1; i >= 0; i--)
    ub[i] *= 1.5;
#ifdef SPLIT_FIRST
  flux_bwd(u, ub, n);
#else
  popReal8Array(u, n);
  flux_b(u, ub, n);
#endif
}

void model(double *u, int n, int steps) {
  for (int t = 0; t < steps; t++)
    step(u, n);
}

void model_b(double *u, double *ub, int n, int steps) {
  for (int t = 0; t < steps; t++) {
    pushReal8Array(u, n);
    step(u, n);
  }
  for (int t = steps - 1; t >= 0; t--) {
    popReal8Array(u, n);
    step_b(u, ub, n);
  }
}

int main(int argc, char **argv) {
  int n = atoi(argv[1]), steps = atoi(argv[2]);
  const char *what = argc > 3 ? argv[3] : "";
  double *u = malloc(n * sizeof *u), *ub = malloc(n * sizeof *ub);
  for (int i = 0; i < n; i++) {
    u[i] = 1.0 / (i + 1);
    ub[i] = 1;
  }
  if (!strcmp(what, "none")) {
    model(u, n, steps);
    return 0;
  }
  model_b(u, ub, n, steps);
  printf("%.17g\n", ub[0]);
  fflush(stdout);
  if (!strcmp(what, "exit"))
    return atoi(argv[4]);
  if (!strcmp(what, "abort"))
    abort();
  if (!strcmp(what, "wait")) {
    signal(SIGTERM, on_signal);
    puts("ready");
    fflush(stdout);
    while (!told)
      usleep(1000);
    printf("told %d\n", (int)told);
  }
  if (!strcmp(what, "ranks")) { /* as a launcher does: several processes, each with its own profile */
    for (int rank = 0; rank < 3; rank++) {
      char text[8];
      snprintf(text, sizeof text, "%d", rank);
      setenv("OMPI_COMM_WORLD_RANK", text, 1);
      char command[512];
      snprintf(command, sizeof command, "%s %d %d", argv[0], n, steps + rank);
      if (system(command))
        return 1;
    }
  }
  return 0;
}
