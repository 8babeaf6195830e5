/* follow.c - reads beliefs beside the truth, and words what it finds. */
#include "film/follow.h"

#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"

/* ---- opening --------------------------------------------------------------------------------- */

/* Schedules may also hold a factor where it is. */
int follow_new(follow *f, const task *t)
{
    size_t all = (size_t)train_movements(t, NULL);
    f->task = t;
    f->moving = mem_alloc((all + 1) * sizeof *f->moving);
    f->list = mem_alloc((all + 1) * sizeof *f->list);
    if (!f->moving || !f->list) return FANS_ENOMEM;
    train_movements(t, f->moving);
    for (size_t k = 0; k < all; k++)
        if (f->moving[k].low < f->moving[k].high) f->moving[f->factors++] = f->moving[k];
    return 0;
}

void follow_free(follow *f)
{
    for (int k = 0; f->list && k < f->factors; k++) belief_reading_free(&f->list[k].reading);
    mem_free(f->list);
    mem_free(f->moving);
    *f = (follow){0};
}

const char *follow_name(const follow *f, int k)
{
    return f->task->info.factors[f->moving[k].factor].name;
}

/* One reading for every factor that beliefs.csv has; 0 where it has too few rows. */
static int read_beliefs(follow *f, const beliefs *b)
{
    int fitted = 0;
    for (int k = 0; k < f->factors; k++)
        for (int i = 0; i < b->factors; i++) {
            if (strcmp(beliefs_name(b, i), follow_name(f, k))) continue;
            belief_reading *r = &f->list[k].reading;
            int rc = beliefs_reading(b, i, r);
            if (rc < 0) return rc;
            if (rc == 0) belief_reading_free(r);
            fitted += rc;
        }
    return fitted;
}

int follow_open(follow *f, fans_told told, const char *folder)
{
    char path[RUN_PATH];
    beliefs b = {0};
    int rc = 0;
    f->told = told == FANS_TOLD_TRUTH;
    f->without = f->told ? "is told the truth" : "has no belief about it";
    if (snprintf(path, sizeof path, "%s/beliefs.csv", folder) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", folder);
    TRY(os_exists(path));
    if (rc == 0) return 0;
    TRY(beliefs_read(&b, path));
    TRY(read_beliefs(f, &b));
    f->without = rc > 0 ? NULL : "was trained too briefly to read its belief";
    rc = 0;
out:
    beliefs_free(&b);
    return rc;
}

/* ---- steps ----------------------------------------------------------------------------------- */

/* What may change at every step drifts: that is no change to notice, unless it is done by hand. */
static void drift(const follow *f, int k, double truth, bool by_hand)
{
    noticing *n = &f->list[k].noticing;
    if (f->moving[k].flows && !by_hand && truth != n->now) *n = (noticing){0};
}

follow_moment follow_step(follow *f, int k, const play_view *v, bool grows)
{
    follow_factor *t = &f->list[k];
    noticing *n = &t->noticing;
    const belief_reading *r = &t->reading;
    double truth = v->factors[f->moving[k].factor];
    bool reads = r->w && v->belief && v->belief_width >= r->thetas;
    double guess = reads ? belief_read(r, v->belief) : NAN;
    double usual = reads ? belief_spread(r, INFINITY) : 0;
    drift(f, k, truth, grows);
    bool counted = n->counts && n->after < 0;
    follow_moment m = {.truth = (float)truth, .guess = (float)guess, .noticed = -1};
    bool grew = grows && noticing_grow(n, truth, usual);
    if (noticing_step(n, truth, guess, usual)) {
        m.noticed = n->after;
        t->so_far.noticed++;
        t->so_far.after += n->after;
    }
    m.changed = n->since == 0 && n->old != n->now;
    t->so_far.changes += m.changed && n->counts && !(grew && counted);
    bool drifts = f->moving[k].flows && n->old == n->now;
    m.spread = reads ? (float)belief_spread(r, drifts ? (double)INFINITY : n->since) : NAN;
    return m;
}

void follow_restart(follow *f)
{
    for (int k = 0; k < f->factors; k++) {
        f->list[k].noticing = (noticing){0};
        f->list[k].so_far = (follow_count){0};
    }
}

follow_count follow_total(const follow *f)
{
    follow_count all = {0};
    for (int k = 0; k < f->factors; k++) {
        const follow_count *one = &f->list[k].so_far;
        all.changes += one->changes;
        all.noticed += one->noticed;
        all.after += one->after;
    }
    all.after = all.noticed ? all.after / all.noticed : NAN;
    return all;
}

/* ---- words ----------------------------------------------------------------------------------- */

__attribute__((format(printf, 2, 3))) static follow_verdict say(follow_tone tone,
                                                                const char *format, ...)
{
    follow_verdict v = {.tone = tone};
    va_list args;
    va_start(args, format);
    vsnprintf(v.text, sizeof v.text, format, args);
    va_end(args);
    return v;
}

static const char *steps_word(int n)
{
    return n == 1 ? "step" : "steps";
}

static follow_verdict judge(const follow *f, int k)
{
    const noticing *n = &f->list[k].noticing;
    if (!n->started || n->old == n->now)
        return say(FOLLOW_QUIET, "%s", f->moving[k].flows ? "changes with every step" : "");
    if (n->after == 0) return say(FOLLOW_NOTICED, "foreseen");
    if (n->after > 0)
        return say(FOLLOW_NOTICED, "noticed after %d %s", n->after, steps_word(n->after));
    if (f->told) return say(FOLLOW_NOTICED, "told at once");
    const char *met = f->without                      ? ""
                      : !n->counts                    ? ", less than its error"
                      : n->streak > 0 && n->since > 0 ? ", noticing"
                                                      : ", not noticed yet";
    if (n->since == 0) return say(FOLLOW_CHANGED, "changed now%s", met);
    return say(FOLLOW_CHANGED, "changed %d %s ago%s", n->since, steps_word(n->since), met);
}

/* The latest change over all factors: one that is not noticed yet, else the slowest that was, else
 * one within the error. */
static follow_verdict judge_all(const follow *f)
{
    follow_verdict v = {.tone = FOLLOW_QUIET};
    int slowest = -2; /* within the error: -1 */
    for (int k = 0; k < f->factors; k++) {
        const noticing *n = &f->list[k].noticing;
        if (n->old == n->now) continue;
        if (n->counts && n->after < 0 && !f->told) return judge(f, k);
        if (n->after >= slowest) v = judge(f, k);
        slowest = n->after > slowest ? n->after : slowest;
    }
    return v;
}

bool follow_has_news(const follow *f, int within)
{
    for (int k = 0; k < f->factors && !f->without; k++) {
        const noticing *n = &f->list[k].noticing;
        bool met = n->after >= 0 && n->since > n->after + NOTICING_STREAK;
        if (f->moving[k].every >= 4 * within && n->counts && n->since < within && !met) return true;
    }
    return false;
}

follow_verdict follow_judge(const follow *f, int k)
{
    return k < 0 ? judge_all(f) : judge(f, k);
}
