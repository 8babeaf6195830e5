/* state.h - what a run must remember, as a list of named arrays.
 *
 * Every module lists its persistent memory once; saving, loading and comparing walk that list. A
 * list copies nothing: its items point at the live data. */
#ifndef DATA_STATE_H
#define DATA_STATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fans/algo.h"
#include "nn/nn.h"

typedef struct state_item {
    char name[96];
    fans_type type;
    int rank;
    int64_t shape[4];
    void *data;
    nn_graph *graph;  /* whose backend owns the memory; NULL for plain memory */
    double low, high; /* what a file may hold; NaN never */
    bool free;        /* it may hold anything, also NaN */
    bool compress;    /* large and repetitive: stored as a zstd frame */
} state_item;

/* Updates listed memory from where its values live, or the other way round. */
typedef int state_hook_fn(void *arg);
typedef struct state_hook {
    state_hook_fn *fn;
    void *arg;
    bool on_load;
} state_hook;

/* Refuses what was loaded for a replica, where its parts contradict each other. */
typedef int state_check_fn(void *arg, int replica);
typedef struct state_rule {
    state_check_fn *fn;
    void *arg;
    int replica;
} state_rule;

/* Start from {0}. A failed allocation is remembered; state_done reports it. */
typedef struct state_list {
    state_item *items;
    size_t count, capacity;
    state_hook *hooks;
    size_t hook_count, hook_capacity;
    state_rule *rules;
    size_t rule_count, rule_capacity;
    bool failed;
    char wrong[160]; /* what is wrong with an item; else empty */
} state_list;

void state_add(state_list *s, const char *name, fans_type type, int rank, const int64_t *shape,
               void *data);
void state_add_number(state_list *s, const char *name, fans_type type, void *data);
void state_add_bytes(state_list *s, const char *name, void *data, size_t n);

/* The parameters of one replica of a group under "prefix/name", its optimiser's moments under
 * "prefix.m/name" and "prefix.v/name". */
void state_add_group(state_list *s, const char *prefix, nn_group *group, int replica);

/* The same under the group's own name, with the number of its optimiser's steps. */
void state_add_trained(state_list *s, nn_group *group, int replica);

/* Registers a function to call before items are saved, or after they were loaded. */
void state_on_save(state_list *s, state_hook_fn *fn, void *arg);
void state_on_load(state_list *s, state_hook_fn *fn, void *arg);
int state_refresh(const state_list *s); /* calls the save hooks */
int state_loaded(const state_list *s);  /* calls the checks, then the load hooks */

/* The most that a counter may hold: far more than is ever reached, and safe to calculate with. */
#define STATE_COUNT 0x1p53

/* What the last added item may hold; without it, any whole number and any finite one. */
void state_range(state_list *s, double low, double high);
void state_any(state_list *s);

/* Is `bytes` something that the item may hold? If not, the message says what it is. */
int state_check_item(const state_item *item, const void *bytes);

/* Registers a function that checks what was loaded for a replica as a whole. */
void state_check(state_list *s, state_check_fn *fn, void *arg, int replica);

/* Marks the last added item to be compressed. */
void state_compress(state_list *s);

/* Removes the items whose names have this beginning. */
void state_drop(state_list *s, const char *beginning);

int state_done(const state_list *s);
void state_free(state_list *s);

size_t state_type_bytes(fans_type type);
size_t state_item_bytes(const state_item *item);

#endif
