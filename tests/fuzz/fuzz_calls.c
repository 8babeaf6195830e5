/* fuzz_calls.c - calls of the C interface in any order, with right and wrong arguments. An input is
 * the choices, byte after byte; each call returns 0, or a code with a line. Runs are in a folder of
 * the machine's, since trainers write into it. */
#define _GNU_SOURCE
#include <dirent.h>
#include <math.h>
#include <unistd.h>

#include "fans/fans.h"
#include "fuzz.h"

enum { SLOTS = 2, ROWS = 2, MOST_ROWS = 6, OBS = 3, MOST_CALLS = 2000 };
#define COUNT(array) (sizeof(array) / sizeof *(array))

static const char TASK[] = "[env]\nname = pendulum\nhorizon = 5\n"
                           "[change.torque]\nclock = episode\nfunction = choice\nvalues = -1, 1\n"
                           "[train]\nepisodes = 99\n[replay]\nsteps = 40\n"
                           "[sac]\nwidth = 8\nbatch = 4\nrandom_steps = 3\n"
                           "[rsac]\nunits = 4\nwindow = 6\nburn_in = 2\nwindows = 2\n"
                           "[fans]\ninitial = 20\n[fnvae]\nwindow = 5\nbatch = 2\nupdates = 2\n"
                           "encode = 3\nencoder = 6\nlstm = 6\nprior = 4\nbank = 4\ndense = 6\n";

static const uint8_t *choices;
static size_t choices_left;
static char run[64]; /* a folder; empty until one is needed */
static fans_config *configs[SLOTS];
static fans_worlds *worlds[SLOTS];
static fans_trainer *trainers[SLOTS];
static fans_policy *policies[SLOTS];
static fans_life *lives[SLOTS];

/* ---- choices --------------------------------------------------------------------------------- */

/* 0 where the input has ended. */
static int below(int n)
{
    unsigned x = 0;
    for (int width = n > 256 ? 2 : 1; width > 0 && choices_left > 0; width--, choices_left--)
        x = x << 8 | *choices++;
    return (int)(x % (unsigned)n);
}

static double between(double low, double high)
{
    return low + (high - low) * below(256) / 255;
}

/* Mostly a handle of the kind; sometimes none, sometimes one of another kind. */
static void *pick(void *kind)
{
    void *of[] = {configs, worlds, trainers, policies, lives};
    int way = below(32);
    void **from = way == 1 ? of[below(COUNT(of))] : kind;
    return way == 2 ? NULL : from[below(SLOTS)];
}

/* Numbers for all arrays: mostly right, and the same for rows that a trainer has more than usual.
 */
static const float *numbers(void)
{
    static const double odd[] = {NAN, INFINITY, -INFINITY, 1e38, -1e-45};
    static float x[MOST_ROWS * OBS];
    int way = below(32), n = ROWS * OBS;
    for (int i = 0; i < MOST_ROWS * OBS; i++) x[i] = i < n ? (float)between(-2, 2) : x[i - n];
    if (way == 1) x[below(n)] = (float)odd[below(COUNT(odd))];
    return way == 2 ? NULL : x;
}

static const uint8_t *flags(void)
{
    static uint8_t x[MOST_ROWS];
    int bits = below(16);
    for (int i = 0; i < MOST_ROWS; i++) x[i] = (uint8_t)(bits >> i & 1);
    return bits & 8 ? NULL : x;
}

static float *room(void)
{
    static float x[MOST_ROWS * OBS];
    return below(32) == 1 ? NULL : x;
}

static int index_of(void)
{
    return below(ROWS + 3) - 2;
}

static const char *word(void)
{
    static const char *const words[] = {
        "train.algo", "train.seed", "train.worlds", "train.told", "sac.lr",     "sac.width",
        "env.name",   "env.x",      "torque",       "gravity",    "sac",        "fans",
        "oracle",     "small",      "nothing",      "1e-3",       "-1",         "",
        "8",          "rsac",       "random",       "run.algo",   "change.x.y", "nan"};
    int k = below(COUNT(words) + 1);
    return k < (int)COUNT(words) ? words[k] : NULL;
}

/* ---- one call of each ------------------------------------------------------------------------ */

static int new_config(void)
{
    int k = below(SLOTS);
    fans_config_free(configs[k]);
    configs[k] = NULL;
    return fans_config_new(&configs[k], below(16) == 1 ? NULL : FUZZ_FOLDER "/task.ini",
                           below(8) == 1 ? word() : NULL);
}

static int use_config(void)
{
    static char value[16];
    fans_config *c = pick(configs);
    if (below(2)) return fans_config_get(c, word(), value, (size_t)below(16));
    const char *key = word();
    return fans_config_set(c, key, word());
}

static int ask_option(void)
{
    fans_option_info o = {.size = below(8) ? sizeof o : 4};
    return fans_option_at(below(300) - 10, &o);
}

static int new_worlds(void)
{
    int k = below(SLOTS);
    fans_worlds_free(worlds[k]);
    worlds[k] = NULL;
    return fans_worlds_open(&worlds[k], pick(configs), below(8) == 1 ? index_of() : ROWS, 1);
}

static int step_worlds(fans_worlds *w)
{
    fans_view v = {.size = sizeof v};
    int rc = fans_worlds_view(w, &v);
    if (rc < 0) return rc;
    v.action[0] = below(32) == 1 ? NAN : (float)between(-2, 2);
    return fans_worlds_step(w);
}

static int use_worlds(void)
{
    static uint8_t rgb[8 * 8 * 3];
    static char saved[4096];
    fans_worlds *w = pick(worlds);
    fans_task t = {.size = sizeof t};
    fans_factor_info f = {.size = below(8) ? sizeof f : 4};
    int64_t bytes;
    int i = index_of();
    const char *name;
    switch (below(10)) {
    case 0:
        return fans_worlds_start(w, i, (uint64_t)below(5));
    case 1:
        return fans_worlds_reset(w, i);
    case 2:
        name = word();
        return fans_worlds_hold(w, i, name, between(-2, 2));
    case 3:
        return fans_worlds_picture(w, i, below(9), below(9), below(8) ? rgb : NULL);
    case 4:
        return fans_worlds_task(w, &t);
    case 5:
        return fans_worlds_factor(w, below(12) - 2, &f);
    case 6:
        if ((bytes = fans_worlds_bytes(w)) < 0) return (int)bytes;
        fuzz_demand((size_t)bytes <= sizeof saved, "a state is large");
        return fans_worlds_save(w, i, saved, below(8) ? (size_t)bytes : 3);
    case 7: /* what any world has saved, or bytes of anything */
        if ((bytes = fans_worlds_bytes(w)) < 0) return (int)bytes;
        if (below(4) == 1) saved[below(4096)] = (char)below(256);
        return fans_worlds_restore(w, i, saved, (size_t)bytes);
    default:
        return step_worlds(w);
    }
}

static const char *run_folder(void)
{
    if (!*run) {
        const char *memory = access("/dev/shm", W_OK) == 0 ? "/dev/shm" : P_tmpdir;
        snprintf(run, sizeof run, "%s/fuzz-calls-XXXXXX", memory);
        fuzz_demand(mkdtemp(run) != NULL, "no folder");
    }
    return run;
}

static int new_trainer(void)
{
    static const char *const names[] = {"torque", "gravity", "torque"};
    int k = below(SLOTS), way = below(32);
    fans_task t = {.size = sizeof t,
                   .obs = OBS,
                   .act = 1,
                   .horizon = 5,
                   .worlds = ROWS,
                   .threads = 1,
                   .device = "cpu"};
    if (way == 1) t.obs = below(5) - 1;
    if (way == 2) t.size = (size_t)below(60);
    if (way == 3) t.worlds = below(MOST_ROWS + 2) - 1;
    if (way >= 24) t.factors = way % 4, t.names = names;
    fans_trainer_free(trainers[k]);
    trainers[k] = NULL;
    fans_config *c = pick(configs);
    return fans_trainer_new(&trainers[k], way == 4 ? NULL : &t, c, below(4) ? NULL : run_folder());
}

static int observe(fans_trainer *t)
{
    static float did[MOST_ROWS * OBS], reward[MOST_ROWS * OBS];
    const float *x = below(2) ? numbers() : NULL, *y;
    if (x) memcpy(did, x, sizeof did);
    y = numbers();
    if (y) memcpy(reward, y, sizeof reward);
    uint8_t ended[MOST_ROWS];
    const uint8_t *terminated = flags();
    if (terminated) memcpy(ended, terminated, sizeof ended);
    const uint8_t *truncated = flags();
    return fans_trainer_observe(t, x ? did : NULL, y ? reward : NULL, terminated ? ended : NULL,
                                truncated, numbers());
}

static int use_trainer(void)
{
    static const double truth[MOST_ROWS * OBS] = {1, -1, 1};
    fans_trainer *t = pick(trainers);
    const float *x;
    size_t bytes;
    switch (below(8)) {
    case 0:
        x = numbers();
        return fans_trainer_save(t, x, (size_t)below(24));
    case 1:
        fans_trainer_yours(t, &bytes); /* NULL means none, too */
        return fans_trainer_steps(t) < 0 ? FANS_EINVAL : 0;
    case 2:
    case 3:
        x = numbers();
        return fans_trainer_act(t, x, flags(), below(2) ? truth : NULL, room());
    case 4:
        return fans_trainer_update(t);
    default:
        return observe(t);
    }
}

/* A step as it should be. */
static int lead_on(void)
{
    static const float fine[MOST_ROWS * OBS], reward[MOST_ROWS];
    static float action[MOST_ROWS * OBS];
    fans_trainer *t = trainers[below(SLOTS)];
    fans_life *l = lives[below(SLOTS)];
    const uint8_t *now = flags();
    if (fans_trainer_act(t, fine, now, NULL, action) == 0) fans_trainer_update(t);
    int rc = fans_trainer_observe(t, NULL, reward, now, now, fine);
    if (fans_life_act(l, fine, now, false, action) == 0)
        rc = fans_life_observe(l, action, reward, now, fine);
    return rc;
}

static int new_policy(void)
{
    int k = below(SLOTS);
    fans_shape z = {.size = below(8) ? sizeof z : 9};
    fans_policy_free(policies[k]);
    policies[k] = NULL;
    if (below(4)) return fans_trainer_policy(&policies[k], pick(trainers));
    return fans_policy_open(&policies[k], below(4) ? run_folder() : word(), below(8) ? &z : NULL);
}

static int new_life(void)
{
    int k = below(SLOTS);
    fans_life_free(lives[k]);
    lives[k] = NULL;
    return fans_life_new(&lives[k], pick(policies), below(8) == 1 ? index_of() : ROWS, 0);
}

static int use_life(void)
{
    static float first[MOST_ROWS * OBS];
    fans_life *l = pick(lives);
    const float *x;
    switch (below(6)) {
    case 0:
        return fans_life_restart(l, index_of());
    case 1:
        return fans_life_belief(l) ? 0 : FANS_EINVAL;
    case 2:
    case 3:
        x = numbers();
        return fans_life_act(l, x, flags(), below(2), room());
    default:
        x = numbers();
        if (x) memcpy(first, x, sizeof first);
        return fans_life_observe(l, below(2) ? first : NULL, x ? first : NULL, flags(), numbers());
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
        policies[k] = NULL, lives[k] = NULL, trainers[k] = NULL, worlds[k] = NULL;
        configs[k] = NULL;
    }
}

static void remove_run(void)
{
    if (!*run) return;
    DIR *d = opendir(run);
    fuzz_demand(d != NULL, "no folder");
    for (struct dirent *e; (e = readdir(d));)
        if (e->d_name[0] != '.') unlinkat(dirfd(d), e->d_name, 0);
    closedir(d);
    fuzz_demand(rmdir(run) == 0, "something is left in the run's folder");
    *run = 0;
}

static long made; /* calls, by all inputs */

__attribute__((destructor)) static void tell(void)
{
    fprintf(stderr, "%ld calls\n", made);
}

typedef int call(void);

/* Handles are made rarely: that takes as long as a hundred other calls. */
static call *choose(void)
{
    static call *const rare[] = {new_config, new_worlds, new_trainer, new_policy,
                                 new_life,   use_config, use_config,  ask_option};
    static call *const common[] = {use_worlds, use_worlds, use_trainer, use_trainer,
                                   use_life,   use_life,   lead_on,     lead_on};
    int k = below(64);
    return k < 8 ? rare[k] : common[k % 8];
}

static void call_them(const uint8_t *data, size_t size)
{
    choices = data;
    choices_left = size;
    fuzz_put("task.ini", TASK, sizeof TASK - 1);
    for (int i = 0; choices_left > 0 && i < MOST_CALLS; i++, made++) {
        call *next = choose();
        unsigned before = fans_error_count();
        fuzz_result(next(), before);
    }
    free_all();
    remove_run();
}

FUZZ_TARGET(call_them);
