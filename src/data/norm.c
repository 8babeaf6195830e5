/* norm.c - running statistics. */
#include "data/norm.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

int norm_declare(norm *x, arena *memory, int n)
{
    int rc = 0;
    x->n = n;
    TRY(arena_declare(memory, &x->count, sizeof(double)));
    TRY(arena_declare(memory, &x->mean, (size_t)n * sizeof(double)));
    TRY(arena_declare(memory, &x->m2, (size_t)n * sizeof(double)));
out:
    return rc;
}

void norm_clear(norm *x)
{
    *x->count = 0;
    memset(x->mean, 0, (size_t)x->n * sizeof *x->mean);
    memset(x->m2, 0, (size_t)x->n * sizeof *x->m2);
}

void norm_add(norm *x, const float *v, const float *minus)
{
    *x->count += 1;
    for (int i = 0; i < x->n; i++) {
        double y = (double)v[i] - (minus ? (double)minus[i] : 0), d = y - x->mean[i];
        x->mean[i] += d / *x->count;
        x->m2[i] += d * (y - x->mean[i]);
    }
}

void norm_units(const norm *x, float *shift, float *scale)
{
    bool known = *x->count > 1;
    for (int i = 0; i < x->n; i++) {
        double sd = known ? sqrt(x->m2[i] / *x->count) : 1;
        shift[i] = known ? (float)-x->mean[i] : 0;
        scale[i] = (float)(1 / (sd > 1e-4 ? sd : 1));
    }
}

void norm_state(norm *x, const char *prefix, state_list *s)
{
    char name[96];
    snprintf(name, sizeof name, "%s/count", prefix);
    state_add_number(s, name, FANS_F64, x->count);
    state_range(s, 0, STATE_COUNT);
    snprintf(name, sizeof name, "%s/mean", prefix);
    state_add(s, name, FANS_F64, 1, (int64_t[]){x->n}, x->mean);
    snprintf(name, sizeof name, "%s/m2", prefix);
    state_add(s, name, FANS_F64, 1, (int64_t[]){x->n}, x->m2);
    state_range(s, 0, INFINITY);
}
