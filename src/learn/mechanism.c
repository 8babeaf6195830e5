/* mechanism.c - two regressions: the first finds the profiles, the second has them as inputs. */
#include "learn/mechanism.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/features.h"
#include "learn/principal.h"
#include "nn/gemm.h"

static const double CLIP = 4;    /* inputs, in units of their spread */
static const double SHOWS = 3;   /* least variance of a profile, in units of noise */
static const double READS = 0.3; /* the share of what one state tells of the reward from which on
                                    the other counts, too */
enum { ENOUGH = 12 };            /* rows for each input, at least */
enum { STATES, REWARD, KINDS };  /* what a regression is of */
enum { BOTH, BEFORE, AFTER };    /* the states that the reward is regressed on */
enum { PERIODS = 2 };            /* at most */

typedef struct period {
    const blocks *x;
    regression *of[KINDS];
    double *means;           /* (count, d + 1): what blocks add, in units of noise */
    double *profiles;        /* (count, MECHANISM_PROFILES) */
    regression_loss *moving; /* [d + 1]: variance of what blocks add */
} period;

typedef struct search {
    int d, m, periods, profiles, reads;
    period p[PERIODS];
    features f[KINDS];
    double *shift, *unit;  /* [d + m] */
    real *rows;            /* scratch: a block's features and targets */
    bool *in, *marked;     /* scratch: inputs and features */
    regression_loss *lost; /* scratch, [d] */
    arena *memory;
} search;

/* ---- rows ------------------------------------------------------------------------------------ */

static int targets_of(const search *s, int kind)
{
    return kind == STATES ? s->d : 1;
}

static int inputs_of(const search *s, int kind)
{
    return s->d + s->m + (kind == REWARD && s->reads == BOTH ? s->d : 0);
}

static double in_units(const search *s, int k, float x)
{
    return ((double)x - s->shift[k]) * s->unit[k];
}

static double clipped(double x)
{
    return fmin(fmax(x, -CLIP), CLIP);
}

static double *put_inputs(const search *s, const float *x, int from, int n, double *to)
{
    for (int i = 0; i < n; i++) *to++ = clipped(in_units(s, from + i, x[i]));
    return to;
}

/* Features and targets of row t, which belongs to block b. */
static void put_row(const search *s, const period *p, int kind, int b, int t, real *to)
{
    const blocks *x = p->x;
    double z[FEATURES_MOST], *at = z;
    bool after = kind == REWARD && s->reads == AFTER, both = kind == REWARD && s->reads == BOTH;
    at = put_inputs(s, (after ? x->s1 : x->s) + t * s->d, 0, s->d, at);
    at = put_inputs(s, x->a + t * s->m, s->d, s->m, at);
    if (both) at = put_inputs(s, x->s1 + t * s->d, 0, s->d, at);
    for (int k = 0; k < s->profiles; k++) *at++ = clipped(p->profiles[b * MECHANISM_PROFILES + k]);
    features_of(&s->f[kind], z, to);
    to += s->f[kind].count;
    if (kind == REWARD) *to = (real)x->r[t];
    for (int i = 0; kind == STATES && i < s->d; i++)
        to[i] = (real)in_units(s, i, x->s1[t * s->d + i]);
}

static int put_block(const search *s, const period *p, int kind, int b)
{
    int from = p->x->begin[b], n = p->x->begin[b + 1] - from;
    int width = s->f[kind].count + targets_of(s, kind);
    for (int t = 0; t < n; t++) put_row(s, p, kind, b, from + t, s->rows + t * width);
    return n;
}

/* ---- units ----------------------------------------------------------------------------------- */

static void find_unit(search *s, int k, int i)
{
    double sum = 0, squares = 0, n = 0;
    for (int e = 0; e < s->periods; e++) {
        const blocks *x = s->p[e].x;
        for (int t = 0; t < x->rows; t++, n++) {
            double y = (double)(k < s->d ? x->s[t * s->d + i] : x->a[t * s->m + i]);
            sum += y;
            squares += y * y;
        }
    }
    double spread = sqrt(fmax(squares / n - sum / n * (sum / n), 0));
    s->shift[k] = sum / n;
    s->unit[k] = spread > 1e-9 ? 1 / spread : 0;
}

/* ---- regressions ----------------------------------------------------------------------------- */

static int regress_kind(search *s, period *p, int kind)
{
    regression *x;
    int rc = regression_new(&x, s->f[kind].count, targets_of(s, kind));
    if (rc < 0) return rc;
    regression_free(p->of[kind]);
    p->of[kind] = x;
    for (int b = 0; b < p->x->count; b++) {
        int n = put_block(s, p, kind, b);
        regression_add(x, s->rows, n);
    }
    return regression_solve(x);
}

/* Rows that count, in the smaller period: those beyond one per block. */
static double least_rows(const search *s)
{
    double least = INFINITY;
    for (int e = 0; e < s->periods; e++) least = fmin(least, s->p[e].x->rows - s->p[e].x->count);
    return least;
}

static int regress(search *s, bool rich)
{
    int rc = 0;
    double rows = least_rows(s);
    for (int kind = 0; kind < KINDS; kind++) {
        s->f[kind] = features_for(inputs_of(s, kind) + s->profiles, s->profiles, rows, rich);
        for (int e = 0; e < s->periods; e++) TRY(regress_kind(s, &s->p[e], kind));
    }
out:
    return rc;
}

/* ---- profiles -------------------------------------------------------------------------------- */

/* (count, F + Y): the means of blocks. */
static void find_bars(const search *s, const period *p, int kind, double *bars)
{
    int width = s->f[kind].count + targets_of(s, kind);
    for (int b = 0; b < p->x->count; b++) {
        int n = put_block(s, p, kind, b);
        for (int t = 0; t < n; t++)
            for (int j = 0; j < width; j++)
                bars[b * width + j] += (double)s->rows[t * width + j] / n;
    }
}

/* Less their mean, over both periods: factors may differ between them. */
static void centre(double *bars, int count, int width)
{
    for (int j = 0; j < width; j++) {
        double sum = 0;
        for (int b = 0; b < count; b++) sum += bars[b * width + j];
        for (int b = 0; b < count; b++) bars[b * width + j] -= sum / count;
    }
}

/* Variance of a block's mean target, given its mean features, in units of the rows' noise. */
static double uncertainty(const regression *x, const double *bar, int rows)
{
    double sum = 1.0 / rows;
    for (int i = 0; i < x->F; i++) {
        double part = 0;
        for (int j = 0; j < x->F; j++) part += x->inverse[i * x->F + j] * bar[j];
        sum += bar[i] * part;
    }
    return sum;
}

/* The noise of a target in all periods. */
static double noise_of(const search *s, int kind, int y)
{
    double sum = 0;
    for (int e = 0; e < s->periods; e++) sum += s->p[e].of[kind]->noise[y] / s->periods;
    return sum;
}

/* What each block adds to a target beyond what its features explain. */
static void find_means(const search *s, period *p, int kind, const double *bars)
{
    const regression *x = p->of[kind];
    int count = p->x->count, first = kind == STATES ? 0 : s->d;
    double expected = 0, found[FEATURES_MOST] = {0};
    for (int b = 0; b < count; b++) {
        const double *bar = bars + b * (x->F + x->Y);
        double v = uncertainty(x, bar, p->x->begin[b + 1] - p->x->begin[b]);
        expected += v / count;
        for (int y = 0; y < x->Y; y++) {
            double left = bar[x->F + y], noise = noise_of(s, kind, y);
            for (int f = 0; f < x->F; f++) left -= x->beta[f * x->Y + y] * bar[f];
            found[y] += left * left / count;
            p->means[b * (s->d + 1) + first + y] = left / sqrt(noise * v);
        }
    }
    for (int y = 0; y < x->Y; y++) {
        double noise = expected * x->noise[y];
        p->moving[first + y] =
            (regression_loss){fmax(found[y] - noise, 0), fmax(found[y], noise) * sqrt(2.0 / count)};
    }
}

static int find_block_means(search *s, int kind)
{
    int count = 0, width = s->f[kind].count + targets_of(s, kind);
    for (int e = 0; e < s->periods; e++) count += s->p[e].x->count;
    double *bars = mem_alloc((size_t)count * (size_t)width * sizeof *bars), *at = bars;
    if (!bars) return FANS_ENOMEM;
    for (int e = 0; e < s->periods; at += s->p[e++].x->count * width)
        find_bars(s, &s->p[e], kind, at);
    centre(bars, count, width);
    at = bars;
    for (int e = 0; e < s->periods; at += s->p[e++].x->count * width)
        find_means(s, &s->p[e], kind, at);
    mem_free(bars);
    return 0;
}

static void add_products(const search *s, double *A)
{
    int n = s->d + 1, count = 0;
    for (int e = 0; e < s->periods; e++) count += s->p[e].x->count;
    for (int e = 0; e < s->periods; e++)
        for (int b = 0; b < s->p[e].x->count; b++) {
            const double *w = s->p[e].means + b * n;
            for (int i = 0; i < n; i++)
                for (int j = 0; j < n; j++) A[i * n + j] += w[i] * w[j] / count;
        }
}

static void project(const search *s, period *p, int k, const double *axis, double size)
{
    int n = s->d + 1;
    for (int b = 0; b < p->x->count; b++) {
        double sum = 0;
        for (int i = 0; i < n; i++) sum += axis[i] * p->means[b * n + i];
        p->profiles[b * MECHANISM_PROFILES + k] = sum / sqrt(size);
    }
}

static int find_profiles(search *s)
{
    int rc = 0;
    size_t n = (size_t)s->d + 1;
    double *A = mem_alloc((2 * n * n + n) * sizeof *A);
    if (!A) return FANS_ENOMEM;
    double *axes = A + n * n, *sizes = axes + n * n;
    for (int kind = 0; kind < KINDS; kind++) TRY(find_block_means(s, kind));
    add_products(s, A);
    principal_axes(A, (int)n, sizes, axes);
    for (int k = 0; k < MECHANISM_PROFILES && k < (int)n && sizes[k] > SHOWS; k++, s->profiles++)
        for (int e = 0; e < s->periods; e++)
            project(s, &s->p[e], k, axes + (size_t)k * n, sizes[k]);
out:
    mem_free(A);
    return rc;
}

/* Two independent errors as one. */
static double together(double a, double b)
{
    return sqrt(a * a + b * b);
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* What all states before the step tell of the reward, or all after it. */
static double told_by(search *s, int first)
{
    memset(s->in, 0, FEATURES_MOST * sizeof *s->in);
    for (int i = 0; i < s->d; i++) s->in[first + i] = true;
    features_with(&s->f[REWARD], s->in, s->marked);
    regression_drop(s->p[0].of[REWARD], s->marked, s->lost);
    return s->lost[0].nats;
}

static void find_reads(search *s)
{
    double before = told_by(s, 0), after = told_by(s, s->d + s->m);
    s->reads = after < READS * before ? BEFORE : before < READS * after ? AFTER : BOTH;
}

/* The inputs of a regression that are the cause j. */
static void mark(search *s, int kind, int j)
{
    int n = inputs_of(s, kind);
    memset(s->in, 0, FEATURES_MOST * sizeof *s->in);
    if (j < s->d + s->m) s->in[j] = true;
    if (kind == REWARD && s->reads == BOTH && j < s->d) s->in[s->d + s->m + j] = true;
    for (int k = 0; j == s->d + s->m && k < s->profiles; k++) s->in[n + k] = true;
    features_with(&s->f[kind], s->in, s->marked);
}

static regression_loss *edge_at(mechanism *out, int effect, int cause)
{
    return &out->edge[effect * (out->d + out->m + 1) + cause];
}

static void find_edges(search *s, mechanism *out)
{
    for (int kind = 0; kind < KINDS; kind++)
        for (int j = 0; j <= s->d + s->m; j++) {
            regression *one = s->p[0].of[kind];
            mark(s, kind, j);
            if (s->periods == 1)
                regression_drop(one, s->marked, s->lost);
            else
                regression_differ(one, s->p[1].of[kind], s->marked, s->lost);
            for (int y = 0; y < one->Y; y++)
                *edge_at(out, kind == STATES ? y : s->d, j) = s->lost[y];
        }
    for (int i = 0; i <= s->d; i++)
        out->signal[i] = s->p[0].of[i < s->d ? STATES : REWARD]->signal[i < s->d ? i : 0];
}

/* A hidden factor may add something to blocks, too. */
static void add_moving(const search *s, mechanism *out)
{
    for (int i = 0; i <= s->d; i++) {
        const regression *x = s->p[0].of[i < s->d ? STATES : REWARD];
        double noise = x->noise[i < s->d ? i : 0];
        const regression_loss *adds = &s->p[0].moving[i];
        regression_loss *e = edge_at(out, i, s->d + s->m);
        e->nats = (s->profiles ? e->nats : 0) + 0.5 * log1p(adds->nats / noise);
        e->error = together(s->profiles ? e->error : 0, 0.5 * adds->error / (noise + adds->nats));
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int check(const blocks *x)
{
    if (2 * x->d + x->m + MECHANISM_PROFILES > FEATURES_MOST)
        return fans_fail(FANS_EINVAL, "%d states and %d actions are too many to find edges", x->d,
                         x->m);
    if (!mechanism_possible(x))
        return fans_fail(FANS_EINVAL, "%d transitions are too few to find edges", x->rows);
    return 0;
}

bool mechanism_possible(const blocks *x)
{
    return x->rows - x->count >= ENOUGH * (2 * x->d + x->m + MECHANISM_PROFILES);
}

static int claim(search *s)
{
    int rc = 0;
    size_t d = (size_t)s->d, n = d + (size_t)s->m;
    TRY(arena_new(&s->memory));
    TRY(arena_declare(s->memory, &s->shift, n * sizeof *s->shift));
    TRY(arena_declare(s->memory, &s->unit, n * sizeof *s->unit));
    TRY(arena_declare(s->memory, &s->rows,
                      BLOCKS_LONGEST * (FEATURES_COUNT + d) * sizeof *s->rows));
    TRY(arena_declare(s->memory, &s->in, FEATURES_MOST * sizeof *s->in));
    TRY(arena_declare(s->memory, &s->marked, FEATURES_COUNT * sizeof *s->marked));
    TRY(arena_declare(s->memory, &s->lost, (d + 1) * sizeof *s->lost));
    for (int e = 0; e < s->periods; e++) {
        period *p = &s->p[e];
        size_t count = (size_t)p->x->count;
        TRY(arena_declare(s->memory, &p->means, count * (d + 1) * sizeof *p->means));
        TRY(arena_declare(s->memory, &p->profiles,
                          count * MECHANISM_PROFILES * sizeof *p->profiles));
        TRY(arena_declare(s->memory, &p->moving, (d + 1) * sizeof *p->moving));
    }
    TRY(arena_commit(s->memory));
out:
    return rc;
}

static void release(search *s)
{
    for (int e = 0; e < s->periods; e++)
        for (int kind = 0; kind < KINDS; kind++) regression_free(s->p[e].of[kind]);
    arena_free(s->memory);
}

static int make(mechanism **out, const search *s)
{
    int rc = 0;
    mechanism *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (mechanism){.d = s->d, .m = s->m};
    x->edge = mem_alloc((size_t)(s->d + 1) * (size_t)(s->d + s->m + 1) * sizeof *x->edge);
    x->signal = mem_alloc((size_t)(s->d + 1) * sizeof *x->signal);
    TRY(x->edge && x->signal ? 0 : FANS_ENOMEM);
    *out = x;
    return 0;
out:
    mechanism_free(x);
    return rc;
}

void mechanism_free(mechanism *x)
{
    if (!x) return;
    mem_free(x->edge);
    mem_free(x->signal);
    mem_free(x);
}

static int search_all(search *s)
{
    int rc = 0;
    for (int k = 0; k < s->d + s->m; k++) find_unit(s, k, k < s->d ? k : k - s->d);
    TRY(regress(s, false));
    TRY(find_profiles(s));
    find_reads(s);
    TRY(regress(s, true));
out:
    return rc;
}

static int run(mechanism **out, const blocks *x, const blocks *later)
{
    int rc = check(x);
    if (rc == 0 && later) rc = check(later);
    if (rc < 0) return rc;
    gemm_guard guard = gemm_enter();
    search s = {.d = x->d, .m = x->m, .periods = later ? 2 : 1, .p = {{.x = x}, {.x = later}}};
    mechanism *found = NULL;
    TRY(claim(&s));
    TRY(search_all(&s));
    TRY(make(&found, &s));
    find_edges(&s, found);
    if (!later) add_moving(&s, found);
    found->profiles = s.profiles;
out:
    release(&s);
    int left = gemm_leave(&guard);
    if (rc == 0) rc = left;
    if (rc < 0)
        mechanism_free(found);
    else
        *out = found;
    return rc;
}

int mechanism_find(mechanism **out, const blocks *x)
{
    return run(out, x, NULL);
}

int mechanism_differ(mechanism **out, const blocks *before, const blocks *after)
{
    return run(out, before, after);
}

/* ---- what it means --------------------------------------------------------------------------- */

const regression_loss *mechanism_edge(const mechanism *x, int effect, int cause)
{
    return &x->edge[effect * (x->d + x->m + 1) + cause];
}

/* Features never fit exactly. What they miss grows with what there is to explain, and a cause that
 * has no edge may explain some of it. Much of this is the same at two times. (Less of the reward's,
 * a single number: its factor's profile is the least exact.) These constants and the odds below
 * were fitted to worlds whose graph is known: results/graphs.py. */
static const double MISFIT = 1e-3, MOVED_MISFIT = 2e-4;

double mechanism_probability(const mechanism *x, int effect, int cause)
{
    static const struct {
        double constant, slope;
    } visible = {-3.02, 3.06}, hidden = {-2.05, 1.22};
    const regression_loss *e = mechanism_edge(x, effect, cause);
    double z = fmax(e->nats, 0) / together(e->error, MISFIT * x->signal[effect]);
    bool seen = cause < x->d + x->m;
    double odds = (seen ? visible.constant : hidden.constant) +
                  (seen ? visible.slope : hidden.slope) * log1p(z * z);
    return 1 / (1 + exp(-odds));
}

double mechanism_unmoved(const mechanism *x, int effect, int cause)
{
    const regression_loss *e = mechanism_edge(x, effect, cause);
    double allowed = (effect < x->d ? MOVED_MISFIT : MISFIT) * x->signal[effect];
    return 0.5 * erfc((e->nats - allowed) / e->error / sqrt(2));
}

static void take(const mechanism *x, causal_graph *g, int mask, int effect, int first)
{
    for (int j = 0; j < g->causes[mask]; j++)
        for (int i = 0; i < g->effects[mask]; i++)
            g->mask[mask][i * g->causes[mask] + j] =
                mechanism_probability(x, effect + i, first + j);
}

/* Among several factors the most open gate has the probability that any touches the state. */
static void take_touched(const mechanism *x, causal_graph *g)
{
    int p = g->z.p;
    for (int i = 0; i < g->z.d; i++) {
        double *gates = g->mask[CAUSAL_C_ts] + i * p, widest = 0;
        double any = mechanism_probability(x, i, x->d + x->m);
        for (int k = 0; k < p; k++) widest = fmax(widest, gates[k]);
        for (int k = 0; k < p; k++) gates[k] = widest > 0 ? any * gates[k] / widest : any;
    }
}

void mechanism_graph(const mechanism *x, bool shown, causal_graph *g)
{
    take(x, g, CAUSAL_C_ss, 0, 0);
    take(x, g, CAUSAL_C_as, 0, x->d);
    take(x, g, CAUSAL_c_sr, x->d, 0);
    take(x, g, CAUSAL_c_ar, x->d, x->d);
    if (!shown) take_touched(x, g);
    causal_compact(g);
}
