/* The free-surface solver: conjugate gradients. Its operator is symmetric, so that adjoint and tangent are the solver again.
 * There is no split version: a placement has to leave its call checkpointed. */
#include "ocean.h"
#include "ocean_b.h"
#include "ocean_d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* y = (1 - g H dt^2 Laplace) x in the interior; zero walls in y, periodic in x. */
static void apply(const struct grid *g, const double *x, double *y) {
    const double c = g->gravity * g->nz * g->dz * g->dt * g->dt, cx = c / (g->dx * g->dx), cy = c / (g->dy * g->dy);
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            y[AT(i, j)] = x[AT(i, j)] - cx * (x[AT(i + 1, j)] - 2.0 * x[AT(i, j)] + x[AT(i - 1, j)]) -
                          cy * (x[AT(i, j + 1)] - 2.0 * x[AT(i, j)] + x[AT(i, j - 1)]);
        }
    }
}

static double product(const struct grid *g, const double *x, const double *y) {
    double sum = 0.0;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            sum += x[AT(i, j)] * y[AT(i, j)];
        }
    }
    return sum;
}

/* x = inverse(A) b in the interior; the halo of x is left alone, that of b is not read. */
static void conjugate_gradients(const struct grid *g, const double *b, double *x) {
    size_t cells = (size_t)g->nx * (size_t)g->ny;
    double *work = calloc(4 * cells, sizeof(double)), *r = work, *d = work + cells, *q = work + 2 * cells, *z = work + 3 * cells;
    if (!work) {
        fprintf(stderr, "ocean: no memory for the surface solver\n");
        exit(2);
    }
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            r[AT(i, j)] = d[AT(i, j)] = b[AT(i, j)];
        }
    }
    double rr = product(g, r, r), least = g->solver_tolerance * g->solver_tolerance * rr;
    for (int iteration = 0; iteration < 10000 && rr > least && rr > 0.0; ++iteration) {
        halo(g, d);
        apply(g, d, q);
        double alpha = rr / product(g, d, q), before = rr;
        for (int j = 1; j < g->ny - 1; ++j) {
            for (int i = 1; i < g->nx - 1; ++i) {
                z[AT(i, j)] += alpha * d[AT(i, j)];
                r[AT(i, j)] -= alpha * q[AT(i, j)];
            }
        }
        rr = product(g, r, r);
        for (int j = 1; j < g->ny - 1; ++j) {
            for (int i = 1; i < g->nx - 1; ++i) {
                d[AT(i, j)] = r[AT(i, j)] + rr / before * d[AT(i, j)];
            }
        }
    }
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            x[AT(i, j)] = z[AT(i, j)];
        }
    }
    free(work);
}

void solve_surface(const struct grid *g, const double rhs[CELLS], double eta[CELLS]) {
    conjugate_gradients(g, rhs, eta);
}

void solve_surface_b(const struct grid *g, const double rhs[CELLS], double rhsb[CELLS], double eta[CELLS], double etab[CELLS]) {
    (void)rhs;
    (void)eta;
    double *solution = calloc((size_t)CELLS, sizeof(double));
    if (!solution) {
        fprintf(stderr, "ocean: no memory for the adjoint of the surface solver\n");
        exit(2);
    }
    conjugate_gradients(g, etab, solution);
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            rhsb[AT(i, j)] += solution[AT(i, j)];
            etab[AT(i, j)] = 0.0;
        }
    }
    free(solution);
}

void solve_surface_d(const struct grid *g, const double rhs[CELLS], const double rhsd[CELLS], double eta[CELLS], double etad[CELLS]) {
    conjugate_gradients(g, rhs, eta);
    conjugate_gradients(g, rhsd, etad);
}
