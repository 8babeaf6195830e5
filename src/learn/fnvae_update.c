/* fnvae_update.c - the updates of the FN-VAE: first, pre-training of the θ-free network; then those
 * of everything, with scheduled weights, prices and learning rates. */
#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "learn/fnvae.h"

/* The weights of one replica's costs. Those of the two parts of the KL include the share of their
 * rows. */
static void find_weights(const fnvae *f, int r, double k[FNVAE_K_COUNT])
{
    const fnvae_options *o = &f->o;
    size_t rows = (size_t)o->window * (size_t)o->batch;
    const float *move = numbers_of(&f->w[FNVAE_W_move], r);
    double kl = o->k3, moves = 0;
    k[FNVAE_K_rec] = o->k1;
    k[FNVAE_K_pred] = o->k2;
    k[FNVAE_K_smooth] = o->k5;
    if (o->auto_weights) {
        float c[4];
        nn_read(f->auto_c, r, c);
        k[FNVAE_K_rec] = 1 / (2 * (double)c[0] * (double)c[0]);
        k[FNVAE_K_pred] = 1 / (2 * (double)c[1] * (double)c[1]);
        kl = 1 / (2 * (double)c[2] * (double)c[2]);
        k[FNVAE_K_smooth] = 1 / (2 * (double)c[3] * (double)c[3]);
    }
    if (o->smooth == SMOOTH_OFF) k[FNVAE_K_smooth] = 0;
    if (o->k3 > 0 && f->update < fnvae_share(f, o->k3_until))
        kl *= pow(o->k3_first / o->k3, 1 - (double)f->update / (o->k3_until * o->updates));
    for (size_t i = 0; i < rows; i++) moves += (double)move[i];
    for (int b = 0; o->moves > 0 && b < o->batch; b++) moves += f->left_out[r * o->batch + b];
    k[FNVAE_K_move] = kl * moves / (double)rows;
    k[FNVAE_K_stay] = kl * (1 - moves / (double)rows);
}

/* Edges are expensive at first: those without need close, and stay closed as the price falls; those
 * that explain more than the final price open again. */
static double price_now(const fnvae *f)
{
    const fnvae_options *o = &f->o;
    double from = o->masks_from * o->updates, until = o->masks_until * o->updates;
    double left = until > from ? ((double)f->update - until) / (from - until) : 0;
    return o->k4 * pow(o->price_first, fmin(fmax(left, 0), 1));
}

static void upload(fnvae *f)
{
    double k[FNVAE_K_COUNT];
    for (int r = 0; r < f->replicas; r++) {
        find_weights(f, r, k);
        k[FNVAE_K_sparse] = price_now(f);
        k[FNVAE_K_noise] = f->update >= fnvae_share(f, f->o.sd_from);
        for (int i = 0; i < FNVAE_K_COUNT; i++) f->k_host[i * f->replicas + r] = (float)k[i];
    }
    for (int i = 0; i < FNVAE_K_COUNT; i++) nn_write_all(f->k[i], f->k_host + i * f->replicas);
    const staged *windows[] = {&f->at, &f->next, &f->decoded, &f->change};
    for (int i = 0; i < 4; i++) staged_send(windows[i]);
    for (int i = 0; i < FNVAE_W_COUNT; i++) staged_send(&f->w[i]);
    fnvae_set_units(f);
    if (f->o.moves == 0) return;
    staged_send(&f->begins);
    staged_send(&f->of);
}

int64_t fnvae_first(const fnvae *f)
{
    return f->o.observed ? 0 : -fnvae_share(f, f->o.head);
}

static double rate(const fnvae *f, double progress)
{
    return f->o.lr * pow(f->o.lr_end / f->o.lr, fmin(progress, 1));
}

static int adam_plain(fnvae *f, const nn_adam *adam)
{
    int rc = 0;
    TRY(nn_group_adam(f->group[FNVAE_PLAIN_S], adam));
    TRY(nn_group_adam(f->group[FNVAE_PLAIN_R], adam));
out:
    return rc;
}

/* Pre-training. q_phi reads what was not expected, and a weak factor shows there only if everything
 * else is expected: otherwise theta encodes what the decoders do not know yet. */
static int update_plain(fnvae *f, nn_adam adam)
{
    int rc = 0;
    adam.lr = rate(f, 1 - (double)f->update / (double)fnvae_first(f));
    TRY(nn_plan_run(f->learn_plain));
    TRY(adam_plain(f, &adam));
out:
    return rc;
}

static int update_all(fnvae *f, nn_adam adam)
{
    int rc = 0;
    TRY(nn_plan_run(f->update_graph ? f->learn : f->learn_fixed));
    adam.lr = rate(f, (double)f->update / f->o.updates);
    for (int i = 0; i < FNVAE_PLAIN_S; i++) TRY(nn_group_adam(f->group[i], &adam));
    if (f->o.auto_weights) TRY(nn_group_adam(f->group[FNVAE_WEIGHTS], &adam));
    adam.lr = f->o.lr_end;
    if (fnvae_first(f) < 0) TRY(adam_plain(f, &adam));
    adam.lr = f->o.lr_masks;
    if (f->update_graph) TRY(nn_group_adam(f->group[FNVAE_MASKS], &adam));
out:
    return rc;
}

int fnvae_update(fnvae *f)
{
    int rc = 0;
    nn_adam adam = NN_ADAM_DEFAULT;
    adam.clip = f->o.clip;
    upload(f);
    TRY(f->update < 0 ? update_plain(f, adam) : update_all(f, adam));
    f->stale = true;
    f->update++; /* set masks at once, as loading this model would */
    if (f->update == fnvae_share(f, f->o.masks_from) ||
        f->update == fnvae_share(f, f->o.masks_until))
        fnvae_set_masks(f);
out:
    return rc;
}

double fnvae_cost(const fnvae *f, int cost, int replica)
{
    return nn_scalar_get(f->cost[cost], replica);
}

double fnvae_total(const fnvae *f, int replica)
{
    const nn_var k[FNVAE_COST_COUNT] = {
        [FNVAE_rec_dyn] = f->k[FNVAE_K_rec],   [FNVAE_rec_rw] = f->k[FNVAE_K_rec],
        [FNVAE_pred_dyn] = f->k[FNVAE_K_pred], [FNVAE_pred_rw] = f->k[FNVAE_K_pred],
        [FNVAE_kl_stay] = f->k[FNVAE_K_stay],  [FNVAE_kl_move] = f->k[FNVAE_K_move],
        [FNVAE_smooth] = f->k[FNVAE_K_smooth]};
    double total = fnvae_cost(f, FNVAE_sparse, replica); /* includes k4 */
    for (int i = 0; i < FNVAE_COST_COUNT; i++)
        if (k[i].graph) total += nn_scalar_get(k[i], replica) * fnvae_cost(f, i, replica);
    return total;
}

/* ---- curves ---------------------------------------------------------------------------------- */

int fnvae_read_costs(void *model)
{
    fnvae *f = model;
    for (int i = 0; f->stale && i < FNVAE_COST_COUNT; i++)
        nn_read_all(f->cost[i], f->shown + i * f->replicas);
    f->stale = false;
    return 0;
}

void fnvae_scalars(fnvae *f, int replica, fans_scalar_fn *emit, void *user)
{
    char name[64];
    fnvae_read_costs(f);
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        snprintf(name, sizeof name, "model/%s", fnvae_cost_names[i]);
        emit(user, name, (double)f->shown[i * f->replicas + replica]);
    }
}
