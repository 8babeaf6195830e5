/* causal_svg.c - the graph as a drawing.
 *
 * The dynamic Bayesian network over one step, in columns, so that arrows run between neighbours
 * only and cross no node:
 *
 *     state, action  ->  next state, reward  <-  factors  ->  next factors
 *     before the step    after it                that act in it
 *
 * Nodes with a path to the reward are filled; edges into others are grey, unsure ones dashed.
 * Factors without such a path (most, if the model has more than it needs) are folded into one line.
 */
#include <math.h>
#include <string.h>

#include "learn/causal_graph.h"

enum { BEFORE, AFTER, FACTORS, NEXT, COLUMNS };
enum { PITCH = 25, GAP = 30, TOP = 92, HALF = 20, TALL = 9, MARGIN = 40, APART = 260 };

typedef enum { STATE, ACTION, REWARD, THETA_S, THETA_R } kind;
static const char *const classes[] = {"s", "a", "r", "t", "t"};

typedef struct drawing {
    const causal_graph *g;
    text *out;
    int shown_s, shown_r; /* factors that are not folded away */
    int height, theta_top;
    int half;       /* of a node's width, in the columns with names */
    int x[COLUMNS]; /* middle of each column */
} drawing;

static bool kept(const causal_graph *g, kind k, int i)
{
    return k == STATE     ? g->s_min[i]
           : k == THETA_S ? g->theta_s_min[i]
           : k == THETA_R ? g->theta_r_min[i]
                          : true;
}

static int count_kept(const bool *flags, int n)
{
    int count = 0;
    for (int i = 0; i < n; i++) count += flags[i];
    return count;
}

/* The height of a node. */
static int y_of(const drawing *d, kind k, int i)
{
    int states = TOP + d->g->z.d * PITCH + GAP;
    switch (k) {
    case STATE:
        return TOP + i * PITCH;
    case ACTION:
        return states + i * PITCH;
    case REWARD:
        return states;
    case THETA_S:
        return d->theta_top + count_kept(d->g->theta_s_min, i) * PITCH;
    case THETA_R:
        return d->theta_top + d->shown_s * PITCH + (d->shown_s ? GAP : 0) +
               count_kept(d->g->theta_r_min, i) * PITCH;
    }
    return 0;
}

static int half_of(const drawing *d, int column)
{
    return column < FACTORS ? d->half : HALF;
}

static void label(const drawing *d, kind k, int i, bool next)
{
    char name[TEXT_NAME];
    if (k == STATE || k == ACTION)
        text_add(d->out, "%s", (k == STATE ? causal_state : causal_action)(d->g, i, name));
    else if (k == REWARD)
        text_add(d->out, "r");
    else
        text_add(d->out, "%s%d", k == THETA_S ? "θˢ" : "θʳ", i);
    if (next) text_add(d->out, "′");
}

/* In the drawing: superscripts of most fonts are too small to read. */
static void draw_label(const drawing *d, kind k, int i, bool next)
{
    if (k != THETA_S && k != THETA_R)
        label(d, k, i, next);
    else
        text_add(d->out, "θ<tspan class=\"up\" dy=\"-3\">%s</tspan><tspan dy=\"3\">%d%s</tspan>",
                 k == THETA_S ? "s" : "r", i, next ? "′" : "");
}

/* ---- edges ----------------------------------------------------------------------------------- */

/* If there are many edges, each is drawn fainter. */
static double ink_of(const causal_graph *g, int mask)
{
    const double plenty = 60;
    int edges = 0;
    for (int i = 0; i < g->effects[mask]; i++)
        for (int j = 0; j < g->causes[mask]; j++) edges += causal_edge(g, mask, i, j);
    return edges > plenty ? sqrt(plenty / edges) : 1;
}

static void draw_edge(const drawing *d, int from, kind cause, int j, int to, kind effect, int i,
                      double probability, double ink)
{
    int side = to > from ? 1 : -1;
    int x0 = d->x[from] + side * half_of(d, from), x1 = d->x[to] - side * (half_of(d, to) + 2);
    int y0 = y_of(d, cause, j), y1 = y_of(d, effect, i), bend = (x1 - x0) * 2 / 5;
    text_add(
        d->out,
        "<path class=\"%s%s\" stroke-opacity=\"%.2f\" d=\"M%d %dC%d %d %d %d %d %dm%d -3l%d 3l%d "
        "3\"><title>",
        kept(d->g, effect, i) ? classes[cause] : "off", probability < 0.9 ? " unsure" : "",
        ink * (0.2 + 0.8 * probability), x0, y0, x0 + bend, y0, x1 - bend, y1, x1, y1, -5 * side,
        5 * side, -5 * side);
    label(d, cause, j, false);
    text_add(d->out, " → ");
    label(d, effect, i, to == NEXT || effect == STATE);
    text_add(d->out, ", %.2f</title></path>\n", probability);
}

static const struct {
    int from, to;
    kind cause, effect;
} joins[CAUSAL_MASK_COUNT] = {
    [CAUSAL_C_ss] = {BEFORE, AFTER, STATE, STATE},
    [CAUSAL_C_as] = {BEFORE, AFTER, ACTION, STATE},
    [CAUSAL_C_ts] = {FACTORS, AFTER, THETA_S, STATE},
    [CAUSAL_c_sr] = {BEFORE, AFTER, STATE, REWARD},
    [CAUSAL_c_ar] = {BEFORE, AFTER, ACTION, REWARD},
    [CAUSAL_C_tt_s] = {FACTORS, NEXT, THETA_S, THETA_S},
    [CAUSAL_C_tt_r] = {FACTORS, NEXT, THETA_R, THETA_R},
};

static bool factor(kind k)
{
    return k == THETA_S || k == THETA_R;
}

static bool folded(const causal_graph *g, kind k, int i)
{
    return factor(k) && !kept(g, k, i);
}

/* Edges, and what may be one. */
static bool drawn(const causal_graph *g, int mask, int effect, int cause)
{
    return causal_edge(g, mask, effect, cause) || causal_unsure(g, mask, effect, cause);
}

/* Called for grey edges first, which the others cover. */
static void draw_edges(const drawing *d, bool matters)
{
    const causal_graph *g = d->g;
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++) {
        kind cause = joins[k].cause, effect = joins[k].effect;
        double ink = ink_of(g, k);
        for (int i = 0; i < g->effects[k]; i++)
            for (int j = 0; j < g->causes[k]; j++) {
                if (!drawn(g, k, i, j) || kept(g, effect, i) != matters) continue;
                if (folded(g, cause, j) || folded(g, effect, i)) continue;
                draw_edge(d, joins[k].from, cause, j, joins[k].to, effect, i,
                          g->mask[k][i * g->causes[k] + j], ink);
            }
    }
    for (int j = 0; matters && j < g->z.q; j++)
        if (!folded(g, THETA_R, j)) draw_edge(d, FACTORS, THETA_R, j, AFTER, REWARD, 0, 1, 1);
}

/* ---- nodes ----------------------------------------------------------------------------------- */

static void draw_node(const drawing *d, int column, kind k, int i)
{
    int x = d->x[column], y = y_of(d, k, i), half = half_of(d, column);
    if (folded(d->g, k, i)) return;
    text_add(d->out,
             "<rect class=\"node %s\" x=\"%d\" y=\"%d\" width=\"%d\" height=\"%d\" rx=\"%d\"/>"
             "<text x=\"%d\" y=\"%d\">",
             kept(d->g, k, i) ? classes[k] : "off", x - half, y - TALL, 2 * half, 2 * TALL, TALL, x,
             y + 4);
    draw_label(d, k, i, column == NEXT || (column == AFTER && k == STATE));
    text_add(d->out, "</text>\n");
}

static void draw_nodes(const drawing *d)
{
    const causal_graph *g = d->g;
    for (int i = 0; i < g->z.d; i++) {
        draw_node(d, BEFORE, STATE, i);
        draw_node(d, AFTER, STATE, i);
    }
    for (int i = 0; i < g->z.m; i++) draw_node(d, BEFORE, ACTION, i);
    draw_node(d, AFTER, REWARD, 0);
    for (int column = FACTORS; column <= NEXT; column++) {
        for (int i = 0; i < g->z.p; i++) draw_node(d, column, THETA_S, i);
        for (int i = 0; i < g->z.q; i++) draw_node(d, column, THETA_R, i);
    }
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* Every colour is given twice: first plain, for viewers without CSS variables. */
#define INK(what, plain, variable) what ":" plain ";" what ":var(" variable ")"
#define WASH(plain, variable, share) \
    "fill:" plain ";fill:color-mix(in srgb,var(" variable ") " share ",var(--gp))"
/* clang-format would indent every line after the macro of the line before */
/* clang-format off */
static const char STYLE[] =
    ".causal{--gp:#fff;--gi:#1c2127;--go:#98a2ad;--gw:#5b6570;"
    "--gs:#0072b2;--ga:#00805d;--gt:#c65600;"
    "background:var(--gp);font:11px system-ui,\"DejaVu Sans\",sans-serif;text-anchor:middle}"
    "@media(prefers-color-scheme:dark){.causal{--gp:#14181d;--gi:#e4e8ec;--go:#6b7682;--gw:#9aa5b1;"
    "--gs:#56b4e9;--ga:#2ecc9b;--gt:#ff9a56}}"
    ".causal text{" INK("fill", "#1c2127", "--gi") "}"
    ".causal .soft{" INK("fill", "#6b7682", "--go") "}"
    ".causal .head{font-weight:600}.causal .up{font-size:9px}"
    ".causal path{fill:none;stroke-width:1.2}"
    ".causal .unsure{stroke-dasharray:4 3}"
    ".causal path:hover{stroke-width:3;stroke-opacity:1}"
    ".causal .s{" INK("stroke", "#0072b2", "--gs") "}"
    ".causal .a{" INK("stroke", "#00805d", "--ga") "}"
    ".causal .t{" INK("stroke", "#c65600", "--gt") "}"
    ".causal .r{" INK("stroke", "#1c2127", "--gi") "}"
    ".causal .off{" INK("stroke", "#98a2ad", "--go") "}"
    ".causal .node{stroke-width:1.2;" INK("fill", "#fff", "--gp") "}"
    ".causal .node.s{" WASH("#c7dfed", "--gs", "22%") "}"
    ".causal .node.a{" WASH("#c7e3db", "--ga", "22%") "}"
    ".causal .node.t{" WASH("#f2d9c7", "--gt", "22%") "}"
    ".causal .node.r{" WASH("#dbdcdd", "--gi", "16%") "}";
/* clang-format on */

/* Names a group of factors, above its first. */
static void draw_group(const drawing *d, kind k, int shown, const char *name)
{
    for (int c = FACTORS; shown && c <= NEXT; c++)
        text_add(d->out, "<text class=\"soft\" x=\"%d\" y=\"%d\">%s</text>\n", d->x[c],
                 y_of(d, k, 0) - TALL - 7, name);
}

static void draw_heads(const drawing *d)
{
    static const char *const heads[COLUMNS][2] = {{"before the step", "state s, action a"},
                                                  {"after it", "state s′, reward r"},
                                                  {"what changes", "factors θ"},
                                                  {"next", "factors θ′"}};
    int folds = d->g->z.p - d->shown_s + d->g->z.q - d->shown_r;
    for (int c = 0; c < COLUMNS; c++)
        text_add(d->out,
                 "<text class=\"head\" x=\"%d\" y=\"22\">%s</text>"
                 "<text class=\"soft\" x=\"%d\" y=\"38\">%s</text>\n",
                 d->x[c], heads[c][0], d->x[c], heads[c][1]);
    draw_group(d, THETA_S, d->shown_s, "of the dynamics");
    draw_group(d, THETA_R, d->shown_r, "of the reward");
    if (folds)
        text_add(d->out,
                 "<text class=\"soft\" x=\"%d\" y=\"%d\">%d more without a path to r</text>\n",
                 d->x[FACTORS], y_of(d, THETA_R, d->g->z.q) + 4, folds);
}

/* All nodes are wide enough for the longest name. */
static void set_columns(drawing *d)
{
    char name[TEXT_NAME];
    size_t longest = 0;
    for (int i = 0; i < d->g->z.d + d->g->z.m; i++) {
        bool state = i < d->g->z.d;
        size_t n =
            strlen(state ? causal_state(d->g, i, name) : causal_action(d->g, i - d->g->z.d, name));
        if (n > longest) longest = n;
    }
    d->half = 8 + (int)(3.2 * (double)(longest + 1));
    if (d->half < HALF) d->half = HALF;
    d->x[BEFORE] = MARGIN + d->half;
    d->x[AFTER] = d->x[BEFORE] + APART + 2 * d->half;
    d->x[FACTORS] = d->x[AFTER] + d->half + APART + HALF;
    d->x[NEXT] = d->x[FACTORS] + APART - HALF;
}

void causal_svg(const causal_graph *g, text *out)
{
    drawing d = {.g = g,
                 .out = out,
                 .shown_s = count_kept(g->theta_s_min, g->z.p),
                 .shown_r = count_kept(g->theta_r_min, g->z.q)};
    int left = g->z.d * PITCH + GAP + (g->z.m > 1 ? g->z.m : 1) * PITCH;
    int right = (d.shown_s + d.shown_r + 1) * PITCH + GAP;
    int tall = left > right ? left : right;
    d.theta_top = TOP + (right < left ? (left - right) / 2 : 0);
    d.height = TOP + tall + 12;
    set_columns(&d);
    int width = d.x[NEXT] + MARGIN + HALF;
    text_add(out,
             "<svg class=\"causal\" xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" "
             "height=\"%d\" viewBox=\"0 0 %d %d\" role=\"img\" aria-label=\"causal graph\">"
             "<style>%s</style>\n",
             width, d.height, width, d.height, STYLE);
    draw_edges(&d, false);
    draw_edges(&d, true);
    draw_nodes(&d);
    draw_heads(&d);
    text_add(out, "</svg>\n");
}
