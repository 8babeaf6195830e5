/* train_parts.h - what the files of the training loop share: train_make.c makes a training, train.c
 * steps it, train_many.c runs one or several, train_save.c saves and resumes it, train_curves.c
 * writes its curves. Private to these files. */
#ifndef TRAIN_TRAIN_PARTS_H
#define TRAIN_TRAIN_PARTS_H

#include <pthread.h>

#include "data/checkpoint.h"
#include "train/scene.h"
#include "train/train.h"

enum { TRAIN_RECENT = 100, TRAIN_WRITERS = 16 }; /* episodes in a mean; files at a time */

/* The state of a run, apart from its agent and worlds. */
typedef struct replica {
    run run;
    state_list state;
    int64_t tick, episodes;
    int64_t first_episodes;                             /* of its first world */
    double recent[TRAIN_RECENT], lengths[TRAIN_RECENT]; /* rings over episodes */
    double wall;                                        /* seconds, over all processes */
    double *gain;                                       /* [worlds] return so far */
    int64_t *length;                                    /* [worlds] steps so far */
    uint8_t **bytes;                                    /* [worlds] saved worlds */
} replica;

struct training {
    train_setup s;
    char kind[128]; /* the kind of its checkpoints */
    int count, worlds_each, rows;
    int64_t ticks; /* steps of a world in the whole run */
    uint64_t *seeds;
    const task **tasks;
    replica *replicas;
    void *agent;
    fans_taken *taken; /* the algorithm's options, group by group */
    text warning;      /* from the agent */
    fans_movements *moving;
    fans_moving *moving_list;
    scene scene;
    arena *memory;
    checkpoint *writers[TRAIN_WRITERS];
    int writer_count;
    text row;
    train_times times;
    double started, saved; /* when training started here, and when wall time was last updated */
    double save_took;      /* seconds the last save took */
    double ended;          /* when it was done; 0 until then */
    int64_t tick_started;
    train_fault fault;              /* code 0: none */
    pthread_mutex_t *progress_lock; /* held while progress changes; NULL if unthreaded */
};

/* Held while progress and returns change, which `watch` may ask for. */
static inline void train_lock(const training *t)
{
    if (t->progress_lock) pthread_mutex_lock(t->progress_lock);
}

static inline void train_unlock(const training *t)
{
    if (t->progress_lock) pthread_mutex_unlock(t->progress_lock);
}

/* train.c: one step of all its runs. `together` trainings share the time allowed for checkpoints.
 */
int train_step(training *t, int together);
bool train_is_done(const training *t);

/* train_save.c */
int train_make_writers(training *t);
int train_save(training *t);
int train_resume(training *t, bool *resumed); /* from the folders' checkpoints, if any */

/* Whether a run writes files. */
static inline bool train_keeps(const training *t, int r)
{
    return t->s.runs[r].folder && !t->s.look_only;
}

/* train_curves.c */
int train_write_heads(training *t, int r);
int train_write_beliefs(training *t); /* the beliefs before the last step */
int train_end_episode(training *t, int r, int w);
int train_write_results(training *t);

#endif
