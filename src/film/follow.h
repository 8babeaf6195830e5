/* follow.h - follows the moving factors of an agent's world: the truth, what the agent believes,
 * and how each change was met (report/noticing.h). Films and the live page show it. */
#ifndef FILM_FOLLOW_H
#define FILM_FOLLOW_H

#include "report/beliefs.h"
#include "report/noticing.h"
#include "train/train.h"

/* How many changes were large enough to be noticed, how many were, and after how many steps: their
 * sum, or their mean (NaN: none). */
typedef struct follow_count {
    int changes, noticed;
    double after;
} follow_count;

/* A step as one factor saw it. */
typedef struct follow_moment {
    float truth, guess, spread; /* guess and spread are NaN without a belief */
    int changed;                /* 1: the factor has just changed */
    int noticed;                /* -1; or, where it became clear, after how many steps */
} follow_moment;

typedef struct follow_factor {
    belief_reading reading; /* w is NULL without a belief, or with too little to read it by */
    noticing noticing;
    follow_count so_far;
} follow_factor;

/* Start from {0}. */
typedef struct follow {
    const task *task;
    int factors;
    fans_moving *moving; /* [factors]: those that do move */
    follow_factor *list; /* [factors] */
    bool told;           /* the truth */
    const char *without; /* why it has no belief to show; NULL: it has one */
} follow;

/* Then open it: what the agent is told, and the folder of its run, whose beliefs.csv says how to
 * read the belief. Until then there is none. */
int follow_new(follow *f, const task *t);
int follow_open(follow *f, fans_told told, const char *folder);
void follow_free(follow *f);

const char *follow_name(const follow *f, int k);

/* The last step, for factor k. `grows`: a change at this step continues the one before, as when
 * somebody still moves a slider, unless that was noticed already. */
follow_moment follow_step(follow *f, int k, const play_view *v, bool grows);

/* A new lifetime starts. */
void follow_restart(follow *f);

follow_count follow_total(const follow *f); /* with the mean */

/* Has a factor that changes rarely changed in the last steps, and was that not noticed before the
 * last of them? */
bool follow_has_news(const follow *f, int within);

/* How the present value of factor k was met, in words; k = -1: that of all factors which was met
 * last. */
typedef enum { FOLLOW_QUIET, FOLLOW_CHANGED, FOLLOW_NOTICED } follow_tone;
typedef struct follow_verdict {
    char text[64];
    follow_tone tone;
} follow_verdict;
follow_verdict follow_judge(const follow *f, int k);

#endif
