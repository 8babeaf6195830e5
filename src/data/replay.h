/* replay.h - the last steps of several lifetimes, kept in order: batches and windows of them.
 *
 * A lane is one lifetime: one world of one replica. The rows of a lane form a ring in the order of
 * time. A row has the observation and, unless it is the last of an episode, the action, the reward
 * and whether the world terminated. The successor of a step is the next row, so every observation
 * is stored once. Further columns hold what else belongs to a row: the true factors for the oracle,
 * a belief for an agent, pixels as bytes.
 *
 * Row numbers count from the first row of a replica's first lane; -1 means no row. Networks gather
 * rows from tables (replay_record). A GPU has one copy of them, which replay_sync updates. */
#ifndef DATA_REPLAY_H
#define DATA_REPLAY_H

#include "base/rng.h"
#include "data/state.h"
#include "fans/algo.h"

enum { REPLAY_COLUMNS = 8 }; /* at most */

typedef struct replay_column {
    const char *name; /* in checkpoints */
    nn_type type;
    int width;
} replay_column;

typedef struct replay_shape {
    int replicas, worlds; /* a lane for each world of each replica */
    int steps;            /* kept per lane */
    int horizon;          /* longest episode: determines how many last rows to make room for */
    int obs, act;
    replay_column columns[REPLAY_COLUMNS];
    int column_count;
} replay_shape;

typedef struct replay replay;
int replay_new(replay **out, replay_shape shape);
void replay_free(replay *r);
const replay_shape *replay_shape_of(const replay *r);

/* Stores one step of every lane. columns[c] has the values of column c for the step, ends[c] those
 * for the last row of an episode: (lanes, width) each, of the column's type. */
void replay_add(replay *r, const fans_moment *before, const float *action,
                const fans_outcome *outcome, const void *const *columns, const void *const *ends);

/* ---- reading on the host --------------------------------------------------------------------- */

int replay_capacity(const replay *r); /* most rows of a lane */
int replay_rows(const replay *r, int lane);
int64_t replay_written(const replay *r, int lane); /* rows ever */

/* Row i of a lane; 0 is the oldest. */
typedef struct replay_row {
    const float *obs, *action;
    float reward;
    bool last, terminated; /* last: the row has only an observation */
    int64_t segment;
    int32_t number;
} replay_row;
replay_row replay_at(const replay *r, int lane, int i);

/* Puts the row into another segment. Segments are consecutive: renumber the rows after it, too. */
void replay_set_segment(replay *r, int lane, int i, int64_t segment);

/* Replaces the row's observation. After it, call replay_obs_changed. */
void replay_set_obs(replay *r, int lane, int i, const float *obs);

/* The values of a column in that row. After writing there, call replay_column_changed. */
void *replay_beside(const replay *r, int lane, int i, int column);

/* The values of a column in the row of that number. */
const void *replay_beside_row(const replay *r, int replica, int32_t number, int column);

/* ---- batches --------------------------------------------------------------------------------- */

/* Draws n steps of a replica uniformly: their rows and their successors'. */
void replay_draw(const replay *r, int replica, rng *stream, int n, int32_t *at, int32_t *next);

/* Draws n steps of a replica uniformly and, for each, `count` - 1 more of its episode, which may be
 * the same: step k of episode i is at[k · n + i]. */
void replay_draw_episodes(const replay *r, int replica, rng *stream, int n, int count, int32_t *at,
                          int32_t *next);

/* For each of n rows: the row `steps` later, or the last of its episode; the discounted sum of the
 * rewards up to there; and the discount of its value. */
void replay_ahead(const replay *r, int replica, int n, const int32_t *at, int steps,
                  double discount, int32_t *next, float *reward, float *rest);

/* For each of n rows: the row itself; or, if it is among the first `steps` of its segment, the row
 * after them (at most the newest of the segment), where the belief is no longer a guess. */
void replay_hindsight(const replay *r, int replica, int n, const int32_t *at, int steps,
                      int32_t *to);

/* For each of n rows with its successor: the successor; or, if the segment ends between them, the
 * row itself, unless its segment began there: a belief knows too little of it then, and where every
 * step is a segment the factors move by little. */
void replay_persist(const replay *r, int replica, int n, const int32_t *at, const int32_t *next,
                    int32_t *to);

/* The `count` steps before a row, the latest first, and their successors; -1 where the ring has
 * none. `same` says whether a step belongs to the row's episode. `next` and `same` may be NULL. */
void replay_before(const replay *r, int replica, int32_t at, int count, int32_t *rows,
                   int32_t *next, bool *same);

/* For each of n rows: the last `count` rows of its episode up to the row itself, the oldest first;
 * of a shorter episode, or where the ring has no more of it, its first row stands in for what is
 * missing. Frame k of row i is rows[i · count + k]. */
void replay_film(const replay *r, int replica, int n, const int32_t *at, int count, int32_t *rows);

/* How many rows of its lane are older than a row, overwritten ones included. */
int64_t replay_when(const replay *r, int replica, int32_t at);

/* ---- windows over a lifetime ----------------------------------------------------------------- */

typedef struct replay_step {
    int32_t at, next; /* rows */
    bool change;      /* the first step of its segment */
    bool first;       /* ... of its episode */
    bool jump;        /* the window is spliced here: the step before is from another time */
} replay_step;

/* `count` steps of a lane from row i; false if there are fewer. */
bool replay_window(const replay *r, int lane, int i, int count, replay_step *steps);

/* The steps of the segment around row i, a step with a successor: from its start or, if that is
 * longer ago, from `most` - 1 steps before; at most `most`. Returns their number, at least 1. */
int replay_segment(const replay *r, int lane, int i, int most, replay_step *steps);

/* Lists the rows i of a lane that are steps with a successor; returns their number. */
int replay_list_steps(const replay *r, int lane, int *rows);

/* A row of a lifetime, ends of episodes included: the row after a step is its successor. */
typedef struct replay_link {
    int32_t at, before; /* this row and the one before; -1: none */
    bool step;          /* not the last of its episode, and its successor is there */
    bool first;         /* ... of its episode */
    bool born;          /* ... of its lifetime */
} replay_link;

/* Draws n stretches of `count` consecutive rows of a replica: row k of stretch i is out[k · n + i].
 * Of a lane with fewer rows all are taken, and the others are -1. */
void replay_draw_stretches(const replay *r, int replica, rng *stream, int n, int count,
                           replay_link *out);

/* ---- tables for networks --------------------------------------------------------------------- */

void replay_record(replay *r, nn_graph *g);

/* The rows numbered `at` (T, B, 1), and their parts. */
nn_var replay_gather(const replay *r, nn_var at);
nn_var replay_obs(const replay *r, nn_var rows);
nn_var replay_action(const replay *r, nn_var rows);
nn_var replay_reward(const replay *r, nn_var rows);
nn_var replay_terminated(const replay *r, nn_var rows);
nn_var replay_gather_column(const replay *r, int column, nn_var at);
nn_var replay_table(const replay *r, int column); /* for operators that gather in their own way */

/* Sends what the backend's copy lacks. Call it before networks read the tables. */
void replay_sync(replay *r);
void replay_column_changed(replay *r, int column); /* in any row */
void replay_obs_changed(replay *r);

void replay_state(replay *r, int replica, state_list *s);

#endif
