/* A daily crop model in the style of large agronomic codes: one big shared state, many small procedures. */
#ifndef CROP_H
#define CROP_H

#ifndef MAX_DAYS
#define MAX_DAYS 1096 /* length of every daily series in the state: up to three years, whatever a season needs */
#endif
#ifndef LAYERS
#define LAYERS 8 /* of the soil */
#endif

enum { MEMORY = 7 }; /* days that plants remember */

/* What is calibrated: the independents. */
struct parameters {
    double radiation_use, extinction, base_temperature, optimal_temperature, vernal_optimum, leaf_rate, leaf_life;
    double root_rate, root_share, harvest_index, conversion, maintenance, transpiration, drainage, runoff, evaporation;
    double uptake_rate, mineral_rate, humus_rate, nitrate_loss, dilution, critical_nitrogen, stress_shape, frost_limit;
};

struct weather {
    int days;
    double *minimum;   /* [days] */
    double *maximum;   /* [days] */
    double *radiation; /* [days] */
    double *rain;      /* [days] */
    double *demand;    /* [days] */
};

/* Everything the model knows, in one place. The series are filled day by day and never emptied. */
struct crop {
    /* of today */
    double tmin, tmax, tmean, radiation, rain, demand, day_length;
    double effective_temperature, vernal_rate, stage_rate, stage, thermal_time, vernalisation;
    double leaf_growth, leaf_loss, leaf_area, interception, cover;
    double assimilation, respiration, growth, biomass, grain, reserve, allocation_leaf, allocation_root, allocation_grain;
    double root_growth, root_depth, root_mass, root_density[LAYERS];
    double snow, melt, runoff, infiltration, evaporation, transpiration, drainage, water_supply, water_stress;
    double water[LAYERS], capacity[LAYERS], wilting[LAYERS];
    double nitrate[LAYERS], humus, residues, mineralisation, leaching, denitrification, uptake, plant_nitrogen;
    double nitrogen_demand, nitrogen_stress, frost_stress, heat_stress, stress;
    double warm_memory, wet_memory, recent_warmth[MEMORY], recent_supply[MEMORY];
    /* of every day */
    double biomass_of[MAX_DAYS], leaf_area_of[MAX_DAYS], grain_of[MAX_DAYS], reserve_of[MAX_DAYS], stage_of[MAX_DAYS];
    double growth_sum[MAX_DAYS], light_sum[MAX_DAYS], thermal_sum[MAX_DAYS], stress_sum[MAX_DAYS], respiration_sum[MAX_DAYS];
    double root_of[MAX_DAYS], uptake_sum[MAX_DAYS], nitrogen_of[MAX_DAYS], frost_sum[MAX_DAYS], heat_sum[MAX_DAYS];
    double vernal_of[MAX_DAYS];
    double water_of[MAX_DAYS], supply_of[MAX_DAYS], rain_sum[MAX_DAYS], runoff_sum[MAX_DAYS], drainage_sum[MAX_DAYS];
    double evaporation_sum[MAX_DAYS], transpiration_sum[MAX_DAYS], snow_of[MAX_DAYS], melt_sum[MAX_DAYS];
    double nitrate_of[MAX_DAYS], humus_of[MAX_DAYS], residue_of[MAX_DAYS], mineral_sum[MAX_DAYS], leaching_sum[MAX_DAYS];
    double gas_sum[MAX_DAYS], warmth_of[MAX_DAYS];
};

/* response functions */
double ramp(double x, double low, double high);
double bell(double t, double base, double optimum);
double saturation(double x, double half);
double sigmoid(double x, double centre, double width);
double decline(double x, double rate);
double beer(double area, double extinction);
double quadratic_day(double day);

/* weather */
void read_weather(const struct weather *w, struct crop *s, int n);
void day_length(struct crop *s, int n);
void mean_temperature(struct crop *s);

/* phenology */
void effective_temperature(const struct parameters *p, struct crop *s);
void vernalise(const struct parameters *p, struct crop *s);
void photoperiod(const struct parameters *p, struct crop *s);
void advance_stage(const struct parameters *p, struct crop *s);
void phenology(const struct parameters *p, struct crop *s);

/* canopy */
void leaf_expansion(const struct parameters *p, struct crop *s);
void leaf_senescence(const struct parameters *p, struct crop *s);
void leaf_balance(struct crop *s);
void light_interception(const struct parameters *p, struct crop *s);
void canopy(const struct parameters *p, struct crop *s);

/* carbon */
void assimilate(const struct parameters *p, struct crop *s);
void respire(const struct parameters *p, struct crop *s);
void grow(const struct parameters *p, struct crop *s);
void allocate(const struct parameters *p, struct crop *s);
void fill_grain(const struct parameters *p, struct crop *s);
void remobilise(const struct parameters *p, struct crop *s);
void carbon(const struct parameters *p, struct crop *s);

/* roots */
void root_front(const struct parameters *p, struct crop *s);
void root_mass(const struct parameters *p, struct crop *s);
double root_share(double depth, double layer, double front);
void root_profile(const struct parameters *p, struct crop *s);
void roots(const struct parameters *p, struct crop *s);

/* stresses */
void frost(const struct parameters *p, struct crop *s);
void heat(struct crop *s);
void combine_stresses(const struct parameters *p, struct crop *s);
void stresses(const struct parameters *p, struct crop *s);

/* water */
void snow_cover(struct crop *s);
void surface_runoff(const struct parameters *p, struct crop *s);
void infiltrate(struct crop *s);
double layer_flow(double water, double capacity, double rate);
void drain(const struct parameters *p, struct crop *s);
void soil_evaporation(const struct parameters *p, struct crop *s);
double layer_supply(double water, double wilting, double capacity, double roots);
void supply_water(struct crop *s);
void transpire(const struct parameters *p, struct crop *s);
void take_water(struct crop *s);
void water_balance(const struct parameters *p, struct crop *s);

/* nitrogen */
void residues(const struct parameters *p, struct crop *s);
void humus(const struct parameters *p, struct crop *s);
void leach(const struct parameters *p, struct crop *s);
void denitrify(const struct parameters *p, struct crop *s);
void nitrogen_demand(const struct parameters *p, struct crop *s);
void take_nitrogen(const struct parameters *p, struct crop *s);
void nitrogen_balance(const struct parameters *p, struct crop *s);

/* memory, and records: the only ones that touch the series */
double shift(double recent[MEMORY], double newest);
void remember_warmth(struct crop *s);
void remember_wetness(struct crop *s);
void record_plant(struct crop *s, int n);
void record_soil(struct crop *s, int n);

/* the run */
void plant(const struct parameters *p, struct crop *s, int n);
void soil(const struct parameters *p, struct crop *s, int n);
void day(const struct parameters *p, const struct weather *w, struct crop *s, int n);
void sow(struct crop *s);
void season(const struct parameters *p, const struct weather *w, struct crop *s, int first, int last);
double misfit(const struct crop *s, const double observed[MAX_DAYS], int days);

/* The head: cost of `seasons` seasons of `days` days against observed biomass. */
void simulate(const struct parameters *p, const struct weather *w, struct crop *s, const double observed[MAX_DAYS], int seasons,
              int days, double *cost);

#endif
