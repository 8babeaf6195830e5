/* bench_env.c - environment steps per second, against bare mj_step on the same model.
 *
 *     bench_env [--json F] [--rounds N]
 *
 * The environment's side is everything that an agent pays for: schedule, factors, actions,
 * sub-steps, checks, observation, reward, resets, thread pool. The bare side calls mj_step as
 * often, from the very states that the environment went through, so that both see the same
 * contacts. Both take turns, and the best round of each counts: other programs can only make a
 * round slower. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/error.h"
#include "base/json.h"
#include "base/os.h"
#include "base/rng.h"
#include "env/mj.h"
#include "env/worlds.h"

enum { WORLDS = 16, STEPS = 100, MOST_THREADS = 2 }; /* a round is STEPS steps of all WORLDS */

/* `mujoco`: there is a bare side to compare with. `constants`: every step has a change that needs
 * mj_setConst, so the bare side calls it too. */
static const struct row {
    const char *name, *ini;
    bool mujoco, constants;
} rows[] = {
    {"pendulum", "[env]\nname = pendulum\n", false, false},
    {"half_cheetah", "[env]\nname = half_cheetah\n", true, false},
    {"half_cheetah, wind every step",
     "[env]\nname = half_cheetah\n[change.wind]\nclock = step\nfunction = sine\noffset = 10\n"
     "amplitude = 10\nfrequency = 0.005\n",
     true, false},
    {"minitaur", "[env]\nname = minitaur\n", true, false},
    {"minitaur, mass every step",
     "[env]\nname = minitaur\n[change.mass]\nclock = step\nfunction = sine\noffset = 1\n"
     "amplitude = 0.75\nfrequency = 0.005\n",
     true, true},
    {"sawyer_reach", "[env]\nname = sawyer_reach\n", true, false},
    {"sawyer_peg", "[env]\nname = sawyer_peg\n", true, false},
};

/* A simulator for bare stepping, and the states of an environment's steps. */
typedef struct bare {
    void *env;
    sim *s;
    int substeps;
    size_t bytes;
    char *states; /* (STEPS, bytes) */
} bare;

typedef struct bench {
    const struct row *row;
    task *task;
    pool *pool;
    worlds *worlds;
    world_buffers b;
    float *actions; /* (STEPS, WORLDS, act_dim) */
    arena *arena;
    bare bare[WORLDS]; /* one per world, so that caches are as full */
    int threads;
} bench;

/* ---- making ---------------------------------------------------------------------------------- */

static int load_task(task **out, const char *ini)
{
    config *c = NULL;
    int rc = 0;
    TRY(config_new(&c));
    TRY(config_add_text(c, "bench", ini));
    TRY(task_load(out, c));
out:
    config_free(c);
    return rc;
}

/* Random episodes, and the simulator's state before each step of them. */
static int record(const bench *k, bare *x, int which)
{
    const fans_env_def *def = k->task->def;
    int act = k->task->info.act_dim, horizon = k->task->info.horizon, rc = 0;
    rng r = rng_stream(1, "bench", (uint32_t)which);
    fans_env_result result = {.terminated = true};
    float *obs = mem_alloc((size_t)k->task->info.obs_dim * sizeof *obs);
    if (!obs) return FANS_ENOMEM;
    for (int i = 0, length = 0; i < STEPS; i++, length++) {
        if (result.terminated || length == horizon) {
            TRY(def->reset(x->env, &r, obs));
            length = 0;
        }
        sim_save(x->s, x->states + (size_t)i * x->bytes);
        double time = x->s->d->time;
        const float *action = k->actions + ((size_t)i * WORLDS + (size_t)which) * (size_t)act;
        TRY(def->step(x->env, &r, action, obs, &result));
        x->substeps = (int)lround((x->s->d->time - time) / x->s->m->opt.timestep);
    }
out:
    mem_free(obs);
    return rc;
}

static int bare_make(const bench *k, bare *x, int which)
{
    int rc = task_open(k->task, &x->env);
    if (rc < 0) return rc;
    x->s = *(sim **)x->env;
    x->bytes = sim_state_bytes(x->s);
    if (!(x->states = mem_alloc(STEPS * x->bytes))) return FANS_ENOMEM;
    return record(k, x, which);
}

static int bench_make(bench *k, const struct row *row, int threads)
{
    int rc = 0;
    rng r = rng_stream(1, "actions", 0);
    *k = (bench){.row = row, .threads = threads};
    TRY(load_task(&k->task, row->ini));
    size_t n = (size_t)STEPS * WORLDS * (size_t)k->task->info.act_dim;
    TRY(arena_new(&k->arena));
    TRY(world_buffers_declare(&k->b, k->arena, k->task, WORLDS, false));
    TRY(arena_declare(k->arena, &k->actions, n * sizeof *k->actions));
    TRY(arena_commit(k->arena));
    for (size_t i = 0; i < n; i++) k->actions[i] = (float)rng_between(&r, -1, 1);
    TRY(pool_new(&k->pool, threads));
    TRY(worlds_new(&k->worlds, &(const task *){k->task}, k->pool, &(uint64_t){1}, 1, WORLDS));
    TRY(worlds_start(k->worlds, &k->b));
    for (int i = 0; row->mujoco && i < WORLDS; i++) TRY(bare_make(k, &k->bare[i], i));
out:
    return rc;
}

static void bench_free(bench *k)
{
    for (int i = 0; i < WORLDS; i++) {
        if (k->bare[i].env) k->task->def->close(k->bare[i].env);
        mem_free(k->bare[i].states);
    }
    worlds_free(k->worlds);
    pool_free(k->pool);
    arena_free(k->arena);
    task_free(k->task);
}

/* ---- measuring ------------------------------------------------------------------------------- */

/* One thread's share of all bare steps. */
typedef struct share {
    bench *k;
    int first, last;
} share;

static void bare_steps(void *arg)
{
    const share *part = arg;
    for (int i = 0; i < STEPS; i++) {
        for (int w = part->first; w < part->last; w++) {
            bare *x = &part->k->bare[w];
            if (part->k->row->constants) mj_setConst(x->s->m, x->s->d);
            sim_restore(x->s, x->states + (size_t)i * x->bytes);
            for (int n = 0; n < x->substeps; n++) mj_step(x->s->m, x->s->d);
        }
    }
}

static void bare_item(void *arg, int item)
{
    bench *k = arg;
    share part = {k, item * WORLDS / k->threads, (item + 1) * WORLDS / k->threads};
    sim_guard(k->bare[0].s, bare_steps, &part);
}

/* Processor time of all threads of this process, in seconds. */
static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best wall time and total processor time of rounds. */
typedef struct timing {
    double best, cpu, wall_start, cpu_start;
} timing;

static void timing_start(timing *t)
{
    t->wall_start = os_now();
    t->cpu_start = cpu_now();
}

static void timing_stop(timing *t)
{
    t->cpu += cpu_now() - t->cpu_start;
    t->best = fmin(t->best, os_now() - t->wall_start);
}

/* WORLDS × STEPS environment steps. */
static int env_round(bench *k, timing *t)
{
    timing_start(t);
    for (int i = 0; i < STEPS; i++) {
        k->b.action = k->actions + (size_t)i * WORLDS * (size_t)k->task->info.act_dim;
        int rc = worlds_step(k->worlds, &k->b);
        if (rc < 0) return rc;
    }
    timing_stop(t);
    return 0;
}

static void bare_round(bench *k, timing *t)
{
    timing_start(t);
    pool_run(k->pool, k->threads, bare_item, k);
    timing_stop(t);
}

static int measure(bench *k, int rounds, timing *env, timing *plain)
{
    *env = *plain = (timing){.best = INFINITY};
    for (int i = 0; i < rounds; i++) {
        int rc = env_round(k, env);
        if (rc < 0) return rc;
        if (k->row->mujoco) bare_round(k, plain);
    }
    return 0;
}

static json_t *report(const struct row *row, int threads, const timing *env, const timing *plain)
{
    double rate = WORLDS * STEPS / env->best;
    json_t *figure = json_pack("{s:s, s:i, s:f}", "task", row->name, "threads", threads,
                               "steps_per_second", rate);
    printf("%-30s %7d %12.0f", row->name, threads, rate);
    if (!row->mujoco) {
        printf(" %12s %11s\n", "-", "-");
        return figure;
    }
    double bare_rate = WORLDS * STEPS / plain->best;
    double overhead = env->cpu / plain->cpu - 1;
    printf(" %12.0f %9.1f %%\n", bare_rate, 100 * overhead);
    json_object_set_new(figure, "bare_steps_per_second", json_real(bare_rate));
    json_object_set_new(figure, "overhead", json_real(overhead));
    return figure;
}

static int run(const struct row *row, int threads, int rounds, json_t *figures)
{
    static bench k;
    int rc = 0;
    timing env, plain;
    TRY(bench_make(&k, row, threads));
    TRY(measure(&k, rounds, &env, &plain));
    json_array_append_new(figures, report(row, threads, &env, &plain));
out:
    bench_free(&k);
    return rc;
}

/* Whether this build has the environment of a row. */
static bool known(const struct row *row)
{
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)strcspn(row->name, ","), row->name);
    for (int i = 0; env_builtin(i); i++)
        if (!strcmp(env_builtin(i)->name, name)) return true;
    return false;
}

int main(int argc, char **argv)
{
    const char *json = NULL;
    int rounds = 20, rc = 0;
    for (int i = 1; i < argc; i++) {
        if (!strcmp(argv[i], "--json") && i + 1 < argc)
            json = argv[++i];
        else if (!strcmp(argv[i], "--rounds") && i + 1 < argc)
            rounds = (int)strtol(argv[++i], NULL, 10);
        else {
            fprintf(stderr, "usage: bench_env [--json F] [--rounds N]\n");
            return 2;
        }
    }
    char cpu[200];
    os_cpu_name(cpu, sizeof cpu);
    json_t *figures = json_array();
    printf("%s, %d cores; MuJoCo %s; %d worlds, best of %d rounds of %d steps\n", cpu, os_cores(),
           mj_versionString(), WORLDS, rounds, STEPS);
    printf("%-30s %7s %12s %12s %11s\n", "task", "threads", "env steps/s", "bare", "overhead");
    for (const struct row *row = rows; row < rows + sizeof rows / sizeof *rows; row++)
        for (int threads = 1; known(row) && threads <= MOST_THREADS; threads++)
            TRY(run(row, threads, rounds, figures));
    if (json) TRY(json_write_file(json, figures));
out:
    json_decref(figures);
    if (rc < 0) fprintf(stderr, "bench_env: %s\n", fans_error());
    return rc < 0;
}
