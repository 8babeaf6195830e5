/* causal_export.c - the graph as text, Graphviz and JSON, and back from JSON. The drawing is in
 * causal_svg.c. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "learn/causal_graph.h"

/* The kinds of nodes. */
typedef enum { NODE_S, NODE_A, NODE_TS, NODE_TR, NODE_R } node_kind;

typedef struct node {
    node_kind kind;
    int index;
    bool later; /* in the right column */
} node;

/* Which nodes a mask joins. */
static const struct {
    node_kind cause, effect;
    bool same_step; /* factors act within the step, so they are in the right column too */
} joins[CAUSAL_MASK_COUNT] = {
    [CAUSAL_C_ss] = {NODE_S, NODE_S, false},     [CAUSAL_C_as] = {NODE_A, NODE_S, false},
    [CAUSAL_C_ts] = {NODE_TS, NODE_S, true},     [CAUSAL_c_sr] = {NODE_S, NODE_R, false},
    [CAUSAL_c_ar] = {NODE_A, NODE_R, false},     [CAUSAL_C_tt_s] = {NODE_TS, NODE_TS, false},
    [CAUSAL_C_tt_r] = {NODE_TR, NODE_TR, false},
};

static int count_of(const causal_graph *g, node_kind kind)
{
    const int counts[] = {g->z.d, g->z.m, g->z.p, g->z.q, 1};
    return counts[kind];
}

static bool kept(const causal_graph *g, node n)
{
    switch (n.kind) {
    case NODE_S:
        return g->s_min[n.index];
    case NODE_TS:
        return g->theta_s_min[n.index];
    case NODE_TR:
        return g->theta_r_min[n.index];
    default:
        return true;
    }
}

/* Factors are latent: they have numbers only. */
static const char *const prefixes[] = {"s", "a", "theta_s", "theta_r", "r"};

static const char *name_of(const causal_graph *g, node_kind kind, int i, char buffer[TEXT_NAME])
{
    switch (kind) {
    case NODE_S:
        return causal_state(g, i, buffer);
    case NODE_A:
        return causal_action(g, i, buffer);
    case NODE_R:
        return "r";
    default:
        snprintf(buffer, TEXT_NAME, "%s%d", prefixes[kind], i);
        return buffer;
    }
}

typedef void edge_fn(const causal_graph *g, node cause, node effect, double probability, text *out);

/* Calls fn for every edge. */
static void each_edge(const causal_graph *g, edge_fn *fn, text *out)
{
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        for (int i = 0; i < g->effects[k]; i++)
            for (int j = 0; j < g->causes[k]; j++)
                if (causal_edge(g, k, i, j))
                    fn(g, (node){joins[k].cause, j, joins[k].same_step},
                       (node){joins[k].effect, i, true}, g->mask[k][i * g->causes[k] + j], out);
    for (int j = 0; j < g->z.q; j++)
        fn(g, (node){NODE_TR, j, true}, (node){NODE_R, 0, true}, 1, out);
}

typedef void node_fn(const causal_graph *g, node n, text *out);

static void each_node(const causal_graph *g, node_fn *fn, text *out)
{
    for (int later = 0; later < 2; later++)
        for (node_kind kind = NODE_S; kind <= NODE_R; kind++) {
            bool there = later ? kind != NODE_A : kind != NODE_R;
            for (int i = 0; there && i < count_of(g, kind); i++)
                fn(g, (node){kind, i, later != 0}, out);
        }
}

/* ---- text ------------------------------------------------------------------------------------ */

/* One mask: a line of causes, then a row per effect. */
static void text_mask(const causal_graph *g, int k, int width, text *out)
{
    char name[TEXT_NAME];
    text_add(out, "%s, causes:", causal_mask_names[k]);
    for (int j = 0; j < g->causes[k]; j++)
        text_add(out, " %s", name_of(g, joins[k].cause, j, name));
    text_add(out, "\n");
    for (int i = 0; i < g->effects[k]; i++) {
        text_add(out, "  %-*s", width, name_of(g, joins[k].effect, i, name));
        for (int j = 0; j < g->causes[k]; j++)
            text_add(out, "%s%.2f%s", j ? " " : "  ", g->mask[k][i * g->causes[k] + j],
                     causal_unsure(g, k, i, j) ? "?"
                     : causal_edge(g, k, i, j) ? "*"
                                               : " ");
        text_add(out, "\n");
    }
}

static int widest(const causal_graph *g)
{
    char name[TEXT_NAME];
    int width = 0;
    for (node_kind kind = NODE_S; kind <= NODE_R; kind++)
        for (int i = 0; i < count_of(g, kind); i++) {
            int n = (int)strlen(name_of(g, kind, i, name));
            if (kind != NODE_A && n > width) width = n;
        }
    return width;
}

static void text_kept(const causal_graph *g, node_kind kind, text *out)
{
    char name[TEXT_NAME];
    for (int i = 0; i < count_of(g, kind); i++)
        if (kept(g, (node){kind, i, false})) text_add(out, " %s", name_of(g, kind, i, name));
}

void causal_text(const causal_graph *g, text *out)
{
    int width = widest(g);
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) text_mask(g, k, width, out);
    text_add(out, "s_min    ");
    text_kept(g, NODE_S, out);
    text_add(out, "\ntheta_min");
    text_kept(g, NODE_TS, out);
    text_kept(g, NODE_TR, out);
    text_add(out, "\n");
}

/* ---- Graphviz -------------------------------------------------------------------------------- */

static void dot_node(const causal_graph *g, node n, text *out)
{
    char name[TEXT_NAME];
    text_add(out, "  %s%d_%s [label=\"%s%s\"%s];\n", prefixes[n.kind], n.index,
             n.later ? "next" : "now", name_of(g, n.kind, n.index, name),
             n.later && n.kind != NODE_R ? "'" : "",
             kept(g, n) ? ", style=filled, fillcolor=lightblue" : "");
}

static void dot_edge(const causal_graph *g, node cause, node effect, double probability, text *out)
{
    (void)g;
    text_add(out, "  %s%d_%s -> %s%d_next [label=\"%.2f\"%s];\n", prefixes[cause.kind], cause.index,
             cause.later ? "next" : "now", prefixes[effect.kind], effect.index, probability,
             probability < 0.9 ? ", style=dashed" : "");
}

void causal_dot(const causal_graph *g, text *out)
{
    text_add(out, "digraph fans {\n  rankdir=LR;\n  node [shape=circle];\n");
    each_node(g, dot_node, out);
    each_edge(g, dot_edge, out);
    text_add(out, "}\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *flags(const bool *list, int n)
{
    json_t *out = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(out, json_boolean(list[i]));
    return out;
}

static json_t *names_json(char *const *names, int n)
{
    json_t *out = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(out, json_string(names[i]));
    return out;
}

json_t *causal_json(const causal_graph *g)
{
    json_t *masks = json_object();
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        json_t *rows = json_array();
        for (int i = 0; i < g->effects[k]; i++) {
            json_t *row = json_array();
            for (int j = 0; j < g->causes[k]; j++)
                json_array_append_new(row, json_number(g->mask[k][i * g->causes[k] + j]));
            json_array_append_new(rows, row);
        }
        json_object_set_new(masks, causal_mask_names[k], rows);
    }
    json_t *all = json_pack("{si si si si sf so so so so}", "d", g->z.d, "m", g->z.m, "p", g->z.p,
                            "q", g->z.q, "threshold", g->threshold, "masks", masks, "s_min",
                            flags(g->s_min, g->z.d), "theta_s_min", flags(g->theta_s_min, g->z.p),
                            "theta_r_min", flags(g->theta_r_min, g->z.q));
    if (!all || !g->names) return all;
    json_object_set_new(all, "states", names_json(g->names, g->z.d));
    json_object_set_new(all, "actions", names_json(g->names + g->z.d, g->z.m));
    return all;
}

/* Real graphs are smaller, and masks of a larger size would need too much memory. */
enum { MOST = 1000 };

static int read_size(const json_t *j, const char *name, int least, int *out)
{
    const json_t *n = json_object_get(j, name);
    if (!json_is_integer(n) || json_integer_value(n) < least || json_integer_value(n) > MOST)
        return fans_fail(FANS_EFORMAT, "'%s' is not a whole number from %d to %d", name, least,
                         MOST);
    *out = (int)json_integer_value(n);
    return 0;
}

static int read_mask(causal_graph *g, int k, const json_t *rows)
{
    if (!json_is_array(rows) || (int)json_array_size(rows) != g->effects[k])
        return fans_fail(FANS_EFORMAT, "mask '%s' does not have %d rows", causal_mask_names[k],
                         g->effects[k]);
    for (int i = 0; i < g->effects[k]; i++) {
        const json_t *row = json_array_get(rows, (size_t)i);
        if (!json_is_array(row) || (int)json_array_size(row) != g->causes[k])
            return fans_fail(FANS_EFORMAT, "mask '%s': row %d does not have %d columns",
                             causal_mask_names[k], i, g->causes[k]);
        for (int j = 0; j < g->causes[k]; j++) {
            const json_t *x = json_array_get(row, (size_t)j);
            double p = json_is_number(x) ? json_number_value(x) : -1;
            if (!(p >= 0 && p <= 1))
                return fans_fail(FANS_EFORMAT, "mask '%s', row %d, column %d: not a probability",
                                 causal_mask_names[k], i, j);
            g->mask[k][i * g->causes[k] + j] = p;
        }
    }
    return 0;
}

static int read_flags(const json_t *j, const char *name, bool *to, int n)
{
    const json_t *list = json_object_get(j, name);
    bool good = json_is_array(list) && (int)json_array_size(list) == n;
    for (int i = 0; good && i < n; i++) {
        const json_t *flag = json_array_get(list, (size_t)i);
        good = json_is_boolean(flag);
        to[i] = json_is_true(flag);
    }
    return good ? 0 : fans_fail(FANS_EFORMAT, "'%s' is not a list of %d flags", name, n);
}

/* Names go into pages and Graphviz files unescaped. */
static int read_list(const json_t *j, const char *key, int n, const char **to)
{
    const json_t *list = json_object_get(j, key);
    bool good = json_is_array(list) && (int)json_array_size(list) == n;
    for (int i = 0; good && i < n; i++) {
        to[i] = json_string_value(json_array_get(list, (size_t)i));
        good = to[i] && text_is_name(to[i]);
    }
    return good ? 0 : fans_fail(FANS_EFORMAT, "'%s' is not a list of %d names", key, n);
}

/* Graphs written by version 0.1 have no names. */
static int read_names(causal_graph *g, const json_t *j)
{
    int rc = 0;
    if (!json_object_get(j, "states")) return 0;
    const char **names = mem_alloc((size_t)(g->z.d + g->z.m) * sizeof *names);
    if (!names) return FANS_ENOMEM;
    TRY(read_list(j, "states", g->z.d, names));
    TRY(read_list(j, "actions", g->z.m, names + g->z.d));
    TRY(causal_graph_name(g, names, names + g->z.d));
out:
    mem_free(names);
    return rc;
}

int causal_from_json(causal_graph **out, const json_t *j)
{
    int rc = 0;
    fnvae_dims z = {0};
    causal_graph *g = NULL;
    TRY(read_size(j, "d", 1, &z.d));
    TRY(read_size(j, "m", 0, &z.m));
    TRY(read_size(j, "p", 0, &z.p));
    TRY(read_size(j, "q", 0, &z.q));
    TRY(causal_graph_new(&g, z));
    const json_t *threshold = json_object_get(j, "threshold"), *masks = json_object_get(j, "masks");
    if (!json_is_number(threshold)) TRY(fans_fail(FANS_EFORMAT, "'threshold' is not a number"));
    g->threshold = json_number_value(threshold);
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        TRY(read_mask(g, k, json_object_get(masks, causal_mask_names[k])));
    TRY(read_flags(j, "s_min", g->s_min, z.d));
    TRY(read_flags(j, "theta_s_min", g->theta_s_min, z.p));
    TRY(read_flags(j, "theta_r_min", g->theta_r_min, z.q));
    TRY(read_names(g, j));
    *out = g;
    g = NULL;
out:
    causal_graph_free(g);
    return rc;
}
