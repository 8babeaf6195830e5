/* page_run.c - what one run learned: its causal graph, and its beliefs against the truth. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "learn/causal_graph.h"
#include "report/beliefs.h"
#include "report/folders.h"
#include "report/html.h"
#include "report/page.h"
#include "report/plot.h"

/* ---- graph ----------------------------------------------------------------------------------- */

/* The states that factors with a path to the reward act on: their numbers, or their names. */
static json_t *touched(const causal_graph *g, bool named)
{
    char name[TEXT_NAME];
    json_t *list = json_array();
    for (int i = 0; i < g->z.d; i++) {
        bool any = false;
        for (int j = 0; j < g->z.p; j++)
            any = any || (g->theta_s_min[j] && causal_edge(g, CAUSAL_C_ts, i, j));
        if (any)
            json_array_append_new(list,
                                  named ? json_string(causal_state(g, i, name)) : json_integer(i));
    }
    return list;
}

static int write_graph(const char *file, text *out, json_t *figures)
{
    json_t *j = NULL;
    causal_graph *g = NULL;
    int rc = 0;
    TRY(json_read_file(&j, file));
    if ((rc = causal_from_json(&g, j)) < 0) TRY(fans_fail_within(rc, "%s", file));
    json_object_set_new(figures, "factors_act_on_states", touched(g, false));
    json_object_set_new(figures, "factors_act_on", touched(g, true));
    text_add(out, "<h4>Causal graph</h4><div class=\"scroll\">");
    causal_svg(g, out);
    text_add(
        out,
        "</div><p class=\"note\">Edges with a probability above %.2g; dashed where it is between "
        "0.1 and 0.9, which is unsure. A path leads from every filled node to the reward (the "
        "compact "
        "representation); grey edges end at other nodes. Point at an edge to read it.</p>\n",
        g->threshold);
out:
    causal_graph_free(g);
    json_decref(j);
    return rc;
}

/* ---- beliefs --------------------------------------------------------------------------------- */

/* Last episodes in a trace: with more, single changes could not be seen. */
enum { TRACE = 150 };

static int write_trace(const beliefs *b, int factor, double *x, double *truth, double *guess,
                       text *out)
{
    int fitted = beliefs_trace(b, factor, x, truth, guess);
    if (fitted < 0) return fitted;
    int n = b->count < TRACE ? b->count : TRACE;
    x += b->count - n, truth += b->count - n, guess += b->count - n;
    double low = INFINITY, high = -INFINITY;
    for (int i = 0; i < n; i++) low = fmin(low, truth[i]), high = fmax(high, truth[i]);
    double some = high > low ? 0.1 * (high - low) : 0; /* guesses beyond this are cut off */
    plot p;
    text_add(out, "<div><h4>");
    html_text(out, beliefs_name(b, factor));
    text_add(out, "</h4>");
    plot_begin(&p, out, axis_between(x[0], x[n - 1], 5), axis_over(low - some, high + some, 3),
               "small", "true factor and inferred one over episodes");
    plot_steps(&p, "soft thin", x, truth, n);
    plot_dots(&p, "c1", x, guess, n);
    plot_axes(&p, "episode");
    plot_end(&p);
    if (!fitted)
        text_add(out, "<p class=\"note\">Too few episodes to fit a map: %d beliefs need %d.</p>",
                 b->thetas, 4 * (b->thetas + 2));
    text_add(out, "</div>\n");
    return 0;
}

static int write_traces(const beliefs *b, text *out)
{
    size_t n = (size_t)b->count;
    int rc = 0;
    double *x = mem_alloc(3 * n * sizeof *x);
    if (!x) return FANS_ENOMEM;
    text_add(out, "<div class=\"legend\"><span><span class=\"key soft\"></span>true</span><span>"
                  "<span class=\"key c1\"></span>read from the belief</span></div>"
                  "<div class=\"pair\">\n");
    for (int f = 0; f < b->factors && rc == 0; f++)
        rc = write_trace(b, f, x, x + n, x + 2 * n, out);
    text_add(out, "</div>\n");
    mem_free(x);
    return rc;
}

static int write_maps(const beliefs *b, text *out, json_t *figures)
{
    enum { CELLS = BELIEF_MAP * BELIEF_MAP };
    double episodes[BELIEF_MAP], *truth = mem_alloc(2 * CELLS * sizeof *truth);
    char first[32], last[32];
    if (!truth) return FANS_ENOMEM;
    double *belief = truth + CELLS;
    int n = beliefs_distances(b, episodes, truth, belief);
    double r = beliefs_correlation(truth, belief, n);
    json_object_set_new(figures, "distance_correlation", json_number(r));
    snprintf(first, sizeof first, "%.0f", episodes[0]);
    snprintf(last, sizeof last, "%.0f", episodes[n - 1]);
    text_add(out, "<div class=\"pair\"><div><h4>Distance of the truth</h4>");
    plot_heat(out, truth, n, first, last, "episode", "distance of true factors between episodes");
    text_add(out, "</div><div><h4>Distance of the belief</h4>");
    plot_heat(out, belief, n, first, last, "episode", "distance of beliefs between episodes");
    text_add(out,
             "</div></div><p class=\"note\">Between the ends of %d episodes of the second half, "
             "pairwise; darker is farther apart. Correlation of the two maps: ",
             n);
    html_fixed(out, r, 3);
    text_add(out, ".</p>\n");
    mem_free(truth);
    return 0;
}

static void list_r2(const beliefs *b, json_t *figures)
{
    json_t *list = json_array();
    for (int f = 0; f < b->factors; f++) {
        const double *r2 = b->r2 + f * BELIEF_MOMENTS;
        json_array_append_new(
            list,
            json_pack("{s:o, s:o, s:o, s:o}", "factor", page_name(beliefs_name(b, f)), "r2_first",
                      json_number(r2[BELIEF_FIRST]), "r2_tenth", json_number(r2[BELIEF_TENTH]),
                      "r2_last", json_number(r2[BELIEF_LAST])));
    }
    json_object_set_new(figures, "factors", list);
}

static int write_beliefs(const char *file, text *out, json_t *figures)
{
    beliefs b;
    int rc = beliefs_read(&b, file);
    if (rc < 0) return rc;
    list_r2(&b, figures);
    if (b.count && b.factors) {
        text_add(out, "<h4>Beliefs against the truth</h4>\n");
        TRY(page_beliefs_since(&b, out, figures));
        TRY(write_traces(&b, out));
        text_add(
            out,
            "<p class=\"note\">At the end of every episode%s. A belief is latent, so it is "
            "read through the best linear map to each factor, fitted to every other episode of "
            "the second half of the run; the others are drawn. R² has a map of its own for every "
            "number of steps since a change, and so has the share of times that the belief names "
            "the right value, where there are few; the error is the root mean square of one map, "
            "fitted to beliefs that had ten steps to settle; noticed is the share of changes after "
            "which "
            "what it reads is nearer to the new value than to the old one.</p>\n",
            b.count > TRACE ? ", the last ones" : "");
        TRY(page_beliefs_within(&b, out));
        TRY(write_maps(&b, out, figures));
    }
out:
    beliefs_free(&b);
    return rc;
}

/* ---- all ------------------------------------------------------------------------------------- */

int page_run(const method *m, const record *r, bool open, text *out, json_t *insights)
{
    char graph[FOLDERS_PATH], belief[FOLDERS_PATH], metrics[FOLDERS_PATH];
    int rc = 0;
    if (snprintf(graph, sizeof graph, "%s/graph.json", r->path) >= FOLDERS_PATH ||
        snprintf(belief, sizeof belief, "%s/beliefs.csv", r->path) >= FOLDERS_PATH ||
        snprintf(metrics, sizeof metrics, "%s/metrics.csv", r->path) >= FOLDERS_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", r->path);
    int has_graph = os_exists(graph), has_beliefs = os_exists(belief);
    if (has_graph < 0 || has_beliefs < 0) return FANS_EIO;
    if (!has_graph && !has_beliefs) return 0;
    json_t *figures = json_pack("{s:o}", "run", page_name(r->path));
    text_add(out, "<details%s><summary>What ", open ? " open=\"open\"" : "");
    html_text(out, m->label);
    text_add(out, " learned, seed %ld</summary>\n", r->seed);
    if (has_graph) TRY(write_graph(graph, out, figures));
    if (has_beliefs) TRY(write_beliefs(belief, out, figures));
    TRY(page_relabel(metrics, out, figures));
    text_add(out, "</details>\n");
    json_array_append(insights, figures);
out:
    json_decref(figures);
    return rc;
}
