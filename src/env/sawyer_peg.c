/* sawyer_peg.c - a robot arm puts its peg into one of four boxes; which one is right changes.
 *
 *     D = 5 |tip - goal|,    r = c - D^2 - log10(D^2 + 1e-5),    c such that r = 0 at 3 cm
 *
 * The peg task of MELD (Zhao et al., 2020). An action asks each joint for a target within 0.04 rad
 * of where it is; position servos follow for a quarter of a second. The boxes move by a few
 * millimetres from episode to episode. The right one looks like the others: only the reward
 * tells. Success is a tip within 5 cm of the goal, the middle of the right box's bottom.
 *
 * Two cameras, of 64×64 pixels: above the shoulder, at the wrist. Agents see the state. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/mj.h"
#include "env/picture.h"
#include "env/raycast.h"
#include "fans/env.h"

enum { JOINTS = 7, OBS = 2 * JOINTS + 3, HORIZON = 40, SUBSTEPS = 100, BOXES = 4 };
enum { VIEWS = 2, SIDE = 64, VIEW_BYTES = SIDE * SIDE * 3 };

static const double TURN = 0.04;    /* rad per step and joint, at most */
static const double WITHIN = 0.05;  /* m, success */
static const double NEUTRAL = 0.15; /* the D at which the reward is 0: 3 cm */
static const double START[JOINTS] = {-0.305, -0.83, 0.0609, 1.7046, -0.0298, 0.625, -0.0471};

static const fans_factor factors[1] = {
    {"box", FANS_REWARD, 0, BOXES - 1, 0,
     "the correct box, rounded: 0 near left, 1 near right, 2 far left, 3 far right"},
};

static const char *const obs_names[OBS] = {
    "joint0",      "joint1",      "joint2",      "joint3",      "joint4",      "joint5",
    "joint6",      "joint0_rate", "joint1_rate", "joint2_rate", "joint3_rate", "joint4_rate",
    "joint5_rate", "joint6_rate", "tip_x",       "tip_y",       "tip_z",
};
static const char *const act_names[JOINTS] = {"joint0", "joint1", "joint2", "joint3",
                                              "joint4", "joint5", "joint6"};

typedef struct peg {
    sim *s;     /* first, see mj.h */
    double box; /* the factor */
    int tip;    /* site */
    int camera[VIEWS];
    raycast *eyes;
    picture *picture;
} peg;

/* ---- life ------------------------------------------------------------------------------------ */

static void peg_close(void *env)
{
    peg *e = env;
    if (!e) return;
    picture_free(e->picture);
    raycast_free(e->eyes);
    sim_free(e->s);
    mem_free(e);
}

static int right_box(const peg *e)
{
    return (int)(e->box + 0.5);
}

/* The markers above the boxes are sites: people see the right one, agents see none. */
static void mark_goal(peg *e)
{
    for (int i = 0; i < BOXES; i++) e->s->m->site_rgba[4 * i + 3] = i == right_box(e) ? 1 : 0;
}

static int set_factor(void *env, int factor, double value)
{
    peg *e = env;
    const fans_factor *f = &factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    e->box = value;
    mark_goal(e);
    return 0;
}

/* Boxes are the mocap bodies 0 to 3, their goals the sites 0 to 3. */
static int check_order(const peg *e)
{
    for (int i = 0; i < BOXES; i++) {
        char name[8] = {'b', 'o', 'x', (char)('0' + i)},
             goal[8] = {'g', 'o', 'a', 'l', (char)('0' + i)};
        int body = sim_find(e->s, mjOBJ_BODY, name), site = sim_find(e->s, mjOBJ_SITE, goal);
        if (body < 0 || site < 0) return FANS_EFORMAT;
        if (e->s->m->body_mocapid[body] != i || site != i)
            return fans_fail(FANS_EFORMAT, "sawyer_peg: the model's boxes are out of order");
    }
    return 0;
}

static int peg_open(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)options, (void)seed;
    int rc = 0;
    peg *e = mem_alloc(sizeof *e);
    if (!e) return FANS_ENOMEM;
    TRY(sim_new(&e->s, "sawyer_peg", "sawyer_peg.xml"));
    TRY(check_order(e));
    TRY(e->tip = sim_find(e->s, mjOBJ_SITE, "tip"));
    TRY(e->camera[0] = sim_find(e->s, mjOBJ_CAMERA, "track"));
    TRY(e->camera[1] = sim_find(e->s, mjOBJ_CAMERA, "wrist"));
    TRY(raycast_new(&e->eyes, e->s->m, SIDE, SIDE));
    TRY(set_factor(e, 0, factors[0].initial));
    *info = (fans_env_info){.obs_dim = OBS,
                            .act_dim = JOINTS,
                            .horizon = HORIZON,
                            .factors = factors,
                            .factor_count = 1,
                            .views = VIEWS,
                            .height = SIDE,
                            .width = SIDE,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = e;
    return 0;
out:
    peg_close(e);
    return rc;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* obs (17) = 7 angles, 7 rates, tip */
static int observe(peg *e, float *obs)
{
    int rc = sim_pose(e->s);
    if (rc < 0) return rc;
    const mjData *d = e->s->d;
    for (int i = 0; i < JOINTS; i++) *obs++ = (float)d->qpos[i];
    for (int i = 0; i < JOINTS; i++) *obs++ = (float)d->qvel[i];
    for (int i = 0; i < 3; i++) *obs++ = (float)d->site_xpos[3 * e->tip + i];
    return 0;
}

static int reset(void *env, fans_rng *r, float *obs)
{
    peg *e = env;
    int rc = sim_reset(e->s);
    if (rc < 0) return rc;
    mjData *d = e->s->d;
    memcpy(d->qpos, START, sizeof START);
    memcpy(d->ctrl, START, sizeof START);
    double x1 = rng_between(r, 0.44, 0.45), x2 = rng_between(r, 0.60, 0.61);
    double y1 = rng_between(r, -0.08, -0.07), y2 = rng_between(r, 0.07, 0.08);
    for (int i = 0; i < BOXES; i++) {
        d->mocap_pos[3 * i] = i < 2 ? x1 : x2;
        d->mocap_pos[3 * i + 1] = i % 2 ? y1 : y2;
        d->mocap_pos[3 * i + 2] = 0;
    }
    return observe(e, obs);
}

static double reward_at(double distance)
{
    double D = 5 * distance;
    return NEUTRAL * NEUTRAL + log10(NEUTRAL * NEUTRAL + 1e-5) - (D * D + log10(D * D + 1e-5));
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    (void)r;
    peg *e = env;
    mjData *d = e->s->d;
    for (int i = 0; i < JOINTS; i++) d->ctrl[i] = d->qpos[i] + TURN * sim_clip((double)action[i]);
    int rc = sim_step(e->s, SUBSTEPS);
    if (rc < 0) return rc;
    rc = observe(e, obs);
    double away = mju_dist3(d->site_xpos + 3 * e->tip, d->mocap_pos + 3 * right_box(e));
    *result = (fans_env_result){.reward = reward_at(away), .success = away < WITHIN};
    return rc;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static int draw(void *env, uint8_t *pixels)
{
    peg *e = env;
    int rc = sim_pose(e->s);
    if (rc < 0) return rc;
    for (int i = 0; i < VIEWS; i++)
        raycast_draw(e->eyes, e->s->m, e->s->d, e->camera[i], pixels + i * VIEW_BYTES);
    return 0;
}

static int draw_picture(void *env, int width, int height, uint8_t *rgb)
{
    peg *e = env;
    return picture_draw(&e->picture, e->s, width, height, rgb);
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t state_bytes(const void *env)
{
    const peg *e = env;
    return sizeof e->box + sim_state_bytes(e->s);
}

static void save(const void *env, void *bytes)
{
    const peg *e = env;
    memcpy(bytes, &e->box, sizeof e->box);
    sim_save(e->s, (char *)bytes + sizeof e->box);
}

static void restore(void *env, const void *bytes)
{
    peg *e = env;
    double box;
    memcpy(&box, bytes, sizeof box);
    set_factor(e, 0, box);
    sim_restore(e->s, (const char *)bytes + sizeof box);
}

const fans_env_def env_sawyer_peg = {
    .abi = FANS_ENV_ABI,
    .name = "sawyer_peg",
    .help = "robot arm that puts a peg into the right one of four boxes (MuJoCo, two cameras)",
    .open = peg_open,
    .close = peg_close,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
    .draw = draw,
    .picture = draw_picture,
};
