/* Driver: calibration of the 24 parameters against biomass from a run with other parameters, under made-up weather.
 *
 *   adjoint [--seasons N] [--days N] [--gradient FILE] [--check] */
#include "data/driver.h"
#include "crop.h"
#include "crop_b.h"
#include "crop_d.h"

enum { kParameters = sizeof(struct parameters) / sizeof(double) };

static int seasons = 20, days = 300;
static struct weather weather;
static struct crop state, other; /* other: its adjoint or tangent */
static double observed[MAX_DAYS];

static void make_weather(void) {
    double **series = &weather.minimum;
    unsigned seed = 1;
    weather.days = days;
    for (int k = 0; k < 5; ++k) {
        series[k] = new_array((size_t)days);
    }
    for (int n = 0; n < days; ++n) {
        double warm = 12.0 - 9.0 * cos(0.0172 * n), wet = random_number(&seed);
        weather.minimum[n] = warm - 4.0 + 3.0 * random_number(&seed);
        weather.maximum[n] = warm + 6.0 + 3.0 * random_number(&seed);
        weather.radiation[n] = 11.0 - 7.0 * cos(0.0172 * n) + 3.0 * random_number(&seed);
        weather.rain[n] = wet > 0.2 ? 25.0 * (wet - 0.2) : 0.0;
        weather.demand[n] = 2.5 - 1.5 * cos(0.0172 * n);
    }
}

static void clear(void) {
    memset(&state, 0, sizeof state);
    for (int k = 0; k < LAYERS; ++k) {
        state.capacity[k] = 30.0;
        state.wilting[k] = 10.0;
        state.water[k] = 25.0;
        state.nitrate[k] = 10.0;
    }
    state.humus = 100.0;
    state.residues = 30.0;
}

static double cost(const double *x) {
    double value = 0.0;
    clear();
    simulate((const struct parameters *)x, &weather, &state, observed, seasons, days, &value);
    return value;
}

static double tangent(const double *x, const double *direction) {
    double value = 0.0, change = 0.0;
    clear();
    memset(&other, 0, sizeof other);
    simulate_d((const struct parameters *)x, (const struct parameters *)direction, &weather, &state, &other, observed, seasons, days, &value, &change);
    return change;
}

static void adjoint(const double *x, double *gradient) {
    double value = 0.0, seed = 1.0;
    clear();
    simulate_b((const struct parameters *)x, (struct parameters *)gradient, &weather, &state, &other, observed, seasons, days, &value,
               &seed);
}

int main(int argc, char **argv) {
    const char *gradient_file = NULL;
    int check = 0;
    for (int a = 1; a < argc; ++a) {
        if (is_number(argc, argv, &a, "--seasons", 1, &seasons) || is_number(argc, argv, &a, "--days", 2, &days)) {
            continue;
        }
        if (!strcmp(argv[a], "--gradient") && a + 1 < argc) {
            gradient_file = argv[++a];
        } else if (!strcmp(argv[a], "--check")) {
            check = 1;
        } else {
            fprintf(stderr, "'%s' is not one of --seasons N --days N --gradient FILE --check\n", argv[a]);
            return 2;
        }
    }
    if (days > MAX_DAYS) {
        fprintf(stderr, "--days is at most %d; build with DEFINES=-DMAX_DAYS=%d for more\n", MAX_DAYS, days);
        return 2;
    }
    struct parameters truth = {2.0,  0.6,  0.0,  22.0, 5.0,  0.02, 40.0, 0.12, 0.35, 0.6,  0.75,  0.012,
                               0.9,  0.4,  0.3,  0.5,  0.02, 0.02, 0.0008, 0.3, 0.3, 5.0, 0.7, -6.0};
    make_weather();
    cost((const double *)&truth);
    for (int n = 0; n < days; ++n) {
        observed[n] = state.biomass_of[n] + 0.2 * state.grain_of[n] + 10.0 * state.root_of[n];
    }
    double *x = new_array(kParameters);
    memcpy(x, &truth, sizeof truth);
    for (int k = 0; k < kParameters; ++k) {
        x[k] = x[k] * (1.0 + 0.02 * (k % 3 - 1)) + (x[k] == 0.0 ? 0.3 : 0.0);
    }
    struct problem problem = {"crop", kParameters, x, 1, cost, tangent, adjoint};
    int status = drive(&problem, gradient_file, check);
    double **series = &weather.minimum;
    for (int k = 0; k < 5; ++k) {
        free(series[k]);
    }
    free(x);
    return status;
}
