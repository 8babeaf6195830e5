/* page_json.c - the numbers of the page for programs. */
#include <math.h>

#include "report/curve.h"
#include "report/page.h"

/* jansson refuses text that is not UTF-8; a folder's name may be anything. */
json_t *page_name(const char *s)
{
    json_t *name = json_string(s);
    return name ? name : json_null();
}

static json_t *run_json(const record *r)
{
    return json_pack("{s:o, s:I, s:s, s:i, s:o, s:o, s:o, s:o}", "run", page_name(r->path), "seed",
                     (json_int_t)r->seed, "status", r->done ? "done" : "unfinished", "episodes",
                     r->episodes, "steps", json_number(r->episodes ? r->step[r->episodes - 1] : 0),
                     "final_return", json_number(r->final), "area", json_number(r->area), "time_s",
                     json_number(r->time));
}

static json_t *numbers(const double *x, int n)
{
    json_t *list = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(list, json_number(x[i]));
    return list;
}

static json_t *curve_json(const method *m, curve_axis over)
{
    curve c;
    curve_of(&c, m, over);
    return json_pack("{s:o, s:o, s:o}", over == CURVE_STEPS ? "step" : "seconds", numbers(c.x, c.n),
                     "mean", numbers(c.mean, c.n), "sd", numbers(c.sd, c.n));
}

static json_t *spread(const double *x, int n)
{
    return json_pack("{s:o, s:o}", "mean", json_number(stats_mean(x, n)), "sd",
                     json_number(stats_sd(x, n)));
}

static json_t *interval(double value, stats_interval range)
{
    return json_pack("{s:o, s:o, s:o}", "value", json_number(value), "low", json_number(range.low),
                     "high", json_number(range.high));
}

static json_t *tests_json(const contest *t, size_t i)
{
    json_t *list = json_array();
    for (size_t k = 0; k < t->count; k++) {
        const stats_wilcoxon *w = &t->p[i * t->count + k];
        if (k == i) continue;
        json_array_append_new(
            list, json_pack("{s:o, s:i, s:o, s:b}", "against", page_name(t->methods[k].label),
                            "pairs", w->n, "p", json_number(w->p), "exact", w->exact));
    }
    return list;
}

static json_t *method_json(const contest *t, size_t i)
{
    const method *m = &t->methods[i];
    json_t *runs = json_array();
    for (size_t k = 0; k < m->count; k++) json_array_append_new(runs, run_json(m->runs[k]));
    return json_pack("{s:o, s:o, s:s, s:b, s:i, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o, s:o}",
                     "method", page_name(m->label), "algo", page_name(m->runs[0]->algo), "told",
                     m->told, "comparable", !m->uncounted, "unfinished", m->unfinished,
                     "final_return", spread(m->final, m->n), "iqm", interval(m->iqm, m->iqm_range),
                     "area", spread(m->area, m->n), "score", json_number(m->score), "wilcoxon",
                     tests_json(t, i), "curve", curve_json(m, CURVE_STEPS), "curve_of_time",
                     curve_json(m, CURVE_SECONDS), "noticed", page_found_json(m), "evaluations",
                     page_evals_json(m), "runs", runs);
}

static json_t *task_json(const contest *t)
{
    json_t *methods = json_array();
    for (size_t i = 0; i < t->count; i++) json_array_append_new(methods, method_json(t, i));
    return json_pack("{s:o, s:b, s:o, s:o, s:o}", "task", page_name(t->label), "has_gap",
                     t->has_gap, "gap", json_number(t->gap), "pooled_sd", json_number(t->noise),
                     "methods", methods);
}

json_t *page_json(const contests *c, const char *title)
{
    json_t *tasks = json_array(), *standings = json_array();
    for (size_t i = 0; i < c->count; i++) json_array_append_new(tasks, task_json(&c->list[i]));
    for (int k = 0; k < c->standing_count; k++) {
        const standing *s = &c->standings[k];
        json_array_append_new(
            standings, json_pack("{s:o, s:i, s:o, s:o}", "method", page_name(s->label), "tasks",
                                 s->tasks, "score", interval(s->iqm, s->range), "improvement",
                                 interval(s->improvement, s->improvement_range)));
    }
    return json_pack("{s:o, s:o, s:o}", "title", page_name(title), "tasks", tasks, "standings",
                     standings);
}
