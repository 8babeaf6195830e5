/* foresight.c - asks the prior; encodes the replay again. */
#include "learn/foresight.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

enum { SWEEP = 1024 }; /* steps encoded at once */

static size_t bytes_of(const foresight *f)
{
    return (size_t)f->n * sizeof(float);
}

/* ---- recording ------------------------------------------------------------------------------- */

static int record_question(foresight *f, question *q, arena *memory, nn_graph *g,
                           const lilac_net *net, const char *name, int T)
{
    int rc = 0;
    q->T = T;
    TRY(staged_numbers(&q->z, memory, g, name, T, f->worlds, f->n));
    q->answer = lilac_record_prior(net, q->z.var);
out:
    return rc;
}

static int record_questions(foresight *f, arena *memory, nn_graph *g, const lilac_net *net,
                            int history, int recall)
{
    size_t bytes = (size_t)f->rows * bytes_of(f);
    int rc = 0;
    TRY(record_question(f, &f->soon, memory, g, net, "recent latents", recall));
    TRY(staged_rows(&f->last, memory, g, "last latent", 1, f->worlds, 1));
    f->soon.answer = nn_pick(f->soon.answer, f->last.var);
    TRY(record_question(f, &f->all, memory, g, net, "all latents", history));
    TRY(arena_declare(memory, &f->soon.host, bytes));
    TRY(arena_declare(memory, &f->all.host, (size_t)history * bytes));
out:
    return rc;
}

static int record_sweep(foresight *f, arena *memory, nn_graph *g, const lilac_net *net,
                        const seen_units *units)
{
    int rc = 0;
    TRY(staged_rows(&f->at, memory, g, "swept", 1, SWEEP, 1));
    TRY(staged_rows(&f->next, memory, g, "swept next", 1, SWEEP, 1));
    f->codes = lilac_record_codes(net, see_rows(units, f->at.var, f->next.var));
    TRY(arena_declare(memory, &f->codes_host, (size_t)f->replicas * SWEEP * bytes_of(f)));
out:
    return rc;
}

int foresight_record(foresight *f, arena *memory, nn_graph *g, const lilac_net *net,
                     const seen_units *units, replay *r, int history, int recall)
{
    const replay_shape *z = replay_shape_of(r);
    size_t R = (size_t)z->replicas;
    int rc = 0;
    *f = (foresight){.replay = r,
                     .replicas = z->replicas,
                     .worlds = z->worlds,
                     .rows = z->replicas * z->worlds,
                     .n = net->latents};
    TRY(episodes_declare(&f->episodes, memory, f->rows, history, f->n));
    TRY(record_questions(f, memory, g, net, history, recall));
    TRY(record_sweep(f, memory, g, net, units));
    TRY(arena_declare(memory, &f->shift, R * bytes_of(f)));
    TRY(arena_declare(memory, &f->scale, R * bytes_of(f)));
    TRY(arena_declare(memory, &f->gap, R * sizeof *f->gap));
out:
    return rc;
}

int foresight_plan(foresight *f, nn_graph *g)
{
    int rc = 0;
    TRY(nn_plan_new(&f->soon.plan, g, &f->soon.answer, 1, 0, NULL, 0));
    TRY(nn_plan_new(&f->all.plan, g, &f->all.answer, 1, 0, NULL, 0));
    TRY(nn_plan_new(&f->encode, g, &f->codes, 1, 0, NULL, 0));
out:
    return rc;
}

void foresight_free(foresight *f)
{
    sweep_free(f->sweep);
}

/* ---- asking ---------------------------------------------------------------------------------- */

/* About the last T latents of every lifetime, or as many as there are. */
static int ask(const foresight *f, const question *q)
{
    int W = f->worlds, T = q->T;
    for (int i = 0; i < f->rows; i++) {
        int known = episodes_known(&f->episodes, i);
        float *to = numbers_of(&q->z, i / W) + i % W * f->n;
        episodes_copy(&f->episodes, i, known > T ? known - T : 0, T, to, W * f->n);
    }
    staged_send(&q->z);
    int rc = nn_plan_run(q->plan);
    if (rc == 0) nn_read_all(q->answer, q->host);
    return rc;
}

int foresight_next(foresight *f)
{
    for (int i = 0; i < f->rows; i++) {
        int known = episodes_known(&f->episodes, i);
        rows_of(&f->last, 0)[i] = (known < f->soon.T ? known : f->soon.T) - 1;
    }
    staged_send(&f->last);
    return ask(f, &f->soon);
}

const float *foresight_of(const foresight *f, int row)
{
    return f->soon.host + row * f->n;
}

/* What the prior expects of an episode, given those before; NULL if none of these is known. */
static const float *expected(const foresight *f, int lane, int e)
{
    int W = f->worlds, row = (lane / W * f->all.T + e - 1) * W + lane % W;
    return e > 0 ? f->all.host + (size_t)row * (size_t)f->n : NULL;
}

/* ---- encoding again -------------------------------------------------------------------------- */

static void take_step(void *self, int replica, int b, const replay_step *step)
{
    const foresight *f = self;
    rows_of(&f->at, replica)[b] = step->at;
    rows_of(&f->next, replica)[b] = step->next;
}

static int encode(void *self)
{
    const foresight *f = self;
    staged_send(&f->at);
    staged_send(&f->next);
    int rc = nn_plan_run(f->encode);
    if (rc == 0) nn_read_all(f->codes, f->codes_host);
    return rc;
}

static void keep_code(void *self, int replica, int b, int t, int lane, int i)
{
    const foresight *f = self;
    const float *code = f->codes_host + ((size_t)replica * SWEEP + (size_t)b) * (size_t)f->n;
    (void)t;
    memcpy(replay_beside(f->replay, lane, i, 0), code, bytes_of(f));
}

int foresight_start(foresight *f, double floor)
{
    f->floor = floor;
    for (int k = 0; k < f->replicas * f->n; k++) f->scale[k] = 1;
    return sweep_new(&f->sweep, f->replay, 1, SWEEP, 0,
                     (sweep_user){f, take_step, encode, keep_code});
}

/* Calls `visit` for the known episodes of a lane, the latest first: its number, and the rows of its
 * steps [first, end). */
static void each_episode(foresight *f, int lane,
                         void (*visit)(foresight *f, int lane, int e, int first, int end))
{
    int end = replay_rows(f->replay, lane);
    for (int e = episodes_known(&f->episodes, lane), first; e >= 0 && end > 0; e--) {
        for (first = end; first > 0 && !replay_at(f->replay, lane, first - 1).last;) first--;
        visit(f, lane, e, first, end);
        end = first - 1; /* there is the last row of the episode before */
    }
}

/* An ended episode's latent, from its codes. */
static void average(foresight *f, int lane, int e, int first, int end)
{
    if (e == episodes_known(&f->episodes, lane) || first == end) return;
    float *z = episodes_at(&f->episodes, lane, e);
    memset(z, 0, bytes_of(f));
    for (int i = first; i < end; i++) {
        const float *code = replay_beside(f->replay, lane, i, 0);
        for (int k = 0; k < f->n; k++) z[k] += code[k] / (float)(end - first);
    }
}

/* Stores expectations instead of codes. Of a lifetime's first episode 0 was expected. One whose
 * predecessors are forgotten keeps its codes: nothing pulls them elsewhere. */
static void spread(foresight *f, int lane, int e, int first, int end)
{
    static const float zeros[SWEEP_MOST];
    const float *p = expected(f, lane, e);
    if (e == episodes_known(&f->episodes, lane)) p = f->acted + lane * f->n;
    if (e == 0 && f->episodes.lived[lane] <= f->episodes.most) p = zeros;
    for (int i = first; p && i < end; i++)
        memcpy(replay_beside(f->replay, lane, i, 0), p, bytes_of(f));
}

static void average_lane(void *self, int lane)
{
    each_episode(self, lane, average);
}

static void spread_lane(void *self, int lane)
{
    each_episode(self, lane, spread);
}

/* ---- measuring ------------------------------------------------------------------------------- */

typedef struct moments {
    double count, error, squares, sum[SWEEP_MOST]; /* error: of the prior */
} moments;

/* Of the episodes for which the prior had enough to go by. */
static moments find_moments(const foresight *f, int r)
{
    moments m = {0};
    for (int lane = r * f->worlds; lane < (r + 1) * f->worlds; lane++)
        for (int e = FORESIGHT_WARM_UP; e < episodes_known(&f->episodes, lane); e++, m.count++) {
            const float *z = episodes_at(&f->episodes, lane, e), *p = expected(f, lane, e);
            for (int k = 0; k < f->n; k++) {
                m.error += pow((double)(z[k] - p[k]), 2);
                m.squares += pow((double)z[k], 2);
                m.sum[k] += (double)z[k];
            }
        }
    return m;
}

/* In its units latents are about 0 and have a total variance of 1, whatever the encoder made of
 * them. The gap is sqrt(E |P - Z|² / Σ var Z). */
static void measure(void *self, int r)
{
    foresight *f = self;
    moments m = find_moments(f, r);
    if (m.count == 0) return;
    for (int k = 0; k < f->n; k++) m.squares -= m.sum[k] * m.sum[k] / m.count;
    f->gap[r] = (float)sqrt(m.error / fmax(m.squares, 1e-12));
    for (int k = 0; k < f->n; k++) {
        f->shift[r * f->n + k] = (float)(-m.sum[k] / m.count);
        f->scale[r * f->n + k] = (float)(1 / sqrt(fmax(m.squares / m.count, f->floor * f->floor)));
    }
}

int foresight_refresh(foresight *f, pool *p, const float *acted)
{
    int rc = 0;
    f->acted = acted;
    TRY(sweep_run(f->sweep, 0, p));
    pool_run(p, f->rows, average_lane, f);
    TRY(ask(f, &f->all));
    pool_run(p, f->rows, spread_lane, f);
    pool_run(p, f->replicas, measure, f);
    replay_column_changed(f->replay, 0);
out:
    return rc;
}

void foresight_state(foresight *f, int r, state_list *s)
{
    int64_t n = f->n;
    state_add(s, "foresight/shift", FANS_F32, 1, &n, f->shift + r * n);
    state_add(s, "foresight/scale", FANS_F32, 1, &n, f->scale + r * n);
    state_add_number(s, "foresight/gap", FANS_F32, &f->gap[r]);
}
