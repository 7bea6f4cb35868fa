/* A two-dimensional shallow-water model on a rectangle: periodic in x, walls in y, one halo cell on each side. */
#ifndef SHALLOW_WATER_H
#define SHALLOW_WATER_H

struct grid {
    int nx, ny;        /* cells, halo included */
    int steps;         /* time steps */
    int observe_every; /* steps between two observations */
    double dx, dy, dt;
    double gravity, coriolis, drag, viscosity, diffusivity, filter;
};

/* State, tendencies and work fields. The adjoint uses a second one of the same type. */
struct model {
    int nx, ny;
    double *h;         /* [ny * nx] */
    double *u;         /* [ny * nx] */
    double *v;         /* [ny * nx] */
    double *h_old;     /* [ny * nx] */
    double *u_old;     /* [ny * nx] */
    double *v_old;     /* [ny * nx] */
    double *dh;        /* [ny * nx] */
    double *du;        /* [ny * nx] */
    double *dv;        /* [ny * nx] */
    double *flux_x;    /* [ny * nx] */
    double *flux_y;    /* [ny * nx] */
    double *vorticity; /* [ny * nx] */
    double *bernoulli; /* [ny * nx] */
};

#define CELLS (g->ny * g->nx)
#define AT(i, j) ((j) * g->nx + (i))

void halo(const struct grid *g, double f[CELLS]);
void wall(const struct grid *g, double f[CELLS]);
void copy_field(const struct grid *g, const double from[CELLS], double to[CELLS]);
void mass_flux(const struct grid *g, struct model *m);
void divergence(const struct grid *g, struct model *m);
double upwind(double left, double right, double speed);
void advect_row(const struct grid *g, int j, const double f[CELLS], const double u[CELLS], double df[CELLS]);
void advect(const struct grid *g, const double f[CELLS], const double u[CELLS], const double v[CELLS], double df[CELLS]);
void potential_vorticity(const struct grid *g, struct model *m);
void bernoulli_function(const struct grid *g, struct model *m);
void momentum(const struct grid *g, struct model *m);
double bottom_drag(double h, double u, double v, double drag);
void friction(const struct grid *g, const double h[CELLS], const double u[CELLS], const double v[CELLS], double du[CELLS],
              double dv[CELLS]);
void diffuse(const struct grid *g, const double f[CELLS], double df[CELLS], double coefficient);
void continuity(const struct grid *g, struct model *m);
void tendencies(const struct grid *g, struct model *m);
void boundary_exchange(const struct grid *g, struct model *m);
void advance(const struct grid *g, double f[CELLS], const double old[CELLS], const double df[CELLS], double dt);
void stage(const struct grid *g, struct model *m, double dt);
void smooth(const struct grid *g, double f[CELLS], double strength);
void step(const struct grid *g, struct model *m);
double misfit(const struct grid *g, const double f[CELLS], const double observed[CELLS]);
double roughness(const struct grid *g, const double f[CELLS]);
void observe(const struct grid *g, struct model *m, const double seen_h[CELLS], const double seen_u[CELLS],
             const double seen_v[CELLS], double *cost);

/* The head: cost of a run from the initial state h0, u0, v0 against observations. */
void simulate(const struct grid *g, struct model *m, const double h0[CELLS], const double u0[CELLS], const double v0[CELLS],
              const double seen_h[CELLS], const double seen_u[CELLS], const double seen_v[CELLS], double *cost);

#endif
