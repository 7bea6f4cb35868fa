/* Loops of every form: up, down, strided, empty, triangular, while, bounds that change later, index reused. */
#include "program.h"

#include <math.h>

/* Newton: as many iterations as it takes. */
double root(double a) {
    double r = a, last = 0.0;
    int count = 0;
    while (fabs(r - last) > 1.0e-14 && count < 50) {
        last = r;
        r = 0.5 * (r + a / r);
        count++;
    }
    return r;
}

void recurrence(int n, double a[n]) {
    int i;
    for (i = 1; i < n; i++) {
        a[i] = a[i] * a[i - 1] + 0.1;
    }
    for (i = n - 1; i > 0; i--) {
        a[i - 1] += sin(a[i]);
    }
    for (i = n - 2; i >= 0; i -= 2) {
        a[i] = a[i] * a[i + 1];
    }
    for (i = 0; i <= n - 2; i += 3) {
        a[i] *= 1.0 + a[i];
    }
    for (i = 7; i < 5; i += 3) {
        a[0] = a[0] * a[0];
    }
    for (i = 1; i < 0; ++i) {
        a[0] = a[0] * a[0];
    }
}

void triangle(int n, const double x[n], double y[n]) {
    for (int i = 0; i < n; ++i) {
        double sum = 0.0;
        for (int j = 0; j <= i; ++j) {
            sum += x[j] * x[i - j];
        }
        y[i] = sum * y[i];
    }
}

void program(int n, const double x[n], double y[n]) {
    int last = n - 1, i;
    for (i = 0; i < n; ++i) {
        y[i] = x[i] + 0.5;
    }
    recurrence(n, y);
    for (i = 0; i < last; ++i) {
        y[i] = root(y[i] * y[i] + 1.0) * y[i];
    }
    last = last / 2;
    for (i = 0; i < last; ++i) {
        y[i] = y[i] * y[i];
    }
    last = 1;
    y[last] *= y[0];
    triangle(n, x, y);
    i = 2;
    y[i] = y[i] * x[i];
    for (i = 0; i < 2; ++i) {
        y[i] = y[i] / (2.0 + y[i] * y[i]);
        int count = 0;
        while (count < i + 1) {
            count = count + 1;
            int inner = 0;
            while (inner < 2) {
                y[count] = y[count] * 0.9 + 0.1 * y[count] * y[count] / (1.0 + y[count] * y[count]);
                inner += 1;
            }
        }
    }
}
