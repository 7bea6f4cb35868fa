/* Structs by pointer, nested, with arrays; global structs, arrays and scalars. */
#include "program.h"

#include <math.h>

struct layer {
    double heat, flow;
    double profile[4];
};

struct state {
    int n, calls;
    double field[8];
    double total;
    struct layer top, bottom;
};

struct constants {
    double rate, offset;
};

struct layer shared;
double history[8], drift;
const struct constants constants = {0.3, 0.1};
int counter;

void warm(struct layer *l, double by) {
    l->heat = l->heat * by + l->flow;
    for (int k = 0; k < 4; ++k) {
        l->profile[k] += l->heat * l->profile[k] * constants.rate;
    }
    l->flow = l->flow + l->profile[0] * l->profile[3];
}

void remember(double value) {
    history[counter] = history[counter] * 0.5 + value;
    counter = (counter + 1) % 8;
    drift = drift * 0.9 + value * value;
}

void exchange(struct state *s) {
    double t = s->top.heat;
    s->top.heat = s->bottom.heat * drift;
    s->bottom.heat = t;
    remember(t);
    s->calls++;
}

void advance(struct state *s, int k) {
    warm(&s->top, s->field[k]);
    warm(&s->bottom, s->total);
    warm(&shared, s->bottom.heat);
    exchange(s);
    s->field[k] = s->field[k] * s->top.heat + shared.flow;
    s->total += s->field[k] * constants.offset;
}

void load(struct state *s, const double x[s->n]) {
    s->total = 0.2;
    s->calls = 0;
    counter = 0;
    drift = 0.4;
    for (int i = 0; i < s->n; ++i) {
        s->field[i] = x[i];
    }
    s->top.heat = x[0];
    s->top.flow = 0.1;
    s->bottom.heat = 0.5;
    s->bottom.flow = x[1];
    shared.heat = 0.3;
    shared.flow = x[2] * x[2];
    for (int k = 0; k < 4; ++k) {
        s->top.profile[k] = 0.3 + 0.1 * k;
        s->bottom.profile[k] = x[k];
        shared.profile[k] = 0.2;
    }
    for (int k = 0; k < 8; ++k) {
        history[k] = 0.0;
    }
}

struct state whole;

void program(int n, const double x[n], double y[n]) {
    whole.n = n;
    load(&whole, x);
    for (int k = 0; k < n; ++k) {
        advance(&whole, k);
    }
    for (int k = 0; k < n; ++k) {
        y[k] = whole.field[k] + history[k % 8] + 0.01 * whole.top.profile[k % 4] * whole.bottom.profile[1];
    }
    y[0] += whole.total * drift;
}
