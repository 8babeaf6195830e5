/* program.h - what an agent acts by, as a flat list of a few operations: the form in which a policy
 * leaves this library.
 *
 * A program is made from the agent's own recording of a tick (learn/tick.h) and holds everything it
 * needs: weights with their masks folded in, units of normalisation, the belief's filter, the
 * policy. It has three users: program_step, which runs it; c_export.h and onnx.h, which write it
 * down.
 *
 * A **tick** turns the inputs, some floats, and the state into the outputs and the next state. A
 * state of zeros is a new life. See learn/tick.h for what each input means, and what to do where an
 * episode ends. */
#ifndef DEPLOY_PROGRAM_H
#define DEPLOY_PROGRAM_H

#include "fans/algo.h"
#include "learn/tick.h"

typedef struct program program;

typedef struct program_options {
    bool sampling; /* with the outputs `mean` and `log_std`, for those who explore */
    bool f16;      /* matrices rounded to half precision */
} program_options;

/* From a run's folder; or from an agent as it is now, which may learn on. Fails for algorithms that
 * act by something else than a recording. */
int program_load(program **out, const char *run, program_options o);
int program_new(program **out, const fans_algo_def *algo, void *agent, int replica,
                program_options o);
void program_free(program *p);

/* Where a field lies among the floats of all inputs, or of all outputs. */
typedef struct program_field {
    int at, width; /* width 0: this program has no such field */
} program_field;

typedef struct program_shape {
    program_field in[TICK_IN], out[TICK_OUT]; /* by TICK_obs …, TICK_actions … */
    int inputs, outputs, state, work;         /* numbers of floats */
} program_shape;
const program_shape *program_shape_of(const program *p);

/* One tick of some lives, a row each: (lives, inputs), (lives, state) → (lives, outputs), (lives,
 * state). The bits of a row do not depend on the others. `work` has as many rows of its own. It
 * allocates nothing, calls no system, and shares nothing: any number of threads may run one
 * program. */
void program_step(const program *p, int lives, const float *in, float *state, float *out,
                  float *work);

#endif
