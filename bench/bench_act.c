/* bench_act.c - how long a tick takes: by the program that is exported, and by the agent itself.
 *
 *     bench_act --run RUN [--ticks N] [--json F]
 *
 * A control loop waits for its slowest tick, so each is timed by itself: p50, p99.9 and worst.
 * The agent's ticks, a tenth as many, are its act and observe without the worlds' steps. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os.h"
#include "deploy/recording.h"
#include "train/scene.h"

typedef struct row {
    const char *name;
    double p50, p999, worst; /* microseconds */
} row;

static int by_size(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static row row_of(const char *name, double *seconds, size_t n)
{
    qsort(seconds, n, sizeof *seconds, by_size);
    return (row){name, 1e6 * seconds[n / 2], 1e6 * seconds[(size_t)((double)n * 0.999)],
                 1e6 * seconds[n - 1]};
}

/* The ticks of a recording, over and over. */
static int time_program(const program *p, const recording *r, double *seconds, size_t n, row *to)
{
    const program_shape *z = program_shape_of(p);
    float *room = mem_alloc((size_t)(z->state + z->outputs + z->work) * sizeof *room);
    if (!room) return FANS_ENOMEM;
    float *out = room + z->state, *work = out + z->outputs;
    for (size_t i = 0; i < n; i++) {
        const float *in = r->in + i % (size_t)r->count * (size_t)z->inputs;
        double start = os_now();
        program_step(p, in, room, out, work);
        seconds[i] = os_now() - start;
    }
    *to = row_of("program", seconds, n);
    mem_free(room);
    return 0;
}

static int time_agent(const session *s, double *seconds, size_t n, row *to)
{
    const fans_algo_def *algo = s->entries[0].algo;
    const task *lived = training_runs(s->trainings[0])[0].task;
    void *agent = training_agent(s->trainings[0]);
    scene lives = {0};
    int rc = 0;
    TRY(scene_new(&lives, &lived, s->pool, &(uint64_t){1}, 1, s->entries[0].from->options.worlds));
    TRY(scene_start(&lives));
    algo->start(agent);
    for (size_t i = 0; i < n; i++) {
        const fans_moment *now = scene_moment(&lives);
        double start = os_now();
        TRY(algo->act(agent, now, false, lives.action));
        seconds[i] = os_now() - start;
        TRY(scene_step(&lives));
        fans_outcome o = scene_outcome(&lives);
        start = os_now();
        TRY(algo->observe(agent, now, lives.action, &o, false));
        seconds[i] += os_now() - start;
    }
    *to = row_of("agent", seconds, n);
out:
    scene_free(&lives);
    return rc;
}

static int show(const row *rows, int count, const char *path)
{
    json_t *all = json_object();
    printf("%-8s %8s %8s %8s   µs a tick\n", "", "p50", "p99.9", "worst");
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        printf("%-8s %8.1f %8.1f %8.1f\n", r->name, r->p50, r->p999, r->worst);
        json_object_set_new(
            all, r->name,
            json_pack("{s:f, s:f, s:f}", "p50", r->p50, "p99.9", r->p999, "worst", r->worst));
    }
    int rc = path ? json_write_file(path, all) : 0;
    json_decref(all);
    return rc;
}

static int measure(const char *folder, size_t n, const char *path)
{
    session s = {0};
    program *p = NULL;
    recording r = {0};
    row rows[2];
    double *seconds = mem_alloc(n * sizeof *seconds);
    int rc = seconds ? 0 : FANS_ENOMEM;
    TRY(rc);
    TRY(session_look(&s, folder, &(text_list){0}, 1));
    TRY(program_load(&p, folder, (program_options){0}));
    TRY(recording_live(&r, p, &s, 1, 1));
    TRY(time_program(p, &r, seconds, n, &rows[0]));
    TRY(time_agent(&s, seconds, n / 10, &rows[1]));
    TRY(show(rows, 2, path));
out:
    mem_free(seconds);
    recording_free(&r);
    program_free(p);
    session_close(&s);
    return rc;
}

int main(int argc, char **argv)
{
    const char *folder = NULL, *path = NULL;
    long ticks = 1000000;
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--run")) folder = argv[i + 1];
        if (!strcmp(argv[i], "--ticks")) ticks = strtol(argv[i + 1], NULL, 10);
        if (!strcmp(argv[i], "--json")) path = argv[i + 1];
    }
    if (!folder || ticks < 1000) {
        fprintf(stderr, "usage: bench_act --run RUN [--ticks N, at least 1000] [--json F]\n");
        return 2;
    }
    if (measure(folder, (size_t)ticks, path) == 0) return 0;
    fprintf(stderr, "bench_act: %s\n", fans_error());
    return 1;
}
