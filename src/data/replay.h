/* replay.h - the last steps of several lifetimes, kept in order: batches and windows of them.
 *
 * A lane is one lifetime: one world of one replica. The rows of a lane form a ring, in the order in
 * which they were lived. A row has the observation and, unless it is the last of an episode, the
 * action taken there, its reward and whether the world ended. The successor of a step is the next
 * row, so every observation is stored once. Columns of one's own are kept beside each row: the true
 * factors for the oracle, a belief for an agent, pixels as bytes.
 *
 * Row numbers count from the first row of a replica's first lane; -1 is no row. Networks gather
 * rows from tables (replay_record), of which a GPU has one copy. replay_sync keeps it up to date.
 */
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
    int horizon;          /* longest episode: how many rows more the last observations need */
    int obs, act;
    replay_column columns[REPLAY_COLUMNS];
    int column_count;
} replay_shape;

typedef struct replay replay;
int replay_new(replay **out, replay_shape shape);
void replay_free(replay *r);
const replay_shape *replay_shape_of(const replay *r);

/* Stores one step of every lane. columns[c] has the values of column c beside the step, and ends[c]
 * those beside the last observation of an episode: (lanes, width) each, of the column's type. */
void replay_add(replay *r, const fans_moment *before, const float *action,
                const fans_outcome *outcome, const void *const *columns, const void *const *ends);

/* ---- reading on the host --------------------------------------------------------------------- */

int replay_capacity(const replay *r); /* most rows of a lane */
int replay_rows(const replay *r, int lane);

/* Row i of a lane, the oldest being 0. */
typedef struct replay_row {
    const float *obs, *action;
    float reward;
    bool last, terminated; /* last: only the observation counts */
    int64_t segment;
    int32_t number;
} replay_row;
replay_row replay_at(const replay *r, int lane, int i);

/* What column c has beside that row. Whoever writes there calls replay_column_changed. */
void *replay_beside(const replay *r, int lane, int i, int column);

/* ---- batches --------------------------------------------------------------------------------- */

/* Draws n steps of a replica uniformly: their rows, and those of their successors. */
void replay_draw(const replay *r, int replica, rng *stream, int n, int32_t *at, int32_t *next);

/* For n rows the successor `steps` later, or the last of the episode; the discounted sum of the
 * rewards until there; and the discount of what follows it. */
void replay_ahead(const replay *r, int replica, int n, const int32_t *at, int steps,
                  double discount, int32_t *next, float *reward, float *rest);

/* For n rows the row itself, but for one of the first `steps` of its segment the row after these,
 * or the newest of the segment: what is believed there is no longer a guess. */
void replay_hindsight(const replay *r, int replica, int n, const int32_t *at, int steps,
                      int32_t *to);

/* The `count` steps before a row, the latest first; -1 where nothing is remembered. `same` says
 * whether a step is of the row's episode. */
void replay_before(const replay *r, int replica, int32_t at, int count, int32_t *rows, bool *same);

/* ---- windows over a lifetime ----------------------------------------------------------------- */

typedef struct replay_step {
    int32_t at, next; /* rows */
    bool change;      /* the first step of its segment */
    bool first;       /* ... of its episode */
    bool jump;        /* the step before it in the window is of another time */
} replay_step;

/* `count` steps from row i of a lane on; false where there are fewer. */
bool replay_window(const replay *r, int lane, int i, int count, replay_step *steps);

/* Steps of a lane that have their successor: how many, and the rows i where they begin. */
int replay_list_steps(const replay *r, int lane, int *rows);

/* ---- tables for networks --------------------------------------------------------------------- */

void replay_record(replay *r, nn_graph *g);

/* The rows numbered `at` (T, B, 1), and what is in them. */
nn_var replay_gather(const replay *r, nn_var at);
nn_var replay_obs(const replay *r, nn_var rows);
nn_var replay_action(const replay *r, nn_var rows);
nn_var replay_reward(const replay *r, nn_var rows);
nn_var replay_terminated(const replay *r, nn_var rows);
nn_var replay_gather_column(const replay *r, int column, nn_var at);

/* Sends what the backend's copy does not have yet; before networks read it. */
void replay_sync(replay *r);
void replay_column_changed(replay *r, int column); /* all rows of it */

void replay_state(replay *r, int replica, state_list *s);

#endif
