/* cost.h - what runs take, as measured: results/cost/NAME.json, a file for a device and a preset.
 *
 *     {"preset": "small", "device": "cpu", "command": …, "costs": [
 *     {"env": "half_cheetah", "algo": "sac", "steps": 10000, "seconds": 6.0}, …]}
 *
 * Seconds are of a core, or of a GPU that trains many runs side by side: its time by their number.
 */
#ifndef REPORT_COST_H
#define REPORT_COST_H

#include "base/json.h"
#include "report/comparison.h"

/* What a table costs, as far as its runs were measured. */
typedef struct cost {
    double seconds;
    int runs, unknown; /* measured ones, and the others */
} cost;

/* The costs of one file; a folder without it has none. Release with json_decref. */
int costs_read(json_t **out, const char *root, const char *name);

/* Of `seeds` seeds in every cell of a comparison whose method applies, each run with so many steps;
 * 0: with those of its config, as measured with the table's preset. */
int cost_of(const json_t *costs, const comparison *c, int seeds, int steps, cost *out);

#endif
