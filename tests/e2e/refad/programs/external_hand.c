#include "program_b.h"
#include "program_d.h"

void smooth(int n, const double in[n], double strength, double out[n]) {
    for (int i = 0; i < n; ++i) {
        out[i] = in[i] + strength * (in[(i + 1) % n] - in[i]);
    }
}

void smooth_b(int n, const double in[n], double inb[n], double strength, double *strengthb, double out[n], double outb[n]) {
    (void)out;
    for (int i = n - 1; i >= 0; --i) {
        *strengthb += (in[(i + 1) % n] - in[i]) * outb[i];
        inb[(i + 1) % n] += strength * outb[i];
        inb[i] += (1.0 - strength) * outb[i];
        outb[i] = 0.0;
    }
}

void smooth_d(int n, const double in[n], const double ind[n], double strength, double strengthd, double out[n], double outd[n]) {
    smooth(n, in, strength, out);
    for (int i = 0; i < n; ++i) {
        outd[i] = ind[i] + strength * (ind[(i + 1) % n] - ind[i]) + strengthd * (in[(i + 1) % n] - in[i]);
    }
}
