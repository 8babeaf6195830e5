/* norm.c - running statistics. */
#include "data/norm.h"

#include <math.h>
#include <stdio.h>

void norm_add(norm *x, const float *v)
{
    x->count += 1;
    for (int i = 0; i < x->n; i++) {
        double d = (double)v[i] - x->mean[i];
        x->mean[i] += d / x->count;
        x->m2[i] += d * ((double)v[i] - x->mean[i]);
    }
}

void norm_units(const norm *x, float *shift, float *scale)
{
    for (int i = 0; i < x->n; i++) {
        double sd = x->count < 2 ? 1 : sqrt(x->m2[i] / x->count);
        shift[i] = x->count < 2 ? 0 : (float)-x->mean[i];
        scale[i] = (float)(1 / (sd > 1e-4 ? sd : 1e-4));
    }
}

void norm_state(norm *x, const char *prefix, state_list *s)
{
    char name[96];
    snprintf(name, sizeof name, "%s/count", prefix);
    state_add_number(s, name, STATE_F64, &x->count);
    snprintf(name, sizeof name, "%s/mean", prefix);
    state_add(s, name, STATE_F64, 1, (int64_t[]){x->n}, x->mean);
    snprintf(name, sizeof name, "%s/m2", prefix);
    state_add(s, name, STATE_F64, 1, (int64_t[]){x->n}, x->m2);
}
