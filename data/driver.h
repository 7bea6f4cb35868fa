/* What the drivers of the example programs share: run the adjoint, print cost and times, write the gradient, check it.
 * Included once per program, by its main.c. */
#include "adStack.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

struct problem {
    const char *name;
    size_t n;
    double *x;                                           /* where the gradient is taken */
    int relative;                                        /* the directions of the check are relative to x */
    double (*cost)(const double *x);
    double (*tangent)(const double *x, const double *direction);
    void (*adjoint)(const double *x, double *gradient);
};

static double *new_array(size_t n) {
    double *a = calloc(n, sizeof(double));
    if (!a) {
        fprintf(stderr, "no memory for %zu doubles\n", n);
        exit(2);
    }
    return a;
}

/* Processor time: machines are shared. */
static double now_s(void) {
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1.0e-9 * (double)t.tv_nsec;
}

/* An option with a whole number behind it; moves *a on when it is this one. */
static int is_number(int argc, char **argv, int *a, const char *option, int least, int *value) {
    if (strcmp(argv[*a], option) != 0) {
        return 0;
    }
    char *end = NULL;
    long given = *a + 1 < argc ? strtol(argv[*a + 1], &end, 10) : 0;
    if (!end || *end || given < least || given > 1000000000) {
        fprintf(stderr, "%s wants a whole number of at least %d, found '%s'\n", option, least, *a + 1 < argc ? argv[*a + 1] : "nothing");
        exit(2);
    }
    *value = (int)given;
    ++*a;
    return 1;
}

static double random_number(unsigned *seed) {
    *seed = *seed * 1664525u + 1013904223u;
    return (double)(*seed >> 8) / (1 << 24) - 0.5;
}

/* The gradient against central differences and against the tangent. Errors of the dot product are relative to the product of
 * the norms, because the dot product itself may cancel. */
static int check_gradient(const struct problem *p, const double *gradient) {
    double *direction = new_array(p->n), *shifted = new_array(p->n);
    double dot = 0.0, best = 1.0, gradient2 = 0.0, direction2 = 0.0;
    unsigned seed = 12345;
    for (size_t k = 0; k < p->n; ++k) {
        direction[k] = random_number(&seed) * (p->relative ? fabs(p->x[k]) : 1.0);
        dot += gradient[k] * direction[k];
        gradient2 += gradient[k] * gradient[k];
        direction2 += direction[k] * direction[k];
    }
    for (double eps = 1.0e-2; eps > 1.0e-8; eps /= 10.0) {
        double sides[2];
        for (int side = 0; side < 2; ++side) {
            for (size_t k = 0; k < p->n; ++k) {
                shifted[k] = p->x[k] + (side ? eps : -eps) * direction[k];
            }
            sides[side] = p->cost(shifted);
        }
        double difference = (sides[1] - sides[0]) / (2.0 * eps), error = fabs(difference - dot) / fabs(dot);
        printf("eps %.0e  finite difference %.12e  adjoint %.12e  relative error %.1e\n", eps, difference, dot, error);
        best = fmin(best, error);
    }
    double tangent = p->tangent(p->x, direction), error = fabs(tangent - dot) / sqrt(gradient2 * direction2);
    printf("dot product: tangent %.15e  adjoint %.15e  error %.1e\n", tangent, dot, error);
    free(direction);
    free(shifted);
    int good = gradient2 > 0.0 && best < 1.0e-6 && error < 1.0e-12;
    printf("check: %s\n", good ? "passed" : "FAILED");
    return good ? 0 : 1;
}

static int drive(const struct problem *p, const char *gradient_file, int check) {
    double *gradient = new_array(p->n), norm = 0.0;
    double start = now_s(), primal_s = 1.0e30;
    printf("cost %.15e\n", p->cost(p->x));
    for (int run = 0; run < 3; ++run) { /* the first one also warmed up */
        start = now_s();
        p->cost(p->x);
        primal_s = fmin(primal_s, now_s() - start);
    }
    start = now_s();
    p->adjoint(p->x, gradient);
    double adjoint_s = now_s() - start;
    for (size_t k = 0; k < p->n; ++k) {
        norm += gradient[k] * gradient[k];
    }
    printf("gradient norm %.15e\n", sqrt(norm));
    fprintf(stderr, "primal %.4f s, adjoint %.4f s, ratio %.2f, AD stack peak %lld bytes\n", primal_s, adjoint_s,
            adjoint_s / primal_s, (long long)adStack_getPeakSize());
    if (gradient_file) {
        FILE *f = fopen(gradient_file, "wb");
        if (!f || fwrite(gradient, sizeof(double), p->n, f) != p->n || fclose(f)) {
            fprintf(stderr, "%s: cannot write '%s'\n", p->name, gradient_file);
            exit(2);
        }
    }
    int status = check ? check_gradient(p, gradient) : 0;
    free(gradient);
    return status;
}
