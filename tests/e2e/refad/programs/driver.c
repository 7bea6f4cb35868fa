/* Driver of the test programs. Prints the primal result, the gradient of a weighted sum of y in hexadecimal (for comparison bit by
 * bit), and the errors of finite differences and of the dot product. Usage: program N */
#include "adStack.h"
#include "program_b.h"
#include "program_d.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { kMost = 64 };

static double value(int n, const double *x, const double *weight) {
    double y[kMost] = {0}, sum = 0.0;
    program(n, x, y);
    for (int k = 0; k < n; ++k) {
        sum += weight[k] * y[k];
    }
    return sum;
}

int main(int argc, char **argv) {
    int n = argc > 1 ? atoi(argv[1]) : 6;
    double x[kMost], y[kMost] = {0}, xb[kMost], yb[kMost], weight[kMost], d[kMost], yd[kMost] = {0}, shifted[kMost];
    for (int k = 0; k < n; ++k) {
        x[k] = 0.7 + 0.31 * sin(1.0 + 1.7 * k);
        weight[k] = yb[k] = cos(0.4 + k);
        d[k] = sin(2.0 + 3.0 * k);
    }
    double size = fabs(value(n, x, weight));
    program_b(n, x, xb, y, yb);
    if (adStack_getCurrentStackSize() != 0) {
        printf("stack %lld bytes left\n", (long long)adStack_getCurrentStackSize());
        return 1;
    }
    printf("gradient");
    for (int k = 0; k < n; ++k) {
        printf(" %a", xb[k]);
    }
    double dot = 0.0, tangent = 0.0, norm = 0.0, best = 1.0e30;
    for (int k = 0; k < n; ++k) {
        dot += xb[k] * d[k];
        norm += fabs(xb[k] * d[k]);
    }
    memset(y, 0, sizeof y);
    program_d(n, x, d, y, yd);
    for (int k = 0; k < n; ++k) {
        tangent += yd[k] * weight[k];
        norm += fabs(yd[k] * weight[k]);
    }
    for (double eps = 1.0e-3; eps > 1.0e-8; eps /= 10.0) {
        double sides[2];
        for (int side = 0; side < 2; ++side) {
            for (int k = 0; k < n; ++k) {
                shifted[k] = x[k] + (side ? eps : -eps) * d[k];
            }
            sides[side] = value(n, shifted, weight);
        }
        best = fmin(best, fabs((sides[1] - sides[0]) / (2.0 * eps) - dot));
    }
    printf("\ndifference %.3e\ndot %.3e\nnorm %.3e\npeak %lld\n", best / (norm + 1.0e-6 * size), fabs(tangent - dot) / norm, norm,
           (long long)adStack_getPeakSize());
    return 0;
}
