/* inference.c - model, beliefs and refresh as one. */
#include "learn/inference.h"

#include <string.h>

#include "base/error.h"

int inference_record(inference *x, nn_graph *g, replay *r, int column, const fnvae_options *o,
                     fnvae_dims z, bool spread, double doubt, const points_options *look)
{
    int rc = 0;
    TRY(fnvae_new(&x->model, g, r, o, z));
    refresh_way way = look ? REFRESH_POINTS : doubt > 0 ? REFRESH_DOUBTS : REFRESH_CARRIES;
    if (look) TRY(points_new(&x->points, x->model, r, column + 1, *look));
    TRY(belief_new(&x->belief, x->model, doubt, x->points));
    TRY(refresh_new(&x->refresh, x->model, r, column, spread, way));
out:
    return rc;
}

int inference_plan(inference *x)
{
    int rc = 0;
    TRY(fnvae_plan(x->model));
    TRY(belief_plan(x->belief));
    TRY(refresh_plan(x->refresh));
out:
    return rc;
}

int inference_ready(inference *x)
{
    int rc = 0;
    TRY(fnvae_ready(x->model));
    TRY(belief_ready(x->belief));
    TRY(refresh_ready(x->refresh));
out:
    return rc;
}

void inference_free(inference *x)
{
    refresh_free(x->refresh);
    belief_free(x->belief);
    fnvae_free(x->model);
    *x = (inference){0};
}

int inference_note(inference *x, const fans_moment *before, const float *action,
                   const fans_outcome *o, bool learn)
{
    fnvae *f = x->model;
    for (int i = 0; i < f->replicas * f->worlds; i++) {
        const float *obs = before->obs + i * f->z.d, *next = o->next_obs + i * f->z.d;
        if (learn) fnvae_observe(f, i / f->worlds, obs, o->reward[i], next);
        belief_note(x->belief, i, obs, action + i * f->z.m, o->reward[i], next,
                    before->change[i] != 0);
    }
    return belief_correct_begin(x->belief);
}

void inference_beliefs(const inference *x, int width, float *to)
{
    size_t n = (size_t)width;
    for (int i = 0; i < x->model->replicas * x->model->worlds; i++)
        memcpy(to + (size_t)i * n, belief_mean(x->belief, i), n * sizeof *to);
}

int inference_learn(inference *x, int64_t updates, rng *draws, pool *p)
{
    int rc = 0;
    for (int64_t i = 0; i < updates && fnvae_can_fill(x->model); i++) {
        fnvae_fill(x->model, draws, p);
        TRY(fnvae_update(x->model));
    }
out:
    return rc;
}
