/* latent_double.h - a batch of segments for networks that infer what holds during one, in double
 * precision: parameters, costs and gradients as JSON, for the comparison with PyTorch. */
#ifndef PARITY_LATENT_DOUBLE_H
#define PARITY_LATENT_DOUBLE_H

#include <stdio.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "learn/seen.h"
#include "nn/graph.h"

#include "json_numbers.h"

enum { T = 6, B = 3, OBS = 4, ACTIONS = 2 }; /* rows: the steps of a segment, and one more */

static inline void fill_between(nn_var v, rng *r, double low, double high)
{
    size_t n = nn_size(nn_shape_of(v));
    for (size_t i = 0; i < n; i++) nn_data(v, 0)[i] = rng_between(r, low, high);
}

static inline seen latent_inputs(nn_graph *g, int rows)
{
    return (seen){nn_input(g, "s", rows, B, OBS), nn_input(g, "a", rows, B, ACTIONS),
                  nn_input(g, "s1", rows, B, OBS), nn_input(g, "ds", rows, B, OBS),
                  nn_input(g, "r", rows, B, 1)};
}

static inline void latent_fill(seen x, rng *r)
{
    fill_between(x.s, r, -1, 1);
    fill_between(x.a, r, -1, 1);
    fill_between(x.s1, r, -1, 1);
    fill_between(x.ds, r, -1, 1);
    fill_between(x.r, r, -1, 1);
}

static inline json_t *latent_steps(seen x)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:o}", "s", json_tensor(x.s, false), "a",
                     json_tensor(x.a, false), "s1", json_tensor(x.s1, false), "ds",
                     json_tensor(x.ds, false), "r", json_tensor(x.r, false));
}

/* Steps of segment b. */
static inline int latent_length(int b)
{
    return T - 1 - 2 * b;
}

static inline void latent_show(json_t *all)
{
    char *shown = json_text(all);
    puts(shown);
    mem_free(shown);
    json_decref(all);
}

/* Records, runs and shows on a graph of its own. */
static inline int latent_main(int (*run)(nn_graph *g, rng *r))
{
    pool *threads = NULL;
    nn_backend *cpu = NULL;
    nn_graph *g = NULL;
    const uint64_t seed = 3;
    rng r = rng_stream(1, "parity", 0);
    int rc = 0;
    TRY(pool_new(&threads, 1));
    TRY(nn_cpu_new(&cpu, threads));
    TRY(nn_graph_new(&g, cpu, 1, &seed));
    TRY(run(g, &r));
out:
    if (rc < 0) fprintf(stderr, "%s\n", fans_error());
    nn_graph_free(g);
    nn_backend_free(cpu);
    pool_free(threads);
    return rc < 0;
}

#endif
