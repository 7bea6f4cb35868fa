/* Driver: twin experiment. Observations come from a run with another initial bump; prints the cost, runs the adjoint.
 *
 *   shallow_water [--nx N] [--ny N] [--steps N] [--observe-every N] [--gradient FILE] [--check]
 *
 * --gradient writes d cost / d (h0, u0, v0) as raw doubles. --check compares the gradient with finite differences and with
 * the tangent (dot product), and exits with 1 where they differ. */
#include "shallow_water.h"
#include "shallow_water_b.h"
#include "shallow_water_d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static const int kFields = 13;

static double *zeros(const struct grid *g) {
    double *field = calloc((size_t)g->nx * g->ny, sizeof(double));
    if (!field) {
        fprintf(stderr, "shallow_water: no memory for a field of %d x %d cells\n", g->nx, g->ny);
        exit(2);
    }
    return field;
}

static struct model new_model(const struct grid *g) {
    struct model m = {g->nx, g->ny, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0};
    double **fields = &m.h;
    for (int k = 0; k < kFields; ++k) {
        fields[k] = zeros(g);
    }
    return m;
}

static void free_model(struct model *m) {
    double **fields = &m->h;
    for (int k = 0; k < kFields; ++k) {
        free(fields[k]);
    }
}

static void initial_state(const struct grid *g, double height, double *h, double *u, double *v) {
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            double x = (double)i / g->nx - 0.5, y = (double)j / g->ny - 0.5;
            h[AT(i, j)] = 100.0 + height * exp(-40.0 * (x * x + y * y));
            u[AT(i, j)] = 1.0 + 0.5 * sin(6.283185307179586 * y);
            v[AT(i, j)] = 0.2 * sin(6.283185307179586 * x);
        }
    }
}

static double now(void) {
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1.0e-9 * (double)t.tv_nsec;
}

/* x0 = (h0, u0, v0), one behind the other. */
static double cost_of(const struct grid *g, struct model *m, const double *x0, const double *seen) {
    size_t n = (size_t)g->nx * g->ny;
    double cost = 0.0;
    simulate(g, m, x0, x0 + n, x0 + 2 * n, seen, seen + n, seen + 2 * n, &cost);
    return cost;
}

static int check(const struct grid *g, struct model *m, struct model *md, const double *x0, const double *seen, const double *gradient) {
    size_t n = (size_t)g->nx * g->ny, all = 3 * n;
    double *direction = malloc(all * sizeof(double)), *shifted = malloc(all * sizeof(double));
    unsigned seed = 12345;
    for (size_t k = 0; k < all; ++k) {
        seed = seed * 1664525u + 1013904223u;
        direction[k] = (double)(seed >> 8) / (1 << 24) - 0.5;
    }
    double dot = 0.0, cost = 0.0, costd = 0.0, best = 1.0, gradient2 = 0.0, direction2 = 0.0;
    for (size_t k = 0; k < all; ++k) {
        dot += gradient[k] * direction[k];
        gradient2 += gradient[k] * gradient[k];
        direction2 += direction[k] * direction[k];
    }
    simulate_d(g, m, md, x0, direction, x0 + n, direction + n, x0 + 2 * n, direction + 2 * n, seen, seen + n, seen + 2 * n, &cost,
               &costd);
    /* Relative to the product of the norms: the dot product itself may cancel. */
    double tangent_error = fabs(costd - dot) / sqrt(gradient2 * direction2);
    for (double eps = 1.0e-3; eps > 1.0e-8; eps /= 10.0) {
        double sides[2];
        for (int side = 0; side < 2; ++side) {
            for (size_t k = 0; k < all; ++k) {
                shifted[k] = x0[k] + (side ? eps : -eps) * direction[k];
            }
            sides[side] = cost_of(g, m, shifted, seen);
        }
        double difference = (sides[1] - sides[0]) / (2.0 * eps);
        double error = fabs(difference - dot) / fabs(dot);
        printf("eps %.0e  finite difference %.12e  adjoint %.12e  relative error %.1e\n", eps, difference, dot, error);
        best = fmin(best, error);
    }
    printf("dot product: tangent %.15e  adjoint %.15e  relative error %.1e\n", costd, dot, tangent_error);
    free(direction);
    free(shifted);
    int good = best < 1.0e-6 && tangent_error < 1.0e-12;
    printf("check: %s\n", good ? "passed" : "FAILED");
    return good ? 0 : 1;
}

int main(int argc, char **argv) {
    struct grid g = {.nx = 66, .ny = 50, .steps = 40, .observe_every = 10, .dx = 1000.0, .dy = 1000.0, .dt = 8.0,
                     .gravity = 9.81, .coriolis = 1.0e-4, .drag = 2.5e-3, .viscosity = 50.0, .diffusivity = 20.0, .filter = 0.05};
    const char *gradient_file = NULL;
    int want_check = 0;
    for (int a = 1; a < argc; ++a) {
        int more = a + 1 < argc;
        if (!strcmp(argv[a], "--nx") && more) {
            g.nx = atoi(argv[++a]);
        } else if (!strcmp(argv[a], "--ny") && more) {
            g.ny = atoi(argv[++a]);
        } else if (!strcmp(argv[a], "--steps") && more) {
            g.steps = atoi(argv[++a]);
        } else if (!strcmp(argv[a], "--observe-every") && more) {
            g.observe_every = atoi(argv[++a]);
        } else if (!strcmp(argv[a], "--gradient") && more) {
            gradient_file = argv[++a];
        } else if (!strcmp(argv[a], "--check")) {
            want_check = 1;
        } else {
            fprintf(stderr, "shallow_water: '%s' is not one of --nx N --ny N --steps N --observe-every N --gradient FILE --check\n", argv[a]);
            return 2;
        }
    }
    if (g.nx < 4 || g.ny < 4 || g.steps < 0 || g.observe_every < 1) {
        fprintf(stderr, "shallow_water: nx and ny must be at least 4, steps at least 0, observe-every at least 1\n");
        return 2;
    }
    size_t n = (size_t)g.nx * g.ny;
    double *x0 = malloc(3 * n * sizeof(double)), *seen = malloc(3 * n * sizeof(double)), *gradient = malloc(3 * n * sizeof(double));
    struct model m = new_model(&g), mb = new_model(&g);
    double cost, costb = 1.0;
    memset(seen, 0, 3 * n * sizeof(double));
    initial_state(&g, 2.0, x0, x0 + n, x0 + 2 * n);
    cost_of(&g, &m, x0, seen); /* the truth */
    memcpy(seen, m.h, n * sizeof(double));
    memcpy(seen + n, m.u, n * sizeof(double));
    memcpy(seen + 2 * n, m.v, n * sizeof(double));
    initial_state(&g, 1.0, x0, x0 + n, x0 + 2 * n);

    double start = now();
    cost = cost_of(&g, &m, x0, seen);
    double primal_s = now() - start;
    printf("cost %.15e\n", cost);
    start = now();
    simulate_b(&g, &m, &mb, x0, gradient, x0 + n, gradient + n, x0 + 2 * n, gradient + 2 * n, seen, seen + n, seen + 2 * n, &cost,
               &costb);
    double adjoint_s = now() - start, norm = 0.0;
    for (size_t k = 0; k < 3 * n; ++k) {
        norm += gradient[k] * gradient[k];
    }
    printf("gradient norm %.15e\n", sqrt(norm));
    fprintf(stderr, "primal %.3f s, adjoint %.3f s, ratio %.2f\n", primal_s, adjoint_s, adjoint_s / primal_s);
    if (gradient_file) {
        FILE *f = fopen(gradient_file, "wb");
        if (!f || fwrite(gradient, sizeof(double), 3 * n, f) != 3 * n || fclose(f)) {
            fprintf(stderr, "shallow_water: cannot write '%s'\n", gradient_file);
            return 2;
        }
    }
    int status = want_check ? check(&g, &m, &mb, x0, seen, gradient) : 0;
    free_model(&m);
    free_model(&mb);
    free(x0);
    free(seen);
    free(gradient);
    return status;
}
