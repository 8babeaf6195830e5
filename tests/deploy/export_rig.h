/* export_rig.h - briefly trained runs of every algorithm that can be exported. */
#ifndef TESTS_EXPORT_RIG_H
#define TESTS_EXPORT_RIG_H

#include <math.h>

#include "deploy/recording.h"
#include "train_rig.h"

/* What each is trained with, beside the rig's small networks. */
typedef struct export_case {
    const char *name, *algo, *ini;
} export_case;

#define EXPORT_TASK                                                   \
    "[train]\nepisodes = 6\n[env]\nname = pendulum\nhorizon = 40\n"   \
    "[change.gravity]\nclock = block\nlength = 17\nfunction = sine\n" \
    "offset = 10\namplitude = 5\nfrequency = 0.5\n"                   \
    "[change.torque]\nclock = episode\nfunction = choice\nvalues = -1, 1\n"

static const export_case EXPORT_CASES[] = {
    {"sac", "sac", ""},
    {"sac_norm", "sac", "[sac]\nlayer_norm = all\n[replay]\nnormalize = false\n"},
    {"oracle", "oracle", ""},
    {"stack", "stack", "[stack]\nsteps = 3\n"},
    {"rsac", "rsac", ""},
    {"rsac_episodes", "rsac", "[rsac]\ncarry = false\n"},
    {"lilac", "lilac", "[lilac]\nrecall = 30\nhistory = 30\n"}, /* more than are played */
    {"varibad", "varibad", ""},
    {"zeus", "zeus", ""},
    {"zeus_last", "zeus", "[zeus]\nsteps = 1\n"},
    {"fans", "fans", ""},
    {"fans_mixed", "fans", "[fnvae]\nmixed = true\n[fans]\nlog_std = true\n"},
    {"fans_prior", "fans", "[fans]\nbelief = prior\n"},
};

/* Trains a run in the folder and opens it to look at. */
static inline void export_train(const export_case *c, const char *folder, session *s)
{
    char ini[2048];
    rig t;
    snprintf(ini, sizeof ini, "%s%s", EXPORT_TASK, c->ini);
    if (rig_open(&t, ini, c->algo, folder, 1, 1, 1) < 0 ||
        training_run(t.training, NULL, NULL) < 0 || session_look(s, folder, &(text_list){0}, 1) < 0)
        fail_msg("%s: %s", c->name, fans_error());
    rig_close(&t);
}

#endif
