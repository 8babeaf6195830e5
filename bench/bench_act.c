/* bench_act.c - how long a tick takes: of the program that is exported, of a life (fans.h), and of
 * the agent itself.
 *
 *     bench_act --run RUN [--ticks N] [--json F]
 *
 * A control loop waits for its slowest tick, so each is timed by itself: p50, p99.9 and worst. A
 * tick of a life is its act and observe; of the agent too, without the worlds' steps. There are N
 * of the program and of the life, a tenth of the life with 16 rows and of the agent. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os.h"
#include "deploy/recording.h"
#include "fans/fans.h"
#include "train/scene.h"

enum { ROWS = 16 };

typedef struct row {
    const char *name;
    size_t ticks;
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
    return (row){name, n, 1e6 * seconds[n / 2], 1e6 * seconds[(size_t)((double)n * 0.999)],
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
        program_step(p, 1, in, room, out, work);
        seconds[i] = os_now() - start;
    }
    *to = row_of("program", seconds, n);
    mem_free(room);
    return 0;
}

/* The same ticks for every row of a life. */
typedef struct past {
    float *obs;      /* (count, rows, obs) */
    float *reward;   /* (count, rows) */
    uint8_t *change; /* (count, rows) */
    int count, rows, width;
} past;

static int past_new(past *l, const program *p, const recording *r, int rows)
{
    const program_shape *z = program_shape_of(p);
    program_field obs = z->in[TICK_obs], reward = z->in[TICK_reward], change = z->in[TICK_change];
    *l = (past){.count = r->count, .rows = rows, .width = obs.width};
    size_t n = (size_t)r->count * (size_t)rows;
    l->obs = mem_alloc(n * (size_t)obs.width * sizeof *l->obs);
    l->reward = mem_alloc(n * sizeof *l->reward);
    l->change = mem_alloc(n);
    if (!l->obs || !l->reward || !l->change) return FANS_ENOMEM;
    for (size_t i = 0; i < n; i++) {
        const float *in = r->in + i / (size_t)rows * (size_t)z->inputs;
        memcpy(l->obs + i * (size_t)obs.width, in + obs.at, (size_t)obs.width * sizeof *in);
        if (reward.width) l->reward[i] = in[reward.at];
        if (change.width) l->change[i] = in[change.at] > 0;
    }
    return 0;
}

static void past_free(past *l)
{
    mem_free(l->obs);
    mem_free(l->reward);
    mem_free(l->change);
}

static int live(fans_life *life, const past *l, double *seconds, size_t n, float *action)
{
    size_t step = (size_t)l->rows * (size_t)l->width;
    int rc = 0;
    for (size_t i = 0; i < n; i++) {
        size_t at = i % (size_t)(l->count - 1);
        double start = os_now();
        TRY(fans_life_act(life, l->obs + at * step, l->change + at * (size_t)l->rows, false,
                          action));
        TRY(fans_life_observe(life, NULL, l->reward + (at + 1) * (size_t)l->rows, NULL,
                              l->obs + (at + 1) * step));
        seconds[i] = os_now() - start;
    }
out:
    return rc;
}

static int time_life(const char *name, const char *folder, const program *p, const recording *r,
                     int rows, double *seconds, size_t n, row *to)
{
    fans_policy *policy = NULL;
    fans_life *life = NULL;
    fans_shape z = {.size = sizeof z};
    past l = {0};
    float *action = NULL;
    int rc = past_new(&l, p, r, rows);
    if (rc == 0) rc = fans_policy_open(&policy, folder, &z);
    if (rc == 0) rc = fans_life_new(&life, policy, rows, 1);
    if (rc == 0)
        rc = (action = mem_alloc((size_t)(rows * z.act) * sizeof *action)) ? 0 : FANS_ENOMEM;
    if (rc == 0) rc = live(life, &l, seconds, n, action);
    *to = row_of(name, seconds, n);
    mem_free(action);
    fans_life_free(life);
    fans_policy_free(policy);
    past_free(&l);
    return rc;
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
    printf("%-15s %8s %8s %8s %8s   µs a tick\n", "", "ticks", "p50", "p99.9", "worst");
    for (int i = 0; i < count; i++) {
        const row *r = &rows[i];
        printf("%-15s %8zu %8.1f %8.1f %8.1f\n", r->name, r->ticks, r->p50, r->p999, r->worst);
        json_object_set_new(all, r->name,
                            json_pack("{s:I, s:f, s:f, s:f}", "ticks", (json_int_t)r->ticks, "p50",
                                      r->p50, "p99.9", r->p999, "worst", r->worst));
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
    row rows[4];
    double *seconds = mem_alloc(n * sizeof *seconds);
    int rc = seconds ? 0 : FANS_ENOMEM;
    TRY(rc);
    TRY(session_look(&s, folder, &(text_list){0}, 1));
    TRY(program_load(&p, folder, (program_options){0}));
    TRY(recording_live(&r, p, &s, 1, 1));
    TRY(time_program(p, &r, seconds, n, &rows[0]));
    TRY(time_life("life", folder, p, &r, 1, seconds, n, &rows[1]));
    TRY(time_life("life of 16 rows", folder, p, &r, ROWS, seconds, n / 10, &rows[2]));
    TRY(time_agent(&s, seconds, n / 10, &rows[3]));
    TRY(show(rows, 4, path));
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
