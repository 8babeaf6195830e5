/* half_cheetah.c - a planar cheetah that runs at a target speed in a world that changes.
 *
 *     r = -|v_x - v| - 0.05 |a|^2,    v_x = qvel[0] after the step
 *
 * The wind is a constant force on the root's x-slide through all sub-steps. It acts as a
 * generalised force (qfrc_applied), since MuJoCo's callbacks are process-wide. Motor gain and
 * disabled joints change the actuators' gains, so that the control range stays the same. The
 * control cost counts the commanded action. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/gauge.h"
#include "env/mj.h"
#include "env/picture.h"
#include "env/raycast.h"
#include "fans/env.h"

enum { NQ = 9, NV = 9, OBS = NQ - 1 + NV, ACT = 6, HORIZON = 50, SUBSTEPS = 5 };
enum { SIDE = 64 }; /* pixels of its camera */

enum { WIND, GRAVITY, SPEED, JOINT, MOTOR, FRICTION, MASS, FACTORS };

static const fans_factor factors[FACTORS] = {
    [WIND] = {"wind", FANS_DYNAMICS, -50, 50, 0,
              "N, horizontal force on the root; positive pushes forward"},
    [GRAVITY] = {"gravity", FANS_DYNAMICS, 0, 30, 9.81, "m/s^2"},
    [SPEED] = {"speed", FANS_REWARD, -5, 5, 1.5, "m/s, target speed"},
    [JOINT] =
        {"joint", FANS_DYNAMICS, 0, 6, 0,
         "joint without torque, rounded: 0 none; 1 to 3 rear thigh, shin, foot; 4 to 6 front"},
    [MOTOR] = {"motor", FANS_DYNAMICS, -1, 2, 1, "gain of all motors"},
    [FRICTION] = {"friction", FANS_DYNAMICS, 0, 4, 1, "scale of the ground's friction"},
    [MASS] = {"mass", FANS_DYNAMICS, 0.1, 10, 1, "scale of all masses and inertias"},
};

static const char *const obs_names[OBS] = {
    "torso_z",          "torso_pitch",     "rear_thigh",     "rear_shin",      "rear_foot",
    "front_thigh",      "front_shin",      "front_foot",     "torso_vx",       "torso_vz",
    "torso_pitch_rate", "rear_thigh_rate", "rear_shin_rate", "rear_foot_rate", "front_thigh_rate",
    "front_shin_rate",  "front_foot_rate",
};
static const char *const act_names[ACT] = {"rear_thigh",  "rear_shin",  "rear_foot",
                                           "front_thigh", "front_shin", "front_foot"};

typedef struct cheetah {
    sim *s; /* first, see mj.h */
    double factor[FACTORS];
    double *friction; /* (ngeom, 3) as compiled */
    int camera;
    raycast *eye; /* made when it first looks */
    picture *picture;
} cheetah;

/* ---- factors --------------------------------------------------------------------------------- */

static void set_gains(cheetah *c)
{
    int disabled = (int)lround(c->factor[JOINT]) - 1;
    for (int i = 0; i < ACT; i++)
        c->s->m->actuator_gainprm[mjNGAIN * i] = i == disabled ? 0 : c->factor[MOTOR];
}

/* A contact has the larger friction of its two geoms, so the floor and the feet change together. */
static void set_friction(cheetah *c)
{
    int n = 3 * (int)c->s->m->ngeom;
    for (int i = 0; i < n; i++) c->s->m->geom_friction[i] = c->factor[FRICTION] * c->friction[i];
}

static int cheetah_set_factor(void *env, int factor, double value)
{
    cheetah *c = env;
    const fans_factor *f = &factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    if (value == c->factor[factor]) return 0;
    c->factor[factor] = value;
    switch (factor) {
    case GRAVITY:
        c->s->m->opt.gravity[2] = -value;
        return 0;
    case JOINT:
    case MOTOR:
        set_gains(c);
        return 0;
    case FRICTION:
        set_friction(c);
        return 0;
    case MASS:
        return sim_scale_mass(c->s, 1, (int)c->s->m->nbody - 1, value);
    default: /* the wind and the speed are read in each step */
        return 0;
    }
}

/* ---- life ------------------------------------------------------------------------------------ */

static void cheetah_close(void *env)
{
    cheetah *c = env;
    if (!c) return;
    picture_free(c->picture);
    raycast_free(c->eye);
    sim_free(c->s);
    mem_free(c->friction);
    mem_free(c);
}

static int keep_friction(cheetah *c)
{
    size_t bytes = 3 * (size_t)c->s->m->ngeom * sizeof(double);
    c->friction = mem_alloc(bytes);
    if (!c->friction) return FANS_ENOMEM;
    memcpy(c->friction, c->s->m->geom_friction, bytes);
    return 0;
}

static int cheetah_open(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)options, (void)seed;
    int rc = 0;
    cheetah *c = mem_alloc(sizeof *c);
    if (!c) return FANS_ENOMEM;
    TRY(sim_new(&c->s, "half_cheetah", "half_cheetah.xml"));
    TRY(keep_friction(c));
    TRY(c->camera = sim_find(c->s, mjOBJ_CAMERA, "picture"));
    for (int i = 0; i < FACTORS; i++) c->factor[i] = factors[i].initial;
    *info = (fans_env_info){.obs_dim = OBS,
                            .act_dim = ACT,
                            .horizon = HORIZON,
                            .factors = factors,
                            .factor_count = FACTORS,
                            .views = 1,
                            .height = SIDE,
                            .width = SIDE,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = c;
    return 0;
out:
    cheetah_close(c);
    return rc;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* obs (17) = height, pitch, 6 angles; v_x, v_z, pitch rate, 6 rates */
static void observe(const cheetah *c, float *obs)
{
    for (int i = 1; i < NQ; i++) *obs++ = (float)c->s->d->qpos[i];
    for (int i = 0; i < NV; i++) *obs++ = (float)c->s->d->qvel[i];
}

static int cheetah_reset(void *env, fans_rng *r, float *obs)
{
    cheetah *c = env;
    int rc = sim_reset(c->s);
    if (rc < 0) return rc;
    for (int i = 0; i < NQ; i++) c->s->d->qpos[i] += rng_between(r, -0.1, 0.1);
    for (int i = 0; i < NV; i++) c->s->d->qvel[i] = 0.1 * rng_normal(r);
    observe(c, obs);
    return 0;
}

static int cheetah_step(void *env, fans_rng *r, const float *action, float *obs,
                        fans_env_result *result)
{
    (void)r;
    cheetah *c = env;
    mjData *d = c->s->d;
    double cost = 0;
    for (int i = 0; i < ACT; i++) {
        double a = sim_clip((double)action[i]);
        d->ctrl[i] = a;
        cost += a * a;
    }
    d->qfrc_applied[0] = c->factor[WIND];
    int rc = sim_step(c->s, SUBSTEPS);
    if (rc < 0) return rc;
    observe(c, obs);
    result->reward = -fabs(d->qvel[0] - c->factor[SPEED]) - 0.05 * cost;
    result->terminated = false;
    result->success = NAN;
    return 0;
}

/* The camera runs beside it; the floor's checker shows the speed. */
static int cheetah_draw(void *env, uint8_t *pixels)
{
    cheetah *c = env;
    int rc = c->eye ? 0 : raycast_new(&c->eye, c->s->m, SIDE, SIDE);
    if (rc == 0) rc = sim_pose(c->s);
    if (rc == 0) raycast_draw(c->eye, c->s->m, c->s->d, c->camera, pixels);
    return rc;
}

static int cheetah_picture(void *env, int width, int height, uint8_t *rgb)
{
    cheetah *c = env;
    int rc = picture_draw(&c->picture, c->s, width, height, rgb);
    const gauge gauges[] = {
        {"target speed", "m/s", c->factor[SPEED], 5, GAUGE_WANTED},
        {"speed", "m/s", c->s->d->qvel[0], 5, GAUGE_ACTUAL},
        {"wind", "N", c->factor[WIND], 50, GAUGE_OUTSIDE},
    };
    if (rc == 0) gauges_draw(&(canvas){width, height, rgb}, gauges, c->factor[WIND] != 0 ? 3 : 2);
    return rc;
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t cheetah_state_bytes(const void *env)
{
    const cheetah *c = env;
    return sizeof c->factor + sim_state_bytes(c->s);
}

static void cheetah_save(const void *env, void *bytes)
{
    const cheetah *c = env;
    memcpy(bytes, c->factor, sizeof c->factor);
    sim_save(c->s, (char *)bytes + sizeof c->factor);
}

static void cheetah_restore(void *env, const void *bytes)
{
    cheetah *c = env;
    double saved[FACTORS];
    memcpy(saved, bytes, sizeof saved);
    for (int i = 0; i < FACTORS; i++) cheetah_set_factor(c, i, saved[i]);
    sim_restore(c->s, (const char *)bytes + sizeof saved);
}

const fans_env_def env_half_cheetah = {
    .abi = FANS_ENV_ABI,
    .name = "half_cheetah",
    .help = "planar cheetah that runs at a target speed (MuJoCo)",
    .open = cheetah_open,
    .close = cheetah_close,
    .reset = cheetah_reset,
    .step = cheetah_step,
    .set_factor = cheetah_set_factor,
    .state_bytes = cheetah_state_bytes,
    .save = cheetah_save,
    .restore = cheetah_restore,
    .draw = cheetah_draw,
    .picture = cheetah_picture,
};
