/* Driver: twin experiment. Observations come from a run with a higher bump; the gradient is d cost / d (h0, u0, v0).
 *
 *   adjoint [--nx N] [--ny N] [--steps N] [--observe-every N] [--gradient FILE] [--check] */
#include "data/driver.h"
#include "shallow_water.h"
#include "shallow_water_b.h"
#include "shallow_water_d.h"

enum { kFields = 13 };

static struct grid grid = {.nx = 66, .ny = 50, .steps = 40, .observe_every = 10, .dx = 1000.0, .dy = 1000.0, .dt = 8.0,
                           .gravity = 9.81, .coriolis = 1.0e-4, .drag = 2.5e-3, .viscosity = 50.0, .diffusivity = 20.0, .filter = 0.05};
static struct model model, other; /* other: its adjoint or tangent */
static double *seen;              /* h, u, v, one behind the other, as x */
static size_t cells;

static void new_model(struct model *m) {
    m->nx = grid.nx;
    m->ny = grid.ny;
    double **fields = &m->h;
    for (int k = 0; k < kFields; ++k) {
        fields[k] = new_array(cells);
    }
}

static void free_model(struct model *m) {
    double **fields = &m->h;
    for (int k = 0; k < kFields; ++k) {
        free(fields[k]);
    }
}

static void initial_state(double height, double *x) {
    const struct grid *g = &grid;
    for (int j = 0; j < g->ny; ++j) {
        for (int i = 0; i < g->nx; ++i) {
            double east = (double)i / g->nx - 0.5, north = (double)j / g->ny - 0.5;
            x[AT(i, j)] = 100.0 + height * exp(-40.0 * (east * east + north * north));
            x[cells + (size_t)AT(i, j)] = 1.0 + 0.5 * sin(6.283185307179586 * north);
            x[2 * cells + (size_t)AT(i, j)] = 0.2 * sin(6.283185307179586 * east);
        }
    }
}

static double cost(const double *x) {
    double value = 0.0;
    simulate(&grid, &model, x, x + cells, x + 2 * cells, seen, seen + cells, seen + 2 * cells, &value);
    return value;
}

static double tangent(const double *x, const double *d) {
    double value = 0.0, change = 0.0;
    simulate_d(&grid, &model, &other, x, d, x + cells, d + cells, x + 2 * cells, d + 2 * cells, seen, seen + cells,
               seen + 2 * cells, &value, &change);
    return change;
}

static void adjoint(const double *x, double *gradient) {
    double value = 0.0, seed = 1.0;
    simulate_b(&grid, &model, &other, x, gradient, x + cells, gradient + cells, x + 2 * cells, gradient + 2 * cells, seen,
               seen + cells, seen + 2 * cells, &value, &seed);
}

int main(int argc, char **argv) {
    const char *gradient_file = NULL;
    int check = 0;
    for (int a = 1; a < argc; ++a) {
        if (is_number(argc, argv, &a, "--nx", 4, &grid.nx) || is_number(argc, argv, &a, "--ny", 4, &grid.ny) ||
            is_number(argc, argv, &a, "--steps", 0, &grid.steps) || is_number(argc, argv, &a, "--observe-every", 1, &grid.observe_every)) {
            continue;
        }
        if (!strcmp(argv[a], "--gradient") && a + 1 < argc) {
            gradient_file = argv[++a];
        } else if (!strcmp(argv[a], "--check")) {
            check = 1;
        } else {
            fprintf(stderr, "'%s' is not one of --nx N --ny N --steps N --observe-every N --gradient FILE --check\n", argv[a]);
            return 2;
        }
    }
    cells = (size_t)grid.nx * (size_t)grid.ny;
    new_model(&model);
    new_model(&other);
    seen = new_array(3 * cells);
    double *x = new_array(3 * cells);
    initial_state(2.0, x);
    cost(x); /* the truth */
    memcpy(seen, model.h, cells * sizeof(double));
    memcpy(seen + cells, model.u, cells * sizeof(double));
    memcpy(seen + 2 * cells, model.v, cells * sizeof(double));
    initial_state(1.0, x);
    struct problem problem = {"shallow_water", 3 * cells, x, 0, cost, tangent, adjoint};
    int status = drive(&problem, gradient_file, check);
    free_model(&model);
    free_model(&other);
    free(seen);
    free(x);
    return status;
}
