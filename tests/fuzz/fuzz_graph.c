/* fuzz_graph.c - a graph.json: drawn, and written so that it reads back. */
#include "base/json.h"
#include "base/text.h"
#include "fuzz.h"
#include "learn/causal_graph.h"

static void show(const causal_graph *g)
{
    text out = {0};
    causal_text(g, &out);
    causal_dot(g, &out);
    causal_svg(g, &out);
    fuzz_demand(text_done(&out) == 0, "no picture");
    text_free(&out);
    json_t *j = causal_json(g);
    causal_graph *again = NULL;
    fuzz_demand(j && causal_from_json(&again, j) == 0, "a graph does not read back");
    causal_graph_free(again);
    json_decref(j);
}

static void read_graph(const uint8_t *data, size_t size)
{
    json_t *j = NULL;
    causal_graph *g = NULL;
    unsigned before = fuzz_begin();
    fuzz_put("graph.json", data, size);
    int rc = json_read_file(&j, FUZZ_FOLDER "/graph.json");
    if (rc == 0) rc = causal_from_json(&g, j);
    if (fuzz_result(rc, before)) show(g);
    causal_graph_free(g);
    json_decref(j);
}

FUZZ_TARGET(read_graph);
