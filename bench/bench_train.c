/* bench_train.c - whole trainings: steps a second, and where the time goes.
 *
 *     bench_train [--threads N] [--steps N] [--device D] [--seeds N] [--only NAME]
 *                 [--ini F] [--json F]
 *
 * Pendulum with the setting of RLtools' benchmark (64-64, batch 100, one update per step) and
 * Half-Cheetah with the default one (256-256, batch 256), under SAC and under FANS; environments,
 * acting, replay and updates included. The clock starts when SAC does: with FANS, after the
 * initial steps. "saving" is the checkpoint at the end, "rest" is everything else. On a GPU updates
 * are only queued: waiting for them counts as acting or observing. --ini adds settings to every
 * row.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/json.h"
#include "base/os.h"
#include "train/train.h"

typedef struct row {
    const char *name, *algo, *ini;
    double share;   /* of --steps */
    int64_t before; /* steps before the clock starts */
    double steps, seconds;
    train_times times;
} row;

static row rows[] = {
    {.name = "pendulum 64-64",
     .algo = "sac",
     .ini = "[env]\nname = pendulum\n[sac]\nwidth = 64\nbatch = 100\nrandom_steps = 100\n",
     .share = 1},
    {.name = "half_cheetah 256-256",
     .algo = "sac",
     .ini = "[env]\nname = half_cheetah\n[sac]\nrandom_steps = 100\n",
     .share = 0.1},
    {.name = "half_cheetah fans",
     .algo = "fans",
     .ini = "[env]\nname = half_cheetah\n[fans]\ninitial = 2000\n[fnvae]\nupdates = 100\n"
            "[change.speed]\nclock = episode\nfunction = sine\noffset = 1.5\namplitude = 1.5\n"
            "frequency = 0.5\n",
     .share = 0.2,
     .before = 2100},
};
enum { ROWS = sizeof rows / sizeof *rows, MOST_SEEDS = 128 };

typedef struct setting {
    int threads, steps, seeds;
    const char *device, *ini, *only;
} setting;

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_train: %s\n", fans_error());
    exit(1);
}

/* Progress when the clock started. */
typedef struct start {
    const row *row;
    bool started;
    int64_t steps;
    double clock;
    train_times times;
} start;

static bool watch(void *user, const training *t)
{
    start *s = user;
    if (s->started || training_progress(t).steps < s->row->before) return false;
    *s = (start){s->row, true, training_progress(t).steps, os_now(), training_times(t)};
    return false;
}

static void measure(row *r, training *t)
{
    start s = {.row = r};
    must(training_run(t, watch, &s));
    train_times x = training_times(t);
    r->seconds = os_now() - s.clock;
    r->steps = (double)(training_progress(t).steps - s.steps);
    r->times = (train_times){x.worlds - s.times.worlds, x.acting - s.times.acting,
                             x.updating - s.times.updating, x.observing - s.times.observing,
                             x.saving - s.times.saving};
}

static void bench(row *r, const setting *o)
{
    const char *base = getenv("TMPDIR");
    static char folders[MOST_SEEDS][280];
    char folder[256], command[300];
    train_run runs[MOST_SEEDS];
    train_setup s = {.count = o->seeds, .command = "bench", .system_json = "{}", .runs = runs};
    task *t;
    training *live;
    snprintf(folder, sizeof folder, "%s/fans-bench-XXXXXX", base ? base : P_tmpdir);
    if (!mkdtemp(folder)) exit(1);
    must(config_new(&s.config));
    must(config_add_text(s.config, "bench", r->ini));
    if (o->ini) must(config_add_file(s.config, o->ini));
    must(config_take(s.config, train_option_group(), "train", &s.options));
    must(task_load(&t, s.config));
    int steps = (int)(o->steps * r->share), least = 2 * t->info.horizon; /* something to measure */
    s.options.episodes = ((int)r->before + (steps > least ? steps : least)) / t->info.horizon;
    s.options.checkpoint_every = 1000000000;
    must(algo_find(&s.algo, r->algo));
    must(pool_new(&s.pool, o->threads));
    must(nn_device_new(&s.backend, o->device, NN_FP32, s.pool, NULL, 0));
    for (int i = 0; i < o->seeds; i++) {
        snprintf(folders[i], sizeof folders[i], "%s/%d", folder, i);
        runs[i] = (train_run){.task = t, .seed = i, .folder = folders[i]};
    }
    must(training_new(&live, &s));
    must(training_begin(live));
    measure(r, live);
    training_free(live);
    nn_backend_free(s.backend);
    pool_free(s.pool);
    task_free(t);
    config_free(s.config);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) fprintf(stderr, "bench_train: cannot remove %s\n", folder);
}

static json_t *print_row(const row *r, int seeds)
{
    double total = r->seconds;
    const train_times *x = &r->times;
    double rest = total - x->worlds - x->acting - x->updating - x->observing - x->saving;
    printf("%-22s %8.0f %9.2f %9.0f %9.3f %7.1f%% %7.1f%% %8.1f%% %9.1f%% %6.1f%% %5.1f%%\n",
           r->name, r->steps, total, r->steps * seeds / total, 1e3 * total / r->steps,
           100 * x->worlds / total, 100 * x->acting / total, 100 * x->updating / total,
           100 * x->observing / total, 100 * x->saving / total, 100 * rest / total);
    return json_pack("{s:s, s:i, s:f, s:f, s:f, s:f, s:f, s:f, s:f}", "task", r->name, "seeds",
                     seeds, "steps", r->steps, "seconds", total, "worlds", x->worlds, "acting",
                     x->acting, "updating", x->updating, "observing", x->observing, "saving",
                     x->saving);
}

int main(int argc, char **argv)
{
    setting o = {.steps = 10000, .seeds = 1, .device = "cpu"};
    const char *json = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) o.threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--steps")) o.steps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--seeds")) o.seeds = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--device")) o.device = argv[i + 1];
        if (!strcmp(argv[i], "--only")) o.only = argv[i + 1];
        if (!strcmp(argv[i], "--ini")) o.ini = argv[i + 1];
        if (!strcmp(argv[i], "--json")) json = argv[i + 1];
    }
    if (o.seeds < 1 || o.seeds > MOST_SEEDS) {
        fprintf(stderr, "bench_train: --seeds: from 1 to %d\n", MOST_SEEDS);
        return 2;
    }
    json_t *list = json_array();
    printf("%-22s %8s %9s %9s %9s %8s %8s %9s %10s %7s %6s\n", "task", "steps", "seconds",
           "steps/s", "ms/step", "worlds", "acting", "updating", "observing", "saving", "rest");
    for (int i = 0; i < ROWS; i++) {
        if (o.only && strcmp(o.only, rows[i].name)) continue;
        bench(&rows[i], &o);
        json_array_append_new(list, print_row(&rows[i], o.seeds));
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("largest resident set: %ld MiB\n", use.ru_maxrss / 1024);
    if (json) must(json_write_file(json, list));
    json_decref(list);
    return 0;
}
