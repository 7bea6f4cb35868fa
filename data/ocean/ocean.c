#include "ocean.h"

#include <math.h>

/* --- halo exchanges and whole levels --- */

void halo(const struct grid *g, double f[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        f[AT(0, j)] = f[AT(g->nx - 2, j)];
        f[AT(g->nx - 1, j)] = f[AT(1, j)];
    }
}

void wall(const struct grid *g, double f[CELLS]) {
    for (int i = 0; i < g->nx; ++i) {
        f[AT(i, 0)] = 0.0;
        f[AT(i, g->ny - 1)] = 0.0;
    }
}

void zero(const struct grid *g, double f[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            f[AT(i, j)] = 0.0;
        }
    }
}

void update(const struct grid *g, double f[CELLS], const double df[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            f[AT(i, j)] += g->dt * df[AT(i, j)];
        }
    }
}

void exchange(const struct grid *g, struct ocean *o) {
    for (int k = 0; k < g->nz; ++k) {
        halo(g, LEVEL(o->u, k));
        halo(g, LEVEL(o->v, k));
        wall(g, LEVEL(o->v, k));
    }
}

/* --- one level --- */

void density(const struct grid *g, const double t[CELLS], const double s[CELLS], double rho[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            rho[AT(i, j)] = 0.78 * (s[AT(i, j)] - 35.0) - 0.055 * t[AT(i, j)] - 0.006 * t[AT(i, j)] * t[AT(i, j)] +
                            0.0012 * t[AT(i, j)] * (s[AT(i, j)] - 35.0);
        }
    }
}

void hydrostatic(const struct grid *g, const double rho[CELLS], const double above[CELLS], double p[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            p[AT(i, j)] = above[AT(i, j)] + g->gravity * g->dz * rho[AT(i, j)] / 1025.0;
        }
    }
}

void pressure_gradient(const struct grid *g, const double p[CELLS], double du[CELLS], double dv[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            du[AT(i, j)] -= (p[AT(i + 1, j)] - p[AT(i - 1, j)]) / (2.0 * g->dx);
            dv[AT(i, j)] -= (p[AT(i, j + 1)] - p[AT(i, j - 1)]) / (2.0 * g->dy);
        }
    }
}

void coriolis(const struct grid *g, const double u[CELLS], const double v[CELLS], double du[CELLS], double dv[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            du[AT(i, j)] += g->coriolis * v[AT(i, j)];
            dv[AT(i, j)] -= g->coriolis * u[AT(i, j)];
        }
    }
}

void advect(const struct grid *g, const double u[CELLS], const double v[CELLS], const double f[CELLS], double df[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            df[AT(i, j)] -= u[AT(i, j)] * (f[AT(i + 1, j)] - f[AT(i - 1, j)]) / (2.0 * g->dx) +
                            v[AT(i, j)] * (f[AT(i, j + 1)] - f[AT(i, j - 1)]) / (2.0 * g->dy);
        }
    }
}

void diffuse(const struct grid *g, const double f[CELLS], double df[CELLS], double coefficient) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            df[AT(i, j)] += coefficient * ((f[AT(i + 1, j)] - 2.0 * f[AT(i, j)] + f[AT(i - 1, j)]) / (g->dx * g->dx) +
                                           (f[AT(i, j + 1)] - 2.0 * f[AT(i, j)] + f[AT(i, j - 1)]) / (g->dy * g->dy));
        }
    }
}

void wind_stress(const struct grid *g, const double wind[CELLS], double du[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            du[AT(i, j)] += wind[AT(i, j)] / (1025.0 * g->dz);
        }
    }
}

void bottom_drag(const struct grid *g, const double u[CELLS], const double v[CELLS], double du[CELLS], double dv[CELLS]) {
    double rate;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            rate = g->drag * sqrt(u[AT(i, j)] * u[AT(i, j)] + v[AT(i, j)] * v[AT(i, j)] + 1.0e-8) / g->dz;
            du[AT(i, j)] -= rate * u[AT(i, j)];
            dv[AT(i, j)] -= rate * v[AT(i, j)];
        }
    }
}

/* Heat goes out by radiation and comes in by a constant flux. */
void surface_flux(const struct grid *g, double t[CELLS]) {
    double warmth;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            warmth = (t[AT(i, j)] + 273.15) / 288.15;
            t[AT(i, j)] -= g->dt * g->restoring * (warmth * warmth * warmth * warmth - 1.0);
        }
    }
}

/* --- free surface --- */

void vertical_mean(const struct grid *g, const struct ocean *o, double mean_u[CELLS], double mean_v[CELLS]) {
    zero(g, mean_u);
    zero(g, mean_v);
    for (int k = 0; k < g->nz; ++k) {
        for (int j = 0; j < g->ny; ++j) {
            for (int i = 0; i < g->nx; ++i) {
                mean_u[AT(i, j)] += (o->u[k * g->ny * g->nx + AT(i, j)] + g->dt * o->du[k * g->ny * g->nx + AT(i, j)]) / g->nz;
                mean_v[AT(i, j)] += (o->v[k * g->ny * g->nx + AT(i, j)] + g->dt * o->dv[k * g->ny * g->nx + AT(i, j)]) / g->nz;
            }
        }
    }
    halo(g, mean_u);
    halo(g, mean_v);
    wall(g, mean_v);
}

void surface_divergence(const struct grid *g, struct ocean *o) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            o->rhs[AT(i, j)] = o->eta[AT(i, j)] -
                               g->dt * g->nz * g->dz *
                                   ((o->mean_u[AT(i + 1, j)] - o->mean_u[AT(i - 1, j)]) / (2.0 * g->dx) +
                                    (o->mean_v[AT(i, j + 1)] - o->mean_v[AT(i, j - 1)]) / (2.0 * g->dy));
        }
    }
}

void surface_gradient(const struct grid *g, const double eta[CELLS], double du[CELLS], double dv[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            du[AT(i, j)] -= g->gravity * (eta[AT(i + 1, j)] - eta[AT(i - 1, j)]) / (2.0 * g->dx);
            dv[AT(i, j)] -= g->gravity * (eta[AT(i, j + 1)] - eta[AT(i, j - 1)]) / (2.0 * g->dy);
        }
    }
}

void barotropic(const struct grid *g, struct ocean *o) {
    vertical_mean(g, o, o->mean_u, o->mean_v);
    surface_divergence(g, o);
    solve_surface(g, o->rhs, o->eta);
    halo(g, o->eta);
    for (int k = 0; k < g->nz; ++k) {
        surface_gradient(g, o->eta, LEVEL(o->du, k), LEVEL(o->dv, k));
    }
}

/* --- components --- */

void equation_of_state(const struct grid *g, struct ocean *o) {
    for (int k = 0; k < g->nz; ++k) {
        density(g, LEVEL(o->t, k), LEVEL(o->s, k), LEVEL(o->rho, k));
    }
    zero(g, LEVEL(o->p, 0));
    for (int k = 1; k < g->nz; ++k) {
        hydrostatic(g, LEVEL(o->rho, k), LEVEL(o->p, k - 1), LEVEL(o->p, k));
    }
}

void momentum(const struct grid *g, struct ocean *o, int k) {
    zero(g, LEVEL(o->du, k));
    zero(g, LEVEL(o->dv, k));
    pressure_gradient(g, LEVEL(o->p, k), LEVEL(o->du, k), LEVEL(o->dv, k));
    coriolis(g, LEVEL(o->u, k), LEVEL(o->v, k), LEVEL(o->du, k), LEVEL(o->dv, k));
    advect(g, LEVEL(o->u, k), LEVEL(o->v, k), LEVEL(o->u, k), LEVEL(o->du, k));
    advect(g, LEVEL(o->u, k), LEVEL(o->v, k), LEVEL(o->v, k), LEVEL(o->dv, k));
    diffuse(g, LEVEL(o->u, k), LEVEL(o->du, k), g->viscosity);
    diffuse(g, LEVEL(o->v, k), LEVEL(o->dv, k), g->viscosity);
}

void dynamics(const struct grid *g, struct ocean *o, const double wind[CELLS]) {
    for (int k = 0; k < g->nz; ++k) {
        momentum(g, o, k);
    }
    wind_stress(g, wind, LEVEL(o->du, 0));
    bottom_drag(g, LEVEL(o->u, g->nz - 1), LEVEL(o->v, g->nz - 1), LEVEL(o->du, g->nz - 1), LEVEL(o->dv, g->nz - 1));
    barotropic(g, o);
    for (int k = 0; k < g->nz; ++k) {
        update(g, LEVEL(o->u, k), LEVEL(o->du, k));
        update(g, LEVEL(o->v, k), LEVEL(o->dv, k));
    }
    exchange(g, o);
}

void tracer(const struct grid *g, const struct ocean *o, double f[g->nz * CELLS], double df[g->nz * CELLS]) {
    for (int k = 0; k < g->nz; ++k) {
        zero(g, LEVEL(df, k));
        advect(g, LEVEL(o->u, k), LEVEL(o->v, k), LEVEL(f, k), LEVEL(df, k));
        diffuse(g, LEVEL(f, k), LEVEL(df, k), g->diffusivity);
    }
    for (int k = 0; k < g->nz; ++k) {
        update(g, LEVEL(f, k), LEVEL(df, k));
        halo(g, LEVEL(f, k));
    }
}

/* More mixing where shear wins over stratification. */
double mixing_rate(const struct grid *g, double shear, double stratification) {
    double richardson = stratification / (shear + 1.0e-4);
    return g->background_mixing * (1.0 + 20.0 / sqrt(1.0 + richardson * richardson));
}

/* Implicit mixing of temperature and salinity, column by column (Thomas algorithm). */
void vertical_mixing(const struct grid *g, struct ocean *o) {
    double rate[g->nz], upper[g->nz], below, shear, stability, pivot, flux;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            for (int k = 0; k < g->nz - 1; ++k) {
                shear = o->u[k * g->ny * g->nx + AT(i, j)] - o->u[(k + 1) * g->ny * g->nx + AT(i, j)];
                stability = o->rho[(k + 1) * g->ny * g->nx + AT(i, j)] - o->rho[k * g->ny * g->nx + AT(i, j)];
                flux = mixing_rate(g, shear * shear, 0.01 * stability);
                rate[k] = g->dt * flux / (g->dz * g->dz);
            }
            pivot = 1.0 + rate[0];
            upper[0] = rate[0] / pivot;
            o->t[AT(i, j)] = o->t[AT(i, j)] / pivot;
            o->s[AT(i, j)] = o->s[AT(i, j)] / pivot;
            for (int k = 1; k < g->nz; ++k) {
                below = 0.0;
                if (k < g->nz - 1) {
                    below = rate[k];
                }
                pivot = 1.0 + below + rate[k - 1] * (1.0 - upper[k - 1]);
                upper[k] = below / pivot;
                o->t[k * g->ny * g->nx + AT(i, j)] =
                    (o->t[k * g->ny * g->nx + AT(i, j)] + rate[k - 1] * o->t[(k - 1) * g->ny * g->nx + AT(i, j)]) / pivot;
                o->s[k * g->ny * g->nx + AT(i, j)] =
                    (o->s[k * g->ny * g->nx + AT(i, j)] + rate[k - 1] * o->s[(k - 1) * g->ny * g->nx + AT(i, j)]) / pivot;
            }
            for (int k = g->nz - 2; k >= 0; --k) {
                o->t[k * g->ny * g->nx + AT(i, j)] += upper[k] * o->t[(k + 1) * g->ny * g->nx + AT(i, j)];
                o->s[k * g->ny * g->nx + AT(i, j)] += upper[k] * o->s[(k + 1) * g->ny * g->nx + AT(i, j)];
            }
        }
    }
}

void thermodynamics(const struct grid *g, struct ocean *o) {
    tracer(g, o, o->t, o->dt);
    tracer(g, o, o->s, o->ds);
    surface_flux(g, LEVEL(o->t, 0));
    vertical_mixing(g, o);
    for (int k = 0; k < g->nz; ++k) {
        halo(g, LEVEL(o->t, k));
        halo(g, LEVEL(o->s, k));
    }
}

void step(const struct grid *g, struct ocean *o, const double wind[CELLS]) {
    equation_of_state(g, o);
    dynamics(g, o, wind);
    thermodynamics(g, o);
}

double misfit(const struct grid *g, const double f[CELLS], const double seen[CELLS]) {
    double sum = 0.0;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            sum += (f[AT(i, j)] - seen[AT(i, j)]) * (f[AT(i, j)] - seen[AT(i, j)]);
        }
    }
    return sum / (g->nx * g->ny);
}

void start(const struct grid *g, struct ocean *o, const double t0[g->nz * CELLS]) {
    for (int k = 0; k < g->nz; ++k) {
        zero(g, LEVEL(o->u, k));
        zero(g, LEVEL(o->v, k));
        zero(g, LEVEL(o->t, k));
        for (int j = 1; j < g->ny - 1; ++j) {
            for (int i = 1; i < g->nx - 1; ++i) {
                o->t[k * g->ny * g->nx + AT(i, j)] = t0[k * g->ny * g->nx + AT(i, j)];
            }
        }
        halo(g, LEVEL(o->t, k));
    }
    zero(g, o->eta);
    zero(g, o->rhs);
}

void simulate(const struct grid *g, struct ocean *o, const double t0[g->nz * CELLS], const double wind[CELLS],
              const double seen_t[CELLS], const double seen_eta[CELLS], double *cost) {
    start(g, o, t0);
    for (int n = 0; n < g->steps; ++n) {
        step(g, o, wind);
    }
    *cost = misfit(g, LEVEL(o->t, 0), seen_t);
    *cost += 1.0e4 * misfit(g, o->eta, seen_eta);
}
