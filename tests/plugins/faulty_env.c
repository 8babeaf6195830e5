/* faulty_env.c - an environment that breaks its contract in the way that its option asks for, so
 * that the tests can see each check fail. A mass on a line, pushed about. */
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

#include "fans/env.h"
#include "plugins/faulty_env.h"

static const fans_factor factors[] = {
    {"push", FANS_DYNAMICS, -1, 1, 0, "added to the action"},
    {"bonus", FANS_REWARD, -1, 1, 0, "added to the reward"},
};
static const fans_env_option options[] = {
    {"fault", 0, 0, FAULTS - 1, "which one"},
    {"when", 30, 0, 1e9, "step of the faults that happen once"},
    {"side", 2, 1, 64, "pixels of its camera, each way"},
};

typedef struct mass {
    double place, speed, factor[2], steps;
    int fault, when, side;
} mass;

static double hidden_noise; /* shared by all instances: what an environment must not have */

static void give_names(int fault, fans_env_info *info)
{
    static const char *const bad[] = {"place", "Speed (m/s)"}, *const same[] = {"x", "x"},
                             *const null[] = {"place", NULL};
    static const char *const one[] = {"place", "speed"}, *const other[] = {"speed", "place"};
    static int opened;
    if (fault == FAULT_BAD_NAME) info->obs_names = bad;
    if (fault == FAULT_SAME_NAME) info->obs_names = same;
    if (fault == FAULT_NULL_NAME) info->obs_names = null;
    if (fault == FAULT_NAMES_MOVE) info->obs_names = opened++ % 2 ? other : one;
}

static int open_mass(void **env, fans_env_info *info, const double *values, uint64_t seed)
{
    (void)seed;
    mass *m = calloc(1, sizeof *m);
    if (!m) return FANS_ENOMEM;
    m->fault = (int)values[0];
    m->when = (int)values[1];
    m->side = (int)values[2];
    *info = (fans_env_info){.obs_dim = 2,
                            .act_dim = 1,
                            .horizon = 40,
                            .factors = factors,
                            .factor_count = 2,
                            .views = 1,
                            .height = m->side,
                            .width = m->side};
    give_names(m->fault, info);
    if (m->fault == FAULT_CRASH_OPEN) raise(SIGSEGV);
    if (m->fault == FAULT_BAD_INFO) info->horizon = 0;
    if (m->fault == FAULT_OPEN) {
        free(m);
        return fans_fail(FANS_ENOSUP, "cannot be opened today");
    }
    *env = m;
    return 0;
}

static void observe(const mass *m, float *obs)
{
    obs[0] = (float)m->place;
    if (m->fault != FAULT_UNWRITTEN) obs[1] = (float)m->speed;
    if (m->fault == FAULT_OVERRUN) obs[2] = 0;
}

static int reset(void *env, fans_rng *r, float *obs)
{
    mass *m = env;
    m->place = m->fault == FAULT_NO_SEED ? 0 : fans_rng_uniform(r, -1, 1);
    m->speed = 0;
    observe(m, obs);
    return 0;
}

/* What no return value can tell. */
static void misbehave(int fault)
{
    static volatile int forever = 1;
    if (fault == FAULT_CRASH) raise(SIGSEGV);
    if (fault == FAULT_EXIT) exit(0);
    while (fault == FAULT_HANG && forever) continue;
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    mass *m = env;
    double push =
        m->fault == FAULT_NO_CLIP ? (double)action[0] : fmin(fmax((double)action[0], -1), 1);
    if (m->fault != FAULT_DEAD_DYNAMICS) push += m->factor[0];
    if (m->fault == FAULT_LEAKING_REWARD) push += m->factor[1];
    if (m->fault == FAULT_HIDDEN_NOISE) push += hidden_noise += 0.01;
    if (m->fault != FAULT_NO_SEED) push += 0.01 * fans_rng_normal(r);
    m->speed = 0.9 * m->speed + 0.1 * push;
    m->place = 0.9 * m->place + 0.1 * m->speed;
    result->reward = -fabs(m->place);
    if (m->fault != FAULT_DEAD_REWARD) result->reward += m->factor[1];
    observe(m, obs);
    bool now = m->steps++ == m->when;
    if (now && m->fault == FAULT_NAN_OBS) obs[1] = NAN;
    if (now && m->fault == FAULT_INF_REWARD) result->reward = INFINITY;
    if (now && m->fault == FAULT_ERROR) return fans_fail(FANS_EIO, "the spring broke");
    if (now && m->fault == FAULT_SILENT) return -42;
    if (now && m->fault == FAULT_POSITIVE) return 1;
    if (m->fault == FAULT_HUGE_REWARD) result->reward *= 1e30;
    if (now) misbehave(m->fault);
    static void *volatile kept;
    if (m->fault == FAULT_LEAK) kept = malloc(100);
    (void)kept;
    return 0;
}

static int set_factor(void *env, int factor, double value)
{
    mass *m = env;
    if (m->fault != FAULT_ANY_VALUE && fabs(value) > 1) return fans_fail(FANS_EINVAL, "beyond 1");
    if (m->fault == FAULT_SILENT_FACTOR && value > 0.9) return FANS_EIO;
    m->factor[factor] = value;
    if (m->fault == FAULT_TRACE) m->speed += 1e-6 * value;
    return 0;
}

static size_t state_bytes(const void *env)
{
    (void)env;
    return sizeof(mass);
}

static void save(const void *env, void *bytes)
{
    memcpy(bytes, env, sizeof(mass));
}

static void restore(void *env, const void *bytes)
{
    mass *m = env;
    double speed = m->speed;
    memcpy(m, bytes, sizeof *m);
    if (m->fault == FAULT_FORGETS) m->speed = speed;
}

/* Every byte tells the place. */
static int draw(void *env, uint8_t *pixels)
{
    mass *m = env;
    if (m->fault == FAULT_CAMERA) hidden_noise += 0.1;
    if (m->fault == FAULT_CAMERA_MOVES) m->speed += 1e-9;
    double shade = 128 + 100 * m->place + (m->fault == FAULT_CAMERA ? hidden_noise * 100 : 0);
    memset(pixels, (int)shade & 255, (size_t)(m->side * m->side * 3));
    return 0;
}

static int truth(const void *env, uint8_t *C_ss, uint8_t *C_as, uint8_t *C_ts, uint8_t *c_sr,
                 uint8_t *c_ar, uint8_t *C_tt_s, uint8_t *C_tt_r)
{
    memcpy(C_ss, (uint8_t[]){1, 1, 0, 1}, 4);
    C_as[0] = C_as[1] = C_ts[0] = C_ts[1] = c_sr[0] = c_sr[1] = c_ar[0] = C_tt_s[0] = C_tt_r[0] = 1;
    if (((const mass *)env)->fault == FAULT_MASK) C_ss[3] = 7;
    return 0;
}

FANS_API const fans_env_def fans_env = {
    .abi = FANS_ENV_ABI,
    .name = "faulty",
    .help = "breaks its contract",
    .options = options,
    .option_count = 3,
    .open = open_mass,
    .close = free,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
    .draw = draw,
    .truth = truth,
};
