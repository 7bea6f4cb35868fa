/* Arrays: two dimensions, rows and sections as arguments, local arrays of variable length, index arrays, elements that may be
 * the same element, constant tables. */
#include "program.h"

#include <math.h>

#define COLUMNS 3

void scale(int n, double row[n], double by) {
    for (int i = 0; i < n; ++i) {
        row[i] = row[i] * by + 0.1 * row[i] * row[i];
    }
}

double sum_of(int n, const double *row /* [n] */) {
    double sum = 0.0;
    for (int i = 0; i < n; ++i) {
        sum += row[i] * row[i];
    }
    return sum;
}

void table(int n, const double x[n], double t[n][COLUMNS]) {
    const double weight[COLUMNS] = {0.5, 1.5, -0.7};
    for (int i = 0; i < n; ++i) {
        for (int j = 0; j < COLUMNS; ++j) {
            t[i][j] = weight[j] * x[i] * x[(i + j) % n];
        }
    }
}

void scatter(int n, const int to[n], double a[n]) {
    for (int i = 0; i < n; ++i) {
        a[to[i]] = a[i] * a[to[i]] + sin(a[i]);
    }
}

void program(int n, const double x[n], double y[n]) {
    double t[n][COLUMNS], work[2 * n], fixed[4];
    int to[n];
    table(n, x, t);
    for (int i = 0; i < n; ++i) {
        to[i] = (3 * i + 1) % n;
        work[i] = t[i][0] + t[i][COLUMNS - 1];
        work[n + i] = work[i] * x[i];
    }
    scale(n, work, x[0]);
    scale(n, &work[n], x[1] * x[1]);
    scale(n - 1, work + 1, 0.5);
    for (int i = 0; i < n; ++i) {
        scale(COLUMNS, t[i], work[i]);
        y[i] = sum_of(COLUMNS, t[i]) + work[n + i];
    }
    scatter(n, to, y);
    for (int i = 0; i < n; ++i) {
        to[i] = n - 1 - i;
    }
    scatter(n, to, y);
    for (int i = 0; i < 4; ++i) {
        fixed[i] = y[i];
    }
    scale(4, fixed, 0.3);
    y[0] = fixed[0] * fixed[3];
}
