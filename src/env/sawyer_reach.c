/* sawyer_reach.c - a robot arm brings its hand to a target that moves between episodes.
 *
 *     r = -|hand - target|,    hand = the hand's position after the step
 *
 * After the Meta-World benchmark's XYZ control: an action moves a mocap body by up to a centimetre
 * along each axis, within a box; the hand is welded to it and follows. The fourth entry opens (-1)
 * or closes (1) the gripper. An episode starts with the hand at rest at (0, 0.6, 0.2): the arm
 * settles there once, when the environment is made, and every reset returns to that state.
 *
 * The observation is the hand's position relative to (0, 0.75, 0.2), at resets as in steps. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "env/gauge.h"
#include "env/mj.h"
#include "env/picture.h"
#include "fans/env.h"

enum { OBS = 3, ACT = 4, HORIZON = 150, SUBSTEPS = 5, JOINTS = 7 };
enum { SETTLE_ONCE = 2000, SETTLE = 10 * SUBSTEPS };

static const double CENTRE[3] = {0, 0.75, 0.2}, START[3] = {0, 0.6, 0.2};
static const double LOW[3] = {-0.5, 0.4, 0.05}, HIGH[3] = {0.5, 1, 0.5}; /* of the mocap body, m */
static const double REACH = 0.01;                                        /* m per step and axis */

/* An arm posture with the hand near its start, pointing down (radians). */
static const double POSTURE[JOINTS] = {-0.305, -0.83, 0.0609, 1.7046, -0.0298, 0.625, -0.0471};

enum { FACTORS = 3 };
static const fans_factor factors[FACTORS] = {
    {"target_x", FANS_REWARD, -0.5, 0.5, 0, "m, right of the arm"},
    {"target_y", FANS_REWARD, 0.4, 1, 0.75, "m, in front of the arm"},
    {"target_z", FANS_REWARD, 0.05, 0.5, 0.2, "m, above the table"},
};

static const char *const obs_names[OBS] = {"hand_x", "hand_y", "hand_z"};
static const char *const act_names[ACT] = {"move_x", "move_y", "move_z", "grip"};

static const fans_env_option option_list[1] = {
    {"noise", 0.005, 0, 0.05, "m, how far the hand's start varies along each axis"},
};

typedef struct reach {
    sim *s; /* first, see mj.h */
    double target[FACTORS], noise;
    int hand;   /* body */
    int marker; /* site */
    void *home; /* the settled state */
    picture *picture;
} reach;

/* ---- life ------------------------------------------------------------------------------------ */

static void reach_close(void *env)
{
    reach *e = env;
    if (!e) return;
    picture_free(e->picture);
    sim_free(e->s);
    mem_free(e->home);
    mem_free(e);
}

/* Lets the hand come to rest on the mocap body, and keeps the state. */
static int settle(reach *e)
{
    mjData *d = e->s->d;
    int rc = 0;
    TRY(sim_reset(e->s));
    memcpy(d->qpos, POSTURE, sizeof POSTURE);
    TRY(sim_step(e->s, SETTLE_ONCE));
    TRY(sim_pose(e->s));
    d->time = 0;
    double away = mju_dist3(d->xpos + 3 * e->hand, START);
    if (away > 1e-4)
        return fans_fail(FANS_EFORMAT, "sawyer_reach: the hand rests %g m from its start", away);
    e->home = mem_alloc(sim_state_bytes(e->s));
    if (!e->home) return FANS_ENOMEM;
    sim_save(e->s, e->home);
out:
    return rc;
}

static int set_factor(void *env, int factor, double value)
{
    reach *e = env;
    const fans_factor *f = &factors[factor];
    if (!(value >= f->low && value <= f->high))
        return fans_fail(FANS_EINVAL, "not from %g to %g", f->low, f->high);
    e->target[factor] = value;
    e->s->m->site_pos[3 * e->marker + factor] = value;
    return 0;
}

static int reach_open(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)seed;
    int rc = 0;
    reach *e = mem_alloc(sizeof *e);
    if (!e) return FANS_ENOMEM;
    e->noise = options[0];
    TRY(sim_new(&e->s, "sawyer_reach", "sawyer_reach.xml"));
    TRY(e->hand = sim_find(e->s, mjOBJ_BODY, "hand"));
    TRY(e->marker = sim_find(e->s, mjOBJ_SITE, "target"));
    TRY(settle(e));
    for (int i = 0; i < FACTORS; i++) TRY(set_factor(e, i, factors[i].initial));
    *info = (fans_env_info){.obs_dim = OBS,
                            .act_dim = ACT,
                            .horizon = HORIZON,
                            .factors = factors,
                            .factor_count = FACTORS,
                            .obs_names = obs_names,
                            .act_names = act_names};
    *env = e;
    return 0;
out:
    reach_close(e);
    return rc;
}

/* ---- episodes -------------------------------------------------------------------------------- */

/* obs (3) = hand - centre; and how far the hand is from the target. */
static int observe(reach *e, float *obs, double *distance)
{
    int rc = sim_pose(e->s);
    if (rc < 0) return rc;
    const double *hand = e->s->d->xpos + 3 * e->hand;
    for (int i = 0; i < OBS; i++) obs[i] = (float)(hand[i] - CENTRE[i]);
    *distance = mju_dist3(hand, e->target);
    return 0;
}

static int reset(void *env, fans_rng *r, float *obs)
{
    reach *e = env;
    double distance;
    int rc = 0;
    TRY(sim_reset(e->s));
    sim_restore(e->s, e->home);
    if (e->noise > 0) {
        for (int i = 0; i < 3; i++)
            e->s->d->mocap_pos[i] += fans_rng_uniform(r, -e->noise, e->noise);
        TRY(sim_step(e->s, SETTLE));
    }
    rc = observe(e, obs, &distance);
out:
    return rc;
}

static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    (void)r;
    reach *e = env;
    mjData *d = e->s->d;
    for (int i = 0; i < 3; i++) {
        double to = d->mocap_pos[i] + REACH * sim_clip((double)action[i]);
        d->mocap_pos[i] = to < LOW[i] ? LOW[i] : to > HIGH[i] ? HIGH[i] : to;
    }
    /* the fingers' range is -3 cm (closed) to 2 cm */
    d->ctrl[0] = d->ctrl[1] = -0.005 - 0.025 * sim_clip((double)action[3]);
    int rc = sim_step(e->s, SUBSTEPS);
    if (rc < 0) return rc;
    double distance;
    if ((rc = observe(e, obs, &distance)) < 0) return rc;
    *result = (fans_env_result){.reward = -distance, .success = NAN};
    return 0;
}

/* A ring around the target, and the way that the hand still has to go. */
static void draw_goal(const reach *e, canvas *c)
{
    const ink goal = {0, 138, 96, 1}, way = {255, 255, 255, 0.85};
    double unit = c->width / 480.0, x, y, hx, hy;
    if (!picture_place(e->picture, e->s, e->target, &x, &y) ||
        !picture_place(e->picture, e->s, e->s->d->xpos + 3 * e->hand, &hx, &hy))
        return;
    canvas_line(c, hx, hy, x, y, 2 * unit, way);
    canvas_ring(c, x, y, 13 * unit, 2.5 * unit, goal);
    canvas_text(c, x + 20 * unit, y + 5 * unit, 12 * unit, goal, "goal");
}

static int draw_picture(void *env, int width, int height, uint8_t *rgb)
{
    reach *e = env;
    canvas c = {width, height, rgb};
    double away = mju_dist3(e->s->d->xpos + 3 * e->hand, e->target);
    const gauge gauges[] = {{"to the goal", "m", away, 0.3, GAUGE_WANTED}};
    int rc = picture_draw(&e->picture, e->s, width, height, rgb);
    if (rc < 0) return rc;
    draw_goal(e, &c);
    gauges_draw(&c, gauges, 1);
    return 0;
}

/* ---- states ---------------------------------------------------------------------------------- */

static size_t state_bytes(const void *env)
{
    const reach *e = env;
    return sizeof e->target + sim_state_bytes(e->s);
}

static void save(const void *env, void *bytes)
{
    const reach *e = env;
    memcpy(bytes, e->target, sizeof e->target);
    sim_save(e->s, (char *)bytes + sizeof e->target);
}

static void restore(void *env, const void *bytes)
{
    reach *e = env;
    double target[FACTORS];
    memcpy(target, bytes, sizeof target);
    for (int i = 0; i < FACTORS; i++) set_factor(e, i, target[i]);
    sim_restore(e->s, (const char *)bytes + sizeof target);
}

const fans_env_def env_sawyer_reach = {
    .abi = FANS_ENV_ABI,
    .name = "sawyer_reach",
    .help = "robot arm that brings its hand to a target (MuJoCo)",
    .options = option_list,
    .option_count = 1,
    .open = reach_open,
    .close = reach_close,
    .reset = reset,
    .step = step,
    .set_factor = set_factor,
    .state_bytes = state_bytes,
    .save = save,
    .restore = restore,
    .picture = draw_picture,
};
