/* schedule.h - how the factors of a world move: clock × function, one [change.FACTOR] section each.
 *
 * A **clock** counts ticks: lifetime steps, episodes, blocks of steps within the episode, or random
 * change points. A **function** turns the reading of the clock into a value. A **segment** is a
 * stretch of lifetime between ticks: whenever the clock of any moving factor ticks, a new segment
 * begins. Sampling the same value twice therefore still makes two segments: the agent knows when
 * the world may have changed, not whether it did. `constant` never ticks, `steps` only at its
 * points.
 *
 * Randomness is counter-based, so a value is a pure function of the seed and of how often the clock
 * ticked; only that count and the place of a random walk are state. */
#ifndef ENV_SCHEDULE_H
#define ENV_SCHEDULE_H

#include <stdint.h>

#include "base/config.h"
#include "fans/env.h"

#define CHANGE_OPTIONS(X)                                                                         \
    X(CHOICE, clock, 1, "step|episode|block|random", "when the factor changes")                   \
    X(INT, length, 10, 1, 1000000000, "block: steps per block, counted from the episode's start") \
    X(REAL, rate, 0.01, 0, 1, "random: probability of a change at each lifetime step")            \
    X(LIST, at, "", "random: lifetime steps of the changes, instead of a rate: 100, 250")         \
    X(CHOICE, function, 0, "constant|sine|cosine|damped|linear|steps|walk|uniform|choice",        \
      "how the value depends on the clock")                                                       \
    X(REAL, offset, 0, -1e9, 1e9, "constant: value; waves: centre; walk: start")                  \
    X(REAL, amplitude, 1, -1e9, 1e9, "waves: half the height")                                    \
    X(REAL, frequency, 1, -1e9, 1e9, "waves: radians per tick")                                   \
    X(REAL, phase, 0, -1e9, 1e9, "waves: radians at tick 0")                                      \
    X(FLAG, absolute, false, "sine, cosine: take the absolute value")                             \
    X(REAL, decay, 1.01, 1, 1e9, "damped: the amplitude is divided by this")                      \
    X(INT, decay_every, 10, 1, 1000000000, "damped: ticks between divisions, rounded up")         \
    X(LIST, points, "", "linear, steps: tick:value pairs in order: 0:35, 1500:5, 3000:35")        \
    X(INT, period, 0, 0, 1000000000, "linear, steps: repeat after so many ticks; 0: never")       \
    X(LIST, values, "", "choice: values to choose from: 1, 2, 3")                                 \
    X(REAL, low, 0, -1e9, 1e9, "walk, uniform: lower bound")                                      \
    X(REAL, high, 1, -1e9, 1e9, "walk, uniform: upper bound; a walk is reflected at both")        \
    X(REAL, step, 0.1, 0, 1e9, "walk: standard deviation of the step at a tick")                  \
    X(FLAG, relative, false, "multiply all values by the factor's default")
OPTIONS_STRUCT(change_options, CHANGE_OPTIONS)
const option_group *change_option_group(void);

/* The position in a lifetime: step t, episode i, step tau within it; all from 0. */
typedef struct sched_time {
    int64_t t, episode, tau;
} sched_time;

/* What one rule remembers. Plain data without padding: copy it to save it. */
typedef struct sched_state {
    int64_t tick;  /* the clock's reading */
    int64_t count; /* ticks over the whole lifetime; a block clock starts again, this does not */
    double walk;
} sched_state;

/* Which lifetime: the run's seed and the number of the world within the run (32 bits count). */
typedef struct sched_life {
    uint64_t seed, index;
} sched_life;

/* Takes every [change.X] section; factors and ranges are those of `info`. `env` names the
 * environment in messages. */
typedef struct schedule schedule;
int schedule_load(schedule **out, config *c, const fans_env_info *info, const char *env);
void schedule_free(schedule *s);

/* The number of rules, and the factor that rule k moves. */
int schedule_rules(const schedule *s);
int schedule_factor(const schedule *s, int k);

/* What is known about rule k in advance, for agents that may know it. */
fans_moving schedule_moving(const schedule *s, int k);

/* True where the next value of rule k depends on the present one (not so for samples). */
bool schedule_has_memory(const schedule *s, int k);

/* Advances from the step before `now` to `now` (or to the start of the lifetime, when now->t is 0):
 * updates states[rules], writes values[rules], and returns true where a new segment begins. */
bool schedule_advance(const schedule *s, sched_life life, const sched_time *now,
                      sched_state *states, double *values);

/* The values at the present, which schedule_advance has written before. */
void schedule_values(const schedule *s, sched_life life, const sched_state *states, double *values);

/* In a prelude, before the schedule begins, every factor that moves is drawn afresh in each
 * episode: uniformly from its range, or among its choices. Writes values[rules] for an episode. */
void schedule_draw(const schedule *s, sched_life life, int64_t episode, double *values);
bool schedule_moves(const schedule *s); /* any factor at all */

/* Appends the resolved sections. */
void schedule_dump(const schedule *s, text *out);

#endif
