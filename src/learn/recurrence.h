/* recurrence.h - the networks of recurrent SAC (Ni, Eysenbach and Salakhutdinov 2022): a memory of
 * the rows lived so far, and how policy and critics read it.
 *
 *     observation ─ 32 ┐
 *     last action ─ 16 ┼─▶ LSTM ─▶ h ───────────────┐
 *     last reward ─ 16 ┘                            ├─▶ policy or critics
 *     observation (and action) ─ 32 (64), a shortcut ┘
 *
 * Policy, critics and targets have one each and share nothing. */
#ifndef LEARN_RECURRENCE_H
#define LEARN_RECURRENCE_H

#include "learn/sac.h"

/* Rows in sequence (T, B, ·). */
typedef struct recurrence_rows {
    nn_var obs;            /* in the networks' units */
    nn_var action, reward; /* of the step before; zeros where an episode begins */
    nn_var first;          /* 1 where an episode begins */
} recurrence_rows;

/* The state (T, B, 2 · units) after each row: h, then the cell. From `state` (1, B, 2 · units), or
 * NN_NONE: zeros; cleared where `reset` (T, B, 1), unless NN_NONE. */
nn_var recurrence_record(nn_group *group, recurrence_rows rows, int units, nn_var state,
                         nn_var reset);

/* The front of SAC that reads inputs [observation | h] of `units` numbers h. */
sac_front recurrence_front(const int *units);

#endif
