/* train_make.c - makes a training, opens the folders of its runs, and frees it. */
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/os.h"
#include "train/source.h"
#include "train/train_parts.h"

OPTIONS_GROUP(train_option_group, train_options, "train", "the run", TRAIN_OPTIONS);

/* ---- making ---------------------------------------------------------------------------------- */

static int claim_replica(training *t, replica *p)
{
    size_t W = (size_t)t->worlds_each;
    int rc = 0;
    TRY(arena_declare(t->memory, &p->gain, W * sizeof *p->gain));
    TRY(arena_declare(t->memory, &p->length, W * sizeof *p->length));
    TRY(arena_declare(t->memory, &p->bytes, W * sizeof *p->bytes));
    TRY(train_claim_noticed(t, p));
out:
    return rc;
}

static int claim(training *t)
{
    int rc = 0;
    TRY(arena_new(&t->memory));
    for (int r = 0; r < t->count; r++) TRY(claim_replica(t, &t->replicas[r]));
    if (t->s.outside) TRY(train_claim_outside(t));
    TRY(arena_commit(t->memory));
out:
    return rc;
}

static int64_t whole(int64_t n, int64_t of)
{
    return (n + of - 1) / of * of;
}

int64_t train_prelude(const train_options *o, int horizon)
{
    return whole(o->prelude, (int64_t)horizon * o->worlds);
}

int64_t train_length(const train_options *o, int horizon)
{
    int64_t steps = whole((int64_t)o->episodes * horizon, o->worlds);
    return o->prelude_free ? steps + train_prelude(o, horizon) : steps;
}

int train_movements(const task *t, fans_moving *list)
{
    int n = schedule_rules(t->change);
    for (int k = 0; list && k < n; k++) list[k] = schedule_moving(t->change, k);
    return n;
}

int train_told_movements(const task *t, fans_tells tells, fans_moving *list)
{
    int n = train_movements(t, list);
    for (int k = 0; tells != FANS_TELLS_BOUNDARIES && k < n; k++) {
        list[k].every = t->info.horizon;
        list[k].flows = false;
    }
    return n;
}

static int list_movements(training *t, fans_tells tells, fans_movements **all, fans_moving **list)
{
    size_t n = 0, at = 0;
    for (int r = 0; r < t->count; r++) n += (size_t)train_movements(t->tasks[r], NULL);
    *all = mem_alloc((size_t)t->count * sizeof **all);
    *list = mem_alloc(n * sizeof **list);
    if (!*all || !*list) return FANS_ENOMEM;
    for (int r = 0; r < t->count; r++) {
        fans_moving *of = *list + at;
        (*all)[r] = (fans_movements){of, train_told_movements(t->tasks[r], tells, of)};
        at += (size_t)(*all)[r].count;
    }
    return 0;
}

int train_applies(const fans_algo_def *a, const task *t, fans_tells tells)
{
    if (t->options->pixels && !a->wants_pixels)
        return fans_fail(
            FANS_ENOSUP,
            "%s learns from the state, not from pixels; set env.pixels = false, or use "
            "sac, oracle, stack, zeus or fans",
            a->name);
    if (a->piecewise && tells == FANS_TELLS_NOTHING && !a->changed)
        return fans_fail(FANS_ENOSUP,
                         "train.told = nothing: %s has to be told where segments begin; use "
                         "episodes, or an algorithm that is told nothing or finds out by itself",
                         a->name);
    for (int k = 0; a->piecewise && k < schedule_rules(t->change); k++) {
        fans_moving m = schedule_moving(t->change, k);
        const char *factor = t->info.factors[m.factor].name;
        if (m.flows)
            return fans_fail(FANS_ENOSUP,
                             "%s needs factors that stay for a while, but [change.%s] moves %s "
                             "at every step; use another algorithm, or a slower clock",
                             a->name, factor, factor);
    }
    return 0;
}

static int open_agent(training *t)
{
    int rc = source_take(t->s.algo, t->s.config, &t->taken);
    fans_tells tells = (fans_tells)t->s.options.told;
    if (rc == 0) rc = list_movements(t, FANS_TELLS_BOUNDARIES, &t->moving, &t->moving_list);
    if (rc == 0) rc = list_movements(t, tells, &t->told, &t->told_list);
    for (int r = 0; rc == 0 && r < t->count; r++) rc = train_applies(t->s.algo, t->tasks[r], tells);
    if (rc < 0) return rc;
    fans_algo_setup s = {.replicas = t->count,
                         .worlds = t->worlds_each,
                         .steps = t->s.look_only ? 0 : t->ticks * t->worlds_each,
                         .seeds = t->seeds,
                         .pixels = t->tasks[0]->options->pixels,
                         .info = &t->tasks[0]->info,
                         .moving = t->told,
                         .tells = tells,
                         .taken = t->taken,
                         .backend = t->s.backend,
                         .pool = t->s.pool,
                         .warning = &t->warning};
    unsigned before = fans_error_count();
    return error_settle("open", t->s.algo->open(&t->agent, &s), before);
}

static void add_count(state_list *s, const char *name, int64_t *count)
{
    state_add_number(s, name, FANS_I64, count);
    state_range(s, 0, STATE_COUNT);
}

/* No episode is shorter than a step. */
static int check_episodes(void *arg, int r)
{
    const training *t = arg;
    const replica *p = &t->replicas[r];
    if (p->episodes <= p->tick * t->worlds_each && p->first_episodes <= p->episodes) return 0;
    return fans_fail(
        FANS_EFORMAT, "'run/episodes' is %lld, %lld of them in the first world, after %lld steps",
        (long long)p->episodes, (long long)p->first_episodes, (long long)p->tick * t->worlds_each);
}

/* Lists the worlds of replica r, as bytes. */
static int list_worlds(training *t, int r)
{
    replica *p = &t->replicas[r];
    char name[32];
    for (int w = 0; w < t->worlds_each; w++) {
        size_t n = world_state_bytes(worlds_at(t->scene.worlds, r * t->worlds_each + w));
        if (!(p->bytes[w] = mem_alloc(n))) return FANS_ENOMEM;
        snprintf(name, sizeof name, "world.%d", w);
        state_add_bytes(&p->state, name, p->bytes[w], n);
    }
    return 0;
}

/* Lists all that a resume of replica r needs. */
static int list_state(training *t, int r)
{
    replica *p = &t->replicas[r];
    state_list *s = &p->state;
    int rc = 0;
    add_count(s, "run/tick", &p->tick);
    add_count(s, "run/episodes", &p->episodes);
    add_count(s, "run/first_episodes", &p->first_episodes);
    add_count(s, "run/metrics_bytes", &p->run.metrics.bytes);
    add_count(s, "run/beliefs_bytes", &p->run.beliefs.bytes);
    add_count(s, "run/segments_bytes", &p->run.segments.bytes);
    if (train_evaluates(t)) add_count(s, "run/evals_bytes", &p->run.evals.bytes);
    add_count(s, "run/events_bytes", &p->run.events_bytes);
    add_count(s, "run/since", &p->since);
    state_add(s, "run/after", FANS_F64, 1, (int64_t[]){SINCE_BINS}, p->after);
    state_add_number(s, "run/wall", FANS_F64, &p->wall);
    state_range(s, 0, STATE_COUNT);
    state_add_number(s, "run/busy", FANS_F64, &p->busy);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "run/recent", FANS_F64, 1, (int64_t[]){TRAIN_RECENT}, p->recent);
    state_add(s, "run/lengths", FANS_F64, 1, (int64_t[]){TRAIN_RECENT}, p->lengths);
    state_add(s, "run/gain", FANS_F64, 1, (int64_t[]){t->worlds_each}, p->gain);
    state_add(s, "run/length", FANS_I64, 1, (int64_t[]){t->worlds_each}, p->length);
    state_range(s, 0, t->tasks[r]->info.horizon - 1);
    state_check(s, check_episodes, t, r);
    if (train_finds(t)) train_list_noticed(t, p);
    if (t->s.outside)
        train_list_outside(t, s);
    else if (!t->s.look_only) /* looking plays new worlds … */
        TRY(list_worlds(t, r));
    if (t->s.algo->state) t->s.algo->state(t->agent, r, s);
    if (t->s.algo->carried) t->s.algo->carried(t->agent, r, s);
    if (t->s.look_only) state_drop(s, "replay."); /* … and needs no replay */
    TRY(state_done(s));
out:
    return rc;
}

/* ---- folders --------------------------------------------------------------------------------- */

static int dump_config(const training *t, int r, text *out)
{
    char id[SOURCE_IDENTITY];
    train_options o = t->s.options;
    o.seed = t->s.runs[r].seed;
    int rc = source_identity(t->s.algo, t->s.config, &o, t->tasks[r], id);
    if (rc < 0) return rc;
    source_dump(&o, t->tasks[r], t->taken, id, out);
    return text_done(out);
}

/* Starting over would erase the curves of a finished run. */
static int check_result(const char *folder)
{
    char file[RUN_PATH];
    snprintf(file, sizeof file, "%s/result.json", folder);
    int there = os_exists(file);
    if (there <= 0) return there;
    return fans_fail(
        FANS_EIO,
        "%s: has a result.json, but no checkpoint to resume from (choose another --out, "
        "or remove the folder)",
        folder);
}

/* A run cannot be made shorter. */
static int check_position(const training *t, const char *folder)
{
    run_position s;
    int rc = run_position_of(folder, &s);
    if (rc == 0 && s.tick < 0) return check_result(folder);
    if (rc < 0 || s.tick <= t->ticks) return rc;
    return fans_fail(FANS_EINVAL,
                     "%s: has %lld steps already, but only %lld were asked for (raise "
                     "train.episodes or --steps, or choose another --out)",
                     folder, (long long)s.tick * t->worlds_each,
                     (long long)t->ticks * t->worlds_each);
}

static int open_folder(training *t, int r)
{
    replica *p = &t->replicas[r];
    text ini = {0};
    int rc = 0;
    if (!t->s.runs[r].folder) return 0;
    TRY(dump_config(t, r, &ini));
    TRY(run_check_version(t->s.runs[r].folder));
    if (!t->s.look_only) TRY(check_position(t, t->s.runs[r].folder));
    TRY(run_open(&p->run, t->s.runs[r].folder, ini.s,
                 t->s.look_only         ? RUN_LOOK
                 : t->s.runs[r].claimed ? RUN_CLAIMED
                                        : RUN_LOCK));
out:
    text_free(&ini);
    return rc;
}

/* ---- the whole ------------------------------------------------------------------------------- */

static int copy_runs(training *t, const train_setup *s)
{
    size_t n = (size_t)s->count;
    t->seeds = mem_alloc(n * sizeof *t->seeds);
    t->tasks = mem_alloc(n * sizeof *t->tasks);
    t->replicas = mem_alloc(n * sizeof *t->replicas);
    for (int r = 0; t->replicas && r < s->count; r++) t->replicas[r].run = RUN_CLOSED;
    if (!t->seeds || !t->tasks || !t->replicas) return FANS_ENOMEM;
    for (int r = 0; r < s->count; r++) {
        t->seeds[r] = (uint64_t)s->runs[r].seed;
        t->tasks[r] = s->runs[r].task;
    }
    return 0;
}

/* Worlds of the caller hand over no pictures. */
static int check_pixels(const training *t)
{
    if (!t->s.outside || !t->s.runs[0].task->options->pixels) return 0;
    return fans_fail(FANS_ENOSUP, "env.pixels = true: worlds of your own give no pixels; set it to "
                                  "false");
}

static int check_eval(const training *t)
{
    if (!t->s.outside || !train_evaluates(t)) return 0;
    return fans_fail(FANS_ENOSUP,
                     "train.eval_every = %d: the worlds are yours, so their evaluation is, too; "
                     "set it to 0",
                     t->s.options.eval_every);
}

/* A prelude is followed by something. */
static int check_prelude(const training *t)
{
    if (t->prelude > 0 && t->s.outside)
        return fans_fail(FANS_EINVAL,
                         "train.prelude = %d: the worlds are yours, so their prelude is, too; set "
                         "it to 0",
                         t->s.options.prelude);
    if (t->prelude == 0 || t->prelude < t->ticks) return 0;
    return fans_fail(
        FANS_EINVAL,
        "train.prelude = %d: the run has only %lld steps, and its schedule would never "
        "begin; lower it or train for longer (train.episodes, --steps)",
        t->s.options.prelude, (long long)t->ticks * t->worlds_each);
}

int training_new(training **out, const train_setup *s)
{
    const task *first = s->runs[0].task;
    int rc = 0;
    training *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    t->s = *s;
    t->count = s->count;
    t->worlds_each = s->options.worlds;
    t->rows = t->count * t->worlds_each;
    t->ticks = train_length(&s->options, first->info.horizon) / t->worlds_each;
    t->prelude = train_prelude(&s->options, first->info.horizon) / t->worlds_each;
    snprintf(t->kind, sizeof t->kind, "%s on %s", s->algo->name, first->def->name);
    TRY(check_prelude(t));
    TRY(copy_runs(t, s));
    TRY(check_pixels(t));
    TRY(check_eval(t));
    TRY(claim(t));
    TRY(scene_new(&t->scene, t->tasks, s->pool, s->outside || s->look_only ? NULL : t->seeds,
                  t->count, t->worlds_each));
    t->scene.tells = (fans_tells)s->options.told;
    if (t->scene.worlds) worlds_set_prelude(t->scene.worlds, t->prelude);
    TRY(open_agent(t));
    for (int r = 0; r < t->count; r++) TRY(list_state(t, r));
    *out = t;
out:
    if (rc < 0) training_free(t);
    return rc;
}

int training_begin(training *t)
{
    bool resumed = false;
    int rc = 0;
    for (int r = 0; r < t->count; r++) TRY(open_folder(t, r));
    TRY(scene_start(&t->scene));
    if (t->s.algo->start) t->s.algo->start(t->agent);
    if (t->s.runs[0].folder) TRY(train_resume(t, &resumed));
    if (!resumed && t->s.look_only)
        TRY(fans_fail(FANS_EIO, "%s: has no checkpoint", t->s.runs[0].folder));
    for (int r = 0; train_keeps(t, 0) && r < t->count; r++) {
        run *p = &t->replicas[r].run;
        TRY(run_begin(p, resumed, train_counted(t, &t->replicas[r]),
                      (run_wants){.beliefs = t->s.algo->belief,
                                  .segments = train_has_segments(t, r),
                                  .evals = train_evaluates(t)}));
        if (!resumed) TRY(train_write_heads(t, r));
        TRY(run_note(p, t->s.command, t->s.system_json));
    }
    if (train_keeps(t, 0)) TRY(train_make_writers(t));
    TRY(text_done(&t->warning));
    if (t->warning.length) log_warning("%s", t->warning.s);
    t->tick_started = t->replicas[0].tick;
    t->started = t->saved = os_now();
out:
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
    for (int r = 0; t->replicas && r < t->count; r++) free_replica(t, &t->replicas[r]);
    if (t->agent) t->s.algo->close(t->agent);
    for (int i = 0; i < t->writer_count; i++) checkpoint_free(t->writers[i]);
    scene_free(&t->scene);
    arena_free(t->memory);
    text_free(&t->row);
    text_free(&t->warning);
    source_give_back(t->taken);
    mem_free(t->out.yours);
    mem_free(t->moving);
    mem_free(t->moving_list);
    mem_free(t->told);
    mem_free(t->told_list);
    mem_free(t->replicas);
    mem_free(t->tasks);
    mem_free(t->seeds);
    mem_free(t);
}
