/* beliefs.c - reads and judges beliefs. */
#include "report/beliefs.h"

#include <limits.h>
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/linear_map.h"

enum { NAMED = 3, SINCE = 3 }; /* episode, step, tau; then since, where there is one */

static int check_head(beliefs *b, const char *path)
{
    static const char *const names[] = {"episode", "step", "tau"};
    const csv *t = &b->table;
    char expected[32];
    for (int i = 0; i < NAMED; i++)
        if (i >= t->columns || strcmp(t->names[i], names[i]))
            return fans_fail(FANS_EFORMAT, "%s: column %d is not '%s'", path, i + 1, names[i]);
    b->fixed = t->columns > SINCE && !strcmp(t->names[SINCE], "since") ? SINCE + 1 : NAMED;
    b->changed = b->fixed < t->columns && !strcmp(t->names[b->fixed], "changed") ? b->fixed++ : -1;
    int at = b->fixed;
    while (at < t->columns && !strncmp(t->names[at], "true.", 5)) at++;
    b->factors = at - b->fixed;
    for (; at < t->columns; at++) {
        snprintf(expected, sizeof expected, "theta%d", b->thetas++);
        if (strcmp(t->names[at], expected))
            return fans_fail(FANS_EFORMAT, "%s: column %d is '%s', not '%s'", path, at + 1,
                             t->names[at], expected);
    }
    if (!b->thetas) return fans_fail(FANS_EFORMAT, "%s: has no column 'theta0'", path);
    if (t->rows > INT_MAX / 2) return fans_fail(FANS_EFORMAT, "%s: too long", path);
    return 0;
}

static int find_ends(beliefs *b)
{
    const csv *t = &b->table;
    if (!(b->last = mem_alloc((t->rows + 1) * sizeof *b->last))) return FANS_ENOMEM;
    for (size_t i = 0; i < t->rows; i++)
        if (i + 1 == t->rows || csv_at(t, i + 1, 2) <= csv_at(t, i, 2)) /* tau starts again */
            b->last[b->count++] = (int)i;
    /* an episode that has only begun says nothing yet */
    if (b->count > 1 && csv_at(t, t->rows - 1, 2) == 0) b->count--;
    return 0;
}

/* Whether any factor of the row differs from the one before. */
static bool moved(const beliefs *b, size_t row)
{
    for (int c = b->fixed; c < b->fixed + b->factors; c++)
        if (csv_at(&b->table, row, c) != csv_at(&b->table, row - 1, c)) return true;
    return false;
}

static int count_since(beliefs *b)
{
    const csv *t = &b->table;
    bool told = b->fixed > SINCE;
    double changed = t->rows ? csv_at(t, 0, 1) : 0;
    if (!(b->since = mem_alloc((t->rows + 1) * sizeof *b->since))) return FANS_ENOMEM;
    for (size_t i = 0; i < t->rows; i++) {
        if (i > 0 && moved(b, i)) changed = csv_at(t, i, 1);
        b->since[i] = told ? csv_at(t, i, SINCE) : csv_at(t, i, 1) - changed;
    }
    return 0;
}

const char *beliefs_name(const beliefs *b, int factor)
{
    return b->table.names[b->fixed + factor] + 5; /* after "true." */
}

/* ---- linear maps ----------------------------------------------------------------------------- */

/* Samples for a map: beliefs x[n][thetas] and a truth y[n]. */
typedef struct samples {
    float *x;
    double *y;
    int n;
} samples;

static int samples_new(samples *s, const beliefs *b)
{
    size_t most = b->table.rows + 1;
    *s = (samples){mem_alloc(most * (size_t)b->thetas * sizeof *s->x),
                   mem_alloc(most * sizeof *s->y), 0};
    return s->x && s->y ? 0 : FANS_ENOMEM;
}

static void samples_free(samples *s)
{
    mem_free(s->x);
    mem_free(s->y);
}

static void add_sample(samples *s, const beliefs *b, int factor, int row)
{
    const double *cells = b->table.cells + (size_t)row * (size_t)b->table.columns;
    float *x = s->x + (size_t)s->n * (size_t)b->thetas;
    for (int k = 0; k < b->thetas; k++) x[k] = (float)cells[b->fixed + b->factors + k];
    s->y[s->n++] = cells[b->fixed + factor];
}

/* The row of an episode at that moment, or -1. */
static int row_at(const beliefs *b, int episode, belief_moment moment)
{
    if (moment == BELIEF_LAST) return b->last[episode];
    double tau = moment == BELIEF_FIRST ? 0 : 10;
    int from = episode ? b->last[episode - 1] + 1 : 0;
    for (int i = from; i <= b->last[episode]; i++)
        if (csv_at(&b->table, (size_t)i, 2) == tau) return i;
    return -1;
}

/* The second half of the run. */
static void take_half(samples *s, const beliefs *b, int factor, belief_moment moment)
{
    s->n = 0;
    for (int e = b->count / 2; e < b->count; e++) {
        int row = row_at(b, e, moment);
        if (row >= 0) add_sample(s, b, factor, row);
    }
}

static int judge(beliefs *b)
{
    samples s;
    int rc = 0;
    TRY(samples_new(&s, b));
    b->r2 = mem_alloc(((size_t)b->factors + 1) * BELIEF_MOMENTS * sizeof *b->r2);
    if (!b->r2) TRY(FANS_ENOMEM);
    for (int f = 0; f < b->factors; f++)
        for (int m = 0; m < BELIEF_MOMENTS; m++) {
            take_half(&s, b, f, (belief_moment)m);
            TRY(linear_map_r2(&b->r2[f * BELIEF_MOMENTS + m], s.x, b->thetas, s.y, s.n));
        }
out:
    samples_free(&s);
    return rc;
}

int beliefs_trace(const beliefs *b, int factor, double *episode, double *truth, double *guess)
{
    samples s;
    double *w = mem_alloc(((size_t)b->thetas + 1) * sizeof *w);
    int half = b->count / 2, rc = 0, fitted = 0;
    TRY(samples_new(&s, b));
    TRY(w ? 0 : FANS_ENOMEM);
    take_half(&s, b, factor, BELIEF_LAST);
    TRY(fitted = linear_map_fit(s.x, b->thetas, s.y, s.n, 2, w));
    for (int e = 0; e < b->count; e++) {
        episode[e] = csv_at(&b->table, (size_t)b->last[e], 0);
        truth[e] = csv_at(&b->table, (size_t)b->last[e], b->fixed + factor);
        guess[e] = NAN;
        if (!fitted || (e >= half && (e - half) % 2 == 0)) continue;
        s.n = 0;
        add_sample(&s, b, factor, b->last[e]);
        guess[e] = linear_map_at(w, s.x, b->thetas);
    }
out:
    samples_free(&s);
    mem_free(w);
    return rc < 0 ? rc : fitted;
}

/* ---- readings -------------------------------------------------------------------------------- */

/* Calls for the rows of every other episode of the second half, from its first or its second. */
typedef void row_fn(void *user, const beliefs *b, int row);

static void each_row(const beliefs *b, int first, row_fn *fn, void *user)
{
    for (int e = b->count / 2 + first; e < b->count; e += 2)
        for (int i = e ? b->last[e - 1] + 1 : 0; i <= b->last[e]; i++) fn(user, b, i);
}

typedef struct fitting {
    samples s;
    belief_reading *to;
    double squares[SINCE_BINS];
} fitting;

/* A belief that had some time to settle, or as much as its episode gave it. */
static void take_settled(void *user, const beliefs *b, int row)
{
    enum { SETTLED = 10 };
    fitting *f = user;
    bool last = (size_t)row + 1 == b->table.rows || csv_at(&b->table, (size_t)row + 1, 2) == 0;
    if (last || b->since[row] >= SETTLED) add_sample(&f->s, b, f->to->factor, row);
}

static void add_error(void *user, const beliefs *b, int row)
{
    fitting *f = user;
    int bin = since_bin(b->since[row]);
    f->s.n = 0;
    add_sample(&f->s, b, f->to->factor, row);
    double error = linear_map_at(f->to->w, f->s.x, b->thetas) - f->s.y[0];
    f->squares[bin] += error * error;
    f->to->count[bin]++;
}

int beliefs_reading(const beliefs *b, int factor, belief_reading *out)
{
    fitting f = {.to = out};
    int rc = 0, fitted = 0;
    *out = (belief_reading){.factor = factor, .thetas = b->thetas};
    TRY(samples_new(&f.s, b));
    TRY((out->w = mem_alloc(((size_t)b->thetas + 1) * sizeof *out->w)) ? 0 : FANS_ENOMEM);
    each_row(b, 0, take_settled, &f);
    TRY(fitted = linear_map_fit(f.s.x, b->thetas, f.s.y, f.s.n, 1, out->w));
    if (fitted) each_row(b, 1, add_error, &f);
    for (int i = 0; i < SINCE_BINS; i++)
        out->error[i] = out->count[i] ? sqrt(f.squares[i] / out->count[i]) : NAN;
out:
    samples_free(&f.s);
    if (rc < 0) belief_reading_free(out);
    return rc < 0 ? rc : fitted;
}

void belief_reading_free(belief_reading *r)
{
    mem_free(r->w);
    *r = (belief_reading){0};
}

double belief_read(const belief_reading *r, const float *theta)
{
    return linear_map_at(r->w, theta, r->thetas);
}

/* Bins without samples take the one before, or the first that has any. */
double belief_spread(const belief_reading *r, double since)
{
    int bin = since_bin(since);
    while (bin > 0 && isnan(r->error[bin])) bin--;
    while (bin < SINCE_BINS - 1 && isnan(r->error[bin])) bin++;
    return r->error[bin];
}

int beliefs_r2_since(const beliefs *b, int factor, double r2[SINCE_BINS])
{
    samples s;
    int rc = 0, half = b->count / 2, first = half ? b->last[half - 1] + 1 : 0;
    TRY(samples_new(&s, b));
    for (int bin = 0; bin < SINCE_BINS; bin++) {
        s.n = 0;
        for (int i = first; b->count && i <= b->last[b->count - 1]; i++)
            if (since_bin(b->since[i]) == bin) add_sample(&s, b, factor, i);
        TRY(linear_map_r2(&r2[bin], s.x, b->thetas, s.y, s.n));
    }
out:
    samples_free(&s);
    return rc;
}

/* The values of a factor before and since the last change, row by row. */
typedef struct jump {
    bool started;
    double old, now, since;
} jump;

static void follow_jump(jump *j, double truth, double since)
{
    bool fresh = j->started && (since <= j->since || truth != j->now);
    if (fresh || !j->started) j->old = j->started ? j->now : truth;
    *j = (jump){true, j->old, truth, since};
}

typedef struct noted {
    samples s;
    const belief_reading *r;
    jump jump;
    double usual; /* error */
    int hits[SINCE_BINS], count[SINCE_BINS];
} noted;

static void note_row(noted *n, const beliefs *b, int row, bool judged)
{
    const jump *j = &n->jump;
    n->s.n = 0;
    add_sample(&n->s, b, n->r->factor, row);
    follow_jump(&n->jump, n->s.y[0], b->since[row]);
    if (!judged || !(fabs(j->now - j->old) > n->usual)) return;
    double guess = belief_read(n->r, n->s.x);
    int bin = since_bin(b->since[row]);
    n->hits[bin] += fabs(guess - j->now) < fabs(guess - j->old);
    n->count[bin]++;
}

/* In episodes that the map was not fitted to. */
int beliefs_noticed(const beliefs *b, const belief_reading *r, double share[SINCE_BINS])
{
    noted n = {.r = r, .usual = belief_spread(r, INFINITY)};
    int rc = samples_new(&n.s, b), half = b->count / 2;
    for (int e = 0; rc == 0 && e < b->count; e++)
        for (int i = e ? b->last[e - 1] + 1 : 0; i <= b->last[e]; i++)
            note_row(&n, b, i, e > half && (e - half) % 2);
    for (int k = 0; k < SINCE_BINS; k++)
        share[k] = n.count[k] ? (double)n.hits[k] / n.count[k] : NAN;
    samples_free(&n.s);
    return rc;
}

/* ---- naming values --------------------------------------------------------------------------- */

/* Adds a value that is not there yet; false if there are too many. */
static bool list_value(double *values, int *n, double value)
{
    for (int i = 0; i < *n; i++)
        if (values[i] == value) return true;
    if (*n == BELIEF_VALUES) return false;
    values[(*n)++] = value;
    return true;
}

/* The share of odd samples whose value has the map that says most; maps are of even ones. */
static int name_values(const samples *s, int thetas, const double *values, int n, double *share)
{
    size_t each = (size_t)thetas + 1;
    double *w = mem_alloc((size_t)n * each * sizeof *w),
           *is = mem_alloc((size_t)(s->n + 1) * sizeof *is);
    int rc = 0, right = 0, judged = s->n / 2;
    *share = NAN;
    TRY(w && is ? 0 : FANS_ENOMEM);
    for (int v = 0; v < n; v++) {
        for (int i = 0; i < s->n; i++) is[i] = s->y[i] == values[v];
        TRY(linear_map_fit(s->x, thetas, is, s->n, 2, w + (size_t)v * each));
        if (rc == 0) goto out;
    }
    for (int i = 1; i < s->n; i += 2) {
        double most = -INFINITY, named = NAN;
        for (int v = 0; v < n; v++) {
            double says =
                linear_map_at(w + (size_t)v * each, s->x + (size_t)i * (size_t)thetas, thetas);
            if (says > most) most = says, named = values[v];
        }
        right += named == s->y[i];
    }
    *share = judged > 0 ? (double)right / judged : NAN;
out:
    mem_free(w);
    mem_free(is);
    return rc;
}

int beliefs_named_since(const beliefs *b, int factor, double share[SINCE_BINS])
{
    double values[BELIEF_VALUES];
    samples s = {0};
    int rc = 0, n = 0, half = b->count / 2, first = half ? b->last[half - 1] + 1 : 0;
    int end = b->count ? b->last[b->count - 1] : -1;
    for (int i = first; i <= end; i++)
        if (!list_value(values, &n, csv_at(&b->table, (size_t)i, b->fixed + factor))) return 0;
    if (n < 2) return 0;
    TRY(samples_new(&s, b));
    for (int bin = 0; bin < SINCE_BINS; bin++) {
        s.n = 0;
        for (int i = first; i <= end; i++)
            if (since_bin(b->since[i]) == bin) add_sample(&s, b, factor, i);
        TRY(name_values(&s, b->thetas, values, n, &share[bin]));
    }
    rc = 1;
out:
    samples_free(&s);
    return rc;
}

int beliefs_last(const beliefs *b, const belief_reading *r, int n, double *step, double *truth,
                 double *guess, double *error)
{
    size_t rows = b->table.rows, from = rows > (size_t)n ? rows - (size_t)n : 0;
    samples s;
    int rc = samples_new(&s, b), count = 0;
    for (size_t i = from; rc == 0 && i < rows; i++, count++) {
        s.n = 0;
        add_sample(&s, b, r->factor, (int)i);
        step[count] = csv_at(&b->table, i, 1);
        truth[count] = s.y[0];
        guess[count] = belief_read(r, s.x);
        error[count] = belief_spread(r, b->since[i]);
    }
    samples_free(&s);
    return rc < 0 ? rc : count;
}

/* ---- distances ------------------------------------------------------------------------------- */

static double range_of(const beliefs *b, int column)
{
    double low = INFINITY, high = -INFINITY;
    for (int e = 0; e < b->count; e++) {
        double x = csv_at(&b->table, (size_t)b->last[e], column);
        low = fmin(low, x), high = fmax(high, x);
    }
    return high > low ? high - low : 1;
}

/* Adds one column's part to squared distances. */
static void add_squares(const beliefs *b, const int *rows, int n, int column, double scale,
                        double *to)
{
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            double d = (csv_at(&b->table, (size_t)rows[i], column) -
                        csv_at(&b->table, (size_t)rows[j], column)) /
                       scale;
            to[i * n + j] += d * d;
        }
}

int beliefs_distances(const beliefs *b, double *episodes, double *truth, double *belief)
{
    int half = b->count / 2, all = b->count - half;
    int rows[BELIEF_MAP], n = all < BELIEF_MAP ? all : BELIEF_MAP;
    for (int i = 0; i < n; i++) {
        rows[i] = b->last[half + (n > 1 ? (int)((int64_t)i * (all - 1) / (n - 1)) : 0)];
        episodes[i] = csv_at(&b->table, (size_t)rows[i], 0);
    }
    memset(truth, 0, (size_t)n * (size_t)n * sizeof *truth);
    memset(belief, 0, (size_t)n * (size_t)n * sizeof *belief);
    for (int c = b->fixed; c < b->fixed + b->factors; c++)
        add_squares(b, rows, n, c, range_of(b, c), truth);
    for (int c = b->fixed + b->factors; c < b->table.columns; c++)
        add_squares(b, rows, n, c, 1, belief);
    for (int i = 0; i < n * n; i++) truth[i] = sqrt(truth[i]), belief[i] = sqrt(belief[i]);
    return n;
}

double beliefs_correlation(const double *a, const double *b, int n)
{
    double sa = 0, sb = 0, saa = 0, sbb = 0, sab = 0, count = (double)n * (n - 1);
    for (int i = 0; i < n * n; i++) sa += a[i], sb += b[i]; /* diagonals are 0 */
    for (int i = 0; i < n * n; i++) {
        if (i % (n + 1) == 0) continue;
        double x = a[i] - sa / count, y = b[i] - sb / count;
        saa += x * x, sbb += y * y, sab += x * y;
    }
    return saa > 0 && sbb > 0 ? sab / sqrt(saa * sbb) : NAN;
}

/* ---- the whole ------------------------------------------------------------------------------- */

int beliefs_check(const char *path, int episodes, double length)
{
    beliefs b = {0};
    int rc = 0;
    TRY(csv_read(&b.table, path));
    TRY(check_head(&b, path));
    size_t rows = b.table.rows;
    double episode = rows ? csv_at(&b.table, rows - 1, 0) : -1;
    double tau = rows ? csv_at(&b.table, rows - 1, 2) : -1;
    if (episode < episodes - 1 || (episode == episodes - 1 && tau < length - 1))
        rc = fans_fail(
            FANS_EFORMAT,
            "%s: ends at step %.0f of episode %.0f, but the run has %d episodes, the last "
            "of %.0f steps: something cut it off",
            path, tau + 1, episode + 1, episodes, length);
out:
    beliefs_free(&b);
    return rc;
}

int beliefs_read(beliefs *b, const char *path)
{
    int rc = 0;
    *b = (beliefs){0};
    TRY(csv_read(&b->table, path));
    TRY(check_head(b, path));
    TRY(find_ends(b));
    TRY(count_since(b));
    TRY(judge(b));
out:
    if (rc < 0) beliefs_free(b);
    return rc;
}

void beliefs_free(beliefs *b)
{
    csv_free(&b->table);
    mem_free(b->last);
    mem_free(b->since);
    mem_free(b->r2);
    *b = (beliefs){0};
}
