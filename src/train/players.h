/* players.h - trained agents that play side by side in the same world: runs of one task, each in a
 * lifetime with the same seed, without learning. */
#ifndef TRAIN_PLAYERS_H
#define TRAIN_PLAYERS_H

#include "train/session.h"

typedef struct players players;

/* Opens the runs in `folders`, with `settings` over their tasks; refuses runs of different tasks.
 * Both lists must outlive the players. Threads: for each; 0: as suits it. */
int players_new(players **out, const text_list *folders, const text_list *settings, uint64_t seed,
                int threads);
void players_free(players *p);

int players_count(const players *p);
const task *players_task(const players *p);
play *players_play(players *p, int i);
const fans_algo_def *players_algo(const players *p, int i);
const char *players_folder(const players *p, int i);

/* The step of the checkpoint that player i acts by, and of the one that its folder has now. */
int64_t players_position(const players *p, int i);
int players_newest(const players *p, int i, int64_t *step);

/* Appends what player i is called: its algorithm, with its folder where two share one. */
void players_name(const players *p, int i, text *out);

/* Appends what the task is called: "pendulum: torque, mass change". */
void players_title(const players *p, text *out);

#endif
