/* train_make.c - makes a training, opens the folders of its runs, and frees it. */
#include <stdio.h>

#include "base/error.h"
#include "base/log.h"
#include "base/os.h"
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
out:
    return rc;
}

static int claim(training *t)
{
    int rc = 0;
    TRY(arena_new(&t->memory));
    for (int r = 0; r < t->count; r++) TRY(claim_replica(t, &t->replicas[r]));
    TRY(arena_commit(t->memory));
out:
    return rc;
}

int train_movements(const task *t, fans_moving *list)
{
    int n = schedule_rules(t->change);
    for (int k = 0; list && k < n; k++) list[k] = schedule_moving(t->change, k);
    return n;
}

static int list_movements(training *t)
{
    size_t all = 0, at = 0;
    for (int r = 0; r < t->count; r++) all += (size_t)train_movements(t->tasks[r], NULL);
    t->moving = mem_alloc((size_t)t->count * sizeof *t->moving);
    t->moving_list = mem_alloc(all * sizeof *t->moving_list);
    if (!t->moving || !t->moving_list) return FANS_ENOMEM;
    for (int r = 0; r < t->count; r++) {
        fans_moving *list = t->moving_list + at;
        t->moving[r] = (fans_movements){list, train_movements(t->tasks[r], list)};
        at += (size_t)t->moving[r].count;
    }
    return 0;
}

static int count_groups(const fans_algo_def *a)
{
    int n = 0;
    while (a->groups && a->groups[n]) n++;
    return n;
}

/* The options of each of the algorithm's groups. */
static int take_options(training *t)
{
    int rc = 0, n = count_groups(t->s.algo);
    t->taken = mem_alloc((size_t)(n + 1) * sizeof *t->taken);
    if (!t->taken) return FANS_ENOMEM;
    for (int i = 0; i < n; i++) {
        const option_group *g = t->s.algo->groups[i]();
        void *options = mem_alloc(g->size);
        if (!options) return FANS_ENOMEM;
        t->taken[i] = (fans_taken){g, options};
        TRY(config_take(t->s.config, g, g->section, options));
    }
out:
    return rc;
}

static int open_agent(training *t)
{
    int rc = take_options(t);
    if (rc == 0) rc = list_movements(t);
    if (rc < 0) return rc;
    fans_algo_setup s = {.replicas = t->count,
                         .worlds = t->worlds_each,
                         .steps = t->s.look_only ? 0 : t->ticks * t->worlds_each,
                         .seeds = t->seeds,
                         .info = &t->tasks[0]->info,
                         .moving = t->moving,
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

/* Lists all that a resume of replica r needs. */
static int list_state(training *t, int r)
{
    replica *p = &t->replicas[r];
    state_list *s = &p->state;
    char name[32];
    add_count(s, "run/tick", &p->tick);
    add_count(s, "run/episodes", &p->episodes);
    add_count(s, "run/first_episodes", &p->first_episodes);
    add_count(s, "run/metrics_bytes", &p->run.metrics.bytes);
    add_count(s, "run/beliefs_bytes", &p->run.beliefs.bytes);
    add_count(s, "run/events_bytes", &p->run.events_bytes);
    state_add_number(s, "run/wall", FANS_F64, &p->wall);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "run/recent", FANS_F64, 1, (int64_t[]){TRAIN_RECENT}, p->recent);
    state_add(s, "run/lengths", FANS_F64, 1, (int64_t[]){TRAIN_RECENT}, p->lengths);
    state_add(s, "run/gain", FANS_F64, 1, (int64_t[]){t->worlds_each}, p->gain);
    state_add(s, "run/length", FANS_I64, 1, (int64_t[]){t->worlds_each}, p->length);
    state_range(s, 0, t->tasks[r]->info.horizon - 1);
    state_check(s, check_episodes, t, r);
    for (int w = 0; !t->s.look_only && w < t->worlds_each; w++) { /* looking plays new worlds … */
        size_t n = world_state_bytes(worlds_at(t->scene.worlds, r * t->worlds_each + w));
        if (!(p->bytes[w] = mem_alloc(n))) return FANS_ENOMEM;
        snprintf(name, sizeof name, "world.%d", w);
        state_add_bytes(s, name, p->bytes[w], n);
    }
    if (t->s.algo->state) t->s.algo->state(t->agent, r, s);
    if (t->s.algo->carried) t->s.algo->carried(t->agent, r, s);
    if (t->s.look_only) state_drop(s, "replay."); /* … and needs no replay */
    return state_done(s);
}

/* ---- folders --------------------------------------------------------------------------------- */

/* A library may be built anew: a run must not resume with other factors. */
static void dump_factors(const fans_env_info *info, text *out)
{
    for (int k = 0; k < info->factor_count; k++) {
        const fans_factor *f = &info->factors[k];
        text_add(out, "# factor %s: %s, %g to %g, initially %g\n", f->name,
                 f->kind == FANS_DYNAMICS ? "dynamics" : "reward", f->low, f->high, f->initial);
    }
}

static void dump_config(const training *t, int r, text *out)
{
    train_options o = t->s.options;
    o.seed = t->s.runs[r].seed;
    text_add(out, CONFIG_OF_RUN "%s\n", fans_version());
    options_dump(train_option_group(), "train", &o, out);
    task_dump(t->tasks[r], out);
    if (t->tasks[r]->source.library) dump_factors(&t->tasks[r]->info, out);
    for (const fans_taken *k = t->taken; k->group; k++)
        options_dump(k->group, k->group->section, k->options, out);
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
    static const char *const loose[] = {"# resolved by",
                                        "episodes = ", "checkpoint_every = ", NULL};
    replica *p = &t->replicas[r];
    text ini = {0};
    int rc = 0;
    if (!t->s.runs[r].folder) return 0;
    dump_config(t, r, &ini);
    TRY(text_done(&ini));
    TRY(run_check_version(t->s.runs[r].folder));
    if (!t->s.look_only) TRY(check_position(t, t->s.runs[r].folder));
    TRY(run_open(&p->run, t->s.runs[r].folder, ini.s, loose, t->s.look_only));
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

int training_new(training **out, const train_setup *s)
{
    const task *first = s->runs[0].task;
    int64_t steps = (int64_t)s->options.episodes * first->info.horizon;
    int rc = 0;
    training *t = mem_alloc(sizeof *t);
    if (!t) return FANS_ENOMEM;
    t->s = *s;
    t->count = s->count;
    t->worlds_each = s->options.worlds;
    t->rows = t->count * t->worlds_each;
    t->ticks = (steps + t->worlds_each - 1) / t->worlds_each;
    snprintf(t->kind, sizeof t->kind, "%s on %s", s->algo->name, first->def->name);
    TRY(copy_runs(t, s));
    TRY(claim(t));
    TRY(scene_new(&t->scene, t->tasks, s->pool, t->seeds, t->count, t->worlds_each));
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
        TRY(run_begin(p, resumed, t->s.algo->belief));
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
    for (fans_taken *k = t->taken; k && k->group; k++) mem_free(k->options);
    mem_free(t->taken);
    mem_free(t->moving);
    mem_free(t->moving_list);
    mem_free(t->replicas);
    mem_free(t->tasks);
    mem_free(t->seeds);
    mem_free(t);
}
