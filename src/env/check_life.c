/* check_life.c - checks over a thousand steps of a lifetime. */
#include <malloc.h>
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "env/call.h"
#include "env/checker.h"

enum { MANY_STEPS = 1000 };
static const double MOST_REWARD = 1e6; /* larger ones drown everything else in float sums */

/* ---- a world with buffers, and a record of what happened in it ------------------------------- */

typedef struct life {
    const task *task;
    world *world;
    world_buffers b;
    float *action;
    arena *arena;
    rng actions;
} life;

static void life_end(life *l)
{
    world_free(l->world);
    arena_free(l->arena);
    *l = (life){0};
}

static int life_begin(life *l, const task *t, uint64_t seed)
{
    int rc = 0;
    *l = (life){.task = t, .actions = rng_stream(7, "check actions", 0)};
    TRY(arena_new(&l->arena));
    TRY(world_buffers_declare(&l->b, l->arena, t, 1, false));
    TRY(arena_declare(l->arena, &l->action, (size_t)t->info.act_dim * sizeof(float)));
    TRY(arena_commit(l->arena));
    l->b.action = l->action;
    TRY(world_new(&l->world, t, seed, 0));
    TRY(world_start(l->world, &l->b, 0));
out:
    if (rc < 0) life_end(l);
    return rc;
}

static int life_step(life *l)
{
    check_random_action(&l->actions, l->action, l->task->info.act_dim);
    return world_step(l->world, &l->b, 0);
}

static size_t step_bytes(const task *t)
{
    return (size_t)t->info.obs_dim * 2 * sizeof(float) +
           (size_t)t->info.factor_count * sizeof(double) + 2 * sizeof(float) + sizeof(int64_t) + 3;
}

static char *put(char *to, const void *from, size_t n)
{
    memcpy(to, from, n);
    return to + n;
}

/* Takes `steps` steps and records all that each of them shows. */
static int life_record(life *l, int steps, char *record)
{
    size_t obs = (size_t)l->task->info.obs_dim * sizeof(float);
    size_t factors = (size_t)l->task->info.factor_count * sizeof(double);
    for (int i = 0; i < steps; i++) {
        int rc = life_step(l);
        if (rc < 0) return rc;
        record = put(record, l->b.obs, obs);
        record = put(record, l->b.final_obs, obs);
        record = put(record, l->b.factors, factors);
        record = put(record, l->b.reward, sizeof(float));
        record = put(record, l->b.success, sizeof(float));
        record = put(record, l->b.segment, sizeof(int64_t));
        record = put(record, l->b.change, 1);
        record = put(record, l->b.terminated, 1);
        record = put(record, l->b.truncated, 1);
    }
    return 0;
}

static int compare(const task *t, const char *a, const char *b, int steps, const char *what)
{
    for (int i = 0; i < steps; i++)
        if (memcmp(a + (size_t)i * step_bytes(t), b + (size_t)i * step_bytes(t), step_bytes(t)))
            return fans_fail(FANS_EINVAL, "%s differs at step %d", what, i);
    return 0;
}

static char *record_new(const task *t)
{
    return mem_alloc(MANY_STEPS * step_bytes(t));
}

/* ---- checks of a whole life ------------------------------------------------------------------ */

int check_shapes(checker *k)
{
    const fans_env_info *info = &k->still->info;
    checker_saw(k, "observations %d, actions %d, horizon %d, factors %d", info->obs_dim,
                info->act_dim, info->horizon, info->factor_count);
    if (info->views > 0 && (!k->still->def->draw || info->height < 1 || info->width < 1))
        return fans_fail(
            FANS_EINVAL, "%d views of %d x %d pixels, but %s", info->views, info->height,
            info->width,
            k->still->def->draw ? "the size is not positive" : "fans_env.draw is missing");
    for (int i = 0; i < info->factor_count; i++)
        for (int j = 0; j < i; j++)
            if (!strcmp(info->factors[i].name, info->factors[j].name))
                return fans_fail(FANS_EINVAL, "two factors are named '%s'", info->factors[i].name);
    return 0;
}

/* Bad ones are refused when the task is loaded. Every environment must give the same, or a graph of
 * one would misname the others. */
int check_names(checker *k)
{
    const fans_env_info *a = &k->still->info, *b = &k->moving->info;
    for (int i = 0; i < a->obs_dim; i++)
        if (strcmp(a->obs_names[i], b->obs_names[i]))
            return fans_fail(FANS_EINVAL, "observation %d is '%s' first and '%s' later", i,
                             a->obs_names[i], b->obs_names[i]);
    for (int i = 0; i < a->act_dim; i++)
        if (strcmp(a->act_names[i], b->act_names[i]))
            return fans_fail(FANS_EINVAL, "action %d is '%s' first and '%s' later", i,
                             a->act_names[i], b->act_names[i]);
    checker_saw(k, "observations %s, ...; actions %s, ...", a->obs_names[0], a->act_names[0]);
    return 0;
}

/* Reset and step must write every observation and nothing past the last. */
static int check_written(const float *obs, int n, const char *after)
{
    for (int i = 0; i < n + CHECK_GUARD; i++) {
        if (i < n && obs[i] == -12345)
            return fans_fail(FANS_EINVAL, "%s leaves observation %d unwritten", after, i);
        if (i >= n && obs[i] != -12345)
            return fans_fail(FANS_EINVAL, "%s writes %d values past the last observation", after,
                             i - n + 1);
    }
    return 0;
}

static void fill(float *obs, int n)
{
    for (int i = 0; i < n + CHECK_GUARD; i++) obs[i] = -12345;
}

int check_buffers(checker *k)
{
    const task *t = k->still;
    int n = t->info.obs_dim, rc = 0;
    void *env = NULL;
    rng r = rng_stream(1, "check", 0);
    fans_env_result result = {0};
    float *obs = mem_alloc(((size_t)n + CHECK_GUARD) * sizeof *obs);
    float *action = mem_alloc((size_t)t->info.act_dim * sizeof *action);
    if (!obs || !action) TRY(FANS_ENOMEM);
    TRY(task_open(t, &env));
    fill(obs, n);
    TRY(call_reset(t->def, env, &r, obs));
    TRY(check_written(obs, n, "reset"));
    fill(obs, n);
    TRY(call_step(t->def, env, &r, action, obs, &result));
    TRY(check_written(obs, n, "step"));
    checker_saw(k, "reset and step write every observation and nothing more");
out:
    if (env) t->def->close(env);
    mem_free(obs);
    mem_free(action);
    return rc;
}

int check_finite(checker *k)
{
    life l = {0};
    int rc = 0;
    double least = INFINITY, most = -INFINITY;
    TRY(life_begin(&l, k->moving, 1));
    for (int i = 0; i < MANY_STEPS; i++) {
        TRY(life_step(&l));
        least = fmin(least, (double)l.b.reward[0]);
        most = fmax(most, (double)l.b.reward[0]);
    }
    if (fmax(-least, most) > MOST_REWARD)
        TRY(fans_fail(FANS_EINVAL, "rewards from %.3g to %.3g: keep them within ±%g", least, most,
                      MOST_REWARD));
    checker_saw(k, "%d random steps, rewards from %.3g to %.3g", MANY_STEPS, least, most);
out:
    life_end(&l);
    return rc;
}

/* Lives `a` and `b` with seeds of their own; `same` says whether all bytes were equal. */
static int two_lives(const task *t, uint64_t seed_a, uint64_t seed_b, bool *same)
{
    life a = {0}, b = {0};
    int rc = 0;
    char *of_a = record_new(t), *of_b = record_new(t);
    if (!of_a || !of_b) TRY(FANS_ENOMEM);
    TRY(life_begin(&a, t, seed_a));
    TRY(life_begin(&b, t, seed_b));
    /* first obs, then in turns: shared hidden state between two environments shows too */
    *same = !memcmp(a.b.obs, b.b.obs, (size_t)t->info.obs_dim * sizeof(float));
    for (int i = 0; i < MANY_STEPS && *same; i++) {
        TRY(life_record(&a, 1, of_a));
        TRY(life_record(&b, 1, of_b));
        *same = !memcmp(of_a, of_b, step_bytes(t));
        if (!*same) fans_fail(FANS_EINVAL, "two worlds with one seed differ at step %d", i);
    }
    if (!*same && world_time(a.world).t == 0)
        fans_fail(FANS_EINVAL, "two worlds with one seed start differently");
out:
    life_end(&a);
    life_end(&b);
    mem_free(of_a);
    mem_free(of_b);
    return rc;
}

int check_same_seed(checker *k)
{
    bool same = false;
    int rc = two_lives(k->moving, 1, 1, &same);
    if (rc < 0 || !same) return rc < 0 ? rc : FANS_EINVAL;
    checker_saw(k, "two worlds agree to the last bit over %d steps", MANY_STEPS);
    return 0;
}

int check_seeds_differ(checker *k)
{
    bool same = false;
    int rc = two_lives(k->still, 1, 2, &same);
    if (rc < 0) return rc;
    checker_saw(k, "seeds 1 and 2 give different worlds");
    return same ? fans_fail(FANS_EINVAL, "seeds 1 and 2 give the same world") : 0;
}

int check_horizon(checker *k)
{
    life l = {0};
    int rc = 0, horizon = k->still->info.horizon, length = 0, truncated = 0, terminated = 0;
    TRY(life_begin(&l, k->still, 1));
    for (int i = 0; i < 3 * horizon; i++) {
        TRY(life_step(&l));
        length++;
        bool late = length >= horizon, cut = l.b.truncated[0], over = l.b.terminated[0];
        if ((cut && over) || cut != (late && !over))
            TRY(fans_fail(FANS_EINVAL, "step %d of an episode: truncated %d, terminated %d", length,
                          cut, over));
        truncated += cut;
        terminated += over;
        if (cut || over) length = 0;
    }
    checker_saw(k, "%d episodes truncated at step %d, %d terminated before", truncated, horizon,
                terminated);
out:
    life_end(&l);
    return rc;
}

/* Bytes in use on the heap, including those of plug-ins. */
static size_t heap(void)
{
    struct mallinfo2 m = mallinfo2();
    return m.uordblks + m.hblkhd;
}

int check_allocation(checker *k)
{
    life l = {0};
    int rc = 0;
    TRY(life_begin(&l, k->moving, 1));
    uint64_t before = mem_count();
    size_t heap_before = heap();
    for (int i = 0; i < MANY_STEPS; i++) TRY(life_step(&l));
    if (heap() > heap_before)
        TRY(fans_fail(FANS_EINVAL, "memory grows by %zu bytes in %d steps", heap() - heap_before,
                      MANY_STEPS));
    if (mem_count() != before)
        TRY(fans_fail(FANS_EINVAL, "%llu allocations in %d steps",
                      (unsigned long long)(mem_count() - before), MANY_STEPS));
    checker_saw(k, "none in %d steps, with resets and changes", MANY_STEPS);
out:
    life_end(&l);
    return rc;
}

/* Saves in mid-episode, continues, and continues again from the save: in the same world, which has
 * moved since, and in one that has never been there. */
int check_save(checker *k)
{
    const task *t = k->moving;
    life a = {0}, b = {0};
    int rc = 0;
    char *first = record_new(t), *again = record_new(t), *state = NULL;
    if (!first || !again) TRY(FANS_ENOMEM);
    TRY(life_begin(&a, t, 1));
    TRY(life_begin(&b, t, 2));
    for (int i = 0; i < t->info.horizon + t->info.horizon / 2; i++) TRY(life_step(&a));
    size_t bytes = world_state_bytes(a.world);
    if (!(state = mem_alloc(bytes))) TRY(FANS_ENOMEM);
    world_save(a.world, state);
    rng actions = a.actions;
    TRY(life_record(&a, MANY_STEPS, first));
    for (int turn = 0; turn < 2; turn++) {
        life *l = turn == 0 ? &a : &b;
        TRY(world_restore(l->world, state, &l->b, 0));
        l->actions = actions;
        TRY(life_record(l, MANY_STEPS, again));
        TRY(compare(t, first, again, MANY_STEPS,
                    turn == 0 ? "the restored world" : "a new world with the saved state"));
    }
    checker_saw(k, "%zu bytes; two worlds restored from them agree over %d steps", bytes,
                MANY_STEPS);
out:
    life_end(&a);
    life_end(&b);
    mem_free(first);
    mem_free(again);
    mem_free(state);
    return rc;
}
