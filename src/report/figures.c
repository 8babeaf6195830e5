/* figures.c - final returns, areas, scores and tests of one task; standings over all of them. */
#include "report/figures.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

enum { BOOTSTRAP_SEED = 0 };

/* ---- one method ------------------------------------------------------------------------------ */

static int gather(method *m)
{
    double *memory = mem_alloc(4 * m->count * sizeof *memory);
    if (!memory) return FANS_ENOMEM;
    m->final = memory;
    m->area = memory + m->count;
    m->time = memory + 2 * m->count;
    m->scores = memory + 3 * m->count;
    for (size_t i = 0; i < m->count; i++) {
        const record *r = m->runs[i];
        if (!r->episodes) continue;
        m->final[m->n] = r->final;
        m->area[m->n] = r->area;
        m->time[m->n++] = r->time;
    }
    m->score = NAN;
    return 0;
}

static double iqm_of(const double *x, int n, double *copy)
{
    memcpy(copy, x, (size_t)n * sizeof *x);
    return n > 0 ? stats_iqm(copy, n) : NAN;
}

static int average(method *m)
{
    double *copy = mem_alloc(m->count * sizeof *copy);
    if (!copy) return FANS_ENOMEM;
    m->iqm = iqm_of(m->final, m->n, copy);
    mem_free(copy);
    return stats_bootstrap(m->final, &m->n, 1, stats_iqm, BOOTSTRAP_SEED, &m->iqm_range);
}

/* ---- pairs ----------------------------------------------------------------------------------- */

/* Final returns of the seeds that both have, in x and y; returns how many: no more than either has
 * runs, as a seed is there once. */
static int pair_up(const method *a, const method *b, double *x, double *y)
{
    int n = 0;
    for (size_t i = 0; i < a->count; i++)
        for (size_t k = 0; k < b->count; k++)
            if (a->runs[i]->seed == b->runs[k]->seed && a->runs[i]->episodes &&
                b->runs[k]->episodes) {
                x[n] = a->runs[i]->final;
                y[n++] = b->runs[k]->final;
            }
    return n;
}

/* ---- scores ---------------------------------------------------------------------------------- */

static void find_anchors(contest *t)
{
    for (size_t i = 0; i < t->count; i++) {
        const char *algo = t->methods[i].uncounted ? "" : t->methods[i].runs[0]->algo;
        if (!strcmp(algo, "sac") && t->sac < 0) t->sac = (int)i;
        if (!strcmp(algo, "oracle") && t->oracle < 0) t->oracle = (int)i;
    }
}

/* 0 is sac's mean and 1 the oracle's, over the seeds that both have. */
static void score(contest *t, double *x, double *y)
{
    find_anchors(t);
    t->gap = t->noise = NAN;
    if (t->sac < 0 || t->oracle < 0) return;
    int n = pair_up(&t->methods[t->sac], &t->methods[t->oracle], x, y);
    double zero = stats_mean(x, n);
    t->gap = stats_mean(y, n) - zero;
    t->noise = stats_pooled_sd(x, n, y, n);
    t->has_gap = t->gap > 2 * t->noise;
    if (!t->has_gap) return;
    for (size_t i = 0; i < t->count; i++) {
        method *m = &t->methods[i];
        for (int k = 0; k < m->n; k++) m->scores[k] = (m->final[k] - zero) / t->gap;
        m->score = stats_mean(m->scores, m->n);
    }
}

static size_t most_runs(const contest *t)
{
    size_t most = 0;
    for (size_t i = 0; i < t->count; i++)
        if (t->methods[i].count > most) most = t->methods[i].count;
    return most;
}

int figures_of(contest *t)
{
    size_t most = most_runs(t);
    int rc = 0;
    double *x = mem_alloc(most * sizeof *x), *y = mem_alloc(most * sizeof *y);
    t->p = mem_alloc(t->count * t->count * sizeof *t->p);
    TRY(x && y && t->p ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < t->count; i++) {
        TRY(gather(&t->methods[i]));
        TRY(average(&t->methods[i]));
    }
    score(t, x, y);
    for (size_t i = 0; i < t->count; i++)
        for (size_t k = 0; k < t->count; k++) {
            int n = pair_up(&t->methods[i], &t->methods[k], x, y);
            stats_wilcoxon *p = &t->p[i * t->count + k];
            TRY(stats_signed_ranks(x, y, n, p));
            if (n < 2) p->p = NAN; /* a single pair says nothing */
        }
out:
    mem_free(x);
    mem_free(y);
    return rc;
}

/* ---- over all tasks -------------------------------------------------------------------------- */

static const method *find(const contest *t, const char *label)
{
    for (size_t i = 0; t->has_gap && i < t->count; i++)
        if (!strcmp(t->methods[i].label, label) && t->methods[i].n > 0) return &t->methods[i];
    return NULL;
}

/* `scores` and `copy` have room for every run, `counts` for every task. */
static int stand(const contests *c, standing *s, double *scores, double *copy, int *counts)
{
    int total = 0, others = 0, rc = 0;
    double better = 0;
    size_t tasks = c->count, runs = c->record_count;
    double *finals = mem_alloc(2 * runs * sizeof *finals), *sacs = finals + runs;
    int *sac_counts = mem_alloc(tasks * sizeof *sac_counts);
    TRY(finals && sac_counts ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < c->count; i++) {
        const method *m = find(&c->list[i], s->label);
        if (!m) continue;
        const method *sac = &c->list[i].methods[c->list[i].sac];
        memcpy(scores + total, m->scores, (size_t)m->n * sizeof *scores);
        memcpy(finals + total, m->final, (size_t)m->n * sizeof *finals);
        memcpy(sacs + others, sac->final, (size_t)sac->n * sizeof *sacs);
        others += sac_counts[s->tasks] = sac->n;
        total += counts[s->tasks++] = m->n;
        better += stats_improvement(m->final, m->n, sac->final, sac->n);
    }
    s->iqm = iqm_of(scores, total, copy);
    s->improvement = s->tasks ? better / s->tasks : NAN;
    TRY((s->scores = mem_alloc((size_t)total * sizeof *scores)) ? 0 : FANS_ENOMEM);
    memcpy(s->scores, scores, (size_t)total * sizeof *scores);
    s->runs = total;
    TRY(stats_improvement_interval(finals, counts, sacs, sac_counts, s->tasks, BOOTSTRAP_SEED,
                                   &s->improvement_range));
    TRY(stats_bootstrap(scores, counts, s->tasks, stats_iqm, BOOTSTRAP_SEED, &s->range));
out:
    mem_free(finals);
    mem_free(sac_counts);
    return rc;
}

int figures_standings(contests *c)
{
    int rc = 0;
    double *scores = mem_alloc(c->record_count * sizeof *scores);
    double *copy = mem_alloc(c->record_count * sizeof *copy);
    int *counts = mem_alloc(c->count * sizeof *counts);
    c->standings = mem_alloc((size_t)c->colours * sizeof *c->standings);
    TRY(scores && copy && counts && c->standings ? 0 : FANS_ENOMEM);
    /* colours count labels, in the order in which they appear */
    for (size_t i = 0; i < c->count; i++)
        for (size_t k = 0; k < c->list[i].count; k++) {
            const method *m = &c->list[i].methods[k];
            if (m->colour != c->standing_count) continue;
            standing *s = &c->standings[c->standing_count++];
            *s = (standing){.label = m->label, .colour = m->colour};
            TRY(stand(c, s, scores, copy, counts));
        }
out:
    mem_free(scores);
    mem_free(copy);
    mem_free(counts);
    return rc;
}
