/* compact.c - the compact representation as shifts and scales; scale 0 hides. */
#include "learn/compact.h"

#include <math.h>
#include <string.h>

#include "base/error.h"

int compact_declare(compact *c, arena *memory, int replicas, int d, int n, int width)
{
    size_t states = (size_t)replicas * (size_t)d * sizeof(float);
    size_t factors = (size_t)replicas * (size_t)n * sizeof(float);
    int rc = 0;
    *c = (compact){.d = d, .n = n, .width = width};
    TRY(arena_declare(memory, &c->s_min, states));
    TRY(arena_declare(memory, &c->theta_min, factors));
    TRY(arena_declare(memory, &c->shift, factors));
    TRY(arena_declare(memory, &c->scale, factors));
out:
    return rc;
}

void compact_start(compact *c, int replicas)
{
    for (int i = 0; i < replicas * c->d; i++) c->s_min[i] = 1;
    for (int i = 0; i < replicas * c->n; i++) c->scale[i] = 1;
}

void compact_find(compact *c, int replica, const causal_graph *g)
{
    float *s_min = c->s_min + replica * c->d, *theta_min = c->theta_min + replica * c->n;
    int p = g ? g->z.p : 0;
    for (int i = 0; i < c->d; i++) s_min[i] = !g || g->s_min[i];
    for (int k = 0; k < c->n; k++)
        theta_min[k] = !g || (k < p ? g->theta_s_min[k] : g->theta_r_min[k - p]);
}

void compact_scale(compact *c, int replica, const float *mean, const float *spread, double floor)
{
    size_t at = (size_t)replica * (size_t)c->n;
    float *shift = c->shift + at, *scale = c->scale + at;
    const float *theta_min = c->theta_min + at;
    double variance = 0;
    for (int k = 0; spread && k < c->n; k++)
        variance += (double)theta_min[k] * (double)spread[k] * (double)spread[k];
    double unit = spread ? fmax(sqrt(variance), floor) : 1;
    for (int k = 0; k < c->n; k++) {
        shift[k] = mean ? -mean[k] : 0;
        scale[k] = theta_min[k] / (float)unit;
    }
}

void compact_show(const compact *c, int replica, float *states, units theta)
{
    size_t at = (size_t)replica * (size_t)c->n, bytes = (size_t)c->n * sizeof(float);
    for (int i = 0; states && i < c->d; i++) states[i] *= c->s_min[replica * c->d + i];
    memcpy(theta.shift, c->shift + at, bytes);
    memcpy(theta.scale, c->scale + at, bytes);
    for (int k = c->n; k < c->width; k++) { /* log_std: from -7 to 2, at first about -2 */
        theta.shift[k] = 2;
        theta.scale[k] = 0.5f * c->theta_min[at + (size_t)(k - c->n)];
    }
}

void compact_state(compact *c, int replica, state_list *s)
{
    const int64_t d = c->d, n = c->n;
    state_add(s, "compact/s_min", FANS_F32, 1, &d, c->s_min + replica * c->d);
    state_add(s, "compact/theta_min", FANS_F32, 1, &n, c->theta_min + replica * c->n);
    state_add(s, "compact/shift", FANS_F32, 1, &n, c->shift + replica * c->n);
    state_add(s, "compact/scale", FANS_F32, 1, &n, c->scale + replica * c->n);
}
