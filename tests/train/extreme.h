/* extreme.h - checkpoints with right checksums and wrong numbers. Each is refused by one line, or
 * trained on without a fault. A state is listed in memory, so the numbers are changed there and
 * written by the code that writes checkpoints. */
#include <float.h>
#include <math.h>

#include "data/checkpoint.h"
#include "train_rig.h"

enum { EXTREME_FROM = 120, EXTREME_MORE = 40 }; /* steps before and after the resume */

static const char EXTREME_TASK[] = "[train]\nepisodes = 12\n[env]\nname = %s\nhorizon = 25\n%s";
static const char EXTREME_CHANGE[] =
    "[change.gravity]\nclock = episode\nfunction = walk\noffset = 10\nlow = 5\nhigh = 15\n";
static const char EXTREME_POINTS[] = "[change.gravity]\nclock = random\nrate = 0.05\nfunction = "
                                     "uniform\nlow = 5\nhigh = 15\n[train]\ntold = nothing\n";
static const char EXTREME_PIXELS[] =
    "pixels = true\n[change.length]\nclock = episode\nfunction = walk\noffset = 1\nlow = 0.5\n"
    "high = 1.5\n[pixels]\nchannels = 3\nfeatures = 5\nframes = 2\nshift = 2\n";

static const double EXTREME_REALS[] = {NAN, INFINITY, -INFINITY, DBL_MAX, -FLT_MAX, -1, 0, 1e30};
static const int64_t EXTREME_COUNTS[] = {INT64_MIN, INT64_MIN + 1,    -900,     -5, -1, 0, 1,
                                         1 << 30,   INT64_C(1) << 53, INT64_MAX};
static const uint8_t EXTREME_BYTES[] = {0, 1, 2, 3, 255};

static void extreme_put(fans_type type, void *bytes, size_t i, rng *r)
{
    double x = EXTREME_REALS[rng_below(r, COUNT(EXTREME_REALS))];
    int64_t n = EXTREME_COUNTS[rng_below(r, COUNT(EXTREME_COUNTS))];
    if (type == FANS_F32) ((float *)bytes)[i] = (float)fmax(fmin(x, FLT_MAX), -INFINITY);
    if (type == FANS_F32 && isnan(x)) ((float *)bytes)[i] = NAN;
    if (type == FANS_F64) ((double *)bytes)[i] = x;
    if (type == FANS_I64 || type == FANS_U64) ((int64_t *)bytes)[i] = n;
    if (type == FANS_U8) ((uint8_t *)bytes)[i] = EXTREME_BYTES[rng_below(r, COUNT(EXTREME_BYTES))];
}

/* One entry, the first, eight in a row, or all. */
static void extreme_change(const state_item *item, void *bytes, rng *r)
{
    size_t n = state_item_bytes(item) / state_type_bytes(item->type);
    size_t from = rng_below(r, (uint32_t)n), to = from + 1;
    switch (rng_below(r, 4)) {
    case 0:
        from = 0, to = 1;
        break;
    case 1:
        from = from / 8 * 8, to = from + 8 < n ? from + 8 : n;
        break;
    case 2:
        from = 0, to = n;
        break;
    }
    rng same = *r;
    for (size_t i = from; i < to; i++) {
        *r = same; /* the same number everywhere */
        extreme_put(item->type, bytes, i, r);
    }
}

static void extreme_copy(const state_item *item, void *bytes)
{
    if (item->graph)
        nn_copy_in(item->graph, item->data, bytes, state_item_bytes(item));
    else
        memcpy(item->data, bytes, state_item_bytes(item));
}

/* Writes a checkpoint in which one array is changed. */
static void extreme_write(const rig *good, const char *kind, const char *folder, rng *r)
{
    char path[256];
    checkpoint *c = NULL;
    const state_list *s = training_state(good->training, 0);
    const state_item *item;
    do {
        item = &s->items[rng_below(r, (uint32_t)s->count)];
    } while (state_item_bytes(item) == 0);
    void *kept = rig_bytes(item), *changed = rig_bytes(item);
    extreme_change(item, changed, r);
    extreme_copy(item, changed);
    snprintf(path, sizeof path, "%s/checkpoint.safetensors", folder);
    assert_int_equal(checkpoint_new(&c, s), 0);
    checkpoint_gather(c, s);
    assert_int_equal(checkpoint_write(c, s, kind, path), 0);
    checkpoint_free(c);
    extreme_copy(item, kept);
    mem_free(kept);
    mem_free(changed);
}

/* `cases` of them for one algorithm on one environment, with more of its config; returns how many
 * were refused. */
static int extreme_run(const char *algo, const char *env, const char *more_ini, int cases)
{
    char ini[512], a[64], b[64], kind[128], copy[256];
    rig good, bad;
    rig_stop stop = {EXTREME_FROM}, more = {EXTREME_FROM + EXTREME_MORE};
    rng r = rng_stream(1, algo, 0);
    int refused = 0;
    snprintf(ini, sizeof ini, EXTREME_TASK, env, more_ini);
    snprintf(kind, sizeof kind, "%s on %s", algo, env);
    const char *folders[] = {rig_folder(a, sizeof a), rig_folder(b, sizeof b)};
    for (int i = 0; i < 2; i++) {
        if (rig_open(&good, ini, algo, folders[i], 0, 1, 1) < 0) fail_msg("%s", fans_error());
        assert_int_equal(training_run(good.training, rig_stops, &stop), FANS_ESTOP);
        rig_close(&good);
    }
    if (rig_open(&good, ini, algo, a, 0, 1, 1) < 0) fail_msg("%s", fans_error());
    for (int i = 0; i < cases; i++) {
        snprintf(copy, sizeof copy, "cp -f %s/*.csv %s/events* %s", a, a, b);
        assert_int_equal(system(copy), 0); /* an earlier case may have cut them */
        extreme_write(&good, kind, b, &r);
        int rc = rig_open(&bad, ini, algo, b, 0, 1, 1);
        if (rc == 0) rc = training_run(bad.training, rig_stops, &more);
        refused += rc < 0 && rc != FANS_ESTOP;
        if (rc < 0) assert_null(strchr(fans_error(), '\n'));
        rig_close(&bad);
    }
    rig_close(&good);
    rig_remove(a);
    rig_remove(b);
    return refused;
}

static void extreme_one(const char *algo, const char *env, const char *what, const char *more,
                        int cases)
{
    alarm(120 + 2 * (unsigned)cases); /* nothing waits for ever */
    int refused = extreme_run(algo, env, more, cases);
    print_message("%s on %s%s: %d of %d refused\n", algo, env, what, refused, cases);
    note_result("extreme.csv", "algorithm,environment,checkpoints,refused", "%s,%s%s,%d,%d\n", algo,
                env, what, cases, refused);
}

/* Every algorithm on the pendulum, also where nobody is told of changes, and where cameras see it;
 * and the environments with the most state. */
static void extreme_all(int cases)
{
    static const char *const envs[] = {"minitaur", "half_cheetah", "sawyer_peg", "fnmdp"};
    static const char *const see[] = {"sac", "oracle", "stack"};
    for (int i = 0; i < algo_count(); i++)
        extreme_one(algo_at(i)->name, "pendulum", "", EXTREME_CHANGE, cases);
    for (size_t i = 0; i < COUNT(envs); i++) extreme_one("random", envs[i], "", "", cases / 2);
    for (size_t i = 0; i < COUNT(see); i++)
        extreme_one(see[i], "pendulum", " from pixels", EXTREME_PIXELS, cases / 4);
    extreme_one("fans", "pendulum", " told of nothing", EXTREME_POINTS, cases / 2);
    extreme_one("sac", "pendulum", " told of nothing", EXTREME_POINTS, cases / 4);
    rig_doubts = true;
    extreme_one("fans", "pendulum", " with doubt", EXTREME_CHANGE, cases / 2);
    rig_doubts = false;
}
