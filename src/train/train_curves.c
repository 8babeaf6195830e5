/* train_curves.c - what a training writes: a row per episode, TensorBoard's curves, results. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "train/train_parts.h"

static int count_recent(const replica *p)
{
    return p->episodes < TRAIN_RECENT ? (int)p->episodes : TRAIN_RECENT;
}

static double mean_recent(const replica *p, const double *ring)
{
    int n = count_recent(p);
    double sum = 0;
    for (int i = 0; i < n; i++) sum += ring[i];
    return n > 0 ? sum / n : NAN;
}

typedef struct emitting {
    text *row;
    events *events;
} emitting;

static void emit_name(void *user, const char *name, double value)
{
    const char *slash = strchr(name, '/');
    (void)value;
    text_add(user, ",%s", slash ? slash + 1 : name);
}

static void emit_value(void *user, const char *name, double value)
{
    emitting *e = user;
    text_add(e->row, ",%.9g", value);
    events_add(e->events, name, value);
}

static int write_head(training *t, int r)
{
    t->row.length = 0;
    text_add(&t->row, "episode,step,world,return,length,success");
    if (t->s.algo->scalars) t->s.algo->scalars(t->agent, r, emit_name, &t->row);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.metrics, &t->row);
}

/* The end of the first episode in each hundredth of the run. */
static int write_time(training *t, int r)
{
    replica *p = &t->replicas[r];
    int64_t total = t->ticks * t->worlds_each, step = train_counted(t, p);
    if (total > 0 && step * 100 / total == p->timed * 100 / total) return 0;
    p->timed = step;
    t->row.length = 0;
    text_add(&t->row, "%lld,%.3f\n", (long long)step, train_busy(t, p));
    return run_row(&p->run, &p->run.times, &t->row);
}

static int write_episode(training *t, int r, int w)
{
    replica *p = &t->replicas[r];
    int64_t step = train_counted(t, p);
    events *to = p->run.events;
    emitting e = {&t->row, to};
    double rows = (double)(p->tick - t->tick_started) * t->rows;
    int rc = 0;
    t->row.length = 0;
    text_add(&t->row, "%lld,%lld,%d,%.9g,%lld,%.9g", (long long)p->episodes - 1, (long long)step, w,
             p->gain[w], (long long)p->length[w],
             (double)t->scene.now.success[r * t->worlds_each + w]);
    if (t->s.algo->scalars) t->s.algo->scalars(t->agent, r, emit_value, &e);
    text_add(&t->row, "\n");
    TRY(run_row(&p->run, &p->run.metrics, &t->row));
    events_add(to, "rollout/ep_rew_mean", mean_recent(p, p->recent));
    events_add(to, "rollout/ep_len_mean", mean_recent(p, p->lengths));
    events_add(to, "rollout/return", p->gain[w]);
    events_add(to, "time/fps", rows / fmax(os_now() - t->started, 1e-9));
    TRY(events_write(to, step));
    TRY(write_time(t, r));
out:
    return rc;
}

static int count_episode(training *t, int r, int w)
{
    replica *p = &t->replicas[r];
    train_lock(t);
    p->recent[p->episodes % TRAIN_RECENT] = p->gain[w];
    p->lengths[p->episodes % TRAIN_RECENT] = (double)p->length[w];
    p->episodes++;
    p->first_episodes += w == 0;
    train_unlock(t);
    return train_keeps(t, r) ? write_episode(t, r, w) : 0;
}

int train_end_episode(training *t, int r, int w)
{
    replica *p = &t->replicas[r];
    int rc = train_uncounted(t, r * t->worlds_each + w) ? 0 : count_episode(t, r, w);
    p->gain[w] = 0;
    p->length[w] = 0;
    return rc;
}

/* ---- moments --------------------------------------------------------------------------------- */

/* Steps of an episode between rows of beliefs.csv. The last step has a row too, and so have the
 * first steps after a change: 0, 1, 2, 3, 5 and 7. */
enum { BELIEF_EVERY = 10 };

static int write_belief_head(training *t, int r)
{
    const fans_movements *moving = &t->moving[r];
    int n;
    t->s.algo->belief(t->agent, r * t->worlds_each, &n);
    t->row.length = 0;
    text_add(&t->row, "episode,step,tau,since%s", train_finds(t) ? ",changed" : "");
    for (int k = 0; k < moving->count; k++)
        text_add(&t->row, ",true.%s", t->tasks[r]->info.factors[moving->list[k].factor].name);
    for (int k = 0; k < n; k++) text_add(&t->row, ",theta%d", k);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.beliefs, &t->row);
}

/* A factor that may change at every step has no segments. */
bool train_has_segments(const training *t, int r)
{
    /* a caller says only with the next step that a segment has ended */
    bool piecewise = !t->s.outside && t->moving[r].count > 0;
    for (int k = 0; k < t->moving[r].count; k++)
        piecewise = piecewise && !t->moving[r].list[k].flows;
    return piecewise;
}

static int write_segment_head(training *t, int r)
{
    t->row.length = 0;
    text_add(&t->row, "segment,step,length");
    for (int k = 0; k < SINCE_BINS; k++) text_add(&t->row, ",reward%d", since_starts[k]);
    if (train_finds(t)) train_write_noticed_head(&t->row);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.segments, &t->row);
}

int train_write_heads(training *t, int r)
{
    int rc = 0;
    TRY(write_head(t, r));
    if (t->s.algo->belief) TRY(write_belief_head(t, r));
    if (train_has_segments(t, r)) TRY(write_segment_head(t, r));
    if (train_evaluates(t)) TRY(train_write_eval_head(t, r));
out:
    return rc;
}

/* The belief in the first world of a run, and the truth. */
static int write_belief(training *t, int r)
{
    replica *p = &t->replicas[r];
    int n, row = r * t->worlds_each;
    size_t factor_count = (size_t)t->tasks[r]->info.factor_count;
    const double *factors = t->scene.before.factors + (size_t)row * factor_count;
    const float *theta = t->s.algo->belief(t->agent, row, &n);
    t->row.length = 0;
    text_add(&t->row, "%lld,%lld,%lld,%lld", (long long)p->first_episodes,
             (long long)train_counted(t, p), (long long)p->length[0], (long long)p->since);
    if (train_finds(t)) text_add(&t->row, ",%.3g", train_changed(t, r));
    for (int k = 0; k < t->moving[r].count; k++)
        text_add(&t->row, ",%.6g", factors[t->moving[r].list[k].factor]);
    for (int k = 0; k < n; k++) text_add(&t->row, ",%.4g", (double)theta[k]);
    text_add(&t->row, "\n");
    return run_row(&p->run, &p->run.beliefs, &t->row);
}

static bool belief_due(const training *t, int r)
{
    const replica *p = &t->replicas[r];
    bool fresh = p->since < BELIEF_EVERY && since_starts[since_bin((double)p->since)] == p->since;
    return fresh || p->length[0] % BELIEF_EVERY == 0 || scene_ended(&t->scene, r * t->worlds_each);
}

/* The mean reward in each bin that the segment reached; `step` is that of its first step. */
static int write_segment(training *t, int r)
{
    replica *p = &t->replicas[r];
    int64_t length = p->since + 1, first = train_counted(t, p) + (1 - length) * t->worlds_each;
    int row = r * t->worlds_each;
    t->row.length = 0;
    text_add(&t->row, "%lld,%lld,%lld", (long long)t->scene.before.segment[row], (long long)first,
             (long long)length);
    for (int k = 0; k < SINCE_BINS; k++) {
        int64_t n = since_count(k, length);
        if (n > 0)
            text_add(&t->row, ",%.6g", p->after[k] / (double)n);
        else
            text_add(&t->row, ",");
    }
    if (train_finds(t)) train_write_noticed(p, &t->row);
    text_add(&t->row, "\n");
    return run_row(&p->run, &p->run.segments, &t->row);
}

static int write_moment(training *t, int r)
{
    replica *p = &t->replicas[r];
    int rc = 0, row = r * t->worlds_each;
    bool begins = t->scene.before.change[row] || p->tick == 0;
    if (begins) memset(p->after, 0, sizeof p->after);
    p->since = begins ? 0 : p->since + 1;
    p->after[since_bin((double)p->since)] += (double)t->scene.now.reward[row];
    if (train_finds(t)) train_notice(t, r, begins);
    if (train_uncounted(t, row)) return 0;
    if (t->s.algo->belief && belief_due(t, r)) TRY(write_belief(t, r));
    if (t->scene.now.change[row] && train_has_segments(t, r)) TRY(write_segment(t, r));
out:
    return rc;
}

int train_write_moments(training *t)
{
    int rc = 0;
    for (int r = 0; train_keeps(t, 0) && r < t->count; r++) TRY(write_moment(t, r));
out:
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

json_t *training_result(const training *t, int r)
{
    const replica *p = &t->replicas[r];
    double final = training_final(t, r); /* NaN before the first episode has ended */
    return json_pack("{s:s, s:s, s:I, s:I, s:I, s:o, s:f, s:f, s:s, s:o*}", "algo", t->s.algo->name,
                     "env", t->tasks[r]->def->name, "seed", (json_int_t)t->seeds[r], "episodes",
                     (json_int_t)p->episodes, "steps", (json_int_t)train_counted(t, p),
                     "final_return", json_number(final), "wall_s", p->wall, "busy_s", p->busy,
                     "status", "done", "evals", train_evals_json(t, r));
}

int train_write_results(training *t)
{
    char path[RUN_PATH];
    int rc = 0;
    for (int r = 0; rc == 0 && train_keeps(t, 0) && r < t->count; r++) {
        json_t *file = json_pack("{s:[o]}", "runs", training_result(t, r));
        rc = run_file(&t->replicas[r].run, "result.json", path);
        if (rc == 0) rc = json_write_file(path, file);
        json_decref(file);
    }
    return rc;
}

double training_final(const training *t, int r)
{
    return mean_recent(&t->replicas[r], t->replicas[r].recent);
}

int training_recent(const training *t, int r)
{
    return count_recent(&t->replicas[r]);
}
