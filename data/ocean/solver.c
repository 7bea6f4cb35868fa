/* The pressure solver: conjugate gradients. Its operator is symmetric, so that adjoint and tangent are the solver again.
 * There is no split version: a placement has to leave its call checkpointed. */
#include "ocean.h"
#include "ocean_b.h"
#include "ocean_d.h"

#include <stdio.h>
#include <stdlib.h>

#define AT3(i, j, k) ((k) * g->ny * g->nx + AT(i, j))
#define INTERIOR                                                                                                                 \
    for (int k = 0; k < g->nz; ++k)                                                                                              \
        for (int j = 1; j < g->ny - 1; ++j)                                                                                      \
            for (int i = 1; i < g->nx - 1; ++i)

/* y = (1 - c^2 dt^2 Laplace) x in the interior: periodic in x, zero beyond the walls in y, no flux through surface and bottom. */
static void apply(const struct grid *g, double *x, double *y) {
    const double c = g->wave_speed * g->wave_speed * g->dt * g->dt;
    const double cx = c / (g->dx * g->dx), cy = c / (g->dy * g->dy), cz = c / (g->dz * g->dz);
    const int level = g->ny * g->nx;
    for (int k = 0; k < g->nz; ++k) {
        halo(g, x + k * level);
    }
    for (int k = 0; k < g->nz; ++k) {
        const int up = k > 0 ? -level : 0, down = k < g->nz - 1 ? level : 0;
        for (int j = 1; j < g->ny - 1; ++j) {
            for (int i = 1; i < g->nx - 1; ++i) {
                const int n = AT3(i, j, k);
                y[n] = x[n] - cx * (x[n + 1] - 2.0 * x[n] + x[n - 1]) - cy * (x[n + g->nx] - 2.0 * x[n] + x[n - g->nx]) -
                       cz * (x[n + up] - 2.0 * x[n] + x[n + down]);
            }
        }
    }
}

static double product(const struct grid *g, const double *x, const double *y) {
    double sum = 0.0;
    INTERIOR sum += x[AT3(i, j, k)] * y[AT3(i, j, k)];
    return sum;
}

static double *work_arrays(const struct grid *g, size_t count) {
    double *work = calloc(count * (size_t)g->nz * (size_t)CELLS, sizeof(double));
    if (!work) {
        fprintf(stderr, "ocean: no memory for the pressure solver\n");
        exit(2);
    }
    return work;
}

/* x = inverse(A) b in the interior; the halo of x is left alone, that of b is not read. */
static void conjugate_gradients(const struct grid *g, const double *b, double *x) {
    const size_t volume = (size_t)g->nz * (size_t)CELLS;
    double *work = work_arrays(g, 4), *r = work, *d = work + volume, *q = work + 2 * volume, *z = work + 3 * volume;
    INTERIOR r[AT3(i, j, k)] = d[AT3(i, j, k)] = b[AT3(i, j, k)];
    double rr = product(g, r, r);
    const double least = g->solver_tolerance * g->solver_tolerance * rr;
    for (int iteration = 0; iteration < 10000 && rr > least; ++iteration) {
        apply(g, d, q);
        const double alpha = rr / product(g, d, q), before = rr;
        INTERIOR {
            z[AT3(i, j, k)] += alpha * d[AT3(i, j, k)];
            r[AT3(i, j, k)] -= alpha * q[AT3(i, j, k)];
        }
        rr = product(g, r, r);
        INTERIOR d[AT3(i, j, k)] = r[AT3(i, j, k)] + rr / before * d[AT3(i, j, k)];
    }
    INTERIOR x[AT3(i, j, k)] = z[AT3(i, j, k)];
    free(work);
}

void solve_pressure(const struct grid *g, const double rhs[g->nz * CELLS], double q[g->nz * CELLS]) {
    conjugate_gradients(g, rhs, q);
}

void solve_pressure_b(const struct grid *g, const double rhs[g->nz * CELLS], double rhsb[g->nz * CELLS], double q[g->nz * CELLS],
                      double qb[g->nz * CELLS]) {
    (void)rhs;
    (void)q;
    double *solution = work_arrays(g, 1);
    conjugate_gradients(g, qb, solution);
    INTERIOR {
        rhsb[AT3(i, j, k)] += solution[AT3(i, j, k)];
        qb[AT3(i, j, k)] = 0.0;
    }
    free(solution);
}

void solve_pressure_d(const struct grid *g, const double rhs[g->nz * CELLS], const double rhsd[g->nz * CELLS],
                      double q[g->nz * CELLS], double qd[g->nz * CELLS]) {
    conjugate_gradients(g, rhs, q);
    conjugate_gradients(g, rhsd, qd);
}
