/* cmd_report.c - fans report: compares runs on one HTML page, and in short on the terminal. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "report/page.h"

/* ---- a summary on the terminal --------------------------------------------------------------- */

static double number_at(const json_t *object, const char *key)
{
    const json_t *x = json_object_get(object, key);
    return json_is_number(x) ? json_number_value(x) : NAN;
}

/* What a run learned, or NULL. */
static const json_t *insight_of(const json_t *insights, const json_t *one)
{
    const char *path = json_string_value(json_object_get(one, "run"));
    for (size_t i = 0; path && i < json_array_size(insights); i++) {
        const json_t *insight = json_array_get(insights, i);
        const char *other = json_string_value(json_object_get(insight, "run"));
        if (other && !strcmp(path, other)) return insight;
    }
    return NULL;
}

/* "torque 0.98, gravity 0.95": R² of beliefs, means over the runs that have any. */
static void add_r2(text *out, const json_t *insights, const json_t *runs)
{
    const json_t *names = NULL;
    for (size_t i = 0; !json_array_size(names) && i < json_array_size(runs); i++)
        names = json_object_get(insight_of(insights, json_array_get(runs, i)), "factors");
    for (size_t f = 0; f < json_array_size(names); f++) {
        const char *name = json_string_value(json_object_get(json_array_get(names, f), "factor"));
        double sum = 0;
        int n = 0;
        for (size_t i = 0; i < json_array_size(runs); i++) {
            const json_t *list =
                json_object_get(insight_of(insights, json_array_get(runs, i)), "factors");
            double r2 = number_at(json_array_get(list, f), "r2_tenth");
            if (isfinite(r2)) sum += r2, n++;
        }
        if (n) text_add(out, "%s%s %.2f", out->length ? ", " : "", name ? name : "?", sum / n);
    }
}

/* "speed torso_z +5": what the factors act on in the graph of the first run that has one. */
static void add_touched(text *out, const json_t *insights, const json_t *runs)
{
    enum { SHOWN = 3 };
    const json_t *list = NULL;
    for (size_t i = 0; !list && i < json_array_size(runs); i++)
        list = json_object_get(insight_of(insights, json_array_get(runs, i)), "factors_act_on");
    size_t n = json_array_size(list), shown = n > SHOWN + 1 ? SHOWN : n;
    for (size_t i = 0; i < shown; i++)
        text_add(out, "%s%s", i ? " " : "", json_string_value(json_array_get(list, i)));
    if (n > shown) text_add(out, " +%zu", n - shown);
}

static int add_method(table *out, const char *task, const json_t *m, const json_t *insights)
{
    const json_t *runs = json_object_get(m, "runs"), *final = json_object_get(m, "final_return");
    const char *name = json_string_value(json_object_get(m, "method"));
    double sd = number_at(final, "sd"), score = number_at(m, "score");
    text gain = {0}, r2 = {0}, touched = {0};
    char seeds[16], scored[16] = "";
    int rc = 0;
    snprintf(seeds, sizeof seeds, "%zu", json_array_size(runs));
    text_add(&gain, "%.1f", number_at(final, "mean"));
    if (isfinite(sd)) text_add(&gain, " ± %.1f", sd);
    if (isfinite(score))
        snprintf(scored, sizeof scored, "%.2f", fabs(score) < 0.005 ? 0.0 : score); /* no -0.00 */
    text_add(&r2, "%s", "");
    text_add(&touched, "%s", "");
    add_r2(&r2, insights, runs);
    add_touched(&touched, insights, runs);
    TRY(text_done(&gain));
    TRY(text_done(&r2));
    TRY(text_done(&touched));
    table_row(out, task ? task : "?", name ? name : "?",
              json_string_value(json_object_get(m, "told")), seeds, gain.s, scored, r2.s,
              touched.s);
out:
    text_free(&gain);
    text_free(&r2);
    text_free(&touched);
    return rc;
}

static int print_short(const json_t *figures)
{
    const json_t *tasks = json_object_get(figures, "tasks");
    const json_t *insights = json_object_get(figures, "insights");
    table out = {0};
    int rc = 0;
    table_row(&out, "task", "method", "told", "seeds", "return", "score", "R² after 10 steps",
              "factors act on");
    for (size_t i = 0; i < json_array_size(tasks); i++) {
        const json_t *task = json_array_get(tasks, i), *methods = json_object_get(task, "methods");
        for (size_t k = 0; k < json_array_size(methods); k++)
            TRY(add_method(&out, k ? "" : json_string_value(json_object_get(task, "task")),
                           json_array_get(methods, k), insights));
    }
    TRY(table_print(&out));
out:
    table_free(&out);
    return rc;
}

/* ---- the command ----------------------------------------------------------------------------- */

int cmd_report(int argc, char **argv)
{
    const char *file = "report.html", *title = "Training runs", *json = NULL;
    text_list folders = {0};
    contests c = {0};
    const arg args[] = {
        ARG_WORDS("DIR", &folders, "a run, or a folder that contains runs"),
        ARG_TEXT("out", "F", &file, "HTML file to write (report.html)"),
        ARG_TEXT("title", "T", &title, "title of the page"),
        ARG_INT("smooth", &c.smooth, 1, 100000,
                "episodes that curves are smoothed over (a thirtieth of a run, from 5 to 100)"),
        ARG_FLAG("commits", &c.by_commit,
                 "compare commits of the program, as if these were settings"),
        ARG_FLAG("skip", &c.skip, "leave out runs that are damaged, with a warning each"),
        ARG_JSON(&json),
    };
    text page = {0};
    json_t *figures = NULL;
    int rc = args_parse("report", ARGS(args), argc, argv);
    if (rc) return rc;
    for (int i = 0; i < folders.count; i++) TRY(contests_add(&c, folders.items[i]));
    TRY(contests_settle(&c));
    TRY(page_write(&c, title, &page, &figures));
    TRY(cli_write_json(json, json_incref(figures)));
    TRY(os_write_file(file, page.s, page.length));
    TRY(print_short(figures));
    printf("%s: %zu run%s on %zu task%s, %zu KiB\n", file, c.record_count,
           c.record_count == 1 ? "" : "s", c.count, c.count == 1 ? "" : "s", page.length / 1024);
out:
    json_decref(figures);
    text_free(&page);
    contests_free(&c);
    return rc;
}
