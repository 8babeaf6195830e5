/* train.c - the loop, and what stands around it: episodes, curves, checkpoints, results. */
#include "rl/train.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/os.h"
#include "rl/checkpoint.h"

OPTIONS_GROUP(train_option_group, train_options, "train", "the run as a whole", TRAIN_OPTIONS)

enum { RECENT = 100 }; /* episodes in a mean */

/* What a seed remembers, apart from its agent and worlds. */
typedef struct replica {
    run run;
    state_list state;
    int64_t tick, episodes;
    double recent[RECENT], lengths[RECENT]; /* rings over episodes */
    double wall;                            /* seconds, over all starts */
    double *gain;                           /* [worlds] return so far */
    int64_t *length;                        /* [worlds] steps so far */
    uint8_t **bytes;                        /* [worlds] saved worlds */
} replica;

struct training {
    train_setup s;
    char kind[128]; /* what a checkpoint must belong to */
    int worlds_each, rows;
    int64_t ticks; /* steps of a world in the whole run */
    uint64_t *seeds;
    replica *replicas;
    void *agent;
    fans_moving *moving;
    worlds *worlds;
    world_buffers now;
    float *action, *obs_before;
    double *factors_before;
    int64_t *segment_before;
    uint8_t *change_before;
    arena *memory;
    checkpoint *checkpoint;
    text row;
    train_times times;
    double started, saved; /* when this process began, and when wall time was last taken */
    int64_t tick_started;
};

/* ---- making ---------------------------------------------------------------------------------- */

static int claim_replica(training *t, replica *p)
{
    size_t W = (size_t)t->worlds_each;
    int rc = 0;
    TRY(arena_declare(t->memory, &p->gain, W * sizeof *p->gain));
    TRY(arena_declare(t->memory, &p->length, W * sizeof *p->length));
    TRY(arena_declare(t->memory, &p->bytes, W * sizeof *p->bytes));
out:
    return rc;
}

static int claim(training *t)
{
    const fans_env_info *info = &t->s.task->info;
    size_t rows = (size_t)t->rows;
    int rc = 0;
    TRY(arena_new(&t->memory));
    TRY(world_buffers_declare(&t->now, t->memory, t->s.task, t->rows, false));
    TRY(arena_declare(t->memory, &t->action, rows * (size_t)info->act_dim * sizeof(float)));
    TRY(arena_declare(t->memory, &t->obs_before, rows * (size_t)info->obs_dim * sizeof(float)));
    TRY(arena_declare(t->memory, &t->factors_before,
                      rows * (size_t)info->factor_count * sizeof(double)));
    TRY(arena_declare(t->memory, &t->segment_before, rows * sizeof(int64_t)));
    TRY(arena_declare(t->memory, &t->change_before, rows));
    for (int r = 0; r < t->s.seeds; r++) TRY(claim_replica(t, &t->replicas[r]));
    TRY(arena_commit(t->memory));
    t->now.action = t->action;
out:
    return rc;
}

static int open_agent(training *t, text *dump)
{
    const schedule *change = t->s.task->change;
    int n = schedule_rules(change);
    t->moving = mem_alloc((size_t)n * sizeof *t->moving);
    if (!t->moving) return FANS_ENOMEM;
    for (int k = 0; k < n; k++) t->moving[k] = schedule_moving(change, k);
    fans_algo_setup s = {.replicas = t->s.seeds,
                         .worlds = t->worlds_each,
                         .seeds = t->seeds,
                         .info = &t->s.task->info,
                         .moving = t->moving,
                         .moving_count = n,
                         .config = t->s.config,
                         .backend = t->s.backend,
                         .pool = t->s.pool,
                         .dump = dump};
    return t->s.algo->open(&t->agent, &s);
}

/* Everything that replica r must find again. */
static int list_state(training *t, int r)
{
    replica *p = &t->replicas[r];
    state_list *s = &p->state;
    char name[32];
    state_add_number(s, "run/tick", STATE_I64, &p->tick);
    state_add_number(s, "run/episodes", STATE_I64, &p->episodes);
    state_add_number(s, "run/metrics_bytes", STATE_I64, &p->run.metrics.bytes);
    state_add_number(s, "run/beliefs_bytes", STATE_I64, &p->run.beliefs.bytes);
    state_add_number(s, "run/events_bytes", STATE_I64, &p->run.events_bytes);
    state_add_number(s, "run/wall", STATE_F64, &p->wall);
    state_add(s, "run/recent", STATE_F64, 1, (int64_t[]){RECENT}, p->recent);
    state_add(s, "run/lengths", STATE_F64, 1, (int64_t[]){RECENT}, p->lengths);
    state_add(s, "run/gain", STATE_F64, 1, (int64_t[]){t->worlds_each}, p->gain);
    state_add(s, "run/length", STATE_I64, 1, (int64_t[]){t->worlds_each}, p->length);
    for (int w = 0; w < t->worlds_each; w++) {
        size_t n = world_state_bytes(worlds_at(t->worlds, r * t->worlds_each + w));
        if (!(p->bytes[w] = mem_alloc(n))) return FANS_ENOMEM;
        snprintf(name, sizeof name, "world.%d", w);
        state_add_bytes(s, name, p->bytes[w], n);
    }
    if (t->s.algo->state) t->s.algo->state(t->agent, r, s);
    return state_done(s);
}

static void dump_config(const training *t, int r, const text *algo, text *out)
{
    train_options o = t->s.options;
    o.seed += r;
    text_add(out, "# resolved by fans %s\n", fans_version());
    options_dump(train_option_group(), "train", &o, out);
    task_dump(t->s.task, out);
    if (algo->s) text_add_n(out, algo->s, algo->length);
}

static int open_folder(training *t, int r, const text *algo)
{
    static const char *const loose[] = {"# resolved by",
                                        "episodes = ", "checkpoint_every = ", NULL};
    replica *p = &t->replicas[r];
    char path[RUN_PATH];
    text ini = {0};
    int rc = 0;
    if (t->s.seeds == 1)
        snprintf(path, sizeof path, "%s", t->s.out);
    else
        snprintf(path, sizeof path, "%s/seed-%d", t->s.out, t->s.options.seed + r);
    dump_config(t, r, algo, &ini);
    TRY(text_done(&ini));
    TRY(run_open(&p->run, path, ini.s, loose, t->s.look_only));
    if (!t->s.look_only) TRY(run_note(&p->run, t->s.command, t->s.system_json));
out:
    text_free(&ini);
    return rc;
}

/* ---- checkpoints ----------------------------------------------------------------------------- */

static const char CHECKPOINT[] = "checkpoint.safetensors", NEXT[] = "checkpoint.next.safetensors";

/* First all seeds write their next checkpoint, then all take it: a crash in between leaves some
 * step that every seed still has. */
static int save(training *t)
{
    char path[RUN_PATH], next[RUN_PATH];
    int rc = 0;
    double now = os_now();
    for (int r = 0; r < t->s.seeds; r++) {
        replica *p = &t->replicas[r];
        for (int w = 0; w < t->worlds_each; w++)
            world_save(worlds_at(t->worlds, r * t->worlds_each + w), p->bytes[w]);
        TRY(state_refresh(&p->state));
        p->wall += now - t->saved;
        TRY(run_sync(&p->run));
        if (t->s.algo->leave) TRY(t->s.algo->leave(t->agent, r, p->run.path));
        TRY(run_file(&p->run, NEXT, next));
        TRY(checkpoint_write(t->checkpoint, &p->state, t->kind, next));
    }
    t->saved = now;
    for (int r = 0; r < t->s.seeds; r++) {
        TRY(run_file(&t->replicas[r].run, NEXT, next));
        TRY(run_file(&t->replicas[r].run, CHECKPOINT, path));
        if (rename(next, path) < 0) TRY(fans_fail(FANS_EIO, "%s: cannot be replaced", path));
    }
out:
    return rc;
}

/* The file of replica r that stands at `tick`, or none. */
static bool find_tick(training *t, int r, int64_t tick, char *path)
{
    static const char *const names[] = {CHECKPOINT, NEXT};
    for (int i = 0; i < 2; i++) {
        int64_t at;
        if (run_file(&t->replicas[r].run, names[i], path) == 0 && os_exists(path) &&
            checkpoint_peek(path, "run/tick", &at) == 0 && at == tick)
            return true;
    }
    return false;
}

/* The latest step that all seeds have, or -1 when there is nothing to resume. A checkpoint that is
 * there but damaged is an error: to begin anew would destroy what it might still tell. */
static int find_resume(training *t, int64_t *tick)
{
    char path[RUN_PATH];
    int rc = 0;
    *tick = -1;
    TRY(run_file(&t->replicas[0].run, CHECKPOINT, path));
    if (!os_exists(path)) return 0;
    TRY(checkpoint_peek(path, "run/tick", tick));
    for (int try = 0; try < 2; try++) {
        bool all = true;
        for (int r = 0; all && r < t->s.seeds; r++) all = find_tick(t, r, *tick, path);
        if (all) return 0;
        TRY(run_file(&t->replicas[0].run, NEXT, path));
        if (!os_exists(path) || checkpoint_peek(path, "run/tick", tick) < 0) break;
    }
    return fans_fail(FANS_EFORMAT, "%s: the seeds' checkpoints stand at different steps", t->s.out);
out:
    return rc;
}

static int resume(training *t, int64_t tick)
{
    char path[RUN_PATH];
    int rc = 0;
    for (int r = 0; r < t->s.seeds; r++) {
        replica *p = &t->replicas[r];
        find_tick(t, r, tick, path);
        TRY(checkpoint_read(&p->state, t->kind, path));
        for (int w = 0; w < t->worlds_each; w++) {
            int i = r * t->worlds_each + w;
            TRY(world_restore(worlds_at(t->worlds, i), p->bytes[w], &t->now, i));
        }
    }
out:
    return rc;
}

/* ---- curves ---------------------------------------------------------------------------------- */

static double mean_recent(const replica *p, const double *ring)
{
    int64_t n = p->episodes < RECENT ? p->episodes : RECENT;
    double sum = 0;
    for (int64_t i = 0; i < n; i++) sum += ring[i];
    return n > 0 ? sum / (double)n : NAN;
}

typedef struct emitting {
    text *row;
    run *run;
    int64_t step;
    int rc;
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
    if (e->rc == 0) e->rc = events_scalar(e->run->events, name, e->step, value);
}

static int write_head(training *t, int r)
{
    t->row.length = 0;
    text_add(&t->row, "episode,step,world,return,length,success");
    if (t->s.algo->scalars) t->s.algo->scalars(t->agent, r, emit_name, &t->row);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.metrics, &t->row);
}

static int write_episode(training *t, int r, int w)
{
    replica *p = &t->replicas[r];
    int64_t step = p->tick * t->worlds_each;
    emitting e = {&t->row, &p->run, step, 0};
    int rc = 0;
    t->row.length = 0;
    text_add(&t->row, "%lld,%lld,%d,%.9g,%lld,%.9g", (long long)p->episodes - 1, (long long)step, w,
             p->gain[w], (long long)p->length[w], (double)t->now.success[r * t->worlds_each + w]);
    if (t->s.algo->scalars) t->s.algo->scalars(t->agent, r, emit_value, &e);
    text_add(&t->row, "\n");
    TRY(e.rc);
    TRY(run_row(&p->run, &p->run.metrics, &t->row));
    events *to = p->run.events;
    TRY(events_scalar(to, "rollout/ep_rew_mean", step, mean_recent(p, p->recent)));
    TRY(events_scalar(to, "rollout/ep_len_mean", step, mean_recent(p, p->lengths)));
    TRY(events_scalar(to, "rollout/return", step, p->gain[w]));
    train_progress now = training_progress(t);
    double fps = (double)(now.steps - now.since) * t->s.seeds / fmax(now.seconds, 1e-9);
    TRY(events_scalar(to, "time/fps", step, fps));
out:
    return rc;
}

/* ---- beliefs --------------------------------------------------------------------------------- */

enum { BELIEF_EVERY = 10 }; /* steps of an episode between two notes; the last step is noted too */

static int write_belief_head(training *t, int r)
{
    int n;
    t->s.algo->belief(t->agent, r * t->worlds_each, &n);
    t->row.length = 0;
    text_add(&t->row, "episode,step,tau");
    for (int k = 0; k < schedule_rules(t->s.task->change); k++)
        text_add(&t->row, ",true.%s", t->s.task->info.factors[t->moving[k].factor].name);
    for (int k = 0; k < n; k++) text_add(&t->row, ",theta%d", k);
    text_add(&t->row, "\n");
    return run_row(&t->replicas[r].run, &t->replicas[r].run.beliefs, &t->row);
}

/* What the first world of a seed believes before the coming step, beside what is true then. */
static int write_belief(training *t, int r)
{
    replica *p = &t->replicas[r];
    int n, row = r * t->worlds_each;
    const fans_env_info *info = &t->s.task->info;
    const double *factors = t->now.factors + (size_t)row * (size_t)info->factor_count;
    const float *theta = t->s.algo->belief(t->agent, row, &n);
    t->row.length = 0;
    text_add(&t->row, "%lld,%lld,%lld", (long long)p->episodes, (long long)p->tick * t->worlds_each,
             (long long)p->length[0]);
    for (int k = 0; k < schedule_rules(t->s.task->change); k++)
        text_add(&t->row, ",%.6g", factors[t->moving[k].factor]);
    for (int k = 0; k < n; k++) text_add(&t->row, ",%.4g", (double)theta[k]);
    text_add(&t->row, "\n");
    return run_row(&p->run, &p->run.beliefs, &t->row);
}

static int write_beliefs(training *t)
{
    int rc = 0;
    for (int r = 0; t->s.algo->belief && r < t->s.seeds; r++) {
        int64_t tau = t->replicas[r].length[0];
        if (tau % BELIEF_EVERY == 0 || tau == t->s.task->info.horizon - 1) TRY(write_belief(t, r));
    }
out:
    return rc;
}

/* ---- making, continued ----------------------------------------------------------------------- */

static int begin(training *t)
{
    int64_t tick;
    int rc = 0;
    TRY(worlds_start(t->worlds, &t->now));
    if (t->s.algo->start) t->s.algo->start(t->agent);
    TRY(find_resume(t, &tick));
    if (tick >= 0) TRY(resume(t, tick));
    if (tick < 0 && t->s.look_only)
        TRY(fans_fail(FANS_EIO, "%s: has no checkpoint to look at", t->s.out));
    for (int r = 0; !t->s.look_only && r < t->s.seeds; r++) {
        TRY(run_begin(&t->replicas[r].run, tick >= 0, t->s.algo->belief));
        if (tick < 0) TRY(write_head(t, r));
        if (tick < 0 && t->s.algo->belief) TRY(write_belief_head(t, r));
    }
    t->tick_started = tick >= 0 ? tick : 0;
    t->started = t->saved = os_now();
out:
    return rc;
}

int training_new(training **out, const train_setup *s)
{
    int rc = 0;
    text dump = {0};
    training *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    t->s = *s;
    t->worlds_each = s->options.worlds;
    t->rows = s->seeds * t->worlds_each;
    t->ticks = ((int64_t)s->options.episodes * s->task->info.horizon + t->worlds_each - 1) /
               t->worlds_each;
    snprintf(t->kind, sizeof t->kind, "%s on %s", s->algo->name, s->task->def->name);
    t->seeds = mem_alloc((size_t)s->seeds * sizeof *t->seeds);
    t->replicas = mem_alloc((size_t)s->seeds * sizeof *t->replicas);
    TRY(t->seeds && t->replicas ? 0 : FANS_ENOMEM);
    for (int r = 0; r < s->seeds; r++) {
        t->seeds[r] = (uint64_t)s->options.seed + (uint64_t)r;
        t->replicas[r].run = RUN_CLOSED;
    }
    TRY(claim(t));
    TRY(worlds_new(&t->worlds, s->task, s->pool, t->seeds, s->seeds, t->worlds_each));
    TRY(open_agent(t, &dump));
    TRY(config_check_taken(s->config));
    for (int r = 0; r < s->seeds; r++) {
        TRY(open_folder(t, r, &dump));
        TRY(list_state(t, r));
    }
    TRY(checkpoint_new(&t->checkpoint, &t->replicas[0].state));
    TRY(begin(t));
    *out = t;
out:
    text_free(&dump);
    if (rc < 0) training_free(t);
    return rc;
}

static void free_replica(training *t, replica *p)
{
    run_close(&p->run);
    state_free(&p->state);
    for (int w = 0; p->bytes && w < t->worlds_each; w++) mem_free(p->bytes[w]);
}

void training_free(training *t)
{
    if (!t) return;
    for (int r = 0; t->replicas && r < t->s.seeds; r++) free_replica(t, &t->replicas[r]);
    if (t->agent) t->s.algo->close(t->agent);
    checkpoint_free(t->checkpoint);
    worlds_free(t->worlds);
    arena_free(t->memory);
    text_free(&t->row);
    mem_free(t->moving);
    mem_free(t->replicas);
    mem_free(t->seeds);
    mem_free(t);
}

/* ---- the loop -------------------------------------------------------------------------------- */

static fans_moment moment(const training *t)
{
    return (fans_moment){t->now.obs, t->now.factors, t->now.segment, t->now.change};
}

static fans_moment keep_moment(training *t)
{
    const fans_env_info *info = &t->s.task->info;
    size_t n = (size_t)t->rows;
    memcpy(t->obs_before, t->now.obs, n * (size_t)info->obs_dim * sizeof(float));
    memcpy(t->factors_before, t->now.factors, n * (size_t)info->factor_count * sizeof(double));
    memcpy(t->segment_before, t->now.segment, n * sizeof(int64_t));
    memcpy(t->change_before, t->now.change, n);
    return (fans_moment){t->obs_before, t->factors_before, t->segment_before, t->change_before};
}

/* One step of all worlds: act, live, observe. */
static int live(training *t, bool learn)
{
    int rc = 0;
    double start = os_now();
    fans_moment now = moment(t), before = keep_moment(t);
    TRY(t->s.algo->act(t->agent, &now, learn, t->action));
    if (learn) TRY(write_beliefs(t));
    double acted = os_now();
    TRY(worlds_step(t->worlds, &t->now));
    double lived = os_now();
    fans_outcome outcome = {t->now.reward, t->now.terminated, t->now.truncated, t->now.final_obs};
    if (t->s.algo->observe) TRY(t->s.algo->observe(t->agent, &before, t->action, &outcome, learn));
    t->times.acting += acted - start + os_now() - lived;
    t->times.worlds += lived - acted;
out:
    return rc;
}

static int end_episode(training *t, int r, int w)
{
    replica *p = &t->replicas[r];
    p->recent[p->episodes % RECENT] = p->gain[w];
    p->lengths[p->episodes % RECENT] = (double)p->length[w];
    p->episodes++;
    int rc = write_episode(t, r, w);
    p->gain[w] = 0;
    p->length[w] = 0;
    return rc;
}

static int count_step(training *t)
{
    int rc = 0;
    for (int r = 0; r < t->s.seeds; r++) t->replicas[r].tick++;
    for (int i = 0; i < t->rows; i++) {
        int r = i / t->worlds_each, w = i % t->worlds_each;
        t->replicas[r].gain[w] += (double)t->now.reward[i];
        t->replicas[r].length[w]++;
        if (t->now.terminated[i] || t->now.truncated[i]) TRY(end_episode(t, r, w));
    }
out:
    return rc;
}

static int write_results(training *t)
{
    char path[RUN_PATH];
    int rc = 0;
    json_t *all = json_array();
    for (int r = 0; r < t->s.seeds; r++) {
        const replica *p = &t->replicas[r];
        json_t *one = json_pack("{s:s, s:s, s:I, s:I, s:I, s:f, s:f, s:s}", "algo", t->s.algo->name,
                                "env", t->s.task->def->name, "seed", (json_int_t)t->seeds[r],
                                "episodes", (json_int_t)p->episodes, "steps",
                                (json_int_t)p->tick * t->worlds_each, "final_return",
                                mean_recent(p, p->recent), "wall_s", p->wall, "status", "done");
        json_t *file = json_pack("{s:[O]}", "runs", one);
        rc = run_file(&p->run, "result.json", path);
        if (rc == 0) rc = json_write_file(path, file);
        json_decref(file);
        json_array_append_new(all, one);
        if (rc < 0) goto out;
    }
    if (t->s.seeds > 1) {
        json_t *file = json_pack("{s:O}", "runs", all);
        if ((size_t)snprintf(path, sizeof path, "%s/result.json", t->s.out) < sizeof path)
            rc = json_write_file(path, file);
        json_decref(file);
    }
out:
    json_decref(all);
    return rc;
}

int training_run(training *t, train_watch_fn *watch, void *user)
{
    int64_t every = t->s.options.checkpoint_every / t->worlds_each;
    int rc = 0;
    if (every < 1) every = 1;
    double start = os_now();
    while (t->replicas[0].tick < t->ticks) {
        TRY(live(t, true));
        double lived = os_now();
        if (t->s.algo->update) TRY(t->s.algo->update(t->agent));
        t->times.updating += os_now() - lived;
        TRY(count_step(t));
        bool stop = watch && watch(user, t) && t->replicas[0].tick < t->ticks;
        if (stop || t->replicas[0].tick % every == 0) TRY(save(t));
        if (stop) return FANS_ESTOP;
    }
    TRY(save(t));
    TRY(write_results(t));
out:
    t->times.total += os_now() - start;
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
    TRY((seeds = mem_alloc((size_t)t->s.seeds * sizeof *seeds)) ? 0 : FANS_ENOMEM);
    TRY((played = mem_alloc((size_t)t->s.seeds * sizeof *played)) ? 0 : FANS_ENOMEM);
    TRY((gain = mem_alloc((size_t)t->rows * sizeof *gain)) ? 0 : FANS_ENOMEM);
    for (int r = 0; r < t->s.seeds; r++) seeds[r] = seed + (uint64_t)r;
    TRY(worlds_new(&t->worlds, t->s.task, t->s.pool, seeds, t->s.seeds, t->worlds_each));
    TRY(worlds_start(t->worlds, &t->now));
    if (t->s.algo->start) t->s.algo->start(t->agent);
    for (int done = 0; done < t->s.seeds;) {
        TRY(live(t, false));
        if (film && played[0] < episodes) TRY(film(user, worlds_at(t->worlds, 0)));
        for (int i = 0; i < t->rows; i++) {
            int r = i / t->worlds_each;
            gain[i] += (double)t->now.reward[i];
            if (!t->now.terminated[i] && !t->now.truncated[i]) continue;
            if (played[r] < episodes) {
                returns[r * episodes + played[r]++] = gain[i];
                done += played[r] == episodes;
            }
            gain[i] = 0;
        }
    }
out:
    mem_free(seeds);
    mem_free(played);
    mem_free(gain);
    return rc;
}

/* ---- looking in ------------------------------------------------------------------------------ */

double training_final(const training *t, int r)
{
    return mean_recent(&t->replicas[r], t->replicas[r].recent);
}

train_progress training_progress(const training *t)
{
    double recent = 0;
    for (int r = 0; r < t->s.seeds; r++) recent += training_final(t, r) / t->s.seeds;
    return (train_progress){.steps = t->replicas[0].tick * t->worlds_each,
                            .total = t->ticks * t->worlds_each,
                            .episodes = t->replicas[0].episodes,
                            .recent = recent,
                            .seconds = os_now() - t->started,
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

int training_seeds(const training *t)
{
    return t->s.seeds;
}

const char *training_folder(const training *t, int r)
{
    return t->replicas[r].run.path;
}
