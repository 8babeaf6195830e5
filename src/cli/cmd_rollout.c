/* cmd_rollout.c - fans rollout: plays a task with random or zero actions, to see what it is like:
 * returns, every step as CSV, a film. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/os.h"
#include "base/rng.h"
#include "base/text.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/video.h"
#include "env/world.h"
#include "train/sections.h"

typedef struct rollout {
    const char *config, *policy, *csv, *film, *json;
    int episodes, seed, size, fps;
    text_list settings;

    task *task;
    world *world;
    arena *arena;
    world_buffers b;
    float *action, *before;                   /* [act_dim]; [obs_dim] */
    double *returns, *successes, *low, *high; /* per episode; per factor */
    rng actions;
    FILE *out;
    uint8_t *frame;
    char film_path[4096]; /* where it went: a folder, where there is no ffmpeg */
    double seconds;
} rollout;

/* ---- preparation ----------------------------------------------------------------------------- */

static int load(rollout *r)
{
    config *c = NULL;
    int rc = 0;
    TRY(config_new(&c));
    TRY(config_add_file(c, r->config));
    for (int i = 0; i < r->settings.count; i++) TRY(config_add_setting(c, r->settings.items[i]));
    TRY(task_load(&r->task, c));
    TRY(sections_skip(c));
    TRY(config_check_taken(c));
out:
    config_free(c);
    return rc;
}

static int prepare(rollout *r)
{
    int rc = 0;
    TRY(load(r));
    const fans_env_info *info = &r->task->info;
    size_t episodes = (size_t)r->episodes, factors = (size_t)info->factor_count;
    TRY(arena_new(&r->arena));
    TRY(world_buffers_declare(&r->b, r->arena, r->task, 1, false));
    TRY(arena_declare(r->arena, &r->action, (size_t)info->act_dim * sizeof(float)));
    TRY(arena_declare(r->arena, &r->before, (size_t)info->obs_dim * sizeof(float)));
    TRY(arena_declare(r->arena, &r->returns, episodes * sizeof(double)));
    TRY(arena_declare(r->arena, &r->successes, episodes * sizeof(double)));
    TRY(arena_declare(r->arena, &r->low, factors * sizeof(double)));
    TRY(arena_declare(r->arena, &r->high, factors * sizeof(double)));
    TRY(arena_declare(r->arena, &r->frame, (size_t)r->size * (size_t)r->size * 3));
    TRY(arena_commit(r->arena));
    r->b.action = r->action;
    r->actions = rng_stream((uint64_t)r->seed, "policy", 0);
    TRY(world_new(&r->world, r->task, (uint64_t)r->seed, 0));
    TRY(world_start(r->world, &r->b, 0));
    for (size_t k = 0; k < factors; k++) r->low[k] = r->high[k] = r->b.factors[k];
    if (r->csv && !(r->out = fopen(r->csv, "w")))
        TRY(fans_fail(FANS_EIO, "%s: cannot write: %s", r->csv, strerror(errno)));
out:
    return rc;
}

/* ---- one row of CSV per step ----------------------------------------------------------------- */

static void csv_header(const rollout *r)
{
    const fans_env_info *info = &r->task->info;
    fprintf(r->out, "episode,step,t,segment,change");
    for (int i = 0; i < info->factor_count; i++) fprintf(r->out, ",%s", info->factors[i].name);
    for (int i = 0; i < info->obs_dim; i++) fprintf(r->out, ",obs.%s", info->obs_names[i]);
    for (int i = 0; i < info->act_dim; i++) fprintf(r->out, ",action.%s", info->act_names[i]);
    fprintf(r->out, ",reward,terminated,truncated,success");
    for (int i = 0; i < info->obs_dim; i++) fprintf(r->out, ",next_obs.%s", info->obs_names[i]);
    fprintf(r->out, "\n");
}

/* Digits enough to read the same numbers back. */
static void csv_floats(FILE *out, const float *x, int n)
{
    for (int i = 0; i < n; i++) fprintf(out, ",%.9g", (double)x[i]);
}

/* What is known before the step. */
static void csv_now(const rollout *r)
{
    const fans_env_info *info = &r->task->info;
    sched_time time = world_time(r->world);
    fprintf(r->out, "%lld,%lld,%lld,%lld,%d", (long long)time.episode, (long long)time.tau,
            (long long)time.t, (long long)r->b.segment[0], r->b.change[0]);
    for (int i = 0; i < info->factor_count; i++) fprintf(r->out, ",%.17g", r->b.factors[i]);
    csv_floats(r->out, r->b.obs, info->obs_dim);
    csv_floats(r->out, r->action, info->act_dim);
}

static void csv_outcome(const rollout *r)
{
    csv_floats(r->out, r->b.reward, 1);
    fprintf(r->out, ",%d,%d,", r->b.terminated[0], r->b.truncated[0]);
    if (!isnan(r->b.success[0])) fprintf(r->out, "%g", (double)r->b.success[0]);
    csv_floats(r->out, r->b.final_obs, r->task->info.obs_dim);
    fprintf(r->out, "\n");
}

static int csv_close(rollout *r)
{
    if (!r->out) return 0;
    int bad = ferror(r->out);
    bad |= fclose(r->out);
    r->out = NULL;
    return bad ? fans_fail(FANS_EIO, "%s: cannot write", r->csv) : 0;
}

/* ---- film ------------------------------------------------------------------------------------ */

static int film_open(rollout *r, video **film)
{
    if (!r->film) return 0;
    int rc = video_new(film, r->film, r->size, r->size, r->fps);
    if (rc < 0) return fans_fail_within(rc, "--video");
    snprintf(r->film_path, sizeof r->film_path, "%s", video_path(*film));
    return 0;
}

static int film_add(rollout *r, video *film)
{
    if (!film) return 0;
    int rc = world_picture(r->world, r->size, r->size, r->frame);
    return rc < 0 ? rc : video_add(film, r->frame);
}

static int film_close(video *film)
{
    return film ? video_close(film) : 0;
}

/* ---- playing --------------------------------------------------------------------------------- */

static void choose(rollout *r)
{
    bool zero = !strcmp(r->policy, "zero");
    for (int i = 0; i < r->task->info.act_dim; i++)
        r->action[i] = zero ? 0 : (float)rng_between(&r->actions, -1, 1);
}

static void watch_factors(rollout *r)
{
    for (int k = 0; k < r->task->info.factor_count; k++) {
        r->low[k] = fmin(r->low[k], r->b.factors[k]);
        r->high[k] = fmax(r->high[k], r->b.factors[k]);
    }
}

static int play_episode(rollout *r, int episode, video *film)
{
    r->successes[episode] = NAN;
    do {
        choose(r);
        watch_factors(r);
        if (r->out) csv_now(r);
        int rc = film_add(r, film);
        if (rc == 0) rc = world_step(r->world, &r->b, 0);
        if (rc < 0) return rc;
        if (r->out) csv_outcome(r);
        r->returns[episode] += (double)r->b.reward[0];
        r->successes[episode] = fmax(r->successes[episode], (double)r->b.success[0]);
    } while (!r->b.terminated[0] && !r->b.truncated[0]);
    return 0;
}

static int play(rollout *r)
{
    video *film = NULL;
    int rc = film_open(r, &film);
    if (rc < 0) return rc;
    if (r->out) csv_header(r);
    double start = os_now();
    for (int i = 0; i < r->episodes && rc == 0; i++) rc = play_episode(r, i, film);
    r->seconds = os_now() - start;
    int closed = film_close(film);
    if (rc == 0) rc = closed;
    return rc == 0 ? csv_close(r) : rc;
}

/* ---- results --------------------------------------------------------------------------------- */

typedef struct summary {
    double mean, sd, least, most, success;
} summary;

static summary summarise(const rollout *r)
{
    summary s = {.least = INFINITY, .most = -INFINITY};
    double square = 0, n = r->episodes;
    for (int i = 0; i < r->episodes; i++) {
        s.mean += r->returns[i] / n;
        s.success += r->successes[i] / n;
        s.least = fmin(s.least, r->returns[i]);
        s.most = fmax(s.most, r->returns[i]);
    }
    for (int i = 0; i < r->episodes; i++) square += pow(r->returns[i] - s.mean, 2);
    s.sd = n > 1 ? sqrt(square / (n - 1)) : 0;
    return s;
}

static int write_json(const rollout *r, const summary *s)
{
    json_t *returns = json_array();
    for (int i = 0; i < r->episodes; i++)
        json_array_append_new(returns, json_number(r->returns[i]));
    json_t *figures = json_pack("{ss ss si si sf sf so}", "environment", r->task->def->name,
                                "policy", r->policy, "seed", r->seed, "episodes", r->episodes,
                                "mean", s->mean, "sd", s->sd, "returns", returns);
    if (figures && !isnan(s->success))
        json_object_set_new(figures, "success", json_number(s->success));
    return cli_write_json(r->json, figures);
}

__attribute__((format(printf, 3, 4))) static void row(table *t, const char *name,
                                                      const char *format, ...)
{
    char value[256];
    va_list args;
    va_start(args, format);
    vsnprintf(value, sizeof value, format, args);
    va_end(args);
    table_row(t, name, value);
}

static int print_summary(const rollout *r, const summary *s)
{
    const fans_env_info *info = &r->task->info;
    sched_time time = world_time(r->world);
    table t = {0};
    row(&t, "environment", "%s: %d observations, %d actions, horizon %d", r->task->def->name,
        info->obs_dim, info->act_dim, info->horizon);
    row(&t, "episodes", "%d with %s actions, %lld steps", r->episodes, r->policy,
        (long long)time.t);
    row(&t, "return", "%.4g, standard deviation %.4g, from %.4g to %.4g", s->mean, s->sd, s->least,
        s->most);
    if (!isnan(s->success)) row(&t, "success", "%.3g of the episodes", s->success);
    for (int k = 0; k < info->factor_count; k++)
        if (r->low[k] < r->high[k])
            row(&t, info->factors[k].name, "from %.4g to %.4g", r->low[k], r->high[k]);
    if (r->film) table_row(&t, "film", r->film_path);
    row(&t, "pace", "%.0f steps a second", (double)time.t / fmax(r->seconds, 1e-9));
    int rc = table_print(&t);
    table_free(&t);
    return rc;
}

static void release(rollout *r)
{
    if (r->out) fclose(r->out);
    world_free(r->world);
    task_free(r->task);
    arena_free(r->arena);
}

int cmd_rollout(int argc, char **argv)
{
    rollout r = {.policy = "random", .episodes = 5, .size = 480, .fps = 20};
    const arg args[] = {
        ARG_WORD("CONFIG", &r.config, "config file with [env] and [change.FACTOR] sections"),
        ARG_TEXT("policy", "P", &r.policy, "actions: random (default) or zero"),
        ARG_INT("episodes", &r.episodes, 1, 1000000, "number of episodes (5)"),
        ARG_INT("seed", &r.seed, 0, 2147483647, "seed of the world and of the actions (0)"),
        ARG_TEXT("csv", "F", &r.csv, "write every step to the file F"),
        ARG_TEXT("video", "F", &r.film, "film to the file F: .mp4, .webm, .gif or .webp"),
        ARG_INT("size", &r.size, 16, 4096, "width and height of the film in pixels (480)"),
        ARG_INT("fps", &r.fps, 1, 240, "steps per second of film (20)"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &r.settings, "override a config key"),
        ARG_PLUGIN,
        ARG_JSON(&r.json),
    };
    int rc = args_parse("rollout", ARGS(args), argc, argv);
    if (rc) return rc;
    if (strcmp(r.policy, "zero") && strcmp(r.policy, "random"))
        return fans_fail(CLI_USAGE, "rollout: --policy is zero or random, not '%s'", r.policy);
    TRY(prepare(&r));
    TRY(play(&r));
    summary s = summarise(&r);
    TRY(write_json(&r, &s));
    TRY(print_summary(&r, &s));
out:
    release(&r);
    return rc;
}
