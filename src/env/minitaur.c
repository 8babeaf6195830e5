/* minitaur.c - a small quadruped on direct-drive motors that walks at a target speed.
 *
 *     r = v* - |v* - v_x| - 0.01 mean |a_t - 2 a_{t-1} + a_{t-2}|
 *
 * v_x is the base's displacement over the control step, clipped to ±0.8 m/s; a is the action scaled
 * to ±0.5 rad. An action moves swing and extension of the four legs about the stance (0, 2) rad.
 * What makes the task hard is kept from the published model: DC motors with a current-torque table,
 * a 3 ms latency in their position control, 20 ms in the observation, and motors that switch off
 * when they are driven too hard for a second.
 *
 * The legs are the five-bar linkages of the robot, closed by constraints; that they are stable was
 * measured (docs/notebook/2026-11-15-environments.md). Rejected: the reduced leg (a hinge and a
 * slide), which needs made-up gains in place of the motor model. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/gauge.h"
#include "env/mj.h"
#include "env/picture.h"
#include "fans/env.h"

enum { LEGS = 4, MOTORS = 8, OBS = 20, ACT = 8, HORIZON = 100, SUBSTEPS = 6, HISTORY = 8 };
enum { BASE = 1, BASE_BODIES = 3 }; /* base, left and right: the first bodies of the model */

static const double CONTROL_STEP = 0.02, STEP = 0.02 / SUBSTEPS; /* s */
static const double ACTION_SCALE = 0.5, STANCE_EXTENSION = 2;    /* rad */

enum { MASS, SPEED, FACTORS };

static const fans_factor factors[FACTORS] = {
    [MASS] = {"mass", FANS_DYNAMICS, 0.1, 4, 1, "scale of the base's mass and inertia"},
    [SPEED] = {"speed", FANS_REWARD, -0.8, 0.8, 0.3, "m/s, target speed"},
};

/* Legs: fl front left, bl back left, fr front right, br back right; two motors each. */
static const char *const obs_names[OBS] = {
    "roll",     "pitch",        "roll_rate",    "pitch_rate",   "fl_fore",
    "fl_rear",  "bl_fore",      "bl_rear",      "fr_rear",      "fr_fore",
    "br_rear",  "br_fore",      "fl_swing",     "bl_swing",     "fr_swing",
    "br_swing", "fl_extension", "bl_extension", "fr_extension", "br_extension",
};
static const char *const act_names[ACT] = {"fl_swing",     "bl_swing",     "fr_swing",
                                           "br_swing",     "fl_extension", "bl_extension",
                                           "fr_extension", "br_extension"};

enum { TERMINATE, NOISE, OPTIONS };

static const fans_env_option option_list[OPTIONS] = {
    [TERMINATE] = {"terminate", 1, 0, 1, "1: an episode ends when the robot tips over"},
    [NOISE] = {"noise", 0.05, 0, 1,
               "standard deviation of the base's initial velocities (m/s, rad/s)"},
};

/* What the sensors see after one sub-step. */
typedef struct sample {
    double roll, pitch, roll_rate, pitch_rate;
    double angle[MOTORS], rate[MOTORS];
} sample;

enum { OFF = -1 }; /* a motor that has tripped */

/* The state that MuJoCo does not hold; eight-byte members only, so that it has no padding. */
typedef struct memory {
    double past[2][ACT];     /* a_{t-1}, a_{t-2} */
    sample history[HISTORY]; /* a ring of sub-steps */
    int64_t newest;          /* its last entry */
    int64_t hot[MOTORS];     /* sub-steps in a row above the torque that heats; OFF once tripped */
} memory;

typedef struct minitaur {
    sim *s; /* first, see mj.h */
    double factor[FACTORS], option[OPTIONS];
    int qpos[MOTORS], qvel[MOTORS]; /* where the motors' joints are in the state */
    memory now;
    void *stance; /* MuJoCo's state of the standing robot */
    picture *picture;
} minitaur;

/* ---- legs ------------------------------------------------------------------------------------ */

/* Motors 2i and 2i+1 of leg i (front left, back left, front right, back right) are mirrored between
 * the sides, hence the sign. Positive swing moves the foot forward, positive extension downwards.
 */
static double side(int leg)
{
    return leg / 2 ? -1 : 1;
}

/* pose (8) = 4 swings, 4 extensions */
static void motors_of_pose(const double *pose, double *angle)
{
    for (int i = 0; i < LEGS; i++) {
        angle[2 * i] = pose[LEGS + i] - side(i) * pose[i];
        angle[2 * i + 1] = pose[LEGS + i] + side(i) * pose[i];
    }
}

static void pose_of_motors(const double *angle, double *pose)
{
    for (int i = 0; i < LEGS; i++) {
        pose[i] = side(i) * 0.5 * (angle[2 * i + 1] - angle[2 * i]);
        pose[LEGS + i] = 0.5 * (angle[2 * i + 1] + angle[2 * i]);
    }
}

/* ---- sensors --------------------------------------------------------------------------------- */

static void read_sensors(const minitaur *t, sample *out)
{
    const double *q = t->s->d->qpos + 3, *omega = t->s->d->qvel + 3; /* in the base's frame */
    out->roll = atan2(2 * (q[0] * q[1] + q[2] * q[3]), 1 - 2 * (q[1] * q[1] + q[2] * q[2]));
    out->pitch = asin(fmin(fmax(2 * (q[0] * q[2] - q[3] * q[1]), -1), 1));
    out->roll_rate = omega[0];
    out->pitch_rate = omega[1];
    for (int i = 0; i < MOTORS; i++) {
        out->angle[i] = t->s->d->qpos[t->qpos[i]];
        out->rate[i] = t->s->d->qvel[t->qvel[i]];
    }
}

static void record(minitaur *t)
{
    t->now.newest = (t->now.newest + 1) % HISTORY;
    read_sensors(t, &t->now.history[t->now.newest]);
}

static const sample *recorded(const minitaur *t, int ago)
{
    return &t->now.history[(t->now.newest - ago + HISTORY) % HISTORY];
}

/* obs (20) = roll, pitch, their rates, 8 motor angles, 4 swings, 4 extensions; 20 ms old */
static void observe(const minitaur *t, float *obs)
{
    const sample *s = recorded(t, SUBSTEPS);
    double pose[2 * LEGS];
    pose_of_motors(s->angle, pose);
    *obs++ = (float)s->roll;
    *obs++ = (float)s->pitch;
    *obs++ = (float)s->roll_rate;
    *obs++ = (float)s->pitch_rate;
    for (int i = 0; i < MOTORS; i++) *obs++ = (float)s->angle[i];
    for (int i = 0; i < 2 * LEGS; i++) *obs++ = (float)pose[i];
}

/* ---- motors ---------------------------------------------------------------------------------- */

/* Torque (N m) at a current (A), linear between the measured points. */
static double torque_at(double current)
{
    static const double table[] = {0, 1, 1.9, 2.45, 3.0, 3.25, 3.5}; /* 0, 10 .. 60 A */
    double x = fabs(current) / 10;
    if (isnan(x)) return x;
    if (x >= 6) return copysign(table[6], current);
    int k = (int)x;
    return copysign(table[k] + (x - k) * (table[k + 1] - table[k]), current);
}

/* Position control by pulse width from what the motor's sensor saw, against the back-EMF of its
 * true rate. */
static double motor_torque(double target, double seen_angle, double seen_rate, double rate)
{
    const double kp = 1, kd = 0.015, supply = 16, resistance = 0.186, kt = 0.0954, limit = 50;
    double pwm = sim_clip(kp * (target - seen_angle) - kd * seen_rate);
    double voltage = pwm * supply - kt * rate;
    return torque_at(limit * sim_clip(voltage / limit) / resistance);
}

/* A motor that gave more than 2.45 N m for a second is off until the next episode. */
static double protect(int64_t *hot, double torque)
{
    if (*hot == OFF) return 0;
    *hot = fabs(torque) > 2.45 ? *hot + 1 : 0;
    if ((double)*hot * STEP > 1) *hot = OFF;
    return torque;
}

/* Sets the torques of the next sub-step. The position control is 3 ms late, less than a sub-step: a
 * mix of the last two samples. */
static void drive(minitaur *t, const double *target)
{
    const double late = 0.003 / STEP;
    const sample *new = recorded(t, 0), *old = recorded(t, 1);
    for (int i = 0; i < MOTORS; i++) {
        double angle = (1 - late) * new->angle[i] + late * old->angle[i];
        double rate = (1 - late) * new->rate[i] + late * old->rate[i];
        double torque = motor_torque(target[i], angle, rate, new->rate[i]);
        t->s->d->ctrl[i] = protect(&t->now.hot[i], torque);
    }
}

/* One control step under the scaled action a (8). */
static int advance(minitaur *t, const double *a)
{
    double pose[ACT], target[MOTORS];
    for (int i = 0; i < ACT; i++) pose[i] = a[i] + (i < LEGS ? 0 : STANCE_EXTENSION);
    motors_of_pose(pose, target);
    for (int k = 0; k < SUBSTEPS; k++) {
        drive(t, target);
        int rc = sim_step(t->s, 1);
        if (rc < 0) return rc;
        record(t);
    }
    return 0;
}

/* ---- life ------------------------------------------------------------------------------------ */

static void minitaur_close(void *env)
{
    minitaur *t = env;
    if (!t) return;
    picture_free(t->picture);
    sim_free(t->s);
    mem_free(t->stance);
    mem_free(t);
}

/* Forgets the past, as if the robot had always been as it is now. */
static void forget(minitaur *t)
{
    memset(&t->now, 0, sizeof t->now);
    for (int i = 0; i < HISTORY; i++) record(t);
}

/* Stands for a second, so that the springs of constraints and contacts come to rest. */
static int find_stance(minitaur *t)
{
    const double still[ACT] = {0};
    int rc = 0;
    TRY(sim_reset(t->s));
    forget(t);
    for (int i = 0; i < 50; i++) TRY(advance(t, still));
    t->s->d->qpos[0] = t->s->d->qpos[1] = t->s->d->time = 0;
    sim_save(t->s, t->stance);
out:
    return rc;
}

static int minitaur_open(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)seed;
    int rc = 0;
    minitaur *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    for (int i = 0; i < OPTIONS; i++) t->option[i] = options[i];
    for (int i = 0; i < FACTORS; i++) t->factor[i] = factors[i].initial;
    TRY(sim_new(&t->s, "minitaur", "minitaur.xml"));
    for (int i = 0; i < MOTORS; i++) {
        int joint = t->s->m->actuator_trnid[2 * i];
        t->qpos[i] = (int)t->s->m->jnt_qposadr[joint];
        t->qvel[i] = (int)t->s->m->jnt_dofadr[joint];
    }
    rc = FANS_ENOMEM;
    if (!(t->stance = mem_alloc(sim_state_bytes(t->s)))) goto out;
    TRY(find_stance(t));
    *info = (fans_env_info){.obs_dim = OBS,
                            .act_dim = ACT,
                            .horizon = HORIZON,
                            .factors = factors,
                            .factor_count = FACTORS,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = t;
    return 0;
out:
    minitaur_close(t);
    return rc;
}

static int minitaur_set_factor(void *env, int factor, double value)
{
    minitaur *t = env;
    const fans_factor *f = &factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    if (value == t->factor[factor]) return 0;
    t->factor[factor] = value;
    return factor == MASS ? sim_scale_mass(t->s, BASE, BASE_BODIES, value) : 0;
}

/* ---- episodes -------------------------------------------------------------------------------- */

static int minitaur_reset(void *env, fans_rng *r, float *obs)
{
    minitaur *t = env;
    int rc = sim_reset(t->s);
    if (rc < 0) return rc;
    sim_restore(t->s, t->stance);
    for (int i = 0; i < 6; i++) t->s->d->qvel[i] += t->option[NOISE] * rng_normal(r);
    forget(t);
    observe(t, obs);
    return 0;
}

/* Tipped over, or a front leg swung too far. */
static bool fallen(const minitaur *t)
{
    const sample *s = recorded(t, 0);
    double pose[2 * LEGS];
    pose_of_motors(s->angle, pose);
    return fabs(s->roll) > 0.3 || fabs(s->pitch) > 0.3 || pose[0] > 0.8 || pose[2] > 0.8;
}

/* mean |a_t - 2 a_{t-1} + a_{t-2}|; then a_t is the past. */
static double jerk(minitaur *t, const double *a)
{
    double sum = 0;
    for (int i = 0; i < ACT; i++)
        sum += fabs(a[i] - 2 * t->now.past[0][i] + t->now.past[1][i]) / ACT;
    memcpy(t->now.past[1], t->now.past[0], sizeof t->now.past[0]);
    memcpy(t->now.past[0], a, sizeof t->now.past[0]);
    return sum;
}

static int minitaur_step(void *env, fans_rng *r, const float *action, float *obs,
                         fans_env_result *result)
{
    (void)r;
    minitaur *t = env;
    double a[ACT], x = t->s->d->qpos[0], target = t->factor[SPEED];
    for (int i = 0; i < ACT; i++) a[i] = ACTION_SCALE * sim_clip((double)action[i]);
    int rc = advance(t, a);
    if (rc < 0) return rc;
    observe(t, obs);
    double speed = 0.8 * sim_clip((t->s->d->qpos[0] - x) / CONTROL_STEP / 0.8);
    result->reward = target - fabs(target - speed) - 0.01 * jerk(t, a);
    result->terminated = t->option[TERMINATE] >= 0.5 && fallen(t);
    result->success = NAN;
    return 0;
}

static int minitaur_picture(void *env, int width, int height, uint8_t *rgb)
{
    minitaur *t = env;
    int rc = picture_draw(&t->picture, t->s, width, height, rgb);
    const gauge gauges[] = {
        {"target speed", "m/s", t->factor[SPEED], 0.8, GAUGE_WANTED},
        {"speed", "m/s", t->s->d->qvel[0], 0.8, GAUGE_ACTUAL},
    };
    if (rc == 0) gauges_draw(&(canvas){width, height, rgb}, gauges, 2);
    return rc;
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t minitaur_state_bytes(const void *env)
{
    const minitaur *t = env;
    return sizeof t->factor + sizeof t->now + sim_state_bytes(t->s);
}

static void minitaur_save(const void *env, void *bytes)
{
    const minitaur *t = env;
    char *at = bytes;
    memcpy(at, t->factor, sizeof t->factor);
    memcpy(at + sizeof t->factor, &t->now, sizeof t->now);
    sim_save(t->s, at + sizeof t->factor + sizeof t->now);
}

static bool is_in_range(const memory *m)
{
    const double *x = (const double *)m;
    for (size_t i = 0; i < offsetof(memory, newest) / sizeof *x; i++)
        if (!isfinite(x[i])) return false;
    for (int i = 0; i < MOTORS; i++)
        if (m->hot[i] < OFF || m->hot[i] > INT32_MAX) return false;
    return m->newest >= 0 && m->newest < HISTORY;
}

static void minitaur_restore(void *env, const void *bytes)
{
    minitaur *t = env;
    const char *at = bytes;
    double saved[FACTORS];
    memcpy(saved, at, sizeof saved);
    for (int i = 0; i < FACTORS; i++) minitaur_set_factor(t, i, saved[i]);
    memcpy(&t->now, at + sizeof saved, sizeof t->now);
    if (!is_in_range(&t->now)) fans_fail(FANS_EFORMAT, "what the sensors saw is out of range");
    sim_restore(t->s, at + sizeof saved + sizeof t->now);
}

const fans_env_def env_minitaur = {
    .abi = FANS_ENV_ABI,
    .name = "minitaur",
    .help = "quadruped on direct-drive motors that walks at a target speed (MuJoCo)",
    .options = option_list,
    .option_count = OPTIONS,
    .open = minitaur_open,
    .close = minitaur_close,
    .reset = minitaur_reset,
    .step = minitaur_step,
    .set_factor = minitaur_set_factor,
    .state_bytes = minitaur_state_bytes,
    .save = minitaur_save,
    .restore = minitaur_restore,
    .picture = minitaur_picture,
};
