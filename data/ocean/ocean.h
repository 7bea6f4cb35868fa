/* A small ocean model: temperature, salinity and velocity on levels, a three-dimensional solve for the dynamic pressure, vertical
 * mixing. Periodic in x, walls in y, one halo cell on each side of every level. */
#ifndef OCEAN_H
#define OCEAN_H

struct grid {
    int nx, ny, nz; /* halo included in nx and ny */
    int steps;
    double dx, dy, dz, dt;
    double gravity, coriolis, viscosity, diffusivity, drag, background_mixing, restoring, wave_speed;
    double solver_tolerance;
};

/* Fields are levels of ny * nx cells, the surface first; w stands at the upper face of a level; q is the dynamic pressure. The adjoint uses a second one of the same type. */
struct ocean {
    int nx, ny, nz;
    double *u;    /* [nz * ny * nx] */
    double *v;    /* [nz * ny * nx] */
    double *t;    /* [nz * ny * nx] */
    double *s;    /* [nz * ny * nx] */
    double *rho;  /* [nz * ny * nx] */
    double *p;    /* [nz * ny * nx] */
    double *w;    /* [nz * ny * nx] */
    double *q;    /* [nz * ny * nx] */
    double *rhs;  /* [nz * ny * nx] */
    double *du;   /* [nz * ny * nx] */
    double *dv;   /* [nz * ny * nx] */
    double *dt;   /* [nz * ny * nx] */
    double *ds;   /* [nz * ny * nx] */
};

#define CELLS (g->ny * g->nx)
#define AT(i, j) ((j) * g->nx + (i))
#define LEVEL(field, k) (&(field)[(k) * g->ny * g->nx])

/* halo exchanges and whole levels */
void halo(const struct grid *g, double f[CELLS]);
void wall(const struct grid *g, double f[CELLS]);
void zero(const struct grid *g, double f[CELLS]);
void update(const struct grid *g, double f[CELLS], const double df[CELLS]);
void exchange(const struct grid *g, struct ocean *o);

/* one level */
void density(const struct grid *g, const double t[CELLS], const double s[CELLS], double rho[CELLS]);
void hydrostatic(const struct grid *g, const double rho[CELLS], const double above[CELLS], double p[CELLS]);
void pressure_gradient(const struct grid *g, const double p[CELLS], double du[CELLS], double dv[CELLS]);
void coriolis(const struct grid *g, const double u[CELLS], const double v[CELLS], double du[CELLS], double dv[CELLS]);
void advect(const struct grid *g, const double u[CELLS], const double v[CELLS], const double f[CELLS], double df[CELLS]);
void diffuse(const struct grid *g, const double f[CELLS], double df[CELLS], double coefficient);
void wind_stress(const struct grid *g, const double wind[CELLS], double du[CELLS]);
void bottom_drag(const struct grid *g, const double u[CELLS], const double v[CELLS], double du[CELLS], double dv[CELLS]);
void surface_flux(const struct grid *g, double t[CELLS]);

/* dynamic pressure */
void divergence(const struct grid *g, const struct ocean *o, int k, double rhs[CELLS]);
void dynamic_gradient(const struct grid *g, const double q[CELLS], double du[CELLS], double dv[CELLS]);
void lift(const struct grid *g, const double above[CELLS], const double q[CELLS], double w[CELLS]);
void dynamic_pressure(const struct grid *g, struct ocean *o);
/* (1 - c^2 dt^2 Laplace) q = rhs. No source for the generator: adjoint and tangent are written by hand in solver.c. */
void solve_pressure(const struct grid *g, const double rhs[g->nz * CELLS], double q[g->nz * CELLS]);

/* components */
void equation_of_state(const struct grid *g, struct ocean *o);
void momentum(const struct grid *g, struct ocean *o, int k);
void dynamics(const struct grid *g, struct ocean *o, const double wind[CELLS]);
void tracer(const struct grid *g, const struct ocean *o, double f[g->nz * CELLS], double df[g->nz * CELLS]);
double mixing_rate(double background, double shear, double stratification);
void mix(const struct grid *g, const struct ocean *o, double f[g->nz * CELLS], double efficiency);
void vertical_mixing(const struct grid *g, struct ocean *o);
void thermodynamics(const struct grid *g, struct ocean *o);
void step(const struct grid *g, struct ocean *o, const double wind[CELLS]);
double misfit(const struct grid *g, const double f[CELLS], const double seen[CELLS]);
void start(const struct grid *g, struct ocean *o, const double t0[g->nz * CELLS]);

/* The head: from the initial temperature and the wind to a misfit of surface temperature and surface pressure. The salinity of
 * the start is whatever o->s holds. */
void simulate(const struct grid *g, struct ocean *o, const double t0[g->nz * CELLS], const double wind[CELLS],
              const double seen_t[CELLS], const double seen_q[CELLS], double *cost);

#endif
