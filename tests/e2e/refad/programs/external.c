/* A procedure without source whose adjoint is written by hand: external_hand.c, external.json. */
#include "program.h"

#include <math.h>

void smooth(int n, const double in[n], double strength, double out[n]);

void prepare(int n, double a[n]) {
    for (int i = 0; i < n; ++i) {
        a[i] = a[i] * a[i] + 0.1;
    }
}

void chain(int n, double a[n], double b[n]) {
    smooth(n, a, a[0], b);
    prepare(n, b);
    smooth(n, b, 0.3, a);
    prepare(n, a);
}

void program(int n, const double x[n], double y[n]) {
    double a[n];
    for (int i = 0; i < n; ++i) {
        a[i] = x[i];
        y[i] = x[i] * x[i];
    }
    chain(n, a, y);
    chain(n, y, a);
    for (int i = 0; i < n; ++i) {
        y[i] = y[i] * a[i];
    }
}
