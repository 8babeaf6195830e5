/* pendulum.c - swing up a pendulum and hold it there: the quick check and the speed benchmark.
 *
 * Dynamics, reward and start are those of Gymnasium's Pendulum-v1 (a uniform rod turned by a
 * bounded torque, semi-implicit Euler steps of 50 ms), in double precision. Angle 0 is upright. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "fans/env.h"

static const double PI = 3.14159265358979323846;
static const double STEP = 0.05, MAX_SPEED = 8, MAX_TORQUE = 2;

enum { GRAVITY, TORQUE, MASS, LENGTH, FACTORS };

static const fans_factor factors[FACTORS] = {
    {"gravity", FANS_DYNAMICS, 0, 30, 10, "m/s^2"},
    {"torque", FANS_DYNAMICS, -2, 2, 1, "gain of the motor; negative: it turns the wrong way"},
    {"mass", FANS_DYNAMICS, 0.2, 5, 1, "kg"},
    {"length", FANS_DYNAMICS, 0.2, 3, 1, "m"},
};

static const char *const obs_names[] = {"cos_angle", "sin_angle", "speed"};
static const char *const act_names[] = {"torque"};

/* The whole state: saved as it is. */
typedef struct pendulum {
    double angle, speed; /* rad, rad/s */
    double torque;       /* N m, as last applied; only for pictures */
    double factor[FACTORS];
} pendulum;

static int open_pendulum(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)options, (void)seed;
    pendulum *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    for (int i = 0; i < FACTORS; i++) p->factor[i] = factors[i].initial;
    *info = (fans_env_info){.obs_dim = 3,
                            .act_dim = 1,
                            .horizon = 200,
                            .factors = factors,
                            .factor_count = FACTORS,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = p;
    return 0;
}

static void observe(const pendulum *p, float *obs)
{
    obs[0] = (float)cos(p->angle);
    obs[1] = (float)sin(p->angle);
    obs[2] = (float)p->speed;
}

static int reset(void *env, fans_rng *r, float *obs)
{
    pendulum *p = env;
    p->angle = fans_rng_uniform(r, -PI, PI);
    p->speed = fans_rng_uniform(r, -1, 1);
    p->torque = 0;
    observe(p, obs);
    return 0;
}

static double clip(double x, double most)
{
    return fmin(fmax(x, -most), most);
}

/* To [-pi, pi). */
static double wrap(double angle)
{
    double x = fmod(angle + PI, 2 * PI);
    return (x < 0 ? x + 2 * PI : x) - PI;
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    (void)r;
    pendulum *p = env;
    const double g = p->factor[GRAVITY], m = p->factor[MASS], l = p->factor[LENGTH];
    double u = MAX_TORQUE * clip((double)action[0], 1), angle = wrap(p->angle);
    /* the cost is that of the state before the step, and of the torque that was asked for */
    result->reward = -(angle * angle + 0.1 * p->speed * p->speed + 0.001 * u * u);
    p->torque = p->factor[TORQUE] * u;
    double acceleration = 3 * g / (2 * l) * sin(p->angle) + 3 / (m * l * l) * p->torque;
    p->speed = clip(p->speed + acceleration * STEP, MAX_SPEED);
    p->angle += p->speed * STEP;
    observe(p, obs);
    return 0;
}

static int set_factor(void *env, int factor, double value)
{
    const fans_factor *f = &factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    ((pendulum *)env)->factor[factor] = value;
    return 0;
}

static size_t state_bytes(const void *env)
{
    (void)env;
    return sizeof(pendulum);
}

static void save(const void *env, void *bytes)
{
    memcpy(bytes, env, sizeof(pendulum));
}

static void restore(void *env, const void *bytes)
{
    pendulum *p = env, saved;
    memcpy(&saved, bytes, sizeof saved);
    for (int i = 0; i < FACTORS; i++)
        if (set_factor(p, i, saved.factor[i]) < 0) return;
    if (!isfinite(saved.angle) || !isfinite(saved.speed) || !isfinite(saved.torque))
        fans_fail(FANS_EFORMAT, "angle, speed or torque is not a number");
    else
        *p = saved;
}

/* ---- picture --------------------------------------------------------------------------------- */

/* Distance of (x, y) from the rod's axis, from the pivot (0, 0) to (ex, ey). */
static double rod_distance(double x, double y, double ex, double ey)
{
    double t = (x * ex + y * ey) / (ex * ex + ey * ey);
    t = fmin(fmax(t, 0), 1);
    return hypot(x - t * ex, y - t * ey);
}

/* Lays `colour` over the pixel, as much as `cover` of it (0 to 1). */
static void lay(uint8_t *pixel, const uint8_t colour[3], double cover)
{
    cover = fmin(fmax(cover, 0), 1);
    for (int k = 0; k < 3; k++)
        pixel[k] = (uint8_t)(pixel[k] + cover * ((double)colour[k] - pixel[k]) + 0.5);
}

static int picture(void *env, int width, int height, uint8_t *rgb)
{
    static const uint8_t paper[3] = {250, 250, 247}, rod[3] = {204, 77, 77}, ink[3] = {40, 40, 45},
                         blue[3] = {60, 110, 200};
    const pendulum *p = env;
    double l = p->factor[LENGTH], ex = l * sin(p->angle), ey = -l * cos(p->angle);
    double scale = 0.42 * (width < height ? width : height) / fmax(l, 1); /* pixels per metre */
    /* the torque is an arc around the pivot, as long as it is strong */
    double arc = p->torque / MAX_TORQUE * PI / 2;
    for (int row = 0; row < height; row++) {
        for (int column = 0; column < width; column++) {
            uint8_t *pixel = rgb + 3 * ((size_t)row * (size_t)width + (size_t)column);
            double x = (column + 0.5 - width / 2.0) / scale, y = (row + 0.5 - height / 2.0) / scale;
            double radius = hypot(x, y), angle = atan2(x, -y);
            memcpy(pixel, paper, 3);
            if (arc != 0 && angle * arc > 0 && fabs(angle) < fabs(arc))
                lay(pixel, blue, (0.02 - fabs(radius - 0.35)) * scale + 0.5);
            lay(pixel, rod, (0.1 - rod_distance(x, y, ex, ey)) * scale + 0.5);
            lay(pixel, ink, (0.05 - radius) * scale + 0.5);
        }
    }
    return 0;
}

const fans_env_def env_pendulum = {
    .abi = FANS_ENV_ABI,
    .name = "pendulum",
    .help = "swing up a pendulum and hold it there (Gymnasium's Pendulum-v1)",
    .open = open_pendulum,
    .close = mem_free,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
    .picture = picture,
};
