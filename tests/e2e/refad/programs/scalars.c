/* Scalars, math functions, conditional expressions, functions with a result inside expressions. */
#include "program.h"

#include <math.h>

double half(double a) {
    return 0.5 * a;
}

double clipped(double a, double low, double high) {
    return fmin(fmax(a, low), high);
}

double many(double a, double b) {
    double r = sqrt(a * a + 1.0) + exp(-b) * log(a + 2.0);
    r += sin(a) * cos(b) + tan(0.3 * a) - tanh(b);
    r -= atan(a * b) + asin(0.3 * a) * acos(0.2 * b);
    r *= 1.0 + 0.1 * sinh(a) / cosh(b);
    r /= 2.0 + pow(a + 1.5, 1.5) + pow(2.0, b) + fabs(a - b);
    return a > b ? r * a : r / (b + 3.0);
}

double overwritten(double a) {
    a = a * a;
    a = sin(a) * a;
    return a + (float)0.5 * a * (double)(int)2.9;
}

void swap(double *a, double *b) {
    double t = *a;
    *a = *b * *b;
    *b = t;
}

void program(int n, const double x[n], double y[n]) {
    double a = x[0], b = x[1], c = 3.0, d;
    c = half(half(a) + many(a, b)) * b + 0.1 * c;
    d = overwritten(c) + overwritten(2.0 * c);
    swap(&c, &d);
    swap(&d, &y[1]);
    y[0] = c * d - -a;
    y[1] += clipped(x[2], 0.5, 0.8) + clipped(c, -100.0, 100.0);
    y[2] = -(a - b) / (c + 4.0) + +d;
    y[3] = many(sin(y[0]), cos(y[1])) * many(1.0, x[3]);
    y[3] = y[3] * y[3];
    y[4] = x[4] * x[5] * x[4];
    y[5] = 1.0;
    y[5] = y[4] - y[5] * 2.0 + y[5] * y[5];
}
