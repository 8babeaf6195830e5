/* test_api_order.c [CALLS [SEED]] - legal calls in random order: worlds, trainers, policies and
 * lives, two of each, made and freed at any time. Every single one succeeds. */
#include <math.h>
#include <time.h>

#include "base/rng.h"
#include "fans/fans.h"
#include "testing.h"

enum { SLOTS = 2, ROWS = 3, OBS = 3, STATE = 4096, HORIZON = 6 };

typedef enum { MUST_ACT, MAY_UPDATE, MUST_OBSERVE, IS_DONE } stage;

static rng r;
static char folder[64];
static fans_config *config;
static struct {
    fans_worlds *worlds;
    int n;
    uint8_t saved[STATE];
    bool has_saved;
} worlds[SLOTS];
static struct {
    fans_trainer *trainer;
    stage next;
    char run[96]; /* its folder, or "" */
    float action[ROWS];
} trainers[SLOTS];
static struct {
    fans_policy *policy;
} policies[SLOTS];
static struct {
    fans_life *life;
    int n;
    bool acted;
    float action[ROWS];
} lives[SLOTS];
static bool has_run; /* some folder holds a checkpoint */
static char run[96];

static int below(int n)
{
    return (int)rng_below(&r, (uint32_t)n);
}

static float *numbers(int n)
{
    static float x[3][ROWS * OBS];
    static int next;
    float *to = x[next++ % 3];
    for (int i = 0; i < n; i++) to[i] = (float)rng_between(&r, -1, 1);
    return to;
}

static uint8_t *flags(int n, int rarely)
{
    static uint8_t x[2][ROWS];
    static int next;
    uint8_t *to = x[next++ % 2];
    for (int i = 0; i < n; i++) to[i] = below(rarely) == 0;
    return below(3) ? to : NULL;
}

/* ---- a legal call of each kind; SKIPPED where there is none now -------------------------------
 */

enum { SKIPPED = 1 };

static const char *const SETTINGS[][2] = {
    {"env.horizon", "6"}, {"train.episodes", "40"},  {"train.algo", "stack"}, {"sac.width", "8"},
    {"sac.batch", "4"},   {"sac.random_steps", "3"}, {"replay.steps", "40"},  {"stack.steps", "2"}};

/* To what it is already: runs are resumed by this config. */
static int set_option(void)
{
    const char *const *to = SETTINGS[below(COUNT(SETTINGS))];
    char value[32];
    int rc = fans_config_set(config, to[0], to[1]);
    if (rc == 0) rc = fans_config_get(config, to[0], value, sizeof value);
    if (rc == 0) assert_string_equal(value, to[1]);
    return rc;
}

static int look_at_option(void)
{
    fans_option_info o = {.size = sizeof o};
    return fans_option_at(below(60), &o);
}

static int renew_worlds(void)
{
    int k = below(SLOTS);
    fans_worlds_free(worlds[k].worlds);
    worlds[k].worlds = NULL;
    worlds[k].has_saved = false;
    worlds[k].n = 1 + below(ROWS);
    return fans_worlds_open(&worlds[k].worlds, config, worlds[k].n, 1);
}

static int step_worlds(fans_worlds *w, int n)
{
    fans_view v = {.size = sizeof v};
    int rc = fans_worlds_view(w, &v);
    if (rc == 0) memcpy(v.action, numbers(n), (size_t)n * sizeof *v.action);
    return rc < 0 ? rc : fans_worlds_step(w);
}

static int hold(fans_worlds *w, int i)
{
    fans_task t = {.size = sizeof t};
    fans_factor_info f = {.size = sizeof f};
    int rc = fans_worlds_task(w, &t);
    if (rc == 0) rc = fans_worlds_factor(w, below(t.factors), &f);
    double value = below(2) ? rng_between(&r, f.low, f.high) : (double)NAN;
    return rc < 0 ? rc : fans_worlds_hold(w, i, f.name, value);
}

static int save(int k, int i)
{
    int64_t bytes = fans_worlds_bytes(worlds[k].worlds);
    assert_in_range(bytes, 1, STATE);
    if (worlds[k].has_saved && below(2))
        return fans_worlds_restore(worlds[k].worlds, i, worlds[k].saved, (size_t)bytes);
    worlds[k].has_saved = true;
    return fans_worlds_save(worlds[k].worlds, i, worlds[k].saved, (size_t)bytes);
}

static int use_worlds(void)
{
    static uint8_t rgb[8 * 8 * 3];
    int k = below(SLOTS), n = worlds[k].n, i = below(n > 0 ? n : 1);
    fans_worlds *w = worlds[k].worlds;
    if (!w) return SKIPPED;
    switch (below(9)) {
    case 0:
        return fans_worlds_start(w, below(n + 1) - 1, (uint64_t)below(9));
    case 1:
        return fans_worlds_reset(w, below(n + 1) - 1);
    case 2:
        return hold(w, i);
    case 3:
        return save(k, i);
    case 4:
        return fans_worlds_draws(w) ? fans_worlds_picture(w, i, 8, 1 + below(8), rgb) : -1;
    default:
        return step_worlds(w, n);
    }
}

/* In a folder of its own, or none. After a checkpoint it may come back to its folder. */
static int renew_trainer(void)
{
    static int made;
    int k = below(SLOTS);
    bool again = has_run && !strcmp(run, trainers[k].run) && below(2);
    fans_task t = {sizeof t, OBS, 1, HORIZON, ROWS, 0, NULL, 1, "cpu"};
    fans_trainer_free(trainers[k].trainer);
    trainers[k].trainer = NULL;
    trainers[k].next = MUST_ACT;
    if (!again) {
        bool keeps = below(2);
        snprintf(trainers[k].run, sizeof trainers[k].run, "%s/%d", folder, made++);
        if (!keeps) *trainers[k].run = 0;
    }
    int rc = fans_trainer_new(&trainers[k].trainer, &t, config,
                              *trainers[k].run ? trainers[k].run : NULL);
    if (rc == 0) assert_true(fans_trainer_steps(trainers[k].trainer) >= 0);
    return rc;
}

static int act_or_stop(int k)
{
    int rc = fans_trainer_act(trainers[k].trainer, numbers(ROWS * OBS), flags(ROWS, 5), NULL,
                              trainers[k].action);
    trainers[k].next = rc == FANS_ESTOP ? IS_DONE : MAY_UPDATE;
    return rc == FANS_ESTOP ? 0 : rc;
}

static int save_trainer(int k)
{
    int rc = fans_trainer_save(trainers[k].trainer, numbers(2), (size_t)below(8));
    has_run = true;
    snprintf(run, sizeof run, "%s", trainers[k].run);
    return rc;
}

static int use_trainer(void)
{
    int k = below(SLOTS);
    size_t bytes = 0;
    if (!trainers[k].trainer || trainers[k].next == IS_DONE) return SKIPPED;
    if (below(20) == 0) return fans_trainer_yours(trainers[k].trainer, &bytes), 0;
    if (trainers[k].next == MUST_ACT)
        return *trainers[k].run && below(50) == 0 ? save_trainer(k) : act_or_stop(k);
    if (trainers[k].next == MAY_UPDATE && below(4)) {
        trainers[k].next = MUST_OBSERVE;
        return fans_trainer_update(trainers[k].trainer);
    }
    trainers[k].next = MUST_ACT;
    return fans_trainer_observe(trainers[k].trainer, below(2) ? numbers(ROWS) : NULL, numbers(ROWS),
                                flags(ROWS, 9), flags(ROWS, 9), numbers(ROWS * OBS));
}

static int renew_policy(void)
{
    int k = below(SLOTS), t = below(SLOTS);
    bool copies = trainers[t].trainer && below(2);
    if (!copies && !has_run) return SKIPPED;
    fans_policy_free(policies[k].policy);
    policies[k].policy = NULL;
    fans_shape z = {.size = sizeof z};
    int rc = copies ? fans_trainer_policy(&policies[k].policy, trainers[t].trainer)
                    : fans_policy_open(&policies[k].policy, run, NULL);
    return rc < 0 ? rc : fans_policy_shape(policies[k].policy, &z);
}

static int renew_life(void)
{
    int k = below(SLOTS), p = below(SLOTS);
    if (!policies[p].policy) return SKIPPED;
    fans_life_free(lives[k].life);
    lives[k].life = NULL;
    lives[k].acted = false;
    lives[k].n = 1 + below(ROWS);
    return fans_life_new(&lives[k].life, policies[p].policy, lives[k].n, (uint64_t)below(9));
}

static int use_life(void)
{
    int k = below(SLOTS), n = lives[k].n;
    fans_life *l = lives[k].life;
    if (!l) return SKIPPED;
    if (below(30) == 0) return fans_life_restart(l, below(n + 1) - 1);
    if (!lives[k].acted || below(10) == 0) {
        lives[k].acted = true;
        return fans_life_act(l, numbers(n * OBS), flags(n, 5), below(2), lives[k].action);
    }
    lives[k].acted = false;
    return fans_life_observe(l, below(2) ? numbers(n) : NULL, below(5) ? numbers(n) : NULL,
                             flags(n, 7), numbers(n * OBS));
}

/* ---- many ------------------------------------------------------------------------------------ */

static int (*const calls[])(void) = {renew_worlds, renew_trainer,  renew_policy, renew_life,
                                     set_option,   look_at_option, use_worlds,   use_trainer,
                                     use_trainer,  use_life};
enum { RARE = 5 }; /* of them, which make something or read a config */

static void make_config(void)
{
    assert_int_equal(fans_config_new(&config, SOURCE_DIR "/configs/pendulum_flip.ini", "small"), 0);
    for (size_t i = 0; i < COUNT(SETTINGS); i++)
        assert_int_equal(fans_config_set(config, SETTINGS[i][0], SETTINGS[i][1]), 0);
}

static void free_all(void)
{
    for (int k = 0; k < SLOTS; k++) {
        fans_policy_free(policies[k].policy);
        fans_life_free(lives[k].life);
        fans_trainer_free(trainers[k].trainer);
        fans_worlds_free(worlds[k].worlds);
    }
    fans_config_free(config);
}

int main(int argc, char **argv)
{
    long count = argc > 1 ? atol(argv[1]) : 10000, made = 0;
    r = rng_stream(argc > 2 ? (uint64_t)atoi(argv[2]) : (uint64_t)time(NULL), "order", 0);
    printf("seed %llu\n", (unsigned long long)r.seed);
    temporary_folder(folder, sizeof folder);
    uint64_t held = mem_held();
    make_config();
    while (made < count) {
        int k = below(COUNT(calls));
        if (k < RARE && below(20)) k = RARE + 1 + below(COUNT(calls) - RARE - 1);
        int rc = calls[k]();
        if (rc < 0) fail_msg("call %ld, of kind %d: %s", made, k, fans_error());
        made += rc == 0;
    }
    free_all();
    assert_int_equal(mem_held(), held);
    printf("%ld legal calls\n", count);
    note_result("calls.csv", "kind,calls,refused,seed", "legal,%ld,0,%llu\n", count,
                (unsigned long long)r.seed);
    char command[96];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    return system(command);
}
