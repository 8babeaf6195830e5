/* changes.c - Holm's procedure over all edges, the clearest changes first. */
#include "cli/changes.h"

#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "cli/cli.h"
#include "cli/table.h"

typedef struct change {
    int effect, cause;
    const regression_loss *by;
    double p; /* Holm's, for all edges together */
} change;

static int by_p(const void *a, const void *b)
{
    const change *x = a, *y = b;
    if (x->p != y->p) return x->p < y->p ? -1 : 1;
    return x->by->nats > y->by->nats ? -1 : x->by->nats < y->by->nats;
}

/* All edges, the clearest change first. Returns their number. */
static int list(const mechanism *found, change *to)
{
    int n = 0;
    for (int i = 0; i <= found->d; i++)
        for (int j = 0; j < found->d + found->m; j++)
            to[n++] = (change){i, j, mechanism_edge(found, i, j), mechanism_unmoved(found, i, j)};
    qsort(to, (size_t)n, sizeof *to, by_p);
    double worst = 0;
    for (int k = 0; k < n; k++) {
        double p = to[k].p * (n - k);
        worst = p > worst ? p : worst;
        to[k].p = worst < 1 ? worst : 1;
    }
    return n;
}

static void names(const causal_graph *g, const change *c, const char *out[2],
                  char buffer[2][TEXT_NAME])
{
    out[0] = c->cause < g->z.d ? causal_state(g, c->cause, buffer[0])
                               : causal_action(g, c->cause - g->z.d, buffer[0]);
    out[1] = c->effect < g->z.d ? causal_state(g, c->effect, buffer[1]) : "r";
}

static json_t *changes_json(const causal_graph *g, const change *c, int n, double alarm)
{
    char buffer[2][TEXT_NAME];
    const char *name[2];
    json_t *edges = json_array(), *changed = json_array();
    for (int k = 0; k < n; k++) {
        names(g, &c[k], name, buffer);
        json_t *edge = json_pack("{ss ss sf sf sf}", "cause", name[0], "effect", name[1], "nats",
                                 c[k].by->nats, "error", c[k].by->error, "p", c[k].p);
        if (c[k].p < alarm) json_array_append(changed, edge);
        json_array_append_new(edges, edge);
    }
    return json_pack("{sf so so}", "alarm", alarm, "changed", changed, "edges", edges);
}

static int print(const causal_graph *g, const change *c, int n, double alarm)
{
    char buffer[2][TEXT_NAME], edge[2 * TEXT_NAME + 8], cell[2][24];
    const char *name[2];
    int rc = 0, count = 0;
    table t = {0};
    table_row(&t, "mechanism", "changed by, nats", "p");
    for (int k = 0; k < n && c[k].p < alarm; k++, count++) {
        names(g, &c[k], name, buffer);
        snprintf(edge, sizeof edge, "%s -> %s", name[0], name[1]);
        snprintf(cell[0], sizeof cell[0], "%.3f", c[k].by->nats);
        snprintf(cell[1], sizeof cell[1], "%.2g", c[k].p);
        table_row(&t, edge, cell[0], cell[1]);
    }
    if (count > 0)
        rc = table_print(&t);
    else
        printf("no mechanism has changed (probability of a false alarm: %g)\n", alarm);
    table_free(&t);
    return rc;
}

int changes_show(const mechanism *found, const causal_graph *g, double alarm, const char *json)
{
    int rc = 0;
    change *c = mem_alloc((size_t)(found->d + 1) * (size_t)(found->d + found->m) * sizeof *c);
    if (!c) return FANS_ENOMEM;
    int n = list(found, c);
    TRY(cli_write_json(json, changes_json(g, c, n, alarm)));
    TRY(print(g, c, n, alarm));
out:
    mem_free(c);
    return rc;
}

json_t *changes_nats(const mechanism *found)
{
    json_t *rows = json_array();
    for (int i = 0; i <= found->d; i++) {
        json_t *row = json_array();
        for (int j = 0; j <= found->d + found->m; j++) {
            const regression_loss *e = mechanism_edge(found, i, j);
            json_array_append_new(row, json_pack("[fff]", e->nats, e->error, found->signal[i]));
        }
        json_array_append_new(rows, row);
    }
    return rows;
}
