/* pendulum.c - swing up a pendulum and hold it there: the quick check and the speed benchmark.
 *
 * Dynamics, reward and start are those of Gymnasium's Pendulum-v1 (a uniform rod turned by a
 * bounded torque, semi-implicit Euler steps of 50 ms), in double precision. Angle 0 is upright. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "env/gauge.h"
#include "fans/env.h"

static const double PI = 3.14159265358979323846;
static const double STEP = 0.05, MAX_SPEED = 8, MAX_TORQUE = 2;

enum { SIDE = 64 }; /* pixels of its camera */

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
                            .views = 1,
                            .height = SIDE,
                            .width = SIDE,
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

/* What the agent asked the motor for, and what the motor gave. */
static void draw_torques(canvas *c, const pendulum *p)
{
    double gain = p->factor[TORQUE], asked = gain != 0 ? p->torque / gain : 0;
    const gauge gauges[] = {
        {"asked for", "N m", asked, 2 * MAX_TORQUE, GAUGE_WANTED},
        {"motor gives", "N m", p->torque, 2 * MAX_TORQUE, GAUGE_ACTUAL},
    };
    gauges_draw(c, gauges, 2);
}

/* The rod on an axle at height `y`; a metre is as long as `reach` pixels, or shorter if the rod
 * would not fit. */
static void draw_rod(canvas *c, const pendulum *p, double y, double reach)
{
    static const ink paper = {250, 250, 247, 1}, rod = {204, 77, 77, 1}, axle = {40, 40, 45, 1};
    double l = p->factor[LENGTH], x = c->width / 2.0, scale = reach / fmax(l, 1);
    double ex = x + scale * l * sin(p->angle), ey = y - scale * l * cos(p->angle);
    canvas_fill(c, 0, 0, c->width, c->height, paper);
    canvas_line(c, x, y, ex, ey, 0.2 * scale, rod);
    canvas_line(c, x, y, x, y, 0.1 * scale, axle);
}

static int picture(void *env, int width, int height, uint8_t *rgb)
{
    canvas c = {width, height, rgb};
    draw_rod(&c, env, 0.58 * height, 0.34 * (width < height ? width : height));
    draw_torques(&c, env);
    return 0;
}

/* Agents see the rod alone: what the motor is asked for and gives is for people. */
static int draw(void *env, uint8_t *pixels)
{
    draw_rod(&(canvas){SIDE, SIDE, pixels}, env, 0.5 * SIDE, 0.42 * SIDE);
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
    .draw = draw,
    .picture = picture,
};
