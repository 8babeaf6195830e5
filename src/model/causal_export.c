/* causal_export.c - the graph for people and programs: text, Graphviz, JSON, a drawing.
 *
 * The drawing shows the dynamic Bayesian network in two columns, causes at the step before and
 * effects after it. What belongs to the compact representation is filled; an edge is as strong as
 * it is probable. */
#include "model/causal_graph.h"

/* The kinds of nodes, in the order in which a drawing stacks them. */
typedef enum { NODE_S, NODE_A, NODE_TS, NODE_TR, NODE_R } node_kind;

typedef struct node {
    node_kind kind;
    int index;
    bool later; /* in the right column */
} node;

/* Which nodes a mask joins. */
static const struct {
    node_kind cause, effect;
    bool same_step; /* the factors act within the step, so they stand in the right column too */
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

typedef void edge_fn(const causal_graph *g, node cause, node effect, double probability, text *out);

/* Calls fn for every edge that is there. */
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

void causal_text(const causal_graph *g, text *out)
{
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        text_add(out, "%s\n", causal_mask_names[k]);
        for (int i = 0; i < g->effects[k]; i++) {
            for (int j = 0; j < g->causes[k]; j++)
                text_add(out, "%s%.2f%s", j ? " " : "  ", g->mask[k][i * g->causes[k] + j],
                         causal_edge(g, k, i, j) ? "*" : " ");
            text_add(out, "\n");
        }
    }
    text_add(out, "s_min    ");
    for (int i = 0; i < g->z.d; i++)
        if (g->s_min[i]) text_add(out, " s%d", i);
    text_add(out, "\ntheta_min");
    for (int i = 0; i < g->z.p; i++)
        if (g->theta_s_min[i]) text_add(out, " theta_s%d", i);
    for (int i = 0; i < g->z.q; i++)
        if (g->theta_r_min[i]) text_add(out, " theta_r%d", i);
    text_add(out, "\n");
}

/* ---- Graphviz -------------------------------------------------------------------------------- */

static const char *const prefixes[] = {"s", "a", "theta_s", "theta_r", "r"};

static void dot_node(const causal_graph *g, node n, text *out)
{
    text_add(out, "  %s%d_%s [label=\"%s", prefixes[n.kind], n.index, n.later ? "next" : "now",
             prefixes[n.kind]);
    if (n.kind != NODE_R) text_add(out, "%d", n.index);
    text_add(out, "%s\"%s];\n", n.later && n.kind != NODE_R ? "'" : "",
             kept(g, n) ? ", style=filled, fillcolor=lightblue" : "");
}

static void dot_edge(const causal_graph *g, node cause, node effect, double probability, text *out)
{
    (void)g;
    text_add(out, "  %s%d_%s -> %s%d_next [label=\"%.2f\"];\n", prefixes[cause.kind], cause.index,
             cause.later ? "next" : "now", prefixes[effect.kind], effect.index, probability);
}

void causal_dot(const causal_graph *g, text *out)
{
    text_add(out, "digraph fans {\n  rankdir=LR;\n  node [shape=circle];\n");
    each_node(g, dot_node, out);
    each_edge(g, dot_edge, out);
    text_add(out, "}\n");
}

/* ---- drawing --------------------------------------------------------------------------------- */

enum { STEP = 44, RADIUS = 16, LEFT = 120, RIGHT = 520, TOP = 70, WIDTH = 640, GAP = 24 };

/* How far down a node stands: kinds below each other, with a gap between them. */
static int height_of(const causal_graph *g, node n)
{
    int y = TOP;
    for (node_kind kind = NODE_S; kind < n.kind; kind++) {
        if (kind == NODE_R) continue;
        y += count_of(g, kind) * STEP + GAP;
    }
    return y + n.index * STEP;
}

static int across(node n)
{
    return n.later ? RIGHT : LEFT;
}

static void svg_edge(const causal_graph *g, node cause, node effect, double probability, text *out)
{
    int x0 = across(cause) + RADIUS, y0 = height_of(g, cause), x1 = across(effect) - RADIUS;
    int y1 = height_of(g, effect);
    const char *color = cause.kind == NODE_A                             ? "#2b7a3d"
                        : cause.kind == NODE_TS || cause.kind == NODE_TR ? "#b3541e"
                                                                         : "#33557a";
    if (cause.later) { /* within the step: an arc on the right side */
        x0 = across(cause) + RADIUS, x1 = across(effect) + RADIUS;
        int out_x = x0 + 40 + (y0 - y1 > 0 ? y0 - y1 : y1 - y0) / 8;
        text_add(out, "<path d=\"M%d %d Q%d %d %d %d\"", x0, y0, out_x, (y0 + y1) / 2, x1, y1);
    } else {
        text_add(out, "<path d=\"M%d %d C%d %d %d %d %d %d\"", x0, y0, x0 + 120, y0, x1 - 120, y1,
                 x1, y1);
    }
    text_add(out,
             " fill=\"none\" stroke=\"%s\" stroke-width=\"1.6\" stroke-opacity=\"%.2f\""
             " marker-end=\"url(#tip)\"/>\n",
             color, 0.25 + 0.75 * probability);
}

static void svg_node(const causal_graph *g, node n, text *out)
{
    static const char *const labels[] = {"s", "a", "θˢ", "θʳ", "r"};
    int x = across(n), y = height_of(g, n);
    text_add(out,
             "<circle cx=\"%d\" cy=\"%d\" r=\"%d\" fill=\"%s\" stroke=\"#222\"/>"
             "<text x=\"%d\" y=\"%d\">%s",
             x, y, RADIUS, kept(g, n) ? "#cfe3f7" : "#ffffff", x, y + 4, labels[n.kind]);
    if (n.kind != NODE_R) text_add(out, "<tspan font-size=\"9\">%d</tspan>", n.index);
    text_add(out, "</text>\n");
}

void causal_svg(const causal_graph *g, text *out)
{
    int height = height_of(g, (node){NODE_R, 0, true}) + STEP;
    text_add(out,
             "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\" "
             "viewBox=\"0 0 %d %d\" font-family=\"sans-serif\" font-size=\"12\" "
             "text-anchor=\"middle\">\n"
             "<rect width=\"100%%\" height=\"100%%\" fill=\"#ffffff\"/>\n"
             "<defs><marker id=\"tip\" viewBox=\"0 0 8 8\" refX=\"7\" refY=\"4\" "
             "markerWidth=\"6\" markerHeight=\"6\" orient=\"auto\">"
             "<path d=\"M0 0 L8 4 L0 8 z\" fill=\"#444\"/></marker></defs>\n"
             "<text x=\"%d\" y=\"24\">before the step</text><text x=\"%d\" y=\"24\">after it</text>"
             "<text x=\"%d\" y=\"42\" font-size=\"10\">filled: compact representation</text>\n",
             WIDTH, height, WIDTH, height, LEFT, RIGHT, (LEFT + RIGHT) / 2);
    each_edge(g, svg_edge, out);
    each_node(g, svg_node, out);
    text_add(out, "</svg>\n");
}

/* ---- JSON ------------------------------------------------------------------------------------ */

static json_t *flags(const bool *list, int n)
{
    json_t *out = json_array();
    for (int i = 0; i < n; i++) json_array_append_new(out, json_boolean(list[i]));
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
                json_array_append_new(row, json_real(g->mask[k][i * g->causes[k] + j]));
            json_array_append_new(rows, row);
        }
        json_object_set_new(masks, causal_mask_names[k], rows);
    }
    return json_pack("{si si si si sf so so so so}", "d", g->z.d, "m", g->z.m, "p", g->z.p, "q",
                     g->z.q, "threshold", g->threshold, "masks", masks, "s_min",
                     flags(g->s_min, g->z.d), "theta_s_min", flags(g->theta_s_min, g->z.p),
                     "theta_r_min", flags(g->theta_r_min, g->z.q));
}
