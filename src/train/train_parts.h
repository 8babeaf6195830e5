/* train_parts.h - what the files of the training loop share: train_make.c makes a training, train.c
 * steps it, train_outside.c leaves the worlds' part of a step to the caller, train_play.c plays
 * without learning, train_many.c runs one or several, train_save.c saves and resumes it,
 * train_curves.c writes its curves, train_noticed.c what it found out. Private to these files. */
#ifndef TRAIN_TRAIN_PARTS_H
#define TRAIN_TRAIN_PARTS_H

#include <pthread.h>

#include "base/since.h"
#include "data/checkpoint.h"
#include "train/scene.h"
#include "train/train.h"

enum { TRAIN_RECENT = 100, TRAIN_WRITERS = 16 }; /* episodes in a mean; files at a time */

/* What an agent that is told nothing finds out about the present segment: see base/noticed.h. */
typedef struct noticed {
    double *factors; /* of the segment */
    int64_t moved;   /* 1: they differ from those before */
    int64_t after;   /* it noticed after so many steps; -1: not yet */
    int64_t alarms;  /* false ones, so far */
    int64_t alarmed; /* 1: it believed in a change at the last step */
} noticed;

/* The state of a run, apart from its agent and worlds. */
typedef struct replica {
    run run;
    state_list state;
    int64_t tick, episodes;
    int64_t first_episodes;                             /* of its first world */
    double recent[TRAIN_RECENT], lengths[TRAIN_RECENT]; /* rings over episodes */
    double wall;                                        /* seconds, over all processes */
    double busy;   /* of these, spent on this run: its share of its training's own time */
    int64_t timed; /* step of the last row of times.csv */
    int64_t since; /* steps since the last change of its first world */
    double after[SINCE_BINS]; /* rewards there since then, summed by steps since the change */
    noticed noticed;          /* of its first world */
    double *gain;             /* [worlds] return so far */
    int64_t *length;          /* [worlds] steps so far */
    uint8_t **bytes;          /* [worlds] saved worlds */
} replica;

/* What is known of worlds that the caller steps. */
#define TRAIN_YOURS "run/yours"
typedef struct outside {
    int64_t *segment; /* [worlds] */
    uint8_t *ended;   /* [worlds] 1: the last step ended an episode */
    uint8_t *yours;   /* the caller's bytes */
    size_t bytes;
} outside;

struct training {
    train_setup s;
    char kind[128]; /* the kind of its checkpoints */
    int count, worlds_each, rows;
    int64_t ticks;   /* steps of a world in the whole run, … */
    int64_t prelude; /* … and in its prelude */
    uint64_t *seeds;
    const task **tasks;
    replica *replicas;
    void *agent;
    fans_taken *taken;             /* the algorithm's options, group by group */
    text warning;                  /* from the agent */
    fans_movements *moving, *told; /* how factors move: the truth, and as the agent may know */
    fans_moving *moving_list, *told_list;
    scene scene;
    outside out;
    arena *memory;
    checkpoint *writers[TRAIN_WRITERS];
    int writer_count;
    text row;
    train_times times;
    double started, saved; /* when training started here, and when wall time was last updated */
    double save_took;      /* seconds the last save took */
    double busy_saved;     /* own time of the training that its runs have been given */
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
int train_live(training *t, scene *s, bool learn); /* one step of all worlds of a scene */
bool train_is_done(const training *t);

/* Its parts, around the step of the worlds: the agent's, and the count of what happened. */
int train_act(training *t, scene *s, bool learn);
int train_update(training *t);
int train_observe(training *t, scene *s, bool learn);
int train_finish(training *t, int together);

/* Notes the run that an error is about, with task, seed and step; returns `rc`. */
int train_blame(training *t, int rc);

/* train_outside.c */
int train_claim_outside(training *t); /* declares its memory */
void train_list_outside(training *t, state_list *s);
int train_fit_yours(training *t, size_t bytes); /* makes room for the caller's bytes */

/* train_save.c */
int train_make_writers(training *t);
int train_save(training *t);
double train_busy(const training *t, const replica *p); /* seconds spent on a run so far */
int train_resume(training *t, bool *resumed);           /* from the folders' checkpoints, if any */

/* Whether a run writes files. */
static inline bool train_keeps(const training *t, int r)
{
    return t->s.runs[r].folder && !t->s.look_only;
}

/* Whether the last step of a row was in a prelude that does not count. */
static inline bool train_uncounted(const training *t, int row)
{
    return t->s.options.prelude_free && world_was_in_prelude(worlds_at(t->scene.worlds, row));
}

/* Steps of a run that count, so far. */
static inline int64_t train_counted(const training *t, const replica *p)
{
    int64_t free = t->s.options.prelude_free ? t->prelude : 0;
    return p->tick > free ? (p->tick - free) * t->worlds_each : 0;
}

/* train_eval.c: after a step, if an evaluation is due; and what result.json says of them all, NULL:
 * nothing. */
bool train_evaluates(const training *t);
int train_evaluate(training *t);
int train_write_eval_head(training *t, int r);
json_t *train_evals_json(const training *t, int r);

/* train_play.c: a play of which run r has seeds[r] */
int play_new_each(play **out, training *t, const uint64_t *seeds);

/* train_noticed.c */
bool train_finds(const training *t); /* whether its agent finds changes without being told */
int train_claim_noticed(training *t, replica *p);
void train_list_noticed(training *t, replica *p);
void train_notice(training *t, int r, bool begins); /* after a step, the first of a segment? */
double train_changed(const training *t, int r);     /* the probability of a recent change */
void train_write_noticed_head(text *row);
void train_write_noticed(const replica *p, text *row);

/* train_curves.c */
int train_write_heads(training *t, int r);
bool train_has_segments(const training *t, int r);
int train_write_moments(training *t); /* the beliefs before the last step; segments that it ended */
int train_end_episode(training *t, int r, int w);
int train_write_results(training *t);

#endif
