/* checker.h - the parts of check.c: what they share, and the checks themselves. */
#ifndef ENV_CHECKER_H
#define ENV_CHECKER_H

#include "base/rng.h"
#include "env/check.h"
#include "env/world.h"

/* Makes two tasks of the environment: one without changes, and one in which every factor jumps
 * between its least, default and greatest value at random steps. */
typedef struct checker {
    const char *name;
    const char *const *settings;
    int setting_count;
    task *still, *moving;
    env_check_report *report;
    void *user;
    int failed;
    char detail[256]; /* of a check that passed */
} checker;

/* Notes what a check saw, for its line. */
void checker_saw(checker *k, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Floats after every buffer that an environment writes, to see that it stops there. */
enum { CHECK_GUARD = 16 };

/* Uniform in [-1, 1]. */
void check_random_action(rng *r, float *action, int n);

/* Each returns 0, or an error whose line says what is wrong. */
int check_shapes(checker *k);
int check_names(checker *k);
int check_buffers(checker *k);
int check_finite(checker *k);
int check_same_seed(checker *k);
int check_seeds_differ(checker *k);
int check_horizon(checker *k);
int check_allocation(checker *k);
int check_save(checker *k);
int check_clipping(checker *k);
int check_factor(checker *k, int factor);
int check_cameras(checker *k);
int check_picture(checker *k);
int check_graph(checker *k);

#endif
