/* bench_train.c - whole trainings: steps a second, and where the time goes.
 *
 *     bench_train [--threads N] [--steps N] [--json F]
 *
 * Pendulum with the setting of RLtools' benchmark (64-64, batch 100, one update per step) and
 * Half-Cheetah with the default one (256-256, batch 256); environments, acting, replay and updates
 * included. "rest" is what is none of them: curves, counting, checkpoints. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/json.h"
#include "base/os.h"
#include "rl/train.h"

typedef struct row {
    const char *name, *ini;
    double share; /* of --steps */
    double steps, seconds;
    train_times times;
} row;

static row rows[] = {
    {.name = "pendulum 64-64",
     .ini = "[env]\nname = pendulum\n[sac]\nwidth = 64\nbatch = 100\nrandom_steps = 100\n",
     .share = 1},
    {.name = "half_cheetah 256-256",
     .ini = "[env]\nname = half_cheetah\n[sac]\nrandom_steps = 100\n",
     .share = 0.1},
};
enum { ROWS = sizeof rows / sizeof *rows };

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_train: %s\n", fans_error());
    exit(1);
}

static void bench(row *r, int threads, int steps)
{
    const char *base = getenv("TMPDIR");
    char folder[256], command[300];
    train_setup s = {.count = 1, .command = "bench", .system_json = "{}"};
    task *t;
    training *live;
    snprintf(folder, sizeof folder, "%s/fans-bench-XXXXXX", base ? base : "/tmp");
    if (!mkdtemp(folder)) exit(1);
    must(config_new(&s.config));
    must(config_add_text(s.config, "bench", r->ini));
    must(config_take(s.config, train_option_group(), "train", &s.options));
    must(task_load(&t, s.config));
    s.options.episodes = (int)(steps * r->share) / t->info.horizon;
    s.options.checkpoint_every = 1000000000;
    must(algo_find(&s.algo, "sac"));
    must(pool_new(&s.pool, threads));
    must(nn_cpu_new(&s.backend, s.pool));
    s.runs = &(train_run){.task = t, .folder = folder};
    must(training_new(&live, &s));
    must(training_begin(live));
    double start = os_now();
    must(training_run(live, NULL, NULL));
    r->seconds = os_now() - start;
    r->steps = (double)training_progress(live).steps;
    r->times = training_times(live);
    training_free(live);
    nn_backend_free(s.backend);
    pool_free(s.pool);
    task_free(t);
    config_free(s.config);
    snprintf(command, sizeof command, "rm -rf %s", folder);
    if (system(command) != 0) fprintf(stderr, "bench_train: %s is left over\n", folder);
}

int main(int argc, char **argv)
{
    int threads = 0, steps = 10000;
    const char *json = NULL;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--steps")) steps = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--json")) json = argv[i + 1];
    }
    json_t *list = json_array();
    printf("%-22s %8s %9s %9s %8s %8s %9s %6s\n", "task", "steps", "seconds", "steps/s", "worlds",
           "acting", "updating", "rest");
    for (int i = 0; i < ROWS; i++) {
        row *r = &rows[i];
        bench(r, threads, steps);
        double total = r->seconds,
               rest = total - r->times.worlds - r->times.acting - r->times.updating;
        printf("%-22s %8.0f %9.2f %9.0f %7.1f%% %7.1f%% %8.1f%% %5.1f%%\n", r->name, r->steps,
               total, r->steps / total, 100 * r->times.worlds / total,
               100 * r->times.acting / total, 100 * r->times.updating / total, 100 * rest / total);
        json_array_append_new(
            list, json_pack("{s:s, s:f, s:f, s:f, s:f, s:f}", "task", r->name, "steps", r->steps,
                            "seconds", total, "worlds", r->times.worlds, "acting", r->times.acting,
                            "updating", r->times.updating));
    }
    struct rusage use;
    getrusage(RUSAGE_SELF, &use);
    printf("largest resident set: %ld MiB\n", use.ru_maxrss / 1024);
    if (json) must(json_write_file(json, list));
    json_decref(list);
    return 0;
}
