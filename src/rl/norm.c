/* norm.c - running statistics. */
#include "rl/norm.h"

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

void norm_apply(const norm *x, float *v, int rows)
{
    if (x->count < 2) return;
    for (int i = 0; i < x->n; i++) {
        double sd = sqrt(x->m2[i] / x->count), scale = 1 / (sd > 1e-4 ? sd : 1e-4);
        for (int k = 0; k < rows; k++) {
            float *to = v + (size_t)k * (size_t)x->n + i;
            double z = ((double)*to - x->mean[i]) * scale;
            *to = (float)(z < -10 ? -10 : z > 10 ? 10 : z);
        }
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
