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

/* --- dynamic pressure --- */

/* What the pressure must undo: divergence of the velocity that the other terms would give. */
void divergence(const struct grid *g, const struct ocean *o, int k, double rhs[CELLS]) {
    double c2 = g->wave_speed * g->wave_speed, across, along, up;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            across = (o->u[k * g->ny * g->nx + AT(i + 1, j)] - o->u[k * g->ny * g->nx + AT(i - 1, j)] +
                      g->dt * (o->du[k * g->ny * g->nx + AT(i + 1, j)] - o->du[k * g->ny * g->nx + AT(i - 1, j)])) / (2.0 * g->dx);
            along = (o->v[k * g->ny * g->nx + AT(i, j + 1)] - o->v[k * g->ny * g->nx + AT(i, j - 1)] +
                     g->dt * (o->dv[k * g->ny * g->nx + AT(i, j + 1)] - o->dv[k * g->ny * g->nx + AT(i, j - 1)])) / (2.0 * g->dy);
            up = o->w[k * g->ny * g->nx + AT(i, j)] / g->dz;
            if (k < g->nz - 1) {
                up = up - o->w[(k + 1) * g->ny * g->nx + AT(i, j)] / g->dz;
            }
            rhs[AT(i, j)] = o->q[k * g->ny * g->nx + AT(i, j)] - c2 * g->dt * (across + along + up);
        }
    }
}

void dynamic_gradient(const struct grid *g, const double q[CELLS], double du[CELLS], double dv[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            du[AT(i, j)] -= (q[AT(i + 1, j)] - q[AT(i - 1, j)]) / (2.0 * g->dx);
            dv[AT(i, j)] -= (q[AT(i, j + 1)] - q[AT(i, j - 1)]) / (2.0 * g->dy);
        }
    }
}

void lift(const struct grid *g, const double above[CELLS], const double q[CELLS], double w[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            w[AT(i, j)] -= g->dt * (above[AT(i, j)] - q[AT(i, j)]) / g->dz;
        }
    }
}

void dynamic_pressure(const struct grid *g, struct ocean *o) {
    for (int k = 0; k < g->nz; ++k) {
        divergence(g, o, k, LEVEL(o->rhs, k));
    }
    solve_pressure(g, o->rhs, o->q);
    for (int k = 0; k < g->nz; ++k) {
        halo(g, LEVEL(o->q, k));
        dynamic_gradient(g, LEVEL(o->q, k), LEVEL(o->du, k), LEVEL(o->dv, k));
    }
    for (int k = 1; k < g->nz; ++k) {
        lift(g, LEVEL(o->q, k - 1), LEVEL(o->q, k), LEVEL(o->w, k));
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
    dynamic_pressure(g, o);
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
double mixing_rate(double background, double shear, double stratification) {
    double richardson = stratification / (shear + 1.0e-4);
    double damping = 1.0 / (1.0 + richardson * richardson);
    double energy = sqrt(damping * (shear + 1.0e-4));
    double length = energy / (energy + 0.1 * damping + 0.01);
    return background * (1.0 + 20.0 * length * damping + 5.0 * energy);
}

/* Implicit mixing of one tracer, column by column (Thomas algorithm). */
void mix(const struct grid *g, const struct ocean *o, double f[g->nz * CELLS], double efficiency) {
    double rate[g->nz], upper[g->nz], below, across, along, stability, flux, pivot;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            for (int k = 0; k < g->nz - 1; ++k) {
                across = o->u[k * g->ny * g->nx + AT(i, j)] - o->u[(k + 1) * g->ny * g->nx + AT(i, j)];
                along = o->v[k * g->ny * g->nx + AT(i, j)] - o->v[(k + 1) * g->ny * g->nx + AT(i, j)];
                stability = o->rho[(k + 1) * g->ny * g->nx + AT(i, j)] - o->rho[k * g->ny * g->nx + AT(i, j)];
                flux = mixing_rate(g->background_mixing, across * across + along * along, 0.01 * efficiency * stability);
                rate[k] = g->dt * flux / (g->dz * g->dz);
            }
            pivot = 1.0 + rate[0];
            upper[0] = rate[0] / pivot;
            f[AT(i, j)] = f[AT(i, j)] / pivot;
            for (int k = 1; k < g->nz; ++k) {
                below = 0.0;
                if (k < g->nz - 1) {
                    below = rate[k];
                }
                pivot = 1.0 + below + rate[k - 1] * (1.0 - upper[k - 1]);
                upper[k] = below / pivot;
                f[k * g->ny * g->nx + AT(i, j)] =
                    (f[k * g->ny * g->nx + AT(i, j)] + rate[k - 1] * f[(k - 1) * g->ny * g->nx + AT(i, j)]) / pivot;
            }
            for (int k = g->nz - 2; k >= 0; --k) {
                f[k * g->ny * g->nx + AT(i, j)] += upper[k] * f[(k + 1) * g->ny * g->nx + AT(i, j)];
            }
        }
    }
}

/* Salt goes through interfaces more easily than heat. */
void vertical_mixing(const struct grid *g, struct ocean *o) {
    mix(g, o, o->t, 1.0);
    mix(g, o, o->s, 0.7);
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
        zero(g, LEVEL(o->w, k));
        zero(g, LEVEL(o->q, k));
        zero(g, LEVEL(o->rhs, k));
        zero(g, LEVEL(o->t, k));
        for (int j = 1; j < g->ny - 1; ++j) {
            for (int i = 1; i < g->nx - 1; ++i) {
                o->t[k * g->ny * g->nx + AT(i, j)] = t0[k * g->ny * g->nx + AT(i, j)];
            }
        }
        halo(g, LEVEL(o->t, k));
    }
}

void simulate(const struct grid *g, struct ocean *o, const double t0[g->nz * CELLS], const double wind[CELLS],
              const double seen_t[CELLS], const double seen_q[CELLS], double *cost) {
    start(g, o, t0);
    for (int n = 0; n < g->steps; ++n) {
        step(g, o, wind);
    }
    *cost = misfit(g, LEVEL(o->t, 0), seen_t);
    *cost += misfit(g, LEVEL(o->q, 0), seen_q);
}
