/* test_api_calls.c [CALLS [SEED]] - calls in any order, with right and wrong arguments: each
 * returns 0, or a code with a line; none crashes. Under sanitizers it is worth most. See
 * test_api_order.c for legal ones. */
#include <math.h>
#include <time.h>

#include "base/os.h"
#include "base/rng.h"
#include "fans/fans.h"
#include "testing.h"

enum { SLOTS = 3, ROWS = 2, OBS = 3 };

static rng r;
static char folder[64], run[80];
static fans_config *configs[SLOTS];
static fans_worlds *worlds[SLOTS];
static fans_trainer *trainers[SLOTS];
static fans_policy *policies[SLOTS];
static fans_life *lives[SLOTS];

static int below(int n)
{
    return (int)rng_below(&r, (uint32_t)n);
}

/* Mostly a handle of the kind; sometimes none, sometimes one of another kind. */
static void *pick(void *kind)
{
    void **of[] = {(void **)configs, (void **)worlds, (void **)trainers, (void **)policies,
                   (void **)lives};
    void **from = below(20) ? kind : of[below(COUNT(of))];
    return below(20) ? from[below(SLOTS)] : NULL;
}
#define ONE(kind) pick(kind)

/* Numbers for all arrays: mostly right. */
static const float *numbers(void)
{
    static float x[ROWS * OBS];
    for (size_t i = 0; i < COUNT(x); i++) x[i] = (float)rng_between(&r, -2, 2);
    if (below(30) == 0) x[below(COUNT(x))] = below(2) ? NAN : INFINITY;
    return below(30) ? x : NULL;
}

static const uint8_t *flags(void)
{
    static uint8_t x[ROWS];
    for (int i = 0; i < ROWS; i++) x[i] = (uint8_t)(below(8) == 0);
    return below(2) ? x : NULL;
}

static float *room(void)
{
    static float x[ROWS * OBS];
    return below(30) ? x : NULL;
}

static int index_of(void)
{
    return below(ROWS + 3) - 2;
}

static const char *word(void)
{
    static const char *const words[] = {"train.algo", "sac.lr",  "sac.width", "env.name",  "env.x",
                                        "torque",     "gravity", "sac",       "fans",      "oracle",
                                        "1e-3",       "-1",      "",          "train.seed"};
    return below(20) ? words[below(COUNT(words))] : NULL;
}

/* ---- one call of each ------------------------------------------------------------------------ */

static int new_config(void)
{
    int k = below(SLOTS);
    if (configs[k]) fans_config_free(configs[k]);
    configs[k] = NULL;
    int rc = fans_config_new(&configs[k], SOURCE_DIR "/configs/pendulum_flip.ini",
                             below(10) ? "small" : word());
    static const char *const small[][2] = {{"env.horizon", "5"},      {"train.episodes", "99"},
                                           {"sac.width", "8"},        {"sac.batch", "4"},
                                           {"sac.random_steps", "3"}, {"replay.steps", "40"}};
    for (size_t i = 0; rc == 0 && i < COUNT(small); i++)
        assert_int_equal(fans_config_set(configs[k], small[i][0], small[i][1]), 0);
    return rc;
}

static int use_config(void)
{
    static char value[16];
    return below(2) ? fans_config_set(ONE(configs), word(), word())
                    : fans_config_get(ONE(configs), word(), value, (size_t)below(16));
}

static int ask_option(void)
{
    fans_option_info o = {.size = below(10) ? sizeof o : 4};
    return fans_option_at(below(300) - 10, &o);
}

static int new_worlds(void)
{
    int k = below(SLOTS);
    fans_worlds_free(worlds[k]);
    worlds[k] = NULL;
    return fans_worlds_open(&worlds[k], ONE(configs), below(20) ? ROWS : below(3) - 1, 1);
}

static int use_worlds(void)
{
    static uint8_t rgb[8 * 8 * 3];
    fans_worlds *w = ONE(worlds);
    fans_view v = {.size = sizeof v};
    fans_task t = {.size = sizeof t};
    fans_factor_info f = {.size = below(10) ? sizeof f : 4};
    static char saved[4096];
    const size_t bytes = (size_t)fans_worlds_bytes(w);
    switch (below(11)) {
    case 0:
        return fans_worlds_start(w, index_of(), (uint64_t)below(5));
    case 1:
        return fans_worlds_reset(w, index_of());
    case 2:
        return fans_worlds_hold(w, index_of(), word(), rng_between(&r, -2, 2));
    case 3:
        return fans_worlds_picture(w, index_of(), below(9), below(9), below(9) ? rgb : NULL);
    case 4:
        return fans_worlds_task(w, &t);
    case 5:
        return fans_worlds_factor(w, below(12) - 2, &f);
    case 6:
        return bytes > sizeof saved ? -1 : fans_worlds_save(w, index_of(), saved, bytes);
    case 7:
        return fans_worlds_restore(w, index_of(), saved, below(9) ? bytes : sizeof saved);
    default:
        if (fans_worlds_view(w, &v) < 0) return -1;
        v.action[0] = below(30) ? (float)rng_between(&r, -2, 2) : NAN;
        return fans_worlds_step(w);
    }
}

static int new_trainer(void)
{
    int k = below(SLOTS);
    fans_task t = {.size = sizeof t,
                   .obs = OBS,
                   .act = 1,
                   .horizon = 5,
                   .worlds = ROWS,
                   .threads = 1,
                   .device = "cpu"};
    if (below(10) == 0) t.obs = below(5) - 1;
    if (below(10) == 0) t.size = (size_t)below(60);
    fans_trainer_free(trainers[k]);
    trainers[k] = NULL;
    return fans_trainer_new(&trainers[k], &t, ONE(configs), below(3) ? NULL : run);
}

static int use_trainer(void)
{
    fans_trainer *t = ONE(trainers);
    size_t bytes;
    switch (below(10)) {
    case 0:
        return fans_trainer_save(t, numbers(), (size_t)below(24));
    case 1:
        return fans_trainer_yours(t, &bytes) ? 0 : FANS_EINVAL;
    case 2:
    case 3:
    case 4:
        return fans_trainer_act(t, numbers(), flags(), NULL, room());
    case 5:
    case 6:
        return fans_trainer_update(t);
    default:
        return fans_trainer_observe(t, below(2) ? numbers() : NULL, numbers(), flags(), flags(),
                                    numbers());
    }
}

/* A step as it should be. */
static int lead_on(void)
{
    static const float fine[ROWS * OBS], reward[ROWS];
    static float action[ROWS];
    fans_trainer *t = trainers[below(SLOTS)];
    fans_life *l = lives[below(SLOTS)];
    if (fans_trainer_act(t, fine, flags(), NULL, action) == 0) fans_trainer_update(t);
    int rc = fans_trainer_observe(t, NULL, reward, flags(), flags(), fine);
    if (fans_life_act(l, fine, flags(), false, action) == 0)
        rc = fans_life_observe(l, action, reward, flags(), fine);
    return rc;
}

static int new_policy(void)
{
    int k = below(SLOTS);
    fans_shape z = {.size = below(10) ? sizeof z : 9};
    fans_policy_free(policies[k]);
    policies[k] = NULL;
    return below(2) ? fans_trainer_policy(&policies[k], ONE(trainers))
                    : fans_policy_open(&policies[k], below(10) ? run : word(), &z);
}

static int new_life(void)
{
    int k = below(SLOTS);
    fans_life_free(lives[k]);
    lives[k] = NULL;
    return fans_life_new(&lives[k], ONE(policies), below(20) ? ROWS : below(3) - 1, 0);
}

static int use_life(void)
{
    fans_life *l = ONE(lives);
    switch (below(6)) {
    case 0:
        return fans_life_restart(l, index_of());
    case 1:
        return fans_life_belief(l) ? 0 : FANS_EINVAL;
    case 2:
    case 3:
        return fans_life_act(l, numbers(), flags(), below(2), room());
    default:
        return fans_life_observe(l, below(2) ? numbers() : NULL, numbers(), flags(), numbers());
    }
}

/* ---- many ------------------------------------------------------------------------------------ */

static void free_all(void)
{
    for (int k = 0; k < SLOTS; k++) {
        fans_policy_free(policies[k]); /* before their lives */
        fans_life_free(lives[k]);
        fans_trainer_free(trainers[k]);
        fans_worlds_free(worlds[k]);
        fans_config_free(configs[k]);
    }
}

/* Arguments are wrong here; and the folder may hold no run or another one, SAC has no belief, a
 * world takes NaN for an action, and bytes that are no state are refused. */
static bool is_expected(int rc)
{
    return rc == FANS_EINVAL || rc == FANS_EIO || rc == FANS_EFORMAT || rc == FANS_ENOSUP ||
           rc == FANS_ENUMERIC || rc == FANS_ESTOP;
}

static void each_call_returns_with_a_line(long count)
{
    typedef int call(void);
    static call *const calls[] = {new_config, ask_option, new_worlds, new_trainer, new_policy,
                                  new_life,   use_config, use_worlds, use_worlds,  use_trainer,
                                  use_life,   lead_on,    lead_on,    lead_on};
    static const int rare = 6; /* of them, which make handles */
    long refused = 0;
    for (long made = 0; made < count; made++) {
        unsigned before = fans_error_count();
        int k = below(COUNT(calls));
        if (k < rare && below(5)) k = rare + below((int)COUNT(calls) - rare);
        int rc = calls[k]();
        if (rc == 0) continue;
        refused++;
        if (!is_expected(rc)) fail_msg("call %d returns %d: %s", k, rc, fans_error());
        assert_true(fans_error_count() > before);
        assert_true(*fans_error() && !strchr(fans_error(), '\n'));
    }
    printf("%ld calls, %ld refused\n", count, refused);
    assert_true(refused > 0 && refused < count);
    note_result("calls.csv", "kind,calls,refused,seed", "any,%ld,%ld,%llu\n", count, refused,
                (unsigned long long)r.seed);
}

int main(int argc, char **argv)
{
    r = rng_stream(argc > 2 ? (uint64_t)atoi(argv[2]) : (uint64_t)time(NULL), "calls", 0);
    printf("seed %llu\n", (unsigned long long)r.seed);
    temporary_folder(folder, sizeof folder);
    snprintf(run, sizeof run, "%s/run", folder);
    uint64_t held = mem_held();
    new_config();
    each_call_returns_with_a_line(argc > 1 ? atol(argv[1]) : 10000);
    free_all();
    assert_int_equal(mem_held(), held);
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}
