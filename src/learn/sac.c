/* sac.c - records the networks once; an update is a routine of two plans.
 *
 * Equations, with H̄ the target entropy and y held constant:
 *     y    = r + γ (1 - terminated) (min_j Q̄_j(s', a') - temp · log π(a'|s')),   a' ~ π(s')
 *     J_Q  = ½ Σ_j E (Q_j(s, a) - y)²
 *     J_π  = E temp · log π(ã|s) - min_j Q_j(s, ã),                               ã ~ π(s)
 *     J_temp = -E log temp · (log π(ã|s) + H̄)
 * A batch is gathered where the update is computed: only the numbers of its rows travel. */
#include "learn/sac.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

OPTIONS_GROUP(sac_option_group, sac_options, "sac", "soft actor-critic", SAC_OPTIONS)

struct sac {
    sac_options o;
    sac_shape z;
    int inputs;
    nn_graph *g;
    nn_group *actor, *critic, *target, *temp;
    nn_var steps, extra;                            /* the memory; extra may be NN_NONE */
    nn_var at, next_at, shift, scale;               /* which rows, in which units */
    nn_var judged_at, judged_next_at;               /* with hindsight: which for the critics */
    nn_var input, action, reward, terminated, next; /* a batch */
    nn_var judged, judged_next;                     /* input and next as critics see them */
    nn_var here, sample, mean;                      /* acting */
    nn_var critic_loss, actor_loss, temp_loss, temp_value, logp;
    nn_plan *act_plan;
    nn_routine *update;
    arena *memory;
    sac_batch staged; /* of replica 0; the others follow */
    sac_view view;    /* likewise */
    float *shown;     /* (4, replicas): critic loss, actor loss, temperature, log-probability */
    bool stale;       /* ... not yet read since the last update */
};

/* ---- recording ------------------------------------------------------------------------------- */

typedef struct policy {
    nn_var action, mean, logp;
} policy;

static policy record_policy(sac *s, nn_var input)
{
    int m = s->z.actions;
    nn_var out = nn_mlp(s->actor, "pi", NN_IN(input), 1, s->o.hidden, s->o.width, NN_RELU, 2 * m);
    nn_var mean = nn_slice(out, 0, m), log_std = nn_clip(nn_slice(out, m, m), -20, 2);
    nn_var u = nn_gauss_sample(mean, log_std);
    return (policy){nn_activate(u, NN_TANH), nn_activate(mean, NN_TANH),
                    nn_squash_logp(u, mean, log_std)};
}

static nn_var record_q(const sac *s, nn_group *critic, nn_var input, nn_var action)
{
    return nn_mlp(critic, "q", NN_IN(input, action), 2, s->o.hidden, s->o.width, NN_RELU, 1);
}

static void record_critic(sac *s, nn_var temp)
{
    policy next = record_policy(s, s->next);
    nn_var q = nn_min(record_q(s, s->target, s->judged_next, next.action));
    nn_var discount = nn_scalar(s->g, "discount", s->o.discount);
    nn_var y = nn_td_target(s->reward, s->terminated, q, next.logp, temp, discount);
    nn_var now = record_q(s, s->critic, s->judged, s->action);
    s->critic_loss = nn_affine(nn_mse(now, y, NN_NONE), 0.5, 0);
}

static void record_actor(sac *s, nn_var temp, nn_var log_temp)
{
    double target = s->o.target_entropy * s->z.actions;
    policy now = record_policy(s, s->input);
    nn_var q = nn_min(record_q(s, s->critic, s->judged, now.action));
    s->actor_loss = nn_mean(nn_add(nn_mul(now.logp, temp), nn_affine(q, -1, 0)), NN_NONE);
    s->logp = nn_mean(now.logp, NN_NONE);
    nn_var surplus = nn_affine(nn_detach(now.logp), -1, -target);
    s->temp_loss = nn_mean(nn_mul(surplus, log_temp), NN_NONE);
}

/* Inputs as the networks see them. */
static nn_var record_view(const sac *s, nn_var raw)
{
    nn_var x = nn_mul(nn_add(raw, s->shift), s->scale);
    return s->z.bound > 0 ? nn_clip(x, -s->z.bound, s->z.bound) : x;
}

/* The observations of `steps`, and the extra numbers of the rows `beside`. */
static nn_var record_inputs(const sac *s, nn_var steps, nn_var beside)
{
    nn_var obs = nn_slice(steps, 0, s->z.obs);
    if (!s->z.extra) return record_view(s, obs);
    return record_view(s, nn_concat(NN_IN(obs, nn_gather(s->extra, beside))));
}

static void record_hindsight(sac *s, nn_var now, nn_var next)
{
    s->judged = s->input;
    s->judged_next = s->next;
    if (!s->z.hindsight) return;
    s->judged_at = nn_index(s->g, "judged at", 1, s->o.batch);
    s->judged_next_at = nn_index(s->g, "judged next at", 1, s->o.batch);
    s->judged = record_inputs(s, now, s->judged_at);
    s->judged_next = record_inputs(s, next, s->judged_next_at);
}

static void record_batch(sac *s, float *steps, float *extra)
{
    nn_graph *g = s->g;
    int B = s->o.batch, obs = s->z.obs, m = s->z.actions;
    s->steps = nn_table(g, "steps", s->z.memory, obs + m + 2, NN_F32, steps);
    s->extra = s->z.extra ? nn_table(g, "extra", s->z.memory, s->z.extra, NN_F32, extra) : NN_NONE;
    s->at = nn_index(g, "at", 1, B);
    s->next_at = nn_index(g, "next at", 1, B);
    s->shift = nn_input(g, "shift", 1, 1, s->inputs);
    s->scale = nn_input(g, "scale", 1, 1, s->inputs);
    nn_var now = nn_gather(s->steps, s->at), next = nn_gather(s->steps, s->next_at);
    s->input = record_inputs(s, now, s->at);
    s->action = nn_slice(now, obs, m);
    s->reward = nn_slice(now, obs + m, 1);
    s->terminated = nn_slice(now, obs + m + 1, 1);
    s->next = record_inputs(s, next, s->next_at);
    record_hindsight(s, now, next);
}

static int record(sac *s, float *steps, float *extra)
{
    nn_graph *g = s->g;
    int rc = 0;
    s->actor = nn_group_new(g, "actor");
    s->critic = nn_group_new(g, "critic");
    s->target = nn_group_new(g, "target");
    s->temp = nn_group_new(g, "temp");
    record_batch(s, steps, extra);
    nn_var log_temp = nn_param(s->temp, "log", 1, 1, 1, NN_INIT_CONSTANT, log(s->o.temp));
    s->temp_value = nn_detach(nn_activate(log_temp, NN_EXP));
    record_critic(s, s->temp_value);
    record_actor(s, s->temp_value, log_temp);
    s->here = nn_input(g, "here", 1, s->z.rows, s->inputs);
    policy here = record_policy(s, record_view(s, s->here));
    s->sample = here.action;
    s->mean = here.mean;

    nn_plan *critic_plan, *actor_plan;
    nn_adam adam = NN_ADAM_DEFAULT;
    adam.lr = s->o.lr;
    adam.clip = s->o.clip;
    nn_var actor[] = {s->actor_loss, s->temp_loss, s->temp_value, s->logp};
    nn_var act[] = {s->sample, s->mean};
    nn_group *groups[] = {s->actor, s->temp};
    TRY(nn_plan_new(&critic_plan, g, &s->critic_loss, 1, 1, &s->critic, 1));
    TRY(nn_plan_new(&actor_plan, g, actor, 4, 2, groups, 2));
    TRY(nn_plan_new(&s->act_plan, g, act, 2, 0, NULL, 0));
    TRY(nn_routine_new(&s->update, g));
    nn_routine_plan(s->update, critic_plan);
    nn_routine_adam(s->update, s->critic, &adam);
    nn_routine_plan(s->update, actor_plan);
    nn_routine_adam(s->update, s->actor, &adam);
    if (s->o.auto_temp) nn_routine_adam(s->update, s->temp, &adam);
    nn_routine_follow(s->update, s->target, s->critic, s->o.tau);
    TRY(nn_graph_commit(g));
    nn_group_follow(s->target, s->critic, 1);
out:
    return rc;
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static int stage(sac *s)
{
    size_t R = (size_t)s->z.replicas, batch = R * (size_t)s->o.batch * sizeof(int32_t);
    size_t units = R * (size_t)s->inputs * sizeof(float);
    int rc = 0;
    TRY(arena_new(&s->memory));
    TRY(arena_declare(s->memory, &s->staged.at, batch));
    TRY(arena_declare(s->memory, &s->staged.next, batch));
    TRY(arena_declare(s->memory, &s->staged.judged_at, batch));
    TRY(arena_declare(s->memory, &s->staged.judged_next, batch));
    TRY(arena_declare(s->memory, &s->view.shift, units));
    TRY(arena_declare(s->memory, &s->view.scale, units));
    TRY(arena_declare(s->memory, &s->shown, 4 * R * sizeof(float)));
    TRY(arena_commit(s->memory));
    for (size_t i = 0; i < R * (size_t)s->inputs; i++) s->view.scale[i] = 1;
    sac_units(s);
out:
    return rc;
}

int sac_new(sac **out, nn_backend *b, const sac_options *o, sac_shape z, float *steps, float *extra,
            const uint64_t *seeds)
{
    int rc = 0;
    sac *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    s->o = *o;
    s->z = z;
    s->inputs = z.obs + z.extra;
    TRY(nn_graph_new(&s->g, b, z.replicas, seeds));
    TRY(record(s, steps, extra));
    TRY(stage(s));
    *out = s;
    return 0;
out:
    sac_free(s);
    return rc;
}

void sac_free(sac *s)
{
    if (!s) return;
    nn_graph_free(s->g);
    arena_free(s->memory);
    mem_free(s);
}

/* ---- the memory and its units ---------------------------------------------------------------- */

void sac_changed(sac *s, const nn_place *places, int count)
{
    nn_table_send_rows(s->steps, places, count);
    if (s->z.extra) nn_table_send_rows(s->extra, places, count);
}

void sac_changed_extra(sac *s, int replica, int first, int count)
{
    if (s->z.extra) nn_table_send(s->extra, replica, first, count);
}

void sac_changed_all(sac *s)
{
    for (int r = 0; r < s->z.replicas; r++) {
        nn_table_send(s->steps, r, 0, s->z.memory);
        sac_changed_extra(s, r, 0, s->z.memory);
    }
}

sac_view sac_view_of(sac *s, int replica)
{
    size_t at = (size_t)replica * (size_t)s->inputs;
    return (sac_view){s->view.shift + at, s->view.scale + at};
}

void sac_units(sac *s)
{
    nn_write_all(s->shift, s->view.shift);
    nn_write_all(s->scale, s->view.scale);
}

/* ---- acting and learning --------------------------------------------------------------------- */

int sac_act(sac *s, const float *inputs, bool explore, float *actions)
{
    nn_write_all(s->here, inputs);
    int rc = nn_plan_run(s->act_plan);
    if (rc < 0) return rc;
    nn_read_all(explore ? s->sample : s->mean, actions);
    for (int i = 0; i < s->z.replicas * s->z.rows * s->z.actions; i++)
        if (!isfinite(actions[i]))
            return fans_fail(FANS_ENUMERIC, "the policy's action is %g", (double)actions[i]);
    return 0;
}

sac_batch sac_batch_of(sac *s, int replica)
{
    size_t n = (size_t)replica * (size_t)s->o.batch;
    return (sac_batch){s->staged.at + n, s->staged.next + n, s->staged.judged_at + n,
                       s->staged.judged_next + n};
}

int sac_update(sac *s)
{
    int rc = 0;
    nn_write_index_all(s->at, s->staged.at);
    nn_write_index_all(s->next_at, s->staged.next);
    if (s->z.hindsight) {
        nn_write_index_all(s->judged_at, s->staged.judged_at);
        nn_write_index_all(s->judged_next_at, s->staged.judged_next);
    }
    TRY(nn_routine_run(s->update));
    s->stale = true;
out:
    return rc;
}

/* One transfer for all replicas, and only when somebody asks. */
static void read_shown(sac *s)
{
    nn_var from[] = {s->critic_loss, s->actor_loss, s->temp_value, s->logp};
    for (int i = 0; s->stale && i < 4; i++) nn_read_all(from[i], s->shown + i * s->z.replicas);
    s->stale = false;
}

sac_losses sac_losses_of(sac *s, int replica)
{
    read_shown(s);
    const float *x = s->shown + replica;
    int R = s->z.replicas;
    return (sac_losses){(double)x[0], (double)x[R], (double)x[2 * R], -(double)x[3 * R]};
}

/* ---- state ----------------------------------------------------------------------------------- */

/* On a backend that works beside the host: wait for it, and see that all is well. */
static int settle(void *arg)
{
    sac *s = arg;
    int rc = nn_graph_check(s->g);
    read_shown(s);
    return rc;
}

void sac_state(sac *s, int replica, state_list *list)
{
    int n;
    nn_group *groups[] = {s->actor, s->critic, s->target, s->temp};
    state_on_save(list, settle, s);
    for (int i = 0; i < 4; i++) state_add_group(list, nn_group_name(groups[i]), groups[i], replica);
    uint64_t *counters = nn_graph_counters(s->g, &n);
    state_add(list, "sac/counters", STATE_U64, 1, (int64_t[]){n}, counters);
    state_add_number(list, "sac/actor_steps", STATE_U64, nn_group_steps(s->actor));
    state_add_number(list, "sac/critic_steps", STATE_U64, nn_group_steps(s->critic));
    state_add_number(list, "sac/temp_steps", STATE_U64, nn_group_steps(s->temp));
    /* shown in curves before the next update recomputes them */
    static const char *const names[] = {"sac/critic_loss", "sac/actor_loss", "sac/temp",
                                        "sac/logp"};
    for (int i = 0; i < 4; i++)
        state_add_number(list, names[i], STATE_F32, s->shown + i * s->z.replicas + replica);
}
