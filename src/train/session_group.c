/* session_group.c - which runs train together.
 *
 * One agent serves all runs that agree in the algorithm, the environment with its dimensions, the
 * length, whatever else the config says to the algorithm, and what the algorithm asks for beside
 * that; and that stand at the same step. Everything else (seeds, options of the environment, how
 * its factors move) may differ within a training. Runs that do not fit become trainings of their
 * own. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "train/sections.h"
#include "train/session.h"

/* ---- what runs must have in common ----------------------------------------------------------- */

static int ask_shape(const session_entry *e, text *out)
{
    const task *t = e->from->task;
    int n = train_movements(t, NULL);
    fans_moving *list = mem_alloc((size_t)n * sizeof *list);
    if (!list) return FANS_ENOMEM;
    train_movements(t, list);
    fans_movements moving = {list, n};
    fans_algo_setup one = {.replicas = 1,
                           .worlds = e->from->options.worlds,
                           .seeds = &(uint64_t){0},
                           .info = &t->info,
                           .moving = &moving};
    e->algo->shape(&one, out);
    mem_free(list);
    return 0;
}

static int write_key(session_entry *e)
{
    const train_options *o = &e->from->options;
    const fans_env_info *i = &e->from->task->info;
    int rc = 0;
    text_add(&e->key, "%s on %s\n%d %d %d %d\n%d %d %d\n", e->algo->name, e->from->task->def->name,
             i->obs_dim, i->act_dim, i->horizon, i->factor_count, o->episodes, o->worlds,
             o->checkpoint_every);
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

/* A crash may have come when some runs of a training had taken their new checkpoint, and others
 * had it only written: these take it now, and stay together with those. */
static void settle_stands(session *s)
{
    for (int i = 0; i < s->run_count; i++)
        for (int k = 0; k < s->run_count; k++) {
            session_run *a = &s->runs[i];
            if (a->stand.next >= 0 && a->stand.next == s->runs[k].stand.tick &&
                alike(a, &s->runs[k]))
                a->stand.tick = a->stand.next;
        }
}

/* ---- trainings ------------------------------------------------------------------------------- */

/* All that is like `first` and has no training yet; returns how many. */
static int collect(session *s, const session_run *first, train_run *out)
{
    int n = 0;
    for (int i = 0; i < s->run_count; i++) {
        session_run *r = &s->runs[i];
        if (r->training >= 0 || r->stand.tick != first->stand.tick || !alike(r, first)) continue;
        r->training = s->training_count;
        r->replica = n;
        out[n++] = (train_run){r->entry->from->task, r->seed, r->folder};
    }
    return n;
}

/* Trainings that run apart have a share of the threads each, by the number of runs; at least one,
 * the thread that drives it. */
static int find_pool(session *s, int runs, pool **out)
{
    pool **own = &s->pools[s->training_count];
    int rc = 0, share = pool_threads(s->pool) * runs / s->run_count;
    if (s->apart && runs < s->run_count) TRY(pool_new(own, share > 1 ? share : 1));
    *out = *own ? *own : s->pool;
out:
    return rc;
}

static int make_training(session *s, const session_wish *w, const session_run *first, int *made)
{
    nn_backend **backend = &s->backends[s->training_count];
    train_setup setup = {.algo = first->entry->algo,
                         .options = first->entry->from->options,
                         .runs = s->members + *made,
                         .config = first->entry->from->config,
                         .command = w->command,
                         .system_json = s->system,
                         .look_only = w->look_only};
    int rc = 0;
    snprintf(setup.options.algo, sizeof setup.options.algo, "%s", setup.algo->name);
    setup.count = collect(s, first, s->members + *made);
    *made += setup.count;
    TRY(find_pool(s, setup.count, &setup.pool));
    if (!*backend) TRY(nn_device_new(backend, w->device, s->precision, setup.pool, NULL, 0));
    setup.backend = *backend;
    TRY(training_new(&s->trainings[s->training_count], &setup));
    s->training_count++;
out:
    return rc;
}

int session_group(session *s, const session_wish *w)
{
    int rc = 0, made = 0;
    size_t n = (size_t)s->run_count;
    TRY((s->members = mem_alloc(n * sizeof *s->members)) ? 0 : FANS_ENOMEM);
    TRY((s->trainings = mem_alloc(n * sizeof(training *))) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < s->entry_count; i++) TRY(write_key(&s->entries[i]));
    for (int i = 0; i < s->run_count; i++)
        TRY(train_stand_of(s->runs[i].folder, &s->runs[i].stand));
    settle_stands(s);
    for (int i = 0; i < s->run_count; i++)
        if (s->runs[i].training < 0) TRY(make_training(s, w, &s->runs[i], &made));
    for (int i = 0; i < s->config_count; i++) {
        TRY(sections_skip(s->configs[i].config)); /* another algorithm's, or taken from its like */
        TRY(config_check_taken(s->configs[i].config));
    }
    for (int i = 0; i < s->training_count; i++) TRY(training_begin(s->trainings[i]));
out:
    return rc;
}
