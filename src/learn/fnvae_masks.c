/* fnvae_masks.c - the masks of the FN-VAE: dense at first, then learned, then frozen.
 *
 * One recording serves all three: C = free · gate + fixed, where `free` and `fixed` are inputs. An
 * edge costs its price k4 · w in any mask. (A mean per mask would make an edge of C_ss cheaper the
 * more states there are.) */
#include <stdio.h>
#include <string.h>

#include "learn/fnvae.h"

static void record_mask(fnvae *f, int which, const char *name, int causes, int effects)
{
    fnvae_mask *k = &f->mask[which];
    nn_gate_kind kind = (nn_gate_kind)f->o.gate;
    char input[32];
    k->logits = nn_param(f->group[FNVAE_MASKS], name, 1, causes, effects, NN_INIT_CONSTANT,
                         f->o.gate_start);
    snprintf(input, sizeof input, "%s free", name);
    k->free = nn_input(f->g, input, 1, causes, effects);
    snprintf(input, sizeof input, "%s fixed", name);
    k->fixed = nn_input(f->g, input, 1, causes, effects);
    snprintf(input, sizeof input, "%s weight", name);
    k->weight = nn_input(f->g, input, 1, causes, effects);
    k->gate = nn_gate(k->logits, kind, f->temperature, f->frozen);
    k->C = nn_add(nn_mul(k->gate, k->free), k->fixed);
    k->open = nn_l1(nn_mul(nn_gate_open(k->logits, kind, f->temperature), k->weight), NN_NONE);
}

void fnvae_record_masks(fnvae *f)
{
    fnvae_dims z = f->z;
    record_mask(f, MASK_S, "C_s", z.d + z.m + z.p, z.d);
    record_mask(f, MASK_R, "c_r", fnvae_reward_inputs(f) + z.q, 1);
    record_mask(f, MASK_TT_S, "C_tt_s", z.p, z.p);
    record_mask(f, MASK_TT_R, "C_tt_r", z.q, z.q);
    nn_var sum = f->mask[0].open;
    for (int i = 1; i < FNVAE_MASK_COUNT; i++) sum = nn_add(sum, f->mask[i].open);
    f->cost[FNVAE_sparse] = nn_mul(sum, f->k[FNVAE_K_sparse]);
}

/* Every entry of the rows [from, from + count) of a mask pays `w`; nn_l1 divides by all rows. */
static void weigh(float *weight, int causes, int effects, int from, int count, double w)
{
    for (int i = from; i < from + count; i++)
        for (int j = 0; j < effects; j++) weight[i * effects + j] = (float)(w * causes);
}

static void weigh_mask(const fnvae *f, int which, float *weight, int causes, int effects)
{
    const fnvae_options *o = &f->o;
    int d = f->z.d, m = f->z.m, p = f->z.p;
    if (which == MASK_S) {
        weigh(weight, causes, effects, 0, d, o->w_ss);
        for (int i = 0; i < d; i++) weight[i * effects + i] *= (float)o->diagonal;
        weigh(weight, causes, effects, d, m, o->w_as);
        weigh(weight, causes, effects, d + m, p, o->w_ts);
    } else if (which == MASK_R) {
        int before = o->reward_reads == READS_AFTER ? 0 : d;
        int after = o->reward_reads == READS_BEFORE ? 0 : d;
        if (before) weigh(weight, causes, effects, 0, d, o->w_sr);
        weigh(weight, causes, effects, before, m, o->w_ar);
        if (after) weigh(weight, causes, effects, before + m, d, o->w_sr);
    } else {
        weigh(weight, causes, effects, 0, causes, o->w_tt);
    }
}

/* Makes masks dense (at first, or without structure) or learned. theta_r always reaches r. */
static void set_masks(fnvae *f, bool learned)
{
    float *buffer = f->buffer;
    for (int k = 0; k < FNVAE_MASK_COUNT; k++) {
        nn_shape z = nn_shape_of(f->mask[k].free);
        int size = z.B * z.D, always = k == MASK_R ? fnvae_reward_inputs(f) : size;
        for (int r = 0; r < f->replicas; r++) {
            nn_scalar_set(f->frozen, r, 0);
            for (int i = 0; i < size; i++) buffer[i] = learned && i < always;
            nn_write(f->mask[k].free, r, buffer);
            for (int i = 0; i < size; i++) buffer[i] = !(learned && i < always);
            nn_write(f->mask[k].fixed, r, buffer);
            memset(buffer, 0, (size_t)size * sizeof *buffer);
            if (learned) weigh_mask(f, k, buffer, z.B, z.D);
            nn_write(f->mask[k].weight, r, buffer);
        }
    }
    f->update_graph = learned;
}

int64_t fnvae_share(const fnvae *f, double share)
{
    return (int64_t)(share * f->o.updates);
}

void fnvae_set_masks(fnvae *f)
{
    if (f->update >= fnvae_share(f, f->o.masks_until))
        fnvae_freeze(f);
    else
        set_masks(f, f->o.structure && f->update >= fnvae_share(f, f->o.masks_from));
}

void fnvae_freeze(fnvae *f)
{
    set_masks(f, f->o.structure);
    for (int r = 0; r < f->replicas; r++) nn_scalar_set(f->frozen, r, 1);
    f->update_graph = false;
}
