#include "crop.h"

#include <math.h>

/* --- response functions --- */

double ramp(double x, double low, double high) {
    return 0.5 + 0.5 * tanh(2.0 * (x - low) / (high - low) - 1.0);
}

double bell(double t, double base, double optimum) {
    double z = (t - optimum) / (optimum - base);
    return exp(-z * z);
}

double saturation(double x, double half) {
    return x / (x + half);
}

double sigmoid(double x, double centre, double width) {
    return 1.0 / (1.0 + exp(-(x - centre) / width));
}

double decline(double x, double rate) {
    return exp(-rate * x);
}

double beer(double area, double extinction) {
    return 1.0 - exp(-extinction * area);
}

double quadratic_day(double day) {
    return 12.0 + 4.0 * sin(0.0172 * (day - 80.0));
}

/* --- weather --- */

void day_length(struct crop *s, int n) {
    s->day_length = quadratic_day(1.0 * (n % 365));
}

void mean_temperature(struct crop *s) {
    s->tmean = 0.5 * (s->tmin + s->tmax);
}

void read_weather(const struct weather *w, struct crop *s, int n) {
    s->tmin = w->minimum[n];
    s->tmax = w->maximum[n];
    s->radiation = w->radiation[n];
    s->rain = w->rain[n];
    s->demand = w->demand[n];
    mean_temperature(s);
    day_length(s, n);
}

/* --- phenology --- */

void effective_temperature(const struct parameters *p, struct crop *s) {
    double response = bell(s->tmean, p->base_temperature, p->optimal_temperature);
    s->effective_temperature = response * (p->optimal_temperature - p->base_temperature) * (0.9 + 0.1 * s->warm_memory / 20.0);
}

void vernalise(const struct parameters *p, struct crop *s) {
    s->vernal_rate = bell(s->tmean, p->vernal_optimum - 8.0, p->vernal_optimum);
    s->vernalisation = s->vernalisation + s->vernal_rate * decline(s->vernalisation, 0.05);
}

void photoperiod(const struct parameters *p, struct crop *s) {
    double sensitive = sigmoid(s->day_length, 11.0, 1.5);
    s->stage_rate = s->effective_temperature * sensitive * ramp(s->vernalisation, 0.0, 20.0) / 1500.0;
}

void advance_stage(const struct parameters *p, struct crop *s) {
    s->thermal_time += s->effective_temperature;
    s->stage += s->stage_rate * (1.0 - 0.3 * s->stage * s->stage / (4.0 + s->stage * s->stage));
}

void phenology(const struct parameters *p, struct crop *s) {
    effective_temperature(p, s);
    vernalise(p, s);
    photoperiod(p, s);
    advance_stage(p, s);
}

/* --- canopy --- */

void leaf_expansion(const struct parameters *p, struct crop *s) {
    double young = 1.0 - sigmoid(s->stage, 0.9, 0.1);
    s->leaf_growth = p->leaf_rate * s->effective_temperature * young * s->stress * (0.02 + saturation(s->leaf_area, 2.0)) *
                     decline(s->leaf_area, 0.25);
}

void leaf_senescence(const struct parameters *p, struct crop *s) {
    s->leaf_loss = s->leaf_area * sigmoid(s->stage, 1.4, 0.2) / p->leaf_life * (2.0 - s->stress);
}

void leaf_balance(struct crop *s) {
    s->leaf_area += s->leaf_growth - s->leaf_loss;
}

void light_interception(const struct parameters *p, struct crop *s) {
    s->cover = beer(s->leaf_area, p->extinction);
    s->interception = s->cover * s->radiation;
}

void canopy(const struct parameters *p, struct crop *s) {
    leaf_expansion(p, s);
    leaf_senescence(p, s);
    leaf_balance(s);
    light_interception(p, s);
}

/* --- carbon --- */

void assimilate(const struct parameters *p, struct crop *s) {
    double warm = bell(s->tmean, p->base_temperature, p->optimal_temperature);
    s->assimilation = p->radiation_use * s->interception * warm * s->stress * saturation(50.0, s->interception);
}

void respire(const struct parameters *p, struct crop *s) {
    s->respiration = p->maintenance * s->biomass * pow(2.0, (s->tmean - 20.0) / 10.0) * decline(s->biomass, 0.0002);
}

void grow(const struct parameters *p, struct crop *s) {
    s->growth = p->conversion * s->assimilation - s->respiration;
    s->biomass += s->growth;
}

void allocate(const struct parameters *p, struct crop *s) {
    s->allocation_grain = p->harvest_index * sigmoid(s->stage, 1.1, 0.1);
    s->allocation_root = p->root_share * decline(s->stage, 1.5);
    s->allocation_leaf = 1.0 - s->allocation_grain - s->allocation_root;
}

void fill_grain(const struct parameters *p, struct crop *s) {
    s->grain += s->allocation_grain * s->growth * ramp(s->tmean, 0.0, 15.0);
    s->reserve += 0.1 * s->allocation_leaf * s->growth;
}

void remobilise(const struct parameters *p, struct crop *s) {
    double moved = 0.05 * s->reserve * sigmoid(s->stage, 1.3, 0.1);
    s->reserve -= moved;
    s->grain += p->conversion * moved;
}

void carbon(const struct parameters *p, struct crop *s) {
    assimilate(p, s);
    respire(p, s);
    grow(p, s);
    allocate(p, s);
    fill_grain(p, s);
    remobilise(p, s);
}

/* --- roots --- */

void root_front(const struct parameters *p, struct crop *s) {
    s->root_growth = p->root_rate * s->effective_temperature * s->stress * decline(s->root_depth, 0.01);
    s->root_depth += s->root_growth;
}

void root_mass(const struct parameters *p, struct crop *s) {
    s->root_mass += s->allocation_root * s->growth - 0.01 * s->root_mass;
}

double root_share(double depth, double layer, double front) {
    return exp(-0.3 * layer) / (1.0 + exp(0.1 * (layer * depth - front)));
}

void root_profile(const struct parameters *p, struct crop *s) {
    for (int k = 0; k < LAYERS; ++k) {
        s->root_density[k] = root_share(15.0, 1.0 * k, s->root_depth);
    }
}

void roots(const struct parameters *p, struct crop *s) {
    root_front(p, s);
    root_mass(p, s);
    root_profile(p, s);
}

/* --- stresses --- */

void frost(const struct parameters *p, struct crop *s) {
    s->frost_stress = sigmoid(s->tmin, p->frost_limit, 2.0);
}

void heat(struct crop *s) {
    s->heat_stress = 1.0 - sigmoid(s->tmax, 34.0, 2.0);
}

void combine_stresses(const struct parameters *p, struct crop *s) {
    double both = s->water_stress * s->nitrogen_stress;
    s->stress = pow(both, p->stress_shape) * s->frost_stress * s->heat_stress;
}

void stresses(const struct parameters *p, struct crop *s) {
    frost(p, s);
    heat(s);
    combine_stresses(p, s);
}

/* --- water --- */

void snow_cover(struct crop *s) {
    double cold = 1.0 - sigmoid(s->tmean, 0.5, 0.5);
    s->melt = s->snow * sigmoid(s->tmax, 3.0, 1.0) * 0.4;
    s->snow += cold * s->rain - s->melt;
}

void surface_runoff(const struct parameters *p, struct crop *s) {
    s->runoff = p->runoff * s->rain * ramp(s->water[0], 0.5 * s->capacity[0], s->capacity[0]);
}

void infiltrate(struct crop *s) {
    s->infiltration = s->rain + s->melt - s->runoff;
    s->water[0] += s->infiltration;
}

double layer_flow(double water, double capacity, double rate) {
    return rate * water / (1.0 + exp(10.0 - 10.0 * water / capacity));
}

void drain(const struct parameters *p, struct crop *s) {
    double flow;
    for (int k = 0; k < LAYERS - 1; ++k) {
        flow = layer_flow(s->water[k], s->capacity[k], p->drainage);
        s->water[k] -= flow;
        s->water[k + 1] += flow;
    }
    s->drainage = layer_flow(s->water[LAYERS - 1], s->capacity[LAYERS - 1], p->drainage);
    s->water[LAYERS - 1] -= s->drainage;
}

void soil_evaporation(const struct parameters *p, struct crop *s) {
    s->evaporation = p->evaporation * s->demand * (1.0 - s->cover) * saturation(s->water[0], s->wilting[0]);
    s->water[0] -= s->evaporation;
}

double layer_supply(double water, double wilting, double capacity, double roots) {
    return roots * (0.5 + 0.5 * tanh(2.0 * (water - wilting) / (capacity - wilting) - 1.0));
}

void supply_water(struct crop *s) {
    double supply = 0.0, roots = 0.0;
    for (int k = 0; k < LAYERS; ++k) {
        supply += layer_supply(s->water[k], s->wilting[k], s->capacity[k], s->root_density[k]);
        roots += s->root_density[k];
    }
    s->water_supply = supply / (roots + 0.01);
}

void transpire(const struct parameters *p, struct crop *s) {
    s->transpiration = p->transpiration * s->demand * s->cover * s->water_supply;
    s->water_stress = saturation(s->water_supply * (1.0 + 0.1 * s->wet_memory), 0.2) * 1.2;
}

void take_water(struct crop *s) {
    double roots = 0.01;
    for (int k = 0; k < LAYERS; ++k) {
        roots += s->root_density[k];
    }
    for (int k = 0; k < LAYERS; ++k) {
        s->water[k] -= s->transpiration * s->root_density[k] / roots * saturation(s->water[k], 2.0);
    }
}

void water_balance(const struct parameters *p, struct crop *s) {
    snow_cover(s);
    surface_runoff(p, s);
    infiltrate(s);
    drain(p, s);
    soil_evaporation(p, s);
    supply_water(s);
    transpire(p, s);
    take_water(s);
}

/* --- nitrogen --- */

void residues(const struct parameters *p, struct crop *s) {
    double rate = p->mineral_rate * pow(2.0, (s->tmean - 15.0) / 10.0) * ramp(s->water[0], s->wilting[0], s->capacity[0]);
    s->mineralisation = rate * s->residues;
    s->residues -= s->mineralisation;
}

void humus(const struct parameters *p, struct crop *s) {
    double released = p->humus_rate * s->humus * bell(s->tmean, 0.0, 25.0);
    s->humus += 0.2 * s->mineralisation - released;
    s->nitrate[0] += 0.8 * s->mineralisation + released;
}

void leach(const struct parameters *p, struct crop *s) {
    double moved;
    for (int k = 0; k < LAYERS - 1; ++k) {
        moved = s->nitrate[k] * saturation(s->drainage, 10.0) * p->nitrate_loss;
        s->nitrate[k] -= moved;
        s->nitrate[k + 1] += moved;
    }
    s->leaching = s->nitrate[LAYERS - 1] * saturation(s->drainage, 10.0) * p->nitrate_loss;
    s->nitrate[LAYERS - 1] -= s->leaching;
}

void denitrify(const struct parameters *p, struct crop *s) {
    s->denitrification = 0.01 * s->nitrate[0] * sigmoid(s->water[0], s->capacity[0], 2.0);
    s->nitrate[0] -= s->denitrification;
}

void nitrogen_demand(const struct parameters *p, struct crop *s) {
    double critical = p->critical_nitrogen * pow(s->biomass + 1.0, -p->dilution);
    s->nitrogen_demand = critical * s->biomass * 0.01;
    s->nitrogen_stress = 1.3 * saturation(s->plant_nitrogen + 0.1, 0.3 * s->nitrogen_demand);
}

void take_nitrogen(const struct parameters *p, struct crop *s) {
    double taken;
    s->uptake = 0.0;
    for (int k = 0; k < LAYERS; ++k) {
        taken = p->uptake_rate * s->nitrate[k] * s->root_density[k] * saturation(s->nitrogen_demand, s->plant_nitrogen + 0.1);
        s->nitrate[k] -= taken;
        s->uptake += taken;
    }
    s->plant_nitrogen += s->uptake;
}

void nitrogen_balance(const struct parameters *p, struct crop *s) {
    residues(p, s);
    humus(p, s);
    leach(p, s);
    denitrify(p, s);
    nitrogen_demand(p, s);
    take_nitrogen(p, s);
}

/* --- memory and records --- */

/* Lets the oldest go, takes the newest in, returns the mean. */
double shift(double recent[MEMORY], double newest) {
    double sum = newest;
    for (int k = 0; k < MEMORY - 1; ++k) {
        recent[k] = recent[k + 1];
        sum += recent[k];
    }
    recent[MEMORY - 1] = newest;
    return sum / MEMORY;
}

void remember_warmth(struct crop *s) {
    s->warm_memory = shift(s->recent_warmth, s->tmean * s->cover + s->tmax * (1.0 - s->cover));
}

void remember_wetness(struct crop *s) {
    s->wet_memory = shift(s->recent_supply, s->water_supply);
}

void record_plant(struct crop *s, int n) {
    s->biomass_of[n] = s->biomass;
    s->leaf_area_of[n] = s->leaf_area;
    s->grain_of[n] = s->grain;
    s->reserve_of[n] = s->reserve;
    s->stage_of[n] = s->stage;
    s->root_of[n] = s->root_depth;
    s->nitrogen_of[n] = s->plant_nitrogen;
    s->vernal_of[n] = s->vernalisation;
    if (n > 0) {
        s->growth_sum[n] = s->growth_sum[n - 1] + s->growth;
        s->light_sum[n] = s->light_sum[n - 1] + s->interception;
        s->thermal_sum[n] = s->thermal_sum[n - 1] + s->effective_temperature;
        s->stress_sum[n] = s->stress_sum[n - 1] + s->stress;
        s->respiration_sum[n] = s->respiration_sum[n - 1] + s->respiration;
        s->uptake_sum[n] = s->uptake_sum[n - 1] + s->uptake;
        s->frost_sum[n] = s->frost_sum[n - 1] + s->frost_stress;
        s->heat_sum[n] = s->heat_sum[n - 1] + s->heat_stress;
        s->biomass_of[n] = 0.95 * s->biomass_of[n] + 0.05 * s->biomass_of[n - 1];
        s->leaf_area_of[n] = 0.95 * s->leaf_area_of[n] + 0.05 * s->leaf_area_of[n - 1];
    }
}

void record_soil(struct crop *s, int n) {
    s->water_of[n] = 0.0;
    s->nitrate_of[n] = 0.0;
    for (int k = 0; k < LAYERS; ++k) {
        s->water_of[n] += s->water[k];
        s->nitrate_of[n] += s->nitrate[k];
    }
    s->supply_of[n] = s->water_supply;
    s->warmth_of[n] = s->warm_memory;
    s->snow_of[n] = s->snow;
    s->humus_of[n] = s->humus;
    s->residue_of[n] = s->residues;
    if (n > 0) {
        s->rain_sum[n] = s->rain_sum[n - 1] + s->rain;
        s->runoff_sum[n] = s->runoff_sum[n - 1] + s->runoff;
        s->drainage_sum[n] = s->drainage_sum[n - 1] + s->drainage;
        s->evaporation_sum[n] = s->evaporation_sum[n - 1] + s->evaporation;
        s->transpiration_sum[n] = s->transpiration_sum[n - 1] + s->transpiration;
        s->melt_sum[n] = s->melt_sum[n - 1] + s->melt;
        s->mineral_sum[n] = s->mineral_sum[n - 1] + s->mineralisation;
        s->leaching_sum[n] = s->leaching_sum[n - 1] + s->leaching;
        s->gas_sum[n] = s->gas_sum[n - 1] + s->denitrification;
    }
}

/* --- the run --- */

void plant(const struct parameters *p, struct crop *s, int n) {
    phenology(p, s);
    canopy(p, s);
    carbon(p, s);
    roots(p, s);
    stresses(p, s);
    record_plant(s, n);
}

void soil(const struct parameters *p, struct crop *s, int n) {
    water_balance(p, s);
    nitrogen_balance(p, s);
    record_soil(s, n);
}

void day(const struct parameters *p, const struct weather *w, struct crop *s, int n) {
    read_weather(w, s, n);
    remember_warmth(s);
    remember_wetness(s);
    plant(p, s, n);
    soil(p, s, n);
}

void sow(struct crop *s) {
    s->stage = 0.0;
    s->thermal_time = 0.0;
    s->vernalisation = 0.0;
    s->leaf_area = 0.2;
    s->cover = 0.1;
    s->biomass = 5.0;
    s->grain = 0.0;
    s->reserve = 1.0;
    s->root_depth = 5.0;
    s->root_mass = 1.0;
    s->plant_nitrogen = 0.5;
    s->stress = 0.8;
    s->water_stress = 0.8;
    s->nitrogen_stress = 0.8;
    s->residues += 20.0;
    for (int k = 0; k < LAYERS; ++k) {
        s->root_density[k] = 0.0;
    }
}

void season(const struct parameters *p, const struct weather *w, struct crop *s, int first, int last) {
    sow(s);
    for (int n = first; n < last; ++n) {
        day(p, w, s, n);
    }
}

double misfit(const struct crop *s, const double observed[MAX_DAYS], int days) {
    double sum = 0.0;
    for (int n = 0; n < days; n += 7) {
        sum += pow(s->biomass_of[n] + 0.2 * s->grain_of[n] + 10.0 * s->root_of[n] - observed[n], 2.0);
    }
    return sum / days;
}

void simulate(const struct parameters *p, const struct weather *w, struct crop *s, const double observed[MAX_DAYS], int seasons,
              int days, double *cost) {
    *cost = 0.0;
    for (int year = 0; year < seasons; ++year) {
        season(p, w, s, 0, days);
        *cost += misfit(s, observed, days);
    }
    *cost += 1.0e-4 * (s->drainage_sum[days - 1] + s->leaching_sum[days - 1]) * (s->leaching_sum[days - 1] + s->gas_sum[days - 1]);
}
