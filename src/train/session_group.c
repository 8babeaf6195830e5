/* session_group.c - which runs train together.
 *
 * One agent serves all runs that agree in the algorithm and its options, the environment and its
 * dimensions, the length, and what the algorithm's `shape` asks for; and that are at the same step.
 * Everything else (seeds, options of the environment, how its factors move) may differ within a
 * training. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "train/session.h"

/* ---- what runs must share -------------------------------------------------------------------- */

static int ask_shape(const session_entry *e, text *out)
{
    const task *t = e->from->task;
    int n = train_movements(t, NULL);
    fans_moving *list = mem_alloc((size_t)n * sizeof *list);
    if (!list) return FANS_ENOMEM;
    fans_tells tells = (fans_tells)e->from->options.told;
    train_told_movements(t, tells, list);
    fans_movements moving = {list, n};
    fans_algo_setup one = {.replicas = 1,
                           .worlds = e->from->options.worlds,
                           .seeds = &(uint64_t){0},
                           .info = &t->info,
                           .moving = &moving,
                           .tells = tells};
    e->algo->shape(&one, out);
    mem_free(list);
    return 0;
}

static int write_key(session_entry *e)
{
    const train_options *o = &e->from->options;
    const fans_env_info *i = &e->from->task->info;
    int rc = 0;
    text_add(&e->key, "%s on %s\n%d %d %d %d\n%d %d %d %d %d %d\n", e->algo->name,
             e->from->task->def->name, i->obs_dim, i->act_dim, i->horizon, i->factor_count,
             o->episodes, o->worlds, o->checkpoint_every, o->prelude, o->prelude_free, o->told);
    if (e->from->task->options->pixels)
        text_add(&e->key, "%d pictures of %d x %d\n", i->views, i->height, i->width);
    TRY(config_rest(e->from->config, &e->key));
    if (e->algo->shape) TRY(ask_shape(e, &e->key));
    TRY(text_done(&e->key));
out:
    return rc;
}

static bool alike(const session_run *a, const session_run *b)
{
    return !strcmp(a->entry->key.s, b->entry->key.s);
}

/* A crash may leave some runs of a training with a new checkpoint that others have written but not
 * renamed yet: these move to it, so that all stay together. */
static void join_positions(session *s)
{
    for (int i = 0; i < s->run_count; i++)
        for (int k = 0; k < s->run_count; k++) {
            session_run *a = &s->runs[i];
            if (a->position.next >= 0 && a->position.next == s->runs[k].position.tick &&
                alike(a, &s->runs[k]))
                a->position.tick = a->position.next;
        }
}

/* ---- trainings ------------------------------------------------------------------------------- */

static train_run as_train_run(const session_run *r)
{
    return (train_run){r->entry->from->task, r->seed, r->folder, r->entry->from->path, r->claimed};
}

/* Collects the runs that fit `first` and have no training yet; returns their number. */
static int collect(session *s, const session_run *first, train_run *out)
{
    int n = 0;
    for (int i = 0; i < s->run_count; i++) {
        session_run *r = &s->runs[i];
        if (r->training >= 0 || r->position.tick != first->position.tick || !alike(r, first))
            continue;
        r->training = s->training_count;
        r->replica = n;
        out[n++] = as_train_run(r);
    }
    return n;
}

/* Threaded trainings share the threads in proportion to their runs; each has at least one. */
static int find_pool(session *s, int which, int runs, pool **out)
{
    pool **own = &s->pools[which];
    int rc = 0, share = pool_threads(s->pool) * runs / s->run_count;
    if (s->threaded && runs < s->run_count && !*own) TRY(pool_new(own, share > 1 ? share : 1));
    *out = *own ? *own : s->pool;
out:
    return rc;
}

/* Makes training `i` of the runs collected for it. */
static int open_training(session *s, int i, const session_run *first, const train_run *runs,
                         int count)
{
    const session_wish *w = &s->wish;
    nn_backend **backend = &s->backends[i];
    train_setup setup = {.algo = first->entry->algo,
                         .options = first->entry->from->options,
                         .runs = runs,
                         .count = count,
                         .config = first->entry->from->config,
                         .command = w->command,
                         .system_json = s->system,
                         .look_only = w->look_only,
                         .outside = w->outside};
    int rc = 0;
    snprintf(setup.options.algo, sizeof setup.options.algo, "%s", first->entry->given);
    TRY(find_pool(s, i, count, &setup.pool));
    if (!*backend) TRY(nn_device_new(backend, w->device, s->precision, setup.pool, NULL, 0));
    setup.backend = *backend;
    TRY(training_new(&s->trainings[i], &setup));
out:
    return rc;
}

static int make_training(session *s, const session_run *first, int *made)
{
    train_run *runs = s->members + *made;
    int count = collect(s, first, runs);
    int rc = open_training(s, s->training_count, first, runs, count);
    *made += count;
    if (rc == 0) s->training_count++;
    return rc;
}

int session_group(session *s)
{
    int rc = 0, made = 0;
    size_t n = (size_t)s->run_count;
    TRY((s->members = mem_alloc(n * sizeof *s->members)) ? 0 : FANS_ENOMEM);
    TRY((s->trainings = mem_alloc(n * sizeof(training *))) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < s->entry_count; i++) TRY(write_key(&s->entries[i]));
    for (int i = 0; i < s->run_count; i++)
        TRY(run_position_of(s->runs[i].folder, &s->runs[i].position));
    join_positions(s);
    for (int i = 0; i < s->run_count; i++)
        if (s->runs[i].training < 0) TRY(make_training(s, &s->runs[i], &made));
    for (int i = 0; i < s->source_count; i++) TRY(source_check(&s->sources[i]));
    for (int i = 0; i < s->training_count; i++) TRY(training_begin(s->trainings[i]));
out:
    return rc;
}

/* ---- training, also after a run failed ------------------------------------------------------- */

/* Notes why a run failed; the others of its training move up. Returns the first of these. */
static session_run *drop_failed(session *s, int which, const train_fault *fault, train_run *runs)
{
    session_run *first = NULL;
    int n = 0;
    for (int i = 0; i < s->run_count; i++) {
        session_run *r = &s->runs[i];
        if (r->training != which) continue;
        if (r->replica == fault->replica) {
            snprintf(r->fault, sizeof r->fault, "%s", fault->why);
            r->training = r->replica = -1;
            continue;
        }
        if (!first) first = r;
        r->replica = n;
        runs[n++] = as_train_run(r);
    }
    return first;
}

/* Training i without the run that failed, unless all stop anyway. */
static int replace_training(session *s, int i, bool stopped)
{
    training *old = s->trainings[i];
    train_run *runs = (train_run *)training_runs(old);
    int rc = 0, count = training_count(old) - 1;
    session_run *first = drop_failed(s, i, training_fault(old), runs);
    if (stopped && first) return 0;
    training_free(old); /* unlocks the folders */
    s->trainings[i] = NULL;
    if (!first) return 0;
    TRY(open_training(s, i, first, runs, count));
    TRY(training_begin(s->trainings[i]));
out:
    return rc;
}

/* Trainings that are left: those whose only run failed are gone. */
static int list_trainings(const session *s, training **list)
{
    int n = 0;
    for (int i = 0; i < s->training_count; i++)
        if (s->trainings[i]) list[n++] = s->trainings[i];
    return n;
}

int session_train(session *s, train_watch_fn *watch, void *user)
{
    int rc = 0;
    bool again = true;
    training **list = mem_alloc((size_t)s->training_count * sizeof(training *));
    if (!list) return FANS_ENOMEM;
    while (again) {
        again = false;
        int ran = trainings_run(list, list_trainings(s, list), s->threaded, watch, user);
        for (int i = 0; i < s->training_count; i++) {
            if (!s->trainings[i] || !training_fault(s->trainings[i])) continue;
            TRY(replace_training(s, i, ran < 0));
            again = again || s->trainings[i];
        }
        TRY(ran);
    }
out:
    mem_free(list);
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

double session_final(const session *s, const session_run *r)
{
    return *r->fault ? NAN : training_final(s->trainings[r->training], r->replica);
}

int session_recent(const session *s, const session_run *r)
{
    return *r->fault ? 0 : training_recent(s->trainings[r->training], r->replica);
}

json_t *session_result(const session *s, const session_run *r)
{
    json_t *one;
    if (!*r->fault)
        one = training_result(s->trainings[r->training], r->replica);
    else
        one = json_pack("{s:s, s:s, s:i, s:s, s:s}", "algo", r->entry->algo->name, "env",
                        r->entry->from->task->def->name, "seed", r->seed, "status", "failed", "why",
                        r->fault);
    json_object_set_new(one, "run", json_string(r->folder));
    return one;
}
