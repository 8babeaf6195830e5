/* custom_env.c - an environment of your own, as a shared library: cross a river in a boat.
 *
 * Build and try it:
 *
 *     cc -shared -fPIC -I include examples/custom_env.c -o river.so
 *     fans check ./river.so
 *     fans rollout river.ini
 *
 * where river.ini says which environment, and how its factors move:
 *
 *     [env]
 *     name = ./river.so
 *     width = 20
 *     [change.current]
 *     clock = episode
 *     function = sine
 *     offset = 0
 *     amplitude = 0.8
 *     frequency = 0.3
 *
 * The water carries the boat along (the factor `current` changes the dynamics); the place to land
 * at may move too (`landing` changes the reward). The boat feels neither: it sees its position and
 * its own velocity, and has to find out. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "fans/env.h"

enum { CURRENT, LANDING, FACTORS };

/* What may change: name, what it changes, range, default, meaning. */
static const fans_factor factors[FACTORS] = {
    {"current", FANS_DYNAMICS, -1, 1, 0, "m/s, speed of the water"},
    {"landing", FANS_REWARD, -10, 10, 0, "m, where along the far bank to land"},
};

/* What graphs and CSV files call observations and actions. */
static const char *const obs_names[] = {"along", "across", "speed_along", "speed_across"};
static const char *const act_names[] = {"thrust_along", "thrust_across"};

/* Numbers that a config may set in [env]. */
enum { WIDTH, OPTIONS };
static const fans_env_option options[OPTIONS] = {
    {"width", 20, 5, 100, "m, from bank to bank"},
};

/* Everything about one boat. It holds no pointers, so saving it is copying it. */
typedef struct boat {
    double width;
    double along, across; /* m */
    double speed[2];      /* m/s through the water, along and across */
    double factor[FACTORS];
} boat;

static int open_boat(void **env, fans_env_info *info, const double *values, uint64_t seed)
{
    (void)seed; /* this world is always the same; only its episodes are random */
    boat *b = calloc(1, sizeof *b);
    if (!b) return fans_fail(FANS_ENOMEM, "no memory for a boat");
    b->width = values[WIDTH]; /* the factors start at their initial value, which is 0 */
    *info = (fans_env_info){.obs_dim = 4,
                            .act_dim = 2,
                            .horizon = 100,
                            .factors = factors,
                            .factor_count = FACTORS,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = b;
    return 0;
}

static void close_boat(void *env)
{
    free(env);
}

static void observe(const boat *b, float *obs)
{
    obs[0] = (float)(b->along / 10);
    obs[1] = (float)(b->across / b->width);
    obs[2] = (float)b->speed[0];
    obs[3] = (float)b->speed[1];
}

/* All randomness comes from the stream we are given: one seed, one life. */
static int reset(void *env, fans_rng *r, float *obs)
{
    boat *b = env;
    b->along = fans_rng_uniform(r, -5, 5);
    b->across = 0;
    b->speed[0] = b->speed[1] = 0;
    observe(b, obs);
    return 0;
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    boat *b = env;
    const double dt = 0.5, thrust = 0.5, drag = 0.3;
    for (int k = 0; k < 2; k++) {
        double push = fmin(fmax((double)action[k], -1), 1);
        double wave = 0.02 * fans_rng_normal(r);
        b->speed[k] += dt * (thrust * push - drag * b->speed[k]) + wave;
    }
    b->along += dt * (b->speed[0] + b->factor[CURRENT]);
    b->across = fmax(b->across + dt * b->speed[1], 0);

    /* Landing ends the world: there is no value beyond. Running out of time is not our business. */
    double miss = fabs(b->along - b->factor[LANDING]);
    result->terminated = b->across >= b->width;
    result->reward = -0.01 * miss - 0.1 + (result->terminated ? 10 - miss : 0);
    result->success = result->terminated && miss < 1;
    observe(b, obs);
    return 0;
}

static int set_factor(void *env, int factor, double value)
{
    boat *b = env;
    if (!(value >= factors[factor].low && value <= factors[factor].high))
        return fans_fail(FANS_EINVAL, "must be between %g and %g", factors[factor].low,
                         factors[factor].high);
    b->factor[factor] = value;
    return 0;
}

static size_t state_bytes(const void *env)
{
    (void)env;
    return sizeof(boat);
}

static void save(const void *env, void *bytes)
{
    memcpy(bytes, env, sizeof(boat));
}

static void restore(void *env, const void *bytes)
{
    memcpy(env, bytes, sizeof(boat));
}

/* The one symbol that FANS looks for. */
FANS_API const fans_env_def fans_env = {
    .abi = FANS_ENV_ABI,
    .name = "river",
    .help = "cross a river whose current changes",
    .options = options,
    .option_count = OPTIONS,
    .open = open_boat,
    .close = close_boat,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
};
