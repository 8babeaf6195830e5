/* scales.c - one norm per vector and replica; all units are one input. */
#include "learn/scales.h"

#include <stdio.h>

#include "base/error.h"

static norm *norm_of(const scales *x, int replica, int which)
{
    return &x->norms[(size_t)replica * (size_t)x->count + (size_t)which];
}

static void slice_units(scales *x)
{
    for (int k = 0, at = 0; k < x->count; at += 2 * x->widths[k++]) {
        x->shift[k] = nn_slice(x->units.var, at, x->widths[k]);
        x->scale[k] = nn_slice(x->units.var, at + x->widths[k], x->widths[k]);
    }
}

int scales_record(scales *x, arena *memory, nn_graph *g, const int *widths, int count)
{
    int rc = 0, all = 0;
    *x = (scales){.count = count, .replicas = nn_graph_replicas(g)};
    for (int k = 0; k < count; k++) all += x->widths[k] = widths[k];
    TRY(staged_numbers(&x->units, memory, g, "units", 1, 1, 2 * all));
    slice_units(x);
    TRY((x->norms = mem_alloc((size_t)(x->replicas * count) * sizeof *x->norms)) ? 0 : FANS_ENOMEM);
    for (int k = 0; k < x->replicas * count; k++)
        TRY(norm_declare(&x->norms[k], memory, widths[k % count]));
out:
    return rc;
}

void scales_free(scales *x)
{
    mem_free(x->norms);
}

void scales_add(scales *x, int replica, int which, const float *v, const float *minus)
{
    norm_add(norm_of(x, replica, which), v, minus);
}

/* Shift and scale of each statistic, one after the other. */
void scales_clear(scales *x, int replica)
{
    for (int k = 0; k < x->count; k++) norm_clear(norm_of(x, replica, k));
}

void scales_settle(scales *x)
{
    for (int r = 0; r < x->replicas; r++) {
        float *to = numbers_of(&x->units, r);
        for (int k = 0; k < x->count; to += 2 * x->widths[k++])
            norm_units(norm_of(x, r, k), to, to + x->widths[k]);
    }
    staged_send(&x->units);
}

nn_var scales_apply(const scales *x, int which, nn_var v)
{
    return nn_mul(nn_add(v, x->shift[which]), x->scale[which]);
}

/* Shifts of a statistic; its scales follow. */
static const float *units_of(const scales *x, int replica, int which)
{
    const float *units = numbers_of(&x->units, replica);
    for (int k = 0; k < which; k++) units += 2 * x->widths[k];
    return units;
}

float scales_unit(const scales *x, int replica, int which, int i)
{
    return 1 / units_of(x, replica, which)[x->widths[which] + i];
}

double scales_to(const scales *x, int replica, int which, int i, double v)
{
    const float *units = units_of(x, replica, which);
    return (v + (double)units[i]) * (double)units[x->widths[which] + i];
}

static int send_units(void *x)
{
    staged_send(&((scales *)x)->units);
    return 0;
}

void scales_state(scales *x, int replica, const char *const *names, const char *units,
                  state_list *s)
{
    char name[64];
    state_on_load(s, send_units, x);
    for (int k = 0; k < x->count; k++) {
        snprintf(name, sizeof name, "scale.%s", names[k]);
        norm_state(norm_of(x, replica, k), name, s);
    }
    state_add(s, units, FANS_F32, 1, (int64_t[]){(int64_t)x->units.each},
              numbers_of(&x->units, replica));
}
