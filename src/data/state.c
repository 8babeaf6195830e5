/* state.c - builds lists of persistent memory. */
#include "data/state.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

/* Names become keys of a checkpoint's header: short, plain and unique. */
static void refuse(state_list *s, const char *name, int rank)
{
    const char *why = NULL;
    if (rank < 0 || rank > 4) why = "more than 4 dimensions";
    if (!*name || strlen(name) >= sizeof s->items->name) why = "a name has 1 to 95 characters";
    for (const char *c = name; *c; c++)
        if ((unsigned char)*c < 32 || *c == '"' || *c == '\\') why = "quotes in a name";
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name)) why = "listed twice";
    if (why && !*s->wrong) snprintf(s->wrong, sizeof s->wrong, "state '%.96s': %s", name, why);
    s->failed = s->failed || why;
}

void state_add(state_list *s, const char *name, fans_type type, int rank, const int64_t *shape,
               void *data)
{
    refuse(s, name, rank);
    if (s->failed || mem_grow(&s->items, &s->capacity, s->count + 1, sizeof *s->items) < 0) {
        s->failed = true;
        return;
    }
    state_item *item = &s->items[s->count++];
    *item =
        (state_item){.type = type, .rank = rank, .data = data, .low = -INFINITY, .high = INFINITY};
    snprintf(item->name, sizeof item->name, "%s", name);
    for (int i = 0; i < rank; i++) item->shape[i] = shape[i];
}

void state_add_number(state_list *s, const char *name, fans_type type, void *data)
{
    state_add(s, name, type, 0, NULL, data);
}

void state_add_bytes(state_list *s, const char *name, void *data, size_t n)
{
    state_add(s, name, FANS_U8, 1, (int64_t[]){(int64_t)n}, data);
}

static void add_param(state_list *s, const char *prefix, const char *block, nn_var v, real *data)
{
    char name[96];
    const char *own = strchr(nn_name_of(v), '.'); /* after the group's name */
    nn_shape z = nn_shape_of(v);
    snprintf(name, sizeof name, "%s%s/%s", prefix, block, own ? own + 1 : nn_name_of(v));
    state_add(s, name, sizeof(real) == 4 ? FANS_F32 : FANS_F64, 3, (int64_t[]){z.T, z.B, z.D},
              data);
    if (!s->failed) s->items[s->count - 1].graph = v.graph;
}

void state_add_group(state_list *s, const char *prefix, nn_group *group, int replica)
{
    real *values = nn_group_data(group, NN_VALUES, replica);
    real *m = nn_group_data(group, NN_MOMENT_1, replica);
    real *v = nn_group_data(group, NN_MOMENT_2, replica);
    for (int i = 0; i < nn_group_params(group); i++) {
        nn_var p = nn_group_param(group, i);
        ptrdiff_t at = nn_data(p, replica) - values;
        add_param(s, prefix, "", p, values + at);
        add_param(s, prefix, ".m", p, m + at);
        add_param(s, prefix, ".v", p, v + at);
    }
}

void state_add_trained(state_list *s, nn_group *group, int replica)
{
    char name[96];
    snprintf(name, sizeof name, "%s/steps", nn_group_name(group));
    state_add_group(s, nn_group_name(group), group, replica);
    state_add_number(s, name, FANS_U64, nn_group_steps(group));
}

static void add_hook(state_list *s, state_hook hook)
{
    if (s->failed ||
        mem_grow(&s->hooks, &s->hook_capacity, s->hook_count + 1, sizeof *s->hooks) < 0) {
        s->failed = true;
        return;
    }
    s->hooks[s->hook_count++] = hook;
}

void state_on_save(state_list *s, state_hook_fn *fn, void *arg)
{
    add_hook(s, (state_hook){fn, arg, false});
}

void state_on_load(state_list *s, state_hook_fn *fn, void *arg)
{
    add_hook(s, (state_hook){fn, arg, true});
}

void state_check(state_list *s, state_check_fn *fn, void *arg, int replica)
{
    if (s->failed ||
        mem_grow(&s->rules, &s->rule_capacity, s->rule_count + 1, sizeof *s->rules) < 0) {
        s->failed = true;
        return;
    }
    s->rules[s->rule_count++] = (state_rule){fn, arg, replica};
}

static int call(const state_list *s, bool on_load)
{
    int rc = 0;
    for (size_t i = 0; i < s->hook_count && rc == 0; i++)
        if (s->hooks[i].on_load == on_load) rc = s->hooks[i].fn(s->hooks[i].arg);
    return rc;
}

int state_refresh(const state_list *s)
{
    return call(s, false);
}

int state_loaded(const state_list *s)
{
    int rc = 0;
    for (size_t i = 0; i < s->rule_count; i++)
        TRY(s->rules[i].fn(s->rules[i].arg, s->rules[i].replica));
    rc = call(s, true);
out:
    return rc;
}

void state_compress(state_list *s)
{
    if (!s->failed) s->items[s->count - 1].compress = true;
}

/* ---- what a file may hold -------------------------------------------------------------------- */

void state_range(state_list *s, double low, double high)
{
    if (s->failed) return;
    s->items[s->count - 1].low = low;
    s->items[s->count - 1].high = high;
}

void state_any(state_list *s)
{
    if (!s->failed) s->items[s->count - 1].free = true;
}

/* Entry i of an array in a file, wherever that lies. */
static double number_at(fans_type type, const char *bytes, size_t i)
{
    float f;
    double d;
    int64_t n;
    uint64_t u;
    switch (type) {
    case FANS_F32:
        return (double)*(float *)memcpy(&f, bytes + i * sizeof f, sizeof f);
    case FANS_F64:
        return *(double *)memcpy(&d, bytes + i * sizeof d, sizeof d);
    case FANS_I64:
        return (double)*(int64_t *)memcpy(&n, bytes + i * sizeof n, sizeof n);
    case FANS_U64:
        return (double)*(uint64_t *)memcpy(&u, bytes + i * sizeof u, sizeof u);
    default:
        return (double)(unsigned char)bytes[i];
    }
}

static bool is_limited(const state_item *item)
{
    bool fraction = item->type == FANS_F32 || item->type == FANS_F64;
    return !item->free && (fraction || item->low > -INFINITY || item->high < INFINITY);
}

int state_check_item(const state_item *item, const void *bytes)
{
    size_t n = is_limited(item) ? state_item_bytes(item) / state_type_bytes(item->type) : 0;
    for (size_t i = 0; i < n; i++) {
        double x = number_at(item->type, bytes, i);
        if (!isfinite(x))
            return fans_fail(FANS_EFORMAT, "'%s' has %g at place %zu, not a number", item->name, x,
                             i);
        if (x < item->low || x > item->high)
            return fans_fail(FANS_EFORMAT, "'%s' has %.17g at place %zu, outside %g to %g",
                             item->name, x, i, item->low, item->high);
    }
    return 0;
}

void state_drop(state_list *s, const char *beginning)
{
    size_t kept = 0, n = strlen(beginning);
    for (size_t i = 0; i < s->count; i++)
        if (strncmp(s->items[i].name, beginning, n)) s->items[kept++] = s->items[i];
    s->count = kept;
}

int state_done(const state_list *s)
{
    if (*s->wrong) return fans_fail(FANS_EINVAL, "%s", s->wrong);
    return s->failed ? FANS_ENOMEM : 0;
}

void state_free(state_list *s)
{
    mem_free(s->items);
    mem_free(s->hooks);
    mem_free(s->rules);
    *s = (state_list){0};
}

size_t state_type_bytes(fans_type type)
{
    static const size_t bytes[] = {4, 8, 8, 8, 1};
    return bytes[type];
}

size_t state_item_bytes(const state_item *item)
{
    size_t n = state_type_bytes(item->type);
    for (int i = 0; i < item->rank; i++) n *= (size_t)item->shape[i];
    return n;
}
