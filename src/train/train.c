/* train.c - a step of the loop, and evaluation. */
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "train/train_parts.h"

/* ---- the loop -------------------------------------------------------------------------------- */

/* Notes the run that an error is about, with task, seed and step. */
static int blame(training *t, int rc)
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

/* One step of all worlds of a scene. On a GPU, the queued update runs while they step. */
static int live(training *t, scene *s, bool learn)
{
    const fans_algo_def *algo = t->s.algo;
    int rc = 0;
    unsigned before = fans_error_count();
    double start = os_now();
    const fans_moment *now = scene_moment(s);
    TRY(error_settle("act", algo->act(t->agent, now, learn, s->action), before));
    double acted = os_now();
    before = fans_error_count();
    if (learn && algo->update) TRY(error_settle("update", algo->update(t->agent), before));
    double updated = os_now();
    TRY(scene_step(s));
    double lived = os_now();
    fans_outcome outcome = scene_outcome(s);
    if (learn) TRY(train_write_beliefs(t));
    before = fans_error_count();
    if (algo->observe)
        TRY(error_settle("observe", algo->observe(t->agent, now, s->action, &outcome, learn),
                         before));
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
    if (!train_keeps(t, 0) || t->replicas[0].tick % (every > 1 ? every : 1)) return false;
    return cheap || os_now() - t->saved >= t->save_took * together / 0.03;
}

int train_step(training *t, int together)
{
    int rc = 0;
    TRY(live(t, &t->scene, true));
    TRY(count_step(t));
    if (train_is_done(t) || save_due(t, together)) TRY(train_save(t));
    if (train_is_done(t)) TRY(train_write_results(t));
out:
    return blame(t, rc);
}

const train_fault *training_fault(const training *t)
{
    return t->fault.code ? &t->fault : NULL;
}

/* ---- what is carried along lifetimes, set aside ---------------------------------------------- */

typedef struct carried {
    state_list list;
    uint8_t *bytes;
} carried;

/* To or from where it lives, which may be a GPU. */
static void copy_item(const state_item *item, uint8_t *bytes, bool back)
{
    size_t n = state_item_bytes(item);
    void *to = back ? item->data : bytes;
    const void *from = back ? bytes : item->data;
    if (!item->graph)
        memcpy(to, from, n);
    else if (back)
        nn_copy_in(item->graph, to, from, n);
    else
        nn_copy_out(item->graph, to, from, n);
}

static int put_aside(training *t, int r, carried *c)
{
    size_t all = 0, at = 0;
    int rc = 0;
    if (t->s.algo->carried) t->s.algo->carried(t->agent, r, &c->list);
    TRY(state_done(&c->list));
    TRY(state_refresh(&c->list));
    for (size_t i = 0; i < c->list.count; i++) all += state_item_bytes(&c->list.items[i]);
    TRY((c->bytes = mem_alloc(all)) ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < c->list.count; i++) {
        size_t n = state_item_bytes(&c->list.items[i]);
        copy_item(&c->list.items[i], c->bytes + at, false);
        at += n;
    }
out:
    return rc;
}

static int bring_back(carried *c)
{
    size_t at = 0;
    int rc = state_refresh(&c->list); /* pending results must not arrive later */
    for (size_t i = 0; c->bytes && i < c->list.count; i++) {
        size_t n = state_item_bytes(&c->list.items[i]);
        copy_item(&c->list.items[i], c->bytes + at, true);
        at += n;
    }
    if (rc == 0 && c->bytes) rc = state_loaded(&c->list);
    state_free(&c->list);
    mem_free(c->bytes);
    return rc;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

typedef struct playing {
    scene scene;
    int episodes;
    int *played;      /* [runs] */
    double *gain;     /* [runs] of the episode */
    uint64_t *seeds;  /* [runs] */
    carried *carried; /* [runs] */
} playing;

static int prepare(training *t, playing *p, uint64_t seed)
{
    size_t n = (size_t)t->count;
    int rc = 0;
    TRY((p->seeds = mem_alloc(n * sizeof *p->seeds)) ? 0 : FANS_ENOMEM);
    TRY((p->played = mem_alloc(n * sizeof *p->played)) ? 0 : FANS_ENOMEM);
    TRY((p->gain = mem_alloc(n * sizeof *p->gain)) ? 0 : FANS_ENOMEM);
    TRY((p->carried = mem_alloc(n * sizeof *p->carried)) ? 0 : FANS_ENOMEM);
    for (int r = 0; r < t->count; r++) p->seeds[r] = seed + (uint64_t)r;
    TRY(scene_new(&p->scene, t->tasks, t->s.pool, p->seeds, t->count, t->worlds_each));
    TRY(scene_start(&p->scene));
    for (int r = 0; r < t->count; r++) TRY(put_aside(t, r, &p->carried[r]));
    if (t->s.algo->start) t->s.algo->start(t->agent);
out:
    return rc;
}

/* Only the first world of a run counts: of several, short episodes would finish first and bias the
 * mean. */
static bool count_episode(const training *t, playing *p, int r, double *returns)
{
    int row = r * t->worlds_each;
    p->gain[r] += (double)p->scene.now.reward[row];
    if (!scene_ended(&p->scene, row)) return false;
    bool wanted = p->played[r] < p->episodes;
    if (wanted) returns[r * p->episodes + p->played[r]++] = p->gain[r];
    p->gain[r] = 0;
    return wanted && p->played[r] == p->episodes;
}

int training_eval(training *t, int episodes, uint64_t seed, double *returns, train_film_fn *film,
                  void *user)
{
    playing p = {.episodes = episodes};
    int rc = 0;
    TRY(prepare(t, &p, seed));
    for (int done = 0; done < t->count;) {
        TRY(live(t, &p.scene, false));
        if (film && p.played[0] < episodes) TRY(film(user, worlds_at(p.scene.worlds, 0)));
        for (int r = 0; r < t->count; r++) done += count_episode(t, &p, r, returns);
    }
out:
    for (int r = 0; p.carried && r < t->count; r++) {
        int back = bring_back(&p.carried[r]);
        if (rc == 0) rc = back;
    }
    scene_free(&p.scene);
    mem_free(p.seeds);
    mem_free(p.played);
    mem_free(p.gain);
    mem_free(p.carried);
    return rc;
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

const char *training_folder(const training *t, int r)
{
    return t->replicas[r].run.path;
}

const train_run *training_runs(const training *t)
{
    return t->s.runs;
}
