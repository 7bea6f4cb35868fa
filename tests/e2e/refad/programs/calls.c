/* Calls: deep, repeated, active beside inactive, results kept by the caller, outputs that an earlier statement needs, values read by a
 * callee and overwritten later by somebody else. */
#include "program.h"

#include <math.h>

double store;

void product(int n, double a[n], const double b[n]) {
    for (int i = 0; i < n; ++i) {
        a[i] = a[i] * b[i];
    }
}

void shift(int n, double a[n]) {
    for (int i = 0; i < n; ++i) {
        a[i] = a[i] + 0.1 * i;
    }
}

/* Linear in its input: nothing is needed for its derivative, but the snapshot must bring it back. */
double linear(int n, const double a[n]) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += 0.5 * a[i];
    }
    return sum;
}

double deep(double a) {
    return sin(a) * 0.5;
}

double deeper(double a) {
    double b = deep(a);
    b = b + deep(b * b);
    return b * a;
}

void deepest(int n, double a[n]) {
    for (int i = 0; i < n; ++i) {
        double last = 0.0;
        last = deeper(a[i]);
        a[i] = last * last + a[i];
        last = deeper(a[i]);
        a[i] = a[i] * last;
    }
}

void use_store(double *a) {
    *a = *a * store;
    store = store * 0.7 + 0.1 * *a;
}

void clear(int n, double a[n]) {
    for (int i = 0; i < n; ++i) {
        a[i] = 0.0;
    }
}

void program(int n, const double x[n], double y[n]) {
    double constant[n], work[n];
    store = 0.8;
    clear(n, constant);
    clear(n, y);
    shift(n, constant);
    for (int i = 0; i < n; ++i) {
        work[i] = x[i];
    }
    product(n, work, x);
    shift(n, work);
    product(n, work, constant);
    shift(n, constant);
    // $AD NOCHECKPOINT
    shift(n, work);
    double total = linear(n, work) * linear(n, x);
    deepest(n, work);
    /* $AD NOCHECKPOINT */
    product(n, work, x);
    for (int i = 0; i < n; ++i) {
        use_store(&work[i]);
        y[i] = work[i] * total;
        total = linear(n, y) + store * store;
    }
    clear(n, work);
    work[0] = y[0] * y[1];
    /* $AD CHECKPOINT */
    deepest(2, work);
    y[0] += work[0];
}
