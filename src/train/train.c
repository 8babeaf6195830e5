/* train.c - a step of the loop, and evaluation. */
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "train/train_parts.h"

/* ---- the loop -------------------------------------------------------------------------------- */

static fans_moment moment(const training *t)
{
    return (fans_moment){t->now.obs, t->now.factors, t->now.segment, t->now.change};
}

static fans_moment keep_moment(training *t)
{
    const fans_env_info *info = &t->tasks[0]->info;
    size_t n = (size_t)t->rows;
    memcpy(t->obs_before, t->now.obs, n * (size_t)info->obs_dim * sizeof(float));
    memcpy(t->factors_before, t->now.factors, n * (size_t)info->factor_count * sizeof(double));
    memcpy(t->segment_before, t->now.segment, n * sizeof(int64_t));
    memcpy(t->change_before, t->now.change, n);
    return (fans_moment){t->obs_before, t->factors_before, t->segment_before, t->change_before};
}

/* One step of all worlds. On a GPU, the update is queued, and done while the worlds step. */
static int live(training *t, bool learn)
{
    const fans_algo_def *algo = t->s.algo;
    int rc = 0;
    double start = os_now();
    fans_moment now = moment(t), before = keep_moment(t);
    TRY(algo->act(t->agent, &now, learn, t->action));
    double acted = os_now();
    if (learn && algo->update) TRY(algo->update(t->agent));
    double updated = os_now();
    TRY(worlds_step(t->worlds, &t->now));
    double lived = os_now();
    fans_outcome outcome = {t->now.reward, t->now.terminated, t->now.truncated, t->now.final_obs};
    if (learn) TRY(train_write_beliefs(t));
    if (algo->observe) TRY(algo->observe(t->agent, &before, t->action, &outcome, learn));
    t->times.acting += acted - start;
    t->times.observing += os_now() - lived;
    t->times.updating += updated - acted;
    t->times.worlds += lived - updated;
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
        t->replicas[r].gain[w] += (double)t->now.reward[i];
        t->replicas[r].length[w]++;
        if (t->now.terminated[i] || t->now.truncated[i]) TRY(train_end_episode(t, r, w));
    }
out:
    return rc;
}

/* With many runs a checkpoint takes its time: then it comes less often, so that those of all
 * `together` trainings take no more than three parts in a hundred. */
static bool save_due(const training *t, int together)
{
    int64_t every = t->s.options.checkpoint_every / t->worlds_each;
    bool cheap = t->save_took < 0.05;
    if (t->replicas[0].tick % (every > 1 ? every : 1)) return false;
    return cheap || os_now() - t->saved >= t->save_took * together / 0.03;
}

int train_step(training *t, int together)
{
    int rc = 0;
    TRY(live(t, true));
    TRY(count_step(t));
    if (train_is_done(t) || save_due(t, together)) TRY(train_save(t));
    if (train_is_done(t)) TRY(train_write_results(t));
out:
    return rc;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

int training_eval(training *t, int episodes, uint64_t seed, double *returns, train_film_fn *film,
                  void *user)
{
    int rc = 0;
    int *played = NULL;
    double *gain = NULL;
    uint64_t *seeds = NULL;
    worlds_free(t->worlds); /* the lives of training end here */
    t->worlds = NULL;
    TRY((seeds = mem_alloc((size_t)t->count * sizeof *seeds)) ? 0 : FANS_ENOMEM);
    TRY((played = mem_alloc((size_t)t->count * sizeof *played)) ? 0 : FANS_ENOMEM);
    TRY((gain = mem_alloc((size_t)t->count * sizeof *gain)) ? 0 : FANS_ENOMEM);
    for (int r = 0; r < t->count; r++) seeds[r] = seed + (uint64_t)r;
    TRY(worlds_new(&t->worlds, t->tasks, t->s.pool, seeds, t->count, t->worlds_each));
    TRY(worlds_start(t->worlds, &t->now));
    if (t->s.algo->start) t->s.algo->start(t->agent);
    for (int done = 0; done < t->count;) {
        TRY(live(t, false));
        if (film && played[0] < episodes) TRY(film(user, worlds_at(t->worlds, 0)));
        for (int r = 0; r < t->count; r++) {
            int i = r * t->worlds_each; /* of several, short episodes would be too many */
            gain[r] += (double)t->now.reward[i];
            if (!t->now.terminated[i] && !t->now.truncated[i]) continue;
            if (played[r] < episodes) {
                returns[r * episodes + played[r]++] = gain[r];
                done += played[r] == episodes;
            }
            gain[r] = 0;
        }
    }
out:
    mem_free(seeds);
    mem_free(played);
    mem_free(gain);
    return rc;
}

/* ---- looking in ------------------------------------------------------------------------------ */

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

const char *training_folder(const training *t, int r)
{
    return t->replicas[r].run.path;
}
