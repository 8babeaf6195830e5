/* foresight.h - the latents of past episodes, and what LILAC's prior foresees from them.
 *
 * Latents are added while worlds live. The encoder changes, so now and then a refresh finds them
 * again from the steps in the replay; with each step it stores, in column 0, what the prior now
 * expects of its episode. The number of an episode counts from the oldest known; the episode that
 * runs has the next number after all that ended. */
#ifndef LEARN_FORESIGHT_H
#define LEARN_FORESIGHT_H

#include "base/pool.h"
#include "learn/episodes.h"
#include "learn/lilac_net.h"
#include "learn/seen_units.h"
#include "learn/sweep.h"

enum { FORESIGHT_WARM_UP = 8 }; /* episodes before the prior's state is worth anything */

/* Latents sent to the prior, (T, worlds, n), and what it answers. */
typedef struct question {
    int T;
    staged z;
    nn_var answer;
    nn_plan *plan;
    float *host;
} question;

typedef struct foresight {
    replay *replay;
    int replicas, worlds, rows, n;
    episodes episodes; /* the ended ones */
    question soon;     /* the latest: what comes next, (rows, n) */
    staged last;       /* (1, worlds, 1): the last of them; -1: there is none */
    question all;      /* all: what was to be expected after each */
    staged at, next;   /* of steps to encode */
    nn_var codes;      /* theirs */
    nn_plan *encode;
    float *codes_host;
    sweep *sweep;
    const float *acted;   /* (rows, n): on what the episode that runs is acted */
    double floor;         /* of the latents' scale */
    float *shift, *scale; /* (replicas, n): units of latents, for SAC */
    float *gap;           /* [replicas]: error of the prior relative to the spread of latents */
} foresight;

/* Records how `history` episodes are kept and the last `recall` are read; free it even after a
 * failure. Start it after the arena is committed. */
int foresight_record(foresight *f, arena *memory, nn_graph *g, const lilac_net *net,
                     const seen_units *units, replay *r, int history, int recall);
int foresight_plan(foresight *f, nn_graph *g);
int foresight_start(foresight *f, double floor);
void foresight_free(foresight *f);

/* Asks what comes next in every lifetime; zeros where no episode has ended yet. */
int foresight_next(foresight *f);
const float *foresight_of(const foresight *f, int row);

/* Finds latents and expectations again; measures units and gap. */
int foresight_refresh(foresight *f, pool *p, const float *acted);

void foresight_state(foresight *f, int replica, state_list *s);

#endif
