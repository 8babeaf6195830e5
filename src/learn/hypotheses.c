/* hypotheses.c - q_phi once more, for a belief that starts with the segment. */
#include "learn/hypotheses.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/belief.h"
#include "learn/evidence.h"

enum { CARRIED, FRESH, BELIEFS };

static const double DECIDED = 3; /* log odds, either way: 95 % */

/* Numbers of a kind of theta in a belief: means, log_stds, states. */
typedef struct part {
    int at, count;
} part;
enum { PARTS = 3 };

struct hypotheses {
    fnvae *f;
    arena *memory;
    int rows, n; /* worlds of all replicas; p + q */
    double prior;
    part parts[HYPOTHESES_KINDS][PARTS];
    online fresh; /* carries a belief */
    evidence judge;
    float *log_odds; /* [row][kind] */
    float *lived;    /* [row]: steps of the segment that the fresh belief has seen */
    bool pending;    /* errors are queued */
};

/* ---- recording ------------------------------------------------------------------------------- */

static int record(hypotheses *h)
{
    fnvae *f = h->f;
    int rc = 0, state = 4 * f->o.lstm;
    online_step step;
    TRY(evidence_record(&h->judge, h->memory, f, BELIEFS));
    TRY(online_record(&h->fresh, h->memory, f->g, f->replay, 1, state, &step));
    TRY(online_give(&h->fresh, h->memory, belief_record_step(f, step), 2 * h->n + state));
out:
    return rc;
}

int hypotheses_new(hypotheses **out, fnvae *f, double prior)
{
    int rc = 0, p = f->z.p, q = f->z.q, n = p + q, state = 2 * f->o.lstm;
    hypotheses *h = mem_alloc(sizeof *h);
    if (!h) return FANS_ENOMEM;
    *h = (hypotheses){
        .f = f,
        .rows = f->replicas * f->worlds,
        .n = n,
        .prior = prior,
        .parts = {{{0, p}, {n, p}, {2 * n, state}}, {{p, q}, {n + p, q}, {2 * n + state, state}}}};
    TRY(arena_new(&h->memory));
    TRY(record(h));
    *out = h;
out:
    if (rc < 0) hypotheses_free(h);
    return rc;
}

int hypotheses_plan(hypotheses *h)
{
    int rc = evidence_plan(&h->judge);
    return rc < 0 ? rc : online_plan(&h->fresh);
}

int hypotheses_ready(hypotheses *h)
{
    size_t rows = (size_t)h->rows * sizeof(float);
    int rc = 0;
    TRY(arena_declare(h->memory, &h->log_odds, rows * HYPOTHESES_KINDS));
    TRY(arena_declare(h->memory, &h->lived, rows));
    TRY(arena_commit(h->memory));
    evidence_start(&h->judge);
    for (int i = 0; i < h->rows; i++) hypotheses_reset(h, i);
out:
    return rc;
}

void hypotheses_free(hypotheses *h)
{
    if (!h) return;
    arena_free(h->memory);
    mem_free(h);
}

/* ---- weights --------------------------------------------------------------------------------- */

static float *log_odds_of(const hypotheses *h, int row)
{
    return h->log_odds + (size_t)row * HYPOTHESES_KINDS;
}

void hypotheses_weights(const hypotheses *h, int row, float *w)
{
    for (int k = 0; k < HYPOTHESES_KINDS; k++) w[k] = 1 / (1 + expf(-log_odds_of(h, row)[k]));
}

static void start_afresh(hypotheses *h, int row)
{
    online_reset(&h->fresh, row);
    h->lived[row] = 0;
    for (int k = 0; k < HYPOTHESES_KINDS; k++)
        log_odds_of(h, row)[k] = (float)log(h->prior / (1 - h->prior));
}

void hypotheses_reset(hypotheses *h, int row)
{
    start_afresh(h, row);
}

/* The belief that carries on becomes the fresh one, as to one kind of theta. */
static void take_over(const hypotheses *h, int row, int kind, float *carried)
{
    const float *fresh = online_of(&h->fresh, row);
    for (int i = 0; i < PARTS; i++) {
        part x = h->parts[kind][i];
        memcpy(carried + x.at, fresh + x.at, (size_t)x.count * sizeof *carried);
    }
}

void hypotheses_split(hypotheses *h, int row, float *carried)
{
    for (int k = 0; k < HYPOTHESES_KINDS; k++)
        if (h->lived[row] > 0 && log_odds_of(h, row)[k] > 0) take_over(h, row, k, carried);
    start_afresh(h, row);
}

void hypotheses_mix(const hypotheses *h, int row, const float *carried, float *to)
{
    float w[HYPOTHESES_KINDS] = {0}; /* of a fresh belief that has seen nothing yet */
    if (h->lived[row] > 0) hypotheses_weights(h, row, w);
    hypotheses_blend(h->f->z, w, carried, online_of(&h->fresh, row), true, to);
}

void hypotheses_blend(fnvae_dims z, const float *w, const float *carried, const float *fresh,
                      bool spread, float *to)
{
    int n = z.p + z.q;
    for (int i = 0; i < n; i++) {
        float u = w[i >= z.p], gap = fresh[i] - carried[i];
        to[i] = carried[i] + u * gap;
        if (!spread) continue;
        float variance = (1 - u) * expf(2 * carried[n + i]) + u * expf(2 * fresh[n + i]);
        to[n + i] = 0.5F * logf(variance + u * (1 - u) * gap * gap);
    }
}

/* ---- a step ---------------------------------------------------------------------------------- */

void hypotheses_note(hypotheses *h, int row, const float *obs, const float *action, float reward,
                     const float *next_obs, bool change)
{
    online_note(&h->fresh, row, obs, action, reward, next_obs, change);
}

int hypotheses_begin(hypotheses *h, const online *carried)
{
    int rc = 0;
    for (int i = 0; i < h->rows; i++) {
        const float *step = online_seen(&h->fresh, i);
        evidence_guess(&h->judge, i, CARRIED, step, online_of(carried, i));
        evidence_guess(&h->judge, i, FRESH, step, online_of(&h->fresh, i));
    }
    TRY(evidence_run(&h->judge));
    TRY(online_begin(&h->fresh));
    h->pending = true;
out:
    return rc;
}

static void weigh(hypotheses *h, int row, int kind, float *carried)
{
    float *odds = log_odds_of(h, row) + kind;
    double gain =
        evidence_of(&h->judge, row, FRESH, kind) - evidence_of(&h->judge, row, CARRIED, kind);
    *odds = (float)fmin(fmax((double)*odds + gain, -2 * DECIDED), 2 * DECIDED);
    if ((double)*odds > DECIDED) take_over(h, row, kind, carried);
}

/* In the first step of a segment the fresh belief has nothing to predict from. */
void hypotheses_finish(hypotheses *h, online *carried)
{
    if (!h->pending) return;
    h->pending = false;
    evidence_read(&h->judge);
    online_finish(&h->fresh);
    for (int i = 0; i < h->rows; i++) {
        for (int k = 0; h->lived[i] > 0 && k < HYPOTHESES_KINDS; k++)
            weigh(h, i, k, online_of(carried, i));
        h->lived[i]++;
    }
}

/* ---- state ----------------------------------------------------------------------------------- */

void hypotheses_carried(hypotheses *h, int replica, state_list *s)
{
    int N = h->f->worlds, first = replica * N;
    online_carried(&h->fresh, replica, "hypotheses/fresh", s);
    state_add(s, "hypotheses/log_odds", FANS_F32, 2, (int64_t[]){N, HYPOTHESES_KINDS},
              log_odds_of(h, first));
    state_range(s, -1000, 1000);
    state_add(s, "hypotheses/lived", FANS_F32, 1, (int64_t[]){N}, h->lived + first);
    state_range(s, 0, STATE_COUNT);
}
