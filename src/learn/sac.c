/* sac.c - records the networks once; an update is a routine of two plans.
 *
 * Equations, with H̄ the target entropy and y held constant:
 *     y    = r + γ (1 - terminated) (min_j Q̄_j(s', a') - temp · log π(a'|s')),   a' ~ π(s')
 *     J_Q  = ½ Σ_j E (Q_j(s, a) - y)²
 *     J_π  = E temp · log π(ã|s) - min_j Q_j(s, ã),                               ã ~ π(s)
 *     J_temp = -E log temp · (log π(ã|s) + H̄) */
#include "learn/sac.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

OPTIONS_GROUP(sac_option_group, sac_options, "sac", "soft actor-critic, the base of every method",
              SAC_OPTIONS);

enum { NORM_OFF, NORM_CRITICS, NORM_ALL }; /* the option `layer_norm` */
enum { SHOWN = 4 }; /* critic loss, actor loss, temperature, log-probability */

struct sac {
    sac_options o;
    int actions, replicas, rows;
    nn_graph *g;
    sac_front front;
    nn_group *actor, *critic, *target, *temp;
    nn_var sample, mean; /* of the policy that acts */
    nn_var critic_loss, actor_loss, temp_loss, temp_value, logp;
    nn_plan *act_plan;
    nn_routine *update;
    sac_number also[SAC_ALSO];
    int also_count;
    real *shown; /* (SHOWN + also_count, replicas) */
    bool stale;  /* not read since the last update */
};

/* ---- recording ------------------------------------------------------------------------------- */

typedef struct policy {
    nn_var action, mean, logp;
} policy;

/* A bank of perceptrons, with layer norms if option `layer_norm` is at least `norm`. */
static nn_var record_mlp(const sac *s, nn_group *group, const char *name, nn_list x, int N,
                         int norm, int units)
{
    int hidden = s->o.hidden, width = s->o.width;
    if (s->o.layer_norm >= norm)
        return nn_norm_mlp(group, name, x, N, hidden, width, NN_RELU, units);
    return nn_mlp(group, name, x, N, hidden, width, NN_RELU, units);
}

sac_gauss sac_record_gauss(const sac *s, nn_var input)
{
    int m = s->actions;
    nn_list x = s->front.policy ? s->front.policy(s->front.self, s->actor, input) : NN_IN(input);
    nn_var out = record_mlp(s, s->actor, "pi", x, 1, NORM_ALL, 2 * m);
    return (sac_gauss){nn_slice(out, 0, m), nn_clip(nn_slice(out, m, m), -20, 2)};
}

static policy record_policy(const sac *s, nn_var input)
{
    sac_gauss p = sac_record_gauss(s, input);
    nn_var u = nn_gauss_sample(p.mean, p.log_std);
    return (policy){nn_activate(u, NN_TANH), nn_activate(p.mean, NN_TANH),
                    nn_squash_logp(u, p.mean, p.log_std)};
}

static nn_var record_q(const sac *s, nn_group *critic, nn_var input, nn_var action)
{
    nn_list x = s->front.critic ? s->front.critic(s->front.self, critic, input, action)
                                : NN_IN(input, action);
    return record_mlp(s, critic, "q", x, 2, NORM_CRITICS, 1);
}

static void record_critic(sac *s, const sac_inputs *in)
{
    policy next = record_policy(s, in->next_actor);
    nn_var q = nn_min(record_q(s, s->target, in->next_critic, next.action));
    nn_var discount =
        in->discount.graph ? in->discount : nn_scalar(s->g, "discount", s->o.discount);
    nn_var y = nn_td_target(in->reward, in->terminated, q, next.logp, s->temp_value, discount);
    nn_var now = record_q(s, s->critic, in->critic, in->action);
    s->critic_loss = nn_affine(nn_mse(now, y, in->weight), 0.5, 0);
}

static void record_actor(sac *s, const sac_inputs *in, nn_var log_temp)
{
    double target = s->o.target_entropy * s->actions;
    policy now = record_policy(s, in->actor);
    nn_var q = nn_min(record_q(s, s->critic, in->critic, now.action));
    s->actor_loss = nn_mean(nn_sub(nn_mul(now.logp, s->temp_value), q), in->weight);
    s->logp = nn_mean(now.logp, in->weight);
    nn_var surplus = nn_affine(nn_detach(now.logp), -1, -target);
    s->temp_loss = nn_mean(nn_mul(surplus, log_temp), in->weight);
}

void sac_use_front(sac *s, sac_front front)
{
    s->front = front;
}

void sac_record(sac *s, const sac_inputs *in)
{
    nn_var log_temp = nn_param(s->temp, "log", 1, 1, 1, NN_INIT_CONSTANT, log(s->o.temp));
    s->temp_value = nn_detach(nn_activate(log_temp, NN_EXP));
    record_critic(s, in);
    record_actor(s, in, log_temp);
}

void sac_record_act(sac *s, nn_var here)
{
    policy p = record_policy(s, here);
    s->rows = nn_shape_of(here).B;
    s->sample = p.action;
    s->mean = p.mean;
}

/* ---- planning -------------------------------------------------------------------------------- */

static void add_groups(nn_group **list, int *count, nn_group *const *more, int n)
{
    for (int i = 0; i < n; i++) list[(*count)++] = more[i];
}

static int plan_critic(sac *s, const sac_also *also, nn_plan **out)
{
    nn_group *groups[1 + SAC_ALSO] = {s->critic};
    nn_var wanted[1 + 2 * SAC_ALSO] = {s->critic_loss};
    int n = 1, losses = 1 + also->cost_count;
    add_groups(groups, &n, also->with_critic, also->with_critic_count);
    memcpy(wanted + 1, also->costs, (size_t)also->cost_count * sizeof *wanted);
    for (int i = 0; i < s->also_count; i++) wanted[losses + i] = s->also[i].value;
    return nn_plan_new(out, s->g, wanted, losses + s->also_count, losses, groups, n);
}

static int plan_actor(sac *s, const sac_also *also, nn_plan **out)
{
    nn_group *groups[2 + SAC_ALSO] = {s->actor, s->temp};
    nn_var wanted[] = {s->actor_loss, s->temp_loss, s->temp_value, s->logp};
    int n = 2;
    add_groups(groups, &n, also->with_actor, also->with_actor_count);
    return nn_plan_new(out, s->g, wanted, 4, 2, groups, n);
}

/* Groups before the critics are moved last: the policy's loss then reads the critics' view as they
 * computed it, and a backend that shares results computes it once. */
static void add_others(const sac *s, const sac_also *also, nn_adam adam)
{
    if (also->rate > 0) adam.lr *= also->rate;
    for (int i = 0; i < also->with_critic_count; i++)
        nn_routine_adam(s->update, also->with_critic[i], &adam);
    for (int i = 0; i < also->with_actor_count; i++)
        nn_routine_adam(s->update, also->with_actor[i], &adam);
    for (int i = 0; i < also->target_count; i++)
        nn_routine_follow(s->update, also->targets[i], also->sources[i], s->o.tau);
}

static int plan_update(sac *s, const sac_also *also)
{
    nn_plan *critic, *actor;
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.lr = s->o.lr;
    adam.clip = s->o.clip;
    memcpy(s->also, also->shown, sizeof s->also);
    s->also_count = also->shown_count;
    TRY(plan_critic(s, also, &critic));
    TRY(plan_actor(s, also, &actor));
    TRY(nn_plan_new(&s->act_plan, s->g, (nn_var[]){s->sample, s->mean}, 2, 0, NULL, 0));
    TRY(nn_routine_new(&s->update, s->g));
    nn_routine_plan(s->update, critic);
    nn_routine_adam(s->update, s->critic, &adam);
    nn_routine_plan(s->update, actor);
    nn_routine_adam(s->update, s->actor, &adam);
    if (s->o.auto_temp) nn_routine_adam(s->update, s->temp, &adam);
    nn_routine_follow(s->update, s->target, s->critic, s->o.tau);
    add_others(s, also, adam);
out:
    return rc;
}

int sac_plan(sac *s, const sac_also *also)
{
    return plan_update(s, also ? also : &(sac_also){0});
}

void sac_start(sac *s)
{
    nn_group_follow(s->target, s->critic, 1);
}

/* ---- making and freeing ---------------------------------------------------------------------- */

int sac_new(sac **out, nn_graph *g, const sac_options *o, int actions)
{
    sac *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    *s = (sac){.o = *o, .g = g, .actions = actions, .replicas = nn_graph_replicas(g)};
    s->actor = nn_group_new(g, "actor");
    s->critic = nn_group_new(g, "critic");
    s->target = nn_group_new(g, "target");
    s->temp = nn_group_new(g, "temp");
    s->shown = mem_alloc((SHOWN + SAC_ALSO) * (size_t)s->replicas * sizeof *s->shown);
    if (!s->shown) {
        sac_free(s);
        return FANS_ENOMEM;
    }
    *out = s;
    return 0;
}

void sac_free(sac *s)
{
    if (!s) return;
    mem_free(s->shown);
    mem_free(s);
}

/* ---- acting and learning --------------------------------------------------------------------- */

int sac_act(sac *s, bool explore, real *actions)
{
    int rc = nn_plan_run(s->act_plan), each = s->rows * s->actions;
    if (rc < 0) return rc;
    nn_read_all(explore ? s->sample : s->mean, actions);
    for (int i = 0; i < s->replicas * each; i++)
        if (!isfinite(actions[i]))
            return fans_fail_replica(FANS_ENUMERIC, i / each, "the policy's action is %g",
                                     (double)actions[i]);
    return 0;
}

int sac_update(sac *s)
{
    int rc = nn_routine_run(s->update);
    s->stale = s->stale || rc == 0;
    return rc;
}

/* One transfer for all replicas, on demand. */
static void read_shown(sac *s)
{
    nn_var from[SHOWN + SAC_ALSO] = {s->critic_loss, s->actor_loss, s->temp_value, s->logp};
    int count = SHOWN + s->also_count;
    for (int i = SHOWN; i < count; i++) from[i] = s->also[i - SHOWN].value;
    for (int i = 0; s->stale && i < count; i++) nn_read_all(from[i], s->shown + i * s->replicas);
    s->stale = false;
}

sac_losses sac_losses_of(sac *s, int replica)
{
    read_shown(s);
    const real *x = s->shown + replica;
    int R = s->replicas;
    return (sac_losses){(double)x[0], (double)x[R], (double)x[2 * R], -(double)x[3 * R]};
}

void sac_scalars(sac *s, int replica, fans_scalar_fn *emit, void *user)
{
    read_shown(s);
    for (int i = 0; i < s->also_count; i++)
        emit(user, s->also[i].name, (double)s->shown[(SHOWN + i) * s->replicas + replica]);
}

/* ---- state ----------------------------------------------------------------------------------- */

static int show(void *arg)
{
    read_shown(arg);
    return 0;
}

void sac_state(sac *s, int replica, state_list *list)
{
    nn_group *groups[] = {s->actor, s->critic, s->target, s->temp};
    state_on_save(list, show, s);
    for (int i = 0; i < 4; i++) state_add_group(list, nn_group_name(groups[i]), groups[i], replica);
    state_add_number(list, "sac/actor_steps", FANS_U64, nn_group_steps(s->actor));
    state_add_number(list, "sac/critic_steps", FANS_U64, nn_group_steps(s->critic));
    state_add_number(list, "sac/temp_steps", FANS_U64, nn_group_steps(s->temp));
    /* shown in curves before the next update recomputes them */
    static const char *const names[SHOWN] = {"sac/critic_loss", "sac/actor_loss", "sac/temp",
                                             "sac/logp"};
    for (int i = 0; i < SHOWN + s->also_count; i++)
        state_add_number(list, i < SHOWN ? names[i] : s->also[i - SHOWN].name,
                         sizeof(real) == 4 ? FANS_F32 : FANS_F64,
                         s->shown + i * s->replicas + replica);
}
