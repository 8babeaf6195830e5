/* relabel_agents.h - small trainings of all methods that relabel, for any device. */
#ifndef TESTS_RELABEL_AGENTS_H
#define TESTS_RELABEL_AGENTS_H

#include "train_rig.h"

#define TASK                                                                                  \
    "[train]\nepisodes = 16\ncheckpoint_every = 37\nworlds = 2\n[env]\nname = half_cheetah\n" \
    "horizon = 20\n[change.speed]\nclock = block\nlength = 7\nfunction = walk\noffset = 1\n"  \
    "low = 0\nhigh = 3\nstep = 0.5\n"
#define OPEN "[relabel]\nerror = 1e9\nfactors = beyond\n" /* whatever the model's error */

typedef struct method {
    const char *algo, *ini;
} method;
static const method METHODS[] = {
    {"fans", TASK OPEN "[fans]\nrelabel = 0.7\nreward_model = decoder\n"},
    {"fans", TASK OPEN "dynamics = true\n[fans]\nrelabel = 0.5\n[fnvae]\nstructure = false\n"},
    {"oracle", TASK OPEN "[oracle]\nrelabel = 0.7\n"}};

static inline void train(rig *t, const char *ini, const char *algo, const char *folder, int seeds,
                         int threads)
{
    if (rig_open(t, ini, algo, folder, 4, seeds, threads) < 0) fail_msg("%s", fans_error());
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

/* Stops now and then, and resumes. */
static inline void train_in_parts(rig *t, const method *m, const char *folder)
{
    for (int64_t at = 97;; at += 97) {
        rig_stop stop = {at};
        if (rig_open(t, m->ini, m->algo, folder, 4, 1, 2) < 0) fail_msg("%s", fans_error());
        int rc = training_run(t->training, rig_stops, &stop);
        if (rc == 0) return;
        assert_int_equal(rc, FANS_ESTOP);
        rig_close(t);
    }
}

static inline double state_number(const rig *t, const char *name)
{
    const state_list *s = training_state(t->training, 0);
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, name)) return *(const double *)s->items[i].data;
    fail_msg("the state has no '%s'", name);
    return 0;
}

/* Relabels, and ends the same when it is interrupted. */
static inline void check_resumes(const method *m)
{
    char whole[64], parts[64];
    rig x, y;
    train(&x, m->ini, m->algo, rig_folder(whole, sizeof whole), 1, 1);
    train_in_parts(&y, m, rig_folder(parts, sizeof parts));
    assert_true(state_number(&x, "relabel/reward/open") == 1);
    rig_same_state(x.training, 0, y.training, 0);
    rig_same_file(whole, parts, "metrics.csv");
    rig_close(&x);
    rig_close(&y);
    rig_remove(whole);
    rig_remove(parts);
}

#endif
