/* train_rig.h - a small training from INI text, and how two of them are compared. */
#ifndef TESTS_TRAIN_RIG_H
#define TESTS_TRAIN_RIG_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "algo/registry.h"
#include "base/os.h"
#include "base/rng.h"
#include "nn/op.h"
#include "testing.h"
#include "train/train.h"

/* Tiny, fast networks; and a replay that all tests fill and overwrite. */
#define RIG_SMALL \
    "[sac]\nwidth = 16\nbatch = 8\nrandom_steps = 30\n[replay]\nsteps = 60\nnormalize = true\n"
#define RIG_SMALL_MODEL                                                                    \
    "[fans]\ninitial = 80\nmodel_every = 7\nrefresh = 20\n"                                \
    "[fnvae]\np = 2\nq = 1\nwindow = 5\nbatch = 2\nupdates = 6\nencode = 3\nencoder = 6\n" \
    "lstm = 6\nprior = 4\nbank = 4\ndense = 6\n"

/* ... for the sections of algorithms that learn something of their own. */
static const struct rig_part {
    const char *section, *ini;
} RIG_PARTS[] = {
    {"sac", RIG_SMALL},
    {"fnvae", RIG_SMALL_MODEL},
    {"rsac", "[rsac]\nunits = 6\nwindow = 9\nwindows = 3\nburn_in = 2\nupdate_every = 2\n"},
    {"lilac",
     "[lilac]\nlatents = 3\nepisodes = 4\nsteps = 3\ninitial = 40\nupdates = 6\nrecall = 4\n"
     "history = 6\nrefresh = 20\n"},
    {"trio", "[trio]\nlstm = 5\nshown = 3\nsegments = 2\nwindow = 9\ninitial = 40\nupdates = 6\n"
             "model_every = 7\nrefit = 2\n"},
    {"varibad",
     "[varibad]\nlatents = 3\nlstm = 5\nsegments = 2\nwindow = 9\ninitial = 40\nupdates = 6\n"
     "model_every = 7\nrefresh = 20\nhindsight = 2\n"},
    {"zeus", "[zeus]\nsteps = 4\nlatents = 3\ncoder = 5\nwidth = 6\n"},
};
enum { RIG_PART_COUNT = sizeof RIG_PARTS / sizeof *RIG_PARTS };

enum { RIG_MOST = 8 }; /* runs in a rig */

static const char *rig_device = "cpu";
static bool rig_doubts; /* beliefs may start afresh: see learn/hypotheses.h */
static bool rig_looks;  /* opens folders for evaluation, as `fans eval` does */
static bool rig_copies; /* the backend has a copy of tables, like a GPU: see rig_put_rows */

typedef struct rig {
    config *configs[RIG_MOST];
    task *tasks[RIG_MOST];
    train_run runs[RIG_MOST];
    char folders[RIG_MOST][128];
    pool *pool;
    nn_backend *backend;
    training *training;
} rig;

/* What is not sent stays old. */
static inline void rig_put_rows(void *self, void *to, const void *from, size_t rows, size_t width,
                                const nn_place *places, int count)
{
    (void)self;
    for (int i = 0; i < count; i++) {
        size_t at = ((size_t)places[i].replica * rows + (size_t)places[i].row) * width;
        memcpy((char *)to + at, (const char *)from + at, width);
    }
}

static inline void rig_close(rig *t)
{
    training_free(t->training);
    nn_backend_free(t->backend);
    pool_free(t->pool);
    for (int i = 0; i < RIG_MOST; i++) {
        task_free(t->tasks[i]);
        config_free(t->configs[i]);
    }
    *t = (rig){0};
}

/* Whether an algorithm has this section. */
static inline bool rig_takes(const char *algo, const char *section)
{
    const fans_algo_def *def;
    if (algo_find(&def, algo) < 0) return false;
    for (int i = 0; def->groups && def->groups[i]; i++)
        if (!strcmp(def->groups[i]()->section, section)) return true;
    return false;
}

static inline int rig_read_task(rig *t, int i, const char *ini, const char *algo, train_options *o)
{
    int rc = 0;
    TRY(config_new(&t->configs[i]));
    for (int k = 0; k < RIG_PART_COUNT; k++)
        if (rig_takes(algo, RIG_PARTS[k].section))
            TRY(config_add_text(t->configs[i], "small.ini", RIG_PARTS[k].ini));
    if (rig_doubts && rig_takes(algo, "fnvae"))
        TRY(config_add_text(t->configs[i], "doubt.ini", "[fans]\ndoubt = 0.2\n"));
    TRY(config_add_text(t->configs[i], "test.ini", ini));
    TRY(config_take(t->configs[i], train_option_group(), "train", o));
    TRY(task_load(&t->tasks[i], t->configs[i]));
out:
    return rc;
}

/* Whether an algorithm applies to the task that moves factors at every step. */
static inline bool rig_applies(const char *algo, const char *ini)
{
    const fans_algo_def *def;
    return algo_find(&def, algo) == 0 && !(def->piecewise && strstr(ini, "clock = step"));
}

/* `tasks` with `seeds` each, in one training. Folders are OUT for a single run, OUT/seed-N for a
 * single task, else OUT/T-seed-N. */
static inline int rig_open_tasks(rig *t, const char *const *inis, int tasks, const char *algo,
                                 const char *out, int seed, int seeds, int threads)
{
    train_setup s = {
        .runs = t->runs, .command = "test", .system_json = "{}", .look_only = rig_looks};
    int rc = 0;
    *t = (rig){0};
    for (int i = 0; i < tasks; i++) TRY(rig_read_task(t, i, inis[i], algo, &s.options));
    for (; s.count < tasks * seeds; s.count++) {
        int k = s.count / seeds, n = seed + s.count % seeds;
        char *folder = out ? t->folders[s.count] : NULL;
        if (!out)
            ;
        else if (tasks * seeds == 1)
            snprintf(folder, sizeof *t->folders, "%s", out);
        else if (tasks == 1)
            snprintf(folder, sizeof *t->folders, "%s/seed-%d", out, n);
        else
            snprintf(folder, sizeof *t->folders, "%s/%d-seed-%d", out, k, n);
        t->runs[s.count] = (train_run){t->tasks[k], n, folder, NULL, false};
    }
    snprintf(s.options.algo, sizeof s.options.algo, "%s", algo);
    TRY(algo_find(&s.algo, algo));
    TRY(pool_new(&t->pool, threads));
    TRY(nn_device_new(&t->backend, rig_device, NN_FP32, t->pool, NULL, 0));
    if (rig_copies) t->backend->put_rows = rig_put_rows;
    s.config = t->configs[0];
    s.pool = t->pool;
    s.backend = t->backend;
    TRY(training_new(&t->training, &s));
    TRY(config_check_taken(t->configs[0]));
    TRY(training_begin(t->training));
out:
    if (rc < 0) rig_close(t);
    return rc;
}

static inline int rig_open(rig *t, const char *ini, const char *algo, const char *out, int seed,
                           int seeds, int threads)
{
    return rig_open_tasks(t, &ini, 1, algo, out, seed, seeds, threads);
}

/* Stops a training at a given step. */
typedef struct rig_stop {
    int64_t at;
} rig_stop;

static inline bool rig_stops(void *user, const training *t)
{
    return training_progress(t).steps >= ((rig_stop *)user)->at;
}

/* A new folder for a test; rig_remove removes it. */
static inline const char *rig_folder(char *out, size_t size)
{
    assert_non_null(temporary_folder(out, size));
    return out;
}

static inline void rig_remove(const char *folder)
{
    char command[4200];
    snprintf(command, sizeof command, "rm -rf '%s'", folder);
    assert_int_equal(system(command), 0);
}

static inline void *rig_read(const char *folder, const char *name, size_t *n)
{
    char path[4200];
    void *bytes;
    snprintf(path, sizeof path, "%s/%s", folder, name);
    if (os_read_file(&bytes, n, path) < 0) fail_msg("%s", fans_error());
    return bytes;
}

static inline void rig_same_file(const char *a, const char *b, const char *name)
{
    size_t n, m;
    char *x = rig_read(a, name, &n), *y = rig_read(b, name, &m);
    if (n != m || memcmp(x, y, n)) fail_msg("%s/%s and %s/%s differ", a, name, b, name);
    mem_free(x);
    mem_free(y);
}

/* A copy of an item's bytes, wherever they are; the caller frees it. */
static inline void *rig_bytes(const state_item *item)
{
    size_t n = state_item_bytes(item);
    void *bytes = mem_alloc(n ? n : 1);
    assert_non_null(bytes);
    if (item->graph)
        nn_copy_out(item->graph, bytes, item->data, n);
    else
        memcpy(bytes, item->data, n);
    return bytes;
}

/* Compares every array that must be bit-identical: all but times and the length of the events. */
static inline void rig_same_state(const training *a, int ra, const training *b, int rb)
{
    const state_list *x = training_state(a, ra), *y = training_state(b, rb);
    assert_int_equal(x->count, y->count);
    for (size_t i = 0; i < x->count; i++) {
        const state_item *p = &x->items[i], *q = &y->items[i];
        assert_string_equal(p->name, q->name);
        if (!strcmp(p->name, "run/wall") || !strcmp(p->name, "run/busy") ||
            !strcmp(p->name, "run/events_bytes"))
            continue;
        void *one = rig_bytes(p), *two = rig_bytes(q);
        if (memcmp(one, two, state_item_bytes(p))) fail_msg("'%s' differs", p->name);
        mem_free(one);
        mem_free(two);
    }
}

#endif
