/* Driver: twin experiment. Surface temperature and pressure of a run with other initial temperature and wind are the
 * observations; the gradient is d cost / d (t0, wind).
 *
 *   adjoint [--nx N] [--ny N] [--nz N] [--steps N] [--gradient FILE] [--check] */
#include "data/driver.h"
#include "ocean.h"
#include "ocean_b.h"
#include "ocean_d.h"

enum { kFields = 13 };

static struct grid grid = {.nx = 26, .ny = 22, .nz = 36, .steps = 20, .dx = 500.0, .dy = 500.0, .dz = 50.0, .dt = 40.0,
                           .gravity = 9.81, .coriolis = 1.0e-4, .viscosity = 50.0, .diffusivity = 20.0, .drag = 2.0e-3,
                           .background_mixing = 1.0, .restoring = 1.0e-5, .wave_speed = 70.0, .solver_tolerance = 1.0e-13};
static struct ocean ocean, other; /* other: its adjoint or tangent */
static double *seen_t, *seen_q, *salinity;
static size_t cells, volume;

static void new_ocean(struct ocean *o) {
    o->nx = grid.nx;
    o->ny = grid.ny;
    o->nz = grid.nz;
    double **fields = &o->u;
    for (int k = 0; k < kFields; ++k) {
        fields[k] = new_array(volume);
    }
}

static void free_ocean(struct ocean *o) {
    double **fields = &o->u;
    for (int k = 0; k < kFields; ++k) {
        free(fields[k]);
    }
}

/* x = (t0, wind) */
static void initial_state(double warmth, double strength, double *x) {
    const struct grid *g = &grid;
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            double east = 6.283185307179586 * (i - 1) / (g->nx - 2), north = (double)j / (g->ny - 1) - 0.5;
            for (int k = 0; k < g->nz; ++k) {
                double deep = (k + 0.5) / g->nz;
                x[(size_t)k * cells + (size_t)AT(i, j)] =
                    4.0 + 14.0 * exp(-3.0 * deep) + warmth * sin(east) * exp(-20.0 * north * north - 4.0 * deep);
                salinity[(size_t)k * cells + (size_t)AT(i, j)] = 35.0 + 0.5 * deep;
            }
            x[volume + (size_t)AT(i, j)] = strength * cos(6.283185307179586 * north);
        }
    }
}

static void clear(void) {
    double **fields = &ocean.u;
    for (int k = 0; k < kFields; ++k) {
        memset(fields[k], 0, volume * sizeof(double));
    }
    memcpy(ocean.s, salinity, volume * sizeof(double));
}

static double cost(const double *x) {
    double value = 0.0;
    clear();
    simulate(&grid, &ocean, x, x + volume, seen_t, seen_q, &value);
    return value;
}

static double tangent(const double *x, const double *d) {
    double value = 0.0, change = 0.0, **fields = &other.u;
    clear();
    for (int k = 0; k < kFields; ++k) {
        memset(fields[k], 0, volume * sizeof(double));
    }
    simulate_d(&grid, &ocean, &other, x, d, x + volume, d + volume, seen_t, seen_q, &value, &change);
    return change;
}

static void adjoint(const double *x, double *gradient) {
    double value = 0.0, seed = 1.0;
    clear();
    simulate_b(&grid, &ocean, &other, x, gradient, x + volume, gradient + volume, seen_t, seen_q, &value, &seed);
}

int main(int argc, char **argv) {
    const char *gradient_file = NULL;
    int check = 0;
    for (int a = 1; a < argc; ++a) {
        if (is_number(argc, argv, &a, "--nx", 4, &grid.nx) || is_number(argc, argv, &a, "--ny", 4, &grid.ny) ||
            is_number(argc, argv, &a, "--nz", 2, &grid.nz) || is_number(argc, argv, &a, "--steps", 0, &grid.steps)) {
            continue;
        }
        if (!strcmp(argv[a], "--gradient") && a + 1 < argc) {
            gradient_file = argv[++a];
        } else if (!strcmp(argv[a], "--check")) {
            check = 1;
        } else {
            fprintf(stderr, "'%s' is not one of --nx N --ny N --nz N --steps N --gradient FILE --check\n", argv[a]);
            return 2;
        }
    }
    cells = (size_t)grid.nx * (size_t)grid.ny;
    volume = cells * (size_t)grid.nz;
    new_ocean(&ocean);
    new_ocean(&other);
    seen_t = new_array(cells);
    seen_q = new_array(cells);
    salinity = new_array(volume);
    double *x = new_array(volume + cells);
    initial_state(2.0, 0.15, x);
    cost(x); /* the truth */
    memcpy(seen_t, ocean.t, cells * sizeof(double));
    memcpy(seen_q, ocean.q, cells * sizeof(double));
    initial_state(1.0, 0.1, x);
    struct problem problem = {"ocean", volume + cells, x, 0, cost, tangent, adjoint};
    int status = drive(&problem, gradient_file, check);
    free_ocean(&ocean);
    free_ocean(&other);
    free(seen_t);
    free(seen_q);
    free(salinity);
    free(x);
    return status;
}
