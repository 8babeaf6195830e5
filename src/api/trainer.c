/* trainer.c - learning in the caller's loop: a session of one run whose worlds are outside. */
#include <math.h>
#include <string.h>

#include "api/config.h"
#include "api/policy.h"
#include "base/error.h"
#include "base/mem.h"
#include "train/session.h"

typedef enum { MUST_ACT, MAY_UPDATE, MUST_OBSERVE, FAILED } stage_of; /* of a step */

struct fans_trainer {
    handle handle;
    fans_config *config;
    char *folder;  /* NULL: none */
    plan_run plan; /* borrows from both */
    session session;
    bool open;
    training *training; /* the session's only one */
    const fans_env_info *info;
    int rows;
    stage_of stage;
    bool needs_truth;
    int *places;   /* [factors] of the caller's in the task */
    int factors;   /* of the caller's */
    double *truth; /* (rows, factor_count), the task's */
    float *did;    /* (rows, act) */
    uint8_t *none; /* (rows) zeros */
};

/* ---- what the worlds are like ---------------------------------------------------------------- */

static int names_env(const fans_config *c, bool *out)
{
    config *all = NULL;
    int rc = source_layers(&all, c->path, NULL, c->settings.s);
    *out = rc == 0 && config_get(all, "env", "name");
    config_free(all);
    return rc;
}

static int check_task(const fans_task *t)
{
    int rc = check_size(t, UP_TO(fans_task, names), "fans_trainer_new");
    if (rc < 0) return rc;
    if (t->obs < 1 || t->act < 1 || t->horizon < 1 || t->worlds < 1 || t->factors < 0)
        return fans_fail(FANS_EINVAL,
                         "fans_trainer_new: obs %d, act %d, horizon %d, worlds %d, factors %d: all "
                         "but the last are at least 1",
                         t->obs, t->act, t->horizon, t->worlds, t->factors);
    for (int k = 0; k < t->factors; k++)
        if (!t->names || !t->names[k])
            return fans_fail(FANS_EINVAL, "fans_trainer_new: factor %d has no name", k);
    return 0;
}

/* Your own worlds are a task of their own; settings say so, and the run's config.ini keeps them. */
static int describe(fans_config *c, const fans_task *t)
{
    bool named;
    int rc = 0;
    TRY(names_env(c, &named));
    if (!named && !t)
        TRY(fans_fail(FANS_EINVAL, "fans_trainer_new: the config names no environment, so the task "
                                   "must not be NULL"));
    if (!t) return 0;
    text_add(&c->settings, "train.worlds=%d\n", t->worlds);
    if (!named)
        text_add(&c->settings, "env.name=own\nenv.obs=%d\nenv.act=%d\nenv.horizon=%d\n", t->obs,
                 t->act, t->horizon);
    TRY(text_done(&c->settings));
out:
    return rc;
}

static int check_agreement(const fans_env_info *i, const fans_task *t)
{
    if (i->obs_dim == t->obs && i->act_dim == t->act && i->horizon == t->horizon) return 0;
    return fans_fail(FANS_EINVAL,
                     "fans_trainer_new: the config's environment has obs %d, act %d, horizon %d; "
                     "the task %d, %d, %d (for worlds of your own, leave env.name out)",
                     i->obs_dim, i->act_dim, i->horizon, t->obs, t->act, t->horizon);
}

static int place_factor(const fans_env_info *info, const char *name, int *place)
{
    for (*place = 0; *place < info->factor_count; ++*place)
        if (!strcmp(info->factors[*place].name, name)) return 0;
    return fans_fail(FANS_EINVAL,
                     "fans_trainer_new: factor '%s' has no section [change.%s] to say between "
                     "which values it moves",
                     name, name);
}

/* Before the folder is made: the caller's task and the config's are the same. */
static int place_factors(fans_trainer *t, const fans_task *like)
{
    source from = {0};
    int rc = 0;
    TRY(config_read(t->config, &from));
    const fans_env_info *info = &from.task->info;
    if (like) TRY(check_agreement(info, like));
    t->factors = like ? like->factors : info->factor_count;
    TRY((t->places = mem_alloc((size_t)t->factors * sizeof *t->places)) ? 0 : FANS_ENOMEM);
    for (int k = 0; k < t->factors; k++) {
        t->places[k] = k;
        if (like) TRY(place_factor(info, like->names[k], &t->places[k]));
    }
out:
    source_free(&from);
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static int open_session(fans_trainer *t, const fans_task *like)
{
    session_wish w = SESSION_WISH;
    bool more = like && like->size >= UP_TO(fans_task, device);
    t->plan = (plan_run){.folder = t->folder,
                         .config = t->config->path,
                         .preset = t->config->preset,
                         .settings = t->config->settings.s,
                         .seed = -1};
    w.runs = &t->plan;
    w.count = 1;
    w.command = "fans_trainer_new";
    w.outside = true;
    w.threads = more ? like->threads : 0;
    if (more && like->device) w.device = like->device;
    int rc = session_open(&t->session, &w);
    if (rc < 0) return rc;
    t->open = true;
    t->training = t->session.trainings[0];
    t->info = &t->session.sources[0].task->info;
    t->rows = t->session.sources[0].options.worlds;
    t->needs_truth =
        t->info->factor_count > 0 && t->session.entries[0].algo->told >= FANS_TOLD_LABELS;
    if (t->needs_truth && t->factors < t->info->factor_count)
        return fans_fail(FANS_EINVAL,
                         "fans_trainer_new: %s must be told the factors: the task names %d of %d",
                         t->session.entries[0].algo->name, t->factors, t->info->factor_count);
    return 0;
}

static int claim(fans_trainer *t)
{
    size_t rows = (size_t)t->rows, n = (size_t)t->info->factor_count;
    int rc = 0;
    TRY((t->truth = mem_alloc(rows * n * sizeof *t->truth)) ? 0 : FANS_ENOMEM);
    TRY((t->did = mem_alloc(rows * (size_t)t->info->act_dim * sizeof *t->did)) ? 0 : FANS_ENOMEM);
    TRY((t->none = mem_alloc(rows)) ? 0 : FANS_ENOMEM);
out:
    return rc;
}

static int make(fans_trainer *t, const fans_task *like, const char *folder)
{
    int rc = 0;
    if (like) TRY(check_task(like));
    if (folder) TRY((t->folder = mem_text(folder)) ? 0 : FANS_ENOMEM);
    TRY(describe(t->config, like));
    TRY(place_factors(t, like));
    TRY(open_session(t, like));
    TRY(claim(t));
out:
    return rc;
}

int fans_trainer_new(fans_trainer **out, const fans_task *like, const fans_config *c,
                     const char *folder)
{
    int rc = 0;
    fans_trainer *t = NULL;
    TRY(CHECK_POINTER(out));
    TRY((t = mem_alloc(sizeof *t)) ? 0 : FANS_ENOMEM);
    TRY(handle_begin(&t->handle, HANDLE_TRAINER));
    TRY(config_keep(&t->config, c, __func__));
    TRY(make(t, like, folder));
    *out = t;
    return 0;
out:
    fans_trainer_free(t);
    return rc;
}

void fans_trainer_free(fans_trainer *t)
{
    if (!t || !handle_end(t, HANDLE_TRAINER)) return;
    if (t->open) session_close(&t->session);
    mem_free(t->places);
    mem_free(t->truth);
    mem_free(t->did);
    mem_free(t->none);
    mem_free(t->folder);
    fans_config_free(t->config);
    mem_free(t);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static int check_finite(const char *what, const float *x, int rows, int width)
{
    for (int i = 0; i < rows * width; i++)
        if (!isfinite(x[i]))
            return fans_fail(FANS_EINVAL, "%s[%d] of world %d is %g", what, i % width, i / width,
                             (double)x[i]);
    return 0;
}

static int check_truth(const fans_trainer *t, const double *truth)
{
    int n = truth ? t->factors : 0;
    if (!truth && t->needs_truth)
        return fans_fail(FANS_EINVAL, "truth is NULL, but %s must be told the factors",
                         t->session.entries[0].algo->name);
    for (int i = 0; i < t->rows * n; i++)
        if (!isfinite(truth[i]))
            return fans_fail(FANS_EINVAL, "truth[%d] of world %d is %g", i % n, i / n, truth[i]);
    return 0;
}

/* In the order in which calls of a step come. */
static int check_stage(const fans_trainer *t, bool right, const char *function)
{
    static const char *const next[] = {"fans_trainer_act", "fans_trainer_update or _observe",
                                       "fans_trainer_observe"};
    if (t->stage == FAILED)
        return fans_fail(FANS_EINVAL,
                         "%s: a step has failed half-way: free the trainer, and "
                         "resume its run",
                         function);
    if (right) return 0;
    return fans_fail(FANS_EINVAL, "%s: it is time for %s", function, next[t->stage]);
}

static void place_truth(fans_trainer *t, const double *truth)
{
    int n = t->info->factor_count;
    for (int i = 0; truth && i < t->rows; i++)
        for (int k = 0; k < t->factors; k++)
            t->truth[i * n + t->places[k]] = truth[i * t->factors + k];
}

static int act(fans_trainer *t, const float *obs, const uint8_t *change, const double *truth,
               float *action)
{
    int rc = 0;
    TRY(check_finite("obs", obs, t->rows, t->info->obs_dim));
    TRY(check_truth(t, truth));
    if (training_is_done(t->training))
        TRY(fans_fail(FANS_ESTOP, "the run has all its steps (train.episodes)"));
    place_truth(t, truth);
    t->stage = FAILED;
    TRY(training_act(t->training, obs, change, t->truth, action));
    t->stage = MAY_UPDATE;
out:
    return rc;
}

int fans_trainer_act(fans_trainer *t, const float *obs, const uint8_t *change, const double *truth,
                     float *action)
{
    int rc = ENTER(t, HANDLE_TRAINER);
    if (rc < 0) return rc;
    TRY(CHECK_POINTER(obs));
    TRY(CHECK_POINTER(action));
    TRY(check_stage(t, t->stage == MUST_ACT, __func__));
    TRY(act(t, obs, change, truth, action));
out:
    return handle_leave(t, rc);
}

int fans_trainer_update(fans_trainer *t)
{
    int rc = ENTER(t, HANDLE_TRAINER);
    if (rc < 0) return rc;
    TRY(check_stage(t, t->stage == MAY_UPDATE, __func__));
    TRY(training_update(t->training));
    t->stage = MUST_OBSERVE;
out:
    return handle_leave(t, rc);
}

/* What was done, within the bounds of an action. */
static int clip(fans_trainer *t, const float *did)
{
    int n = t->rows * t->info->act_dim, rc = check_finite("did", did, t->rows, t->info->act_dim);
    for (int i = 0; rc == 0 && i < n; i++) t->did[i] = fminf(fmaxf(did[i], -1), 1);
    return rc;
}

static int observe(fans_trainer *t, const float *did, const fans_outcome *o)
{
    int rc = 0;
    TRY(check_finite("reward", o->reward, t->rows, 1));
    TRY(check_finite("next_obs", o->next_obs, t->rows, t->info->obs_dim));
    if (did) TRY(clip(t, did));
    t->stage = FAILED;
    TRY(training_observe(t->training, did ? t->did : NULL, o));
    t->stage = MUST_ACT;
out:
    return rc;
}

int fans_trainer_observe(fans_trainer *t, const float *did, const float *reward,
                         const uint8_t *terminated, const uint8_t *truncated, const float *next_obs)
{
    int rc = ENTER(t, HANDLE_TRAINER);
    if (rc < 0) return rc;
    TRY(CHECK_POINTER(reward));
    TRY(CHECK_POINTER(next_obs));
    TRY(check_stage(t, t->stage != MUST_ACT, __func__));
    fans_outcome o = {reward, terminated ? terminated : t->none, truncated ? truncated : t->none,
                      next_obs};
    TRY(observe(t, did, &o));
out:
    return handle_leave(t, rc);
}

/* ---- saving ---------------------------------------------------------------------------------- */

int fans_trainer_save(fans_trainer *t, const void *yours, size_t bytes)
{
    int rc = ENTER(t, HANDLE_TRAINER);
    if (rc < 0) return rc;
    if (bytes) TRY(CHECK_POINTER(yours));
    if (!t->folder) TRY(fans_fail(FANS_EINVAL, "%s: the trainer has no folder", __func__));
    TRY(check_stage(t, t->stage == MUST_ACT, __func__));
    TRY(training_save(t->training, yours, bytes));
out:
    return handle_leave(t, rc);
}

const void *fans_trainer_yours(const fans_trainer *t, size_t *bytes)
{
    if (CHECK(t, HANDLE_TRAINER) < 0 || CHECK_POINTER(bytes) < 0) return NULL;
    return training_yours(t->training, bytes);
}

int64_t fans_trainer_steps(const fans_trainer *t)
{
    int rc = CHECK(t, HANDLE_TRAINER);
    return rc < 0 ? rc : training_progress(t->training).steps;
}

int fans_trainer_policy(fans_policy **out, fans_trainer *t)
{
    int rc = ENTER(t, HANDLE_TRAINER);
    if (rc < 0) return rc;
    TRY(CHECK_POINTER(out));
    TRY(state_refresh(training_state(t->training, 0))); /* what a GPU has queued */
    TRY(policy_make(out, t->session.entries[0].algo, training_agent(t->training),
                    t->info->horizon));
out:
    return handle_leave(t, rc);
}
