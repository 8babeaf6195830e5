/* recording.h - ticks as an agent lived them: for the self-test of exported code, and for tests. */
#ifndef DEPLOY_RECORDING_H
#define DEPLOY_RECORDING_H

#include "deploy/program.h"
#include "train/session.h"

typedef struct recording {
    int count, act, theta;
    float *in;     /* (count, inputs of the program) */
    float *action; /* (count, act): what the agent did */
    float *belief; /* (count, theta): the means that it believed */
    uint8_t *last; /* (count): 1 where an episode ended, and nobody acted */
    size_t room[4];
} recording;

/* Lets the agent of a session play `episodes` in a new world, without learning. Start from {0};
 * free it even after a failure. */
int recording_live(recording *r, const program *p, const session *s, int episodes, uint64_t seed);
void recording_free(recording *r);

#endif
