/* train.c - a step of the loop. */
#include <stdio.h>

#include "base/error.h"
#include "base/os.h"
#include "train/train_parts.h"

/* ---- the loop -------------------------------------------------------------------------------- */

int train_blame(training *t, int rc)
{
    int r = error_replica();
    if (rc >= 0 || rc == FANS_ESTOP || r < 0 || r >= t->count) return rc;
    const train_run *failed = &t->s.runs[r];
    int64_t step = t->replicas[r].tick * t->worlds_each;
    t->fault = (train_fault){.code = rc, .replica = r};
    snprintf(t->fault.why, sizeof t->fault.why, "%s, seed %d, step %lld: %s",
             failed->name ? failed->name : t->tasks[r]->def->name, failed->seed, (long long)step,
             fans_error());
    return fans_fail_replica(rc, r, "%s", t->fault.why);
}

int train_act(training *t, scene *s, bool learn)
{
    double start = os_now();
    unsigned before = fans_error_count();
    const fans_moment *now = scene_moment(s);
    int rc = error_settle("act", t->s.algo->act(t->agent, now, learn, s->action), before);
    t->times.acting += os_now() - start;
    return rc;
}

int train_update(training *t)
{
    double start = os_now();
    unsigned before = fans_error_count();
    int rc = t->s.algo->update ? error_settle("update", t->s.algo->update(t->agent), before) : 0;
    t->times.updating += os_now() - start;
    return rc;
}

int train_observe(training *t, scene *s, bool learn)
{
    const fans_algo_def *algo = t->s.algo;
    double start = os_now();
    fans_outcome outcome = scene_outcome(s);
    int rc = 0;
    if (learn) TRY(train_write_moments(t));
    unsigned before = fans_error_count();
    if (algo->observe)
        TRY(error_settle("observe", algo->observe(t->agent, &s->told, s->action, &outcome, learn),
                         before));
    t->times.observing += os_now() - start;
out:
    return rc;
}

/* One step of all worlds of a scene. On a GPU, the queued update runs while they step. */
int train_live(training *t, scene *s, bool learn)
{
    int rc = 0;
    TRY(train_act(t, s, learn));
    if (learn) TRY(train_update(t));
    double start = os_now();
    TRY(scene_step(s));
    t->times.worlds += os_now() - start;
    TRY(train_observe(t, s, learn));
out:
    return rc;
}

bool train_is_done(const training *t)
{
    return t->replicas[0].tick >= t->ticks;
}

static int count_step(training *t)
{
    int rc = 0;
    train_lock(t);
    for (int r = 0; r < t->count; r++) t->replicas[r].tick++;
    if (train_is_done(t)) t->ended = os_now();
    train_unlock(t);
    for (int i = 0; i < t->rows; i++) {
        int r = i / t->worlds_each, w = i % t->worlds_each;
        t->replicas[r].gain[w] += (double)t->scene.now.reward[i];
        t->replicas[r].length[w]++;
        if (scene_ended(&t->scene, i)) TRY(train_end_episode(t, r, w));
    }
out:
    return rc;
}

/* If saving takes long, as with many runs, checkpoints are rarer, so that those of all `together`
 * trainings take at most 3 % of the time. */
static bool save_due(const training *t, int together)
{
    int64_t every = t->s.options.checkpoint_every / t->worlds_each;
    bool cheap = t->save_took < 0.05;
    if (t->s.outside || !train_keeps(t, 0) || t->replicas[0].tick % (every > 1 ? every : 1))
        return false;
    return cheap || os_now() - t->saved >= t->save_took * together / 0.03;
}

int train_finish(training *t, int together)
{
    int rc = 0;
    TRY(count_step(t));
    TRY(train_evaluate(t));
    if (train_is_done(t) || save_due(t, together)) TRY(train_save(t));
    if (train_is_done(t)) TRY(train_write_results(t));
out:
    return rc;
}

int train_step(training *t, int together)
{
    int rc = train_live(t, &t->scene, true);
    if (rc == 0) rc = train_finish(t, together);
    return train_blame(t, rc);
}

const train_fault *training_fault(const training *t)
{
    return t->fault.code ? &t->fault : NULL;
}

/* ---- access ---------------------------------------------------------------------------------- */

train_progress training_progress(const training *t)
{
    return (train_progress){.steps = t->replicas[0].tick * t->worlds_each,
                            .total = t->ticks * t->worlds_each,
                            .episodes = t->replicas[0].episodes,
                            .seconds = (t->ended > 0 ? t->ended : os_now()) - t->started,
                            .since = t->tick_started * t->worlds_each};
}

train_times training_times(const training *t)
{
    return t->times;
}

const state_list *training_state(const training *t, int r)
{
    return &t->replicas[r].state;
}

int training_count(const training *t)
{
    return t->count;
}

void *training_agent(const training *t)
{
    return t->agent;
}

const char *training_folder(const training *t, int r)
{
    return t->replicas[r].run.path;
}

const train_run *training_runs(const training *t)
{
    return t->s.runs;
}
