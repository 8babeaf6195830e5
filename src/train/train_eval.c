/* train_eval.c - evaluations on the way: without exploration, in the same worlds every time.
 *
 * Where the schedule chooses a factor among values, each value gets as many episodes, in turn, so
 * that none is met more often than it is hard; an agent that carries beliefs from one episode to
 * the next learns nothing by it. An episode succeeds, or reaches its goal, by its last step. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/evals.h"
#include "train/train_parts.h"

enum { SEED = 2000000 }; /* of a run's worlds, plus its own */

/* Sums over the episodes of one value. */
typedef struct total {
    int episodes;
    double gain, success, reached;
} total;

/* A run's evaluation. */
typedef struct judged {
    const fans_moving *chosen; /* the factor, or NULL: whatever the schedule says */
    int values, played;
    double gain; /* of the present episode */
    total *of;   /* [values] */
} judged;

static const fans_moving *find_chosen(const training *t, int r)
{
    for (int k = 0; k < t->moving[r].count; k++)
        if (t->moving[r].list[k].choices > 0) return &t->moving[r].list[k];
    return NULL;
}

static double value_of(const judged *j, int i)
{
    return j->chosen ? j->chosen->values[i] * j->chosen->scale : NAN;
}

static bool is_over(const training *t, const judged *j)
{
    return j->played == j->values * t->s.options.eval_episodes;
}

/* The value of the coming episode. */
static int choose(play *p, int r, const judged *j)
{
    if (!j->chosen) return 0;
    return play_hold(p, r, j->chosen->factor, value_of(j, j->played % j->values));
}

static int end_episode(const training *t, play *p, int r, judged *j, const play_view *v)
{
    total *to = &j->of[j->played++ % j->values];
    double goal = t->s.options.eval_reach;
    to->episodes++;
    to->gain += j->gain;
    to->success += v->success;
    to->reached += goal != 0 ? v->reward >= goal : NAN;
    j->gain = 0;
    return choose(p, r, j);
}

/* One step; counts the runs that are over. */
static int live(training *t, play *p, judged *all, int *over)
{
    int rc = play_step(p);
    *over = 0;
    for (int r = 0; rc == 0 && r < t->count; r++) {
        judged *j = &all[r];
        play_view v = play_look(p, r);
        if (!is_over(t, j)) {
            j->gain += v.reward;
            if (v.ended) rc = end_episode(t, p, r, j, &v);
        }
        *over += is_over(t, j);
    }
    return rc;
}

/* ---- what is written ------------------------------------------------------------------------- */

int train_write_eval_head(training *t, int r)
{
    t->row.length = 0;
    for (int c = 0; c < EVALS_COLUMN_COUNT; c++)
        text_add(&t->row, "%s%s", c > 0 ? "," : "", evals_columns[c]);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.evals, &t->row);
}

static int write_eval(training *t, int r, const judged *j)
{
    replica *p = &t->replicas[r];
    double gain = 0;
    t->row.length = 0;
    for (int i = 0; i < j->values; i++) {
        const total *x = &j->of[i];
        double n = x->episodes;
        gain += x->gain / n / j->values;
        text_add(&t->row, "%lld,%.9g,%d,%.9g,%.9g,%.9g\n", (long long)train_counted(t, p),
                 value_of(j, i), x->episodes, x->gain / n, x->success / n, x->reached / n);
    }
    events_add(p->run.events, "eval/mean_reward", gain);
    int rc = events_write(p->run.events, train_counted(t, p));
    return rc < 0 ? rc : run_row(&p->run, &p->run.evals, &t->row);
}

json_t *train_evals_json(const training *t, int r)
{
    char path[RUN_PATH];
    evals e;
    if (!train_evaluates(t) || !train_keeps(t, r)) return NULL;
    if (run_file(&t->replicas[r].run, "evals.csv", path) < 0 || evals_read(&e, path) < 0)
        return NULL;
    json_t *all = evals_json(&e);
    evals_free(&e);
    return all;
}

/* ---- evaluating ------------------------------------------------------------------------------ */

bool train_evaluates(const training *t)
{
    return t->s.options.eval_every > 0;
}

static int play_all(training *t, judged *all)
{
    play *p = NULL;
    uint64_t *seeds = mem_alloc((size_t)t->count * sizeof *seeds);
    int rc = seeds ? 0 : FANS_ENOMEM, over = 0;
    TRY(rc);
    for (int r = 0; r < t->count; r++) seeds[r] = t->seeds[r] + SEED;
    TRY(play_new_each(&p, t, seeds));
    for (int r = 0; r < t->count; r++) TRY(choose(p, r, &all[r]));
    while (over < t->count) TRY(live(t, p, all, &over));
out:
    mem_free(seeds);
    int ended = play_end(p);
    return rc < 0 ? rc : ended;
}

static int evaluate(training *t)
{
    int rc = 0;
    judged *all = mem_alloc((size_t)t->count * sizeof *all);
    if (!all) return FANS_ENOMEM;
    for (int r = 0; r < t->count; r++) {
        all[r].chosen = find_chosen(t, r);
        all[r].values = all[r].chosen ? all[r].chosen->choices : 1;
        all[r].of = mem_alloc((size_t)all[r].values * sizeof *all[r].of);
        TRY(all[r].of ? 0 : FANS_ENOMEM);
    }
    TRY(play_all(t, all));
    for (int r = 0; r < t->count; r++) TRY(write_eval(t, r, &all[r]));
out:
    for (int r = 0; r < t->count; r++) mem_free(all[r].of);
    mem_free(all);
    return rc;
}

int train_evaluate(training *t)
{
    int64_t every = t->s.options.eval_every, now = t->replicas[0].tick * t->worlds_each;
    bool due =
        train_evaluates(t) && train_keeps(t, 0) && now / every > (now - t->worlds_each) / every;
    return due ? evaluate(t) : 0;
}
