/* Conditions: of parameters, of loop indices, of active values, of variables that change afterwards; early returns. */
#include "program.h"

#include <math.h>

double pick(double a, double b, int which) {
    if (which == 0) {
        return a * b;
    }
    if (which == 1) {
        return a / (b + 2.0);
    } else if (which == 2) {
        if (a > b) {
            return a - b * b;
        }
        a = b * a;
    }
    return a * a * a;
}

void limit(double *a, double low) {
    if (*a < low) {
        *a = low + 0.1 * (*a - low) * (*a - low);
        return;
    }
    *a = *a * 1.5;
}

void program(int n, const double x[n], double y[n]) {
    int flag = 1;
    double a = 1.0;
    for (int i = 0; i < n; ++i) {
        y[i] = pick(x[i], x[n - 1 - i], i % 4);
        if (i > 1 && i < n - 1) {
            y[i] *= y[i - 1];
        }
        if (y[i] > 0.3 || x[i] < 0.2) {
            limit(&y[i], 0.6);
        } else {
            y[i] = exp(y[i]);
        }
        if (flag) {
            a = a * x[i];
            flag = 0;
        } else if (i == 3) {
            a = a + 2.0;
            flag = 1;
        } else {
            flag = !flag;
        }
        y[i] = y[i] * a;
    }
    if (n > 2) {
        y[1] = y[1] * y[2];
    }
    if (a > 1.0e9) {
        y[0] = 0.0;
    }
}
