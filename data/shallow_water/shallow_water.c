#include "shallow_water.h"

#include <math.h>

/* Periodic in x: the halo columns are copies of the columns at the other side. */
void halo(const struct grid *g, double f[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        f[AT(0, j)] = f[AT(g->nx - 2, j)];
        f[AT(g->nx - 1, j)] = f[AT(1, j)];
    }
}

/* No flow through the walls in y. */
void wall(const struct grid *g, double f[CELLS]) {
    for (int i = 0; i < g->nx; ++i) {
        f[AT(i, 0)] = 0.0;
        f[AT(i, g->ny - 1)] = 0.0;
    }
}

void copy_field(const struct grid *g, const double from[CELLS], double to[CELLS]) {
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            to[AT(i, j)] = from[AT(i, j)];
        }
    }
}

void mass_flux(const struct grid *g, struct model *m) {
    for (int j = 1; j < g->ny; ++j) {
        for (int i = 1; i < g->nx; ++i) {
            m->flux_x[AT(i, j)] = 0.5 * (m->h[AT(i, j)] + m->h[AT(i - 1, j)]) * m->u[AT(i, j)];
            m->flux_y[AT(i, j)] = 0.5 * (m->h[AT(i, j)] + m->h[AT(i, j - 1)]) * m->v[AT(i, j)];
        }
    }
}

void divergence(const struct grid *g, struct model *m) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            m->dh[AT(i, j)] = -(m->flux_x[AT(i + 1, j)] - m->flux_x[AT(i, j)]) / g->dx -
                             (m->flux_y[AT(i, j + 1)] - m->flux_y[AT(i, j)]) / g->dy;
        }
    }
}

double upwind(double left, double right, double speed) {
    if (speed > 0.0) {
        return speed * left;
    }
    return speed * right;
}

/* Transport along one row; the flux through a face depends on the direction of the flow. */
void advect_row(const struct grid *g, int j, const double f[CELLS], const double u[CELLS], double df[CELLS]) {
    double west, east;
    for (int i = 1; i < g->nx - 1; ++i) {
        west = upwind(f[AT(i - 1, j)], f[AT(i, j)], 0.5 * (u[AT(i - 1, j)] + u[AT(i, j)]));
        east = upwind(f[AT(i, j)], f[AT(i + 1, j)], 0.5 * (u[AT(i, j)] + u[AT(i + 1, j)]));
        df[AT(i, j)] -= (east - west) / g->dx;
    }
}

void advect(const struct grid *g, const double f[CELLS], const double u[CELLS], const double v[CELLS], double df[CELLS]) {
    for (int j = 1; j < g->ny - 1; ++j) {
        advect_row(g, j, f, u, df);
        for (int i = 1; i < g->nx - 1; ++i) {
            df[AT(i, j)] -= v[AT(i, j)] * (f[AT(i, j + 1)] - f[AT(i, j - 1)]) / (2.0 * g->dy);
        }
    }
}

void potential_vorticity(const struct grid *g, struct model *m) {
    double curl, depth;
    for (int j = 1; j < g->ny; ++j) {
        for (int i = 1; i < g->nx; ++i) {
            curl = (m->v[AT(i, j)] - m->v[AT(i - 1, j)]) / g->dx - (m->u[AT(i, j)] - m->u[AT(i, j - 1)]) / g->dy;
            depth = 0.25 * (m->h[AT(i, j)] + m->h[AT(i - 1, j)] + m->h[AT(i, j - 1)] + m->h[AT(i - 1, j - 1)]);
            m->vorticity[AT(i, j)] = (g->coriolis + curl) / depth;
        }
    }
}

void bernoulli_function(const struct grid *g, struct model *m) {
    for (int j = 0; j < g->ny - 1; ++j) {
        for (int i = 0; i < g->nx - 1; ++i) {
            m->bernoulli[AT(i, j)] =
                g->gravity * m->h[AT(i, j)] + 0.25 * (m->u[AT(i, j)] * m->u[AT(i, j)] + m->u[AT(i + 1, j)] * m->u[AT(i + 1, j)] +
                                                     m->v[AT(i, j)] * m->v[AT(i, j)] + m->v[AT(i, j + 1)] * m->v[AT(i, j + 1)]);
        }
    }
}

void momentum(const struct grid *g, struct model *m) {
    potential_vorticity(g, m);
    bernoulli_function(g, m);
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            m->du[AT(i, j)] = 0.5 * (m->vorticity[AT(i, j)] + m->vorticity[AT(i, j + 1)]) * 0.25 *
                                 (m->flux_y[AT(i, j)] + m->flux_y[AT(i - 1, j)] + m->flux_y[AT(i, j + 1)] + m->flux_y[AT(i - 1, j + 1)]) -
                             (m->bernoulli[AT(i, j)] - m->bernoulli[AT(i - 1, j)]) / g->dx;
            m->dv[AT(i, j)] = -0.5 * (m->vorticity[AT(i, j)] + m->vorticity[AT(i + 1, j)]) * 0.25 *
                                 (m->flux_x[AT(i, j)] + m->flux_x[AT(i, j - 1)] + m->flux_x[AT(i + 1, j)] + m->flux_x[AT(i + 1, j - 1)]) -
                             (m->bernoulli[AT(i, j)] - m->bernoulli[AT(i, j - 1)]) / g->dy;
        }
    }
}

double bottom_drag(double h, double u, double v, double drag) {
    double speed = sqrt(u * u + v * v + 1.0e-6);
    return drag * speed / h;
}

void friction(const struct grid *g, const double h[CELLS], const double u[CELLS], const double v[CELLS], double du[CELLS],
              double dv[CELLS]) {
    double rate;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            rate = bottom_drag(h[AT(i, j)], u[AT(i, j)], v[AT(i, j)], g->drag);
            du[AT(i, j)] -= rate * u[AT(i, j)];
            dv[AT(i, j)] -= rate * v[AT(i, j)];
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

void continuity(const struct grid *g, struct model *m) {
    mass_flux(g, m);
    divergence(g, m);
    diffuse(g, m->h, m->dh, g->diffusivity);
}

void tendencies(const struct grid *g, struct model *m) {
    continuity(g, m);
    momentum(g, m);
    advect(g, m->u, m->u, m->v, m->du);
    advect(g, m->v, m->u, m->v, m->dv);
    diffuse(g, m->u, m->du, g->viscosity);
    diffuse(g, m->v, m->dv, g->viscosity);
    friction(g, m->h, m->u, m->v, m->du, m->dv);
}

void boundary_exchange(const struct grid *g, struct model *m) {
    halo(g, m->h);
    halo(g, m->u);
    halo(g, m->v);
    wall(g, m->v);
}

void advance(const struct grid *g, double f[CELLS], const double old[CELLS], const double df[CELLS], double dt) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            f[AT(i, j)] = old[AT(i, j)] + dt * df[AT(i, j)];
        }
    }
}

void stage(const struct grid *g, struct model *m, double dt) {
    tendencies(g, m);
    advance(g, m->h, m->h_old, m->dh, dt);
    advance(g, m->u, m->u_old, m->du, dt);
    advance(g, m->v, m->v_old, m->dv, dt);
    boundary_exchange(g, m);
}

/* Damps the shortest waves; in place, row by row, so that a row sees its smoothed neighbour. */
void smooth(const struct grid *g, double f[CELLS], double strength) {
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            f[AT(i, j)] += 0.25 * strength * (f[AT(i + 1, j)] + f[AT(i - 1, j)] + f[AT(i, j + 1)] + f[AT(i, j - 1)] - 4.0 * f[AT(i, j)]);
        }
    }
}

void step(const struct grid *g, struct model *m) {
    copy_field(g, m->h, m->h_old);
    copy_field(g, m->u, m->u_old);
    copy_field(g, m->v, m->v_old);
    stage(g, m, 0.5 * g->dt);
    stage(g, m, g->dt);
    smooth(g, m->u, g->filter);
    smooth(g, m->v, g->filter);
    boundary_exchange(g, m);
}

double misfit(const struct grid *g, const double f[CELLS], const double observed[CELLS]) {
    double sum = 0.0;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            sum += (f[AT(i, j)] - observed[AT(i, j)]) * (f[AT(i, j)] - observed[AT(i, j)]);
        }
    }
    return 0.5 * sum / (g->nx * g->ny);
}

double roughness(const struct grid *g, const double f[CELLS]) {
    double sum = 0.0;
    for (int j = 1; j < g->ny - 1; ++j) {
        for (int i = 1; i < g->nx - 1; ++i) {
            sum += (f[AT(i + 1, j)] - f[AT(i, j)]) * (f[AT(i + 1, j)] - f[AT(i, j)]) +
                   (f[AT(i, j + 1)] - f[AT(i, j)]) * (f[AT(i, j + 1)] - f[AT(i, j)]);
        }
    }
    return 1.0e-3 * sum / (g->nx * g->ny);
}

void observe(const struct grid *g, struct model *m, const double seen_h[CELLS], const double seen_u[CELLS],
             const double seen_v[CELLS], double *cost) {
    *cost += misfit(g, m->h, seen_h);
    *cost += misfit(g, m->u, seen_u);
    *cost += misfit(g, m->v, seen_v);
}

void simulate(const struct grid *g, struct model *m, const double h0[CELLS], const double u0[CELLS], const double v0[CELLS],
              const double seen_h[CELLS], const double seen_u[CELLS], const double seen_v[CELLS], double *cost) {
    copy_field(g, h0, m->h);
    copy_field(g, u0, m->u);
    copy_field(g, v0, m->v);
    boundary_exchange(g, m);
    *cost = roughness(g, h0) + roughness(g, u0) + roughness(g, v0);
    for (int n = 0; n < g->steps; ++n) {
        step(g, m);
        if (n % g->observe_every == g->observe_every - 1) {
            observe(g, m, seen_h, seen_u, seen_v, cost);
        }
    }
}
