/* model_eval.c - how good a model is: its graph, its beliefs and its predictions, on new data. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "learn/linear_map.h"
#include "train/model_run.h"

enum { FRESH = 1 }; /* index of the lifetime that models are scored on */

/* ---- the graph ------------------------------------------------------------------------------- */

/* If factors are observed, every mask is scored. Latent factors are known only up to order and
 * mixture: then C_tt is not identifiable, and of C_ts only which states it touches. */
static void score_masks(const model_run *m, const causal_graph *g, const task_graph *t,
                        model_eval *e)
{
    const uint8_t *truth[] = {t->C_ss, t->C_as, t->C_ts, t->c_sr, t->c_ar, t->C_tt_s, t->C_tt_r};
    e->all = causal_count(0, 0, 0);
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        bool factors = k == CAUSAL_C_ts || k == CAUSAL_C_tt_s || k == CAUSAL_C_tt_r;
        if (factors && !m->o.observed) continue;
        e->mask[k] = causal_compare(g, k, truth[k]);
        e->all = causal_sum(e->all, e->mask[k]);
    }
    e->touched = causal_compare_touched(g, t->C_ts, t->p);
    if (!m->o.observed) e->all = causal_sum(e->all, e->touched);
}

static int eval_graph(const model_run *m, model_eval *e)
{
    int rc = 0;
    causal_graph *g = NULL;
    task_graph truth = {0};
    if (task_truth(m->task, &truth) < 0) return 0;
    e->graph_known = true;
    TRY(causal_graph_new(&g, m->f->z));
    causal_graph_of(g, m->f, 0);
    score_masks(m, g, &truth, e);
out:
    causal_graph_free(g);
    task_graph_free(&truth);
    return rc;
}

/* ---- beliefs --------------------------------------------------------------------------------- */

typedef struct probe {
    const model_run *m;
    replay *life, *own; /* the data; NULL where they are the model's */
    belief *b;
    arena *memory;
    int episodes, k;            /* found so far; p + q */
    float *beliefs[EVAL_TIMES]; /* [episode][k] */
    double *truth[EVAL_TIMES];  /* [factor][episode] */
    float *average;             /* [k] */
    int most;
    int *steps;             /* rows of `life` that are steps */
    double error[2];        /* states, reward */
    int step;               /* of the episode */
    int counts[EVAL_TIMES]; /* samples */
} probe;

/* A step of the fresh data. */
typedef struct visited {
    int row;
    replay_row here, next;
    bool first, change, ends; /* first of its episode; first of its segment; last of its episode */
} visited;

static visited visit_row(const probe *p, int i)
{
    visited v = {.row = i, .here = replay_at(p->life, 0, i), .next = replay_at(p->life, 0, i + 1)};
    v.first = i == 0 || replay_at(p->life, 0, i - 1).last;
    v.change = i > 0 && replay_at(p->life, 0, i - 1).segment != v.here.segment;
    v.ends = v.next.last;
    return v;
}

static double factor_of(const probe *p, const visited *v, int i)
{
    int dynamics = p->m->truth.p;
    int column = i < dynamics ? FNVAE_COLUMN_THETA_S : FNVAE_COLUMN_THETA_R;
    const float *theta = replay_beside(p->life, 0, v->row, column);
    return (double)theta[i < dynamics ? i : i - dynamics];
}

static void note_step(const probe *p, const visited *v)
{
    belief_note(p->b, 0, v->here.obs, v->here.action, v->here.reward, v->next.obs, v->change);
}

/* Episodes that end before `time` give no sample of it. */
static void record(probe *p, int time, const visited *v)
{
    if (p->counts[time] == p->most) return;
    size_t at = (size_t)p->counts[time]++;
    memcpy(p->beliefs[time] + at * (size_t)p->k, belief_mean(p->b, 0),
           (size_t)p->k * sizeof(float));
    for (int i = 0; i < p->m->truth.p + p->m->truth.q; i++)
        p->truth[time][(size_t)i * (size_t)p->most + at] = factor_of(p, v, i);
}

/* Adds the decoders' squared errors, before the belief sees the transition. */
static int add_errors(probe *p, const visited *v)
{
    const fnvae *f = p->m->f;
    int rc = belief_decode(p->b);
    if (rc < 0) return rc;
    const float *guess = belief_expected(p->b, 0);
    for (int i = 0; i < f->z.d; i++) {
        double ds = (double)v->next.obs[i] - (double)v->here.obs[i];
        p->error[0] += pow(fnvae_to(f, 0, SCALE_DS, i, ds) - (double)guess[i], 2) / f->z.d;
    }
    p->error[1] +=
        pow(fnvae_to(f, 0, SCALE_R, 0, (double)v->here.reward) - (double)guess[f->z.d], 2);
    return 0;
}

/* One transition: predict, compare, correct. */
static int visit(probe *p, int i, int count)
{
    int rc = 0;
    visited v = visit_row(p, i);
    if (v.first) {
        p->episodes++;
        p->step = 0;
        record(p, EVAL_CARRIED, &v);
    }
    TRY(belief_predict(p->b, &(uint8_t){v.change}));
    if (v.first) record(p, EVAL_START, &v);
    for (int j = 0; j < p->k; j++) p->average[j] += belief_mean(p->b, 0)[j] / (float)count;
    note_step(p, &v);
    TRY(add_errors(p, &v));
    TRY(belief_correct(p->b));
    if (++p->step == 10) record(p, EVAL_TEN, &v);
    if (p->step == p->episodes * 7 % p->m->task->info.horizon + 1)
        record(p, EVAL_ANY, &v); /* a different step in each episode */
    if (v.ends) record(p, EVAL_END, &v);
out:
    return rc;
}

/* The same errors with theta at its average: a model that ignores changes. */
static int visit_blind(probe *p, int i)
{
    visited v = visit_row(p, i);
    note_step(p, &v);
    return add_errors(p, &v);
}

/* On the model's own data, or on fresh ones. */
static int probe_new(probe *p, const model_run *m, int episodes, bool fresh)
{
    int rc = 0;
    size_t n = (size_t)episodes, factors = (size_t)(m->truth.p + m->truth.q) + 1;
    p->m = m;
    p->most = episodes;
    p->k = m->f->z.p + m->f->z.q;
    TRY(arena_new(&p->memory));
    for (int t = 0; t < EVAL_TIMES; t++) {
        TRY(arena_declare(p->memory, &p->beliefs[t], n * (size_t)p->k * sizeof(float)));
        TRY(arena_declare(p->memory, &p->truth[t], n * factors * sizeof(double)));
    }
    TRY(arena_declare(p->memory, &p->average, (size_t)p->k * sizeof(float)));
    TRY(arena_commit(p->memory));
    int count = episodes * m->task->info.horizon;
    if (fresh) {
        TRY(model_run_replay(m, &p->own, count));
        TRY(model_run_collect(m, p->own, FRESH, count));
    }
    p->life = fresh ? p->own : m->data_rows;
    size_t rows = (size_t)replay_rows(p->life, 0);
    TRY((p->steps = mem_alloc((rows + 8) * sizeof *p->steps)) ? 0 : FANS_ENOMEM);
    p->b = m->belief;
    belief_reset(p->b, 0);
out:
    return rc;
}

static void probe_free(probe *p)
{
    replay_free(p->own);
    mem_free(p->steps);
    arena_free(p->memory);
}

static int eval_beliefs(const model_run *m, int episodes, model_eval *e)
{
    int rc = 0;
    probe p = {0};
    TRY(probe_new(&p, m, episodes, true));
    int n = replay_list_steps(p.life, 0, p.steps);
    for (int i = 0; i < n; i++) TRY(visit(&p, p.steps[i], n));
    for (int t = 0; t < EVAL_TIMES; t++)
        for (int i = 0; i < e->factors; i++)
            TRY(linear_map_r2(&e->r2[t][i], p.beliefs[t], p.k, p.truth[t] + i * episodes,
                              p.counts[t]));
    e->error = p.error[0] / n;
    e->error_r = p.error[1] / n;
    p.error[0] = p.error[1] = 0;
    belief_set(p.b, 0, p.average, p.k);
    for (int i = 0; i < n; i++) TRY(visit_blind(&p, p.steps[i]));
    e->error_blind = p.error[0] / n;
    e->error_r_blind = p.error[1] / n;
out:
    probe_free(&p);
    return rc;
}

int model_run_score(const model_run *m, double *nats)
{
    enum { EPISODES = 100 };
    int rc = 0, horizon = m->task->info.horizon;
    probe p = {0};
    TRY(probe_new(&p, m, EPISODES, false));
    int n = replay_list_steps(p.life, 0, p.steps);
    int from = n > EPISODES * horizon ? n - EPISODES * horizon : 0;
    for (int i = from; i < n; i++) TRY(visit(&p, p.steps[i], n - from));
    *nats = 0.5 * (m->f->z.d * log(p.error[0] / (n - from)) + log(p.error[1] / (n - from)));
out:
    probe_free(&p);
    return rc;
}

int model_run_eval(const model_run *m, int episodes, model_eval *e)
{
    *e = (model_eval){.factors = m->truth.p + m->truth.q};
    int rc = eval_graph(m, e);
    if (rc == 0 && !m->o.observed) rc = eval_beliefs(m, episodes, e);
    return rc;
}

/* ---- figures --------------------------------------------------------------------------------- */

static const char *const times[EVAL_TIMES] = {"start", "ten", "end", "any", "carried"};

static json_t *score_json(causal_score s)
{
    return json_pack("{si si si sf sf sf si}", "hits", s.hits, "extra", s.extra, "missing",
                     s.missing, "precision", s.precision, "recall", s.recall, "f1", s.f1, "shd",
                     s.shd);
}

bool model_eval_judges(const model_run *m, int mask)
{
    return m->o.observed || (mask != CAUSAL_C_ts && mask != CAUSAL_C_tt_s && mask != CAUSAL_C_tt_r);
}

/* Factors in the model's order: those of the dynamics, then those of the reward. */
const char *model_eval_factor(const model_run *m, int i)
{
    const fans_env_info *info = &m->task->info;
    for (int kind = 0; kind < 2; kind++)
        for (int k = 0; k < info->factor_count; k++)
            if ((info->factors[k].kind == FANS_DYNAMICS) == (kind == 0) && i-- == 0)
                return info->factors[k].name;
    return "";
}

json_t *model_eval_json(const model_run *m, const model_eval *e)
{
    json_t *out = json_object();
    if (e->graph_known) {
        json_t *graph = json_object();
        for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
            if (model_eval_judges(m, k))
                json_object_set_new(graph, causal_mask_names[k], score_json(e->mask[k]));
        json_object_set_new(graph, "touched", score_json(e->touched));
        json_object_set_new(graph, "all", score_json(e->all));
        json_object_set_new(out, "graph", graph);
    }
    if (m->o.observed) return out;
    json_t *r2 = json_object();
    for (int t = 0; t < EVAL_TIMES; t++) {
        json_t *row = json_object();
        for (int i = 0; i < e->factors; i++) {
            double x = e->r2[t][i];
            json_object_set_new(row, model_eval_factor(m, i), json_number(x));
        }
        json_object_set_new(r2, times[t], row);
    }
    json_object_set_new(out, "r2", r2);
    json_object_set_new(out, "error",
                        json_pack("{sf sf sf sf}", "state", e->error, "state_blind", e->error_blind,
                                  "reward", e->error_r, "reward_blind", e->error_r_blind));
    return out;
}
