/* encode.c - a recording of q_phi on windows of the past, and the memory around it. */
#include "model/encode.h"

#include <string.h>

#include "base/error.h"

int fnvae_encode_length(const fnvae *f)
{
    return 2 * f->o.window;
}

/* Not where nothing is inferred, nor where nobody asks. */
static bool records(const fnvae *f)
{
    return !f->o.observed && f->o.encode > 0;
}

/* p_gamma of where theta is, and of where the segment before ended; as long as none has ended in
 * the window, theta has not moved. */
static nn_var record_next(fnvae *f, const char *kind, nn_var mean, nn_var C)
{
    nn_var ended = nn_hold(nn_shift(mean, NN_NONE), f->e_in[4]);
    nn_var before = nn_add(nn_mul(ended, f->e_in[5]), nn_mul(mean, f->e_in[6]));
    return fnvae_record_prior(f, kind, (nn_var[]){mean, before}, C);
}

void fnvae_record_encode(fnvae *f)
{
    int T = fnvae_encode_length(f), B = f->o.encode;
    nn_graph *g = f->g;
    fnvae_seen x = {.state_s = NN_NONE, .state_r = NN_NONE};
    fnvae_posterior q_s, q_r;
    if (!records(f)) return;
    f->e_in[0] = x.s = nn_input(g, "encode s", T, B, f->z.d);
    f->e_in[1] = x.a = nn_input(g, "encode a", T, B, f->z.m);
    f->e_in[2] = x.s1 = nn_input(g, "encode s1", T, B, f->z.d);
    f->e_in[3] = x.r = nn_input(g, "encode r", T, B, 1);
    f->e_in[4] = x.change = nn_input(g, "encode change", T, B, 1);
    f->e_in[7] = x.ds = nn_input(g, "encode ds", T, B, f->z.d);
    f->e_in[5] = nn_input(g, "encode moved", T, B, 1);
    f->e_in[6] = nn_input(g, "encode unmoved", T, B, 1);
    fnvae_record_posteriors(f, &x, &q_s, &q_r);
    nn_var next_s = record_next(f, "s", q_s.mean, f->mask[MASK_TT_S].C);
    nn_var next_r = record_next(f, "r", q_r.mean, f->mask[MASK_TT_R].C);
    f->e_mean = nn_concat(NN_IN(q_s.mean, q_r.mean));
    f->e_next = nn_concat(NN_IN(next_s, next_r));
}

int fnvae_plan_encode(fnvae *f)
{
    nn_var out[] = {f->e_mean, f->e_next};
    return !records(f) ? 0 : nn_plan_new(&f->encode, f->g, out, 2, 0, NULL, 0);
}

int fnvae_declare_encode(fnvae *f)
{
    int rc = 0;
    size_t rows = (size_t)f->replicas * (size_t)fnvae_encode_length(f) * (size_t)f->o.encode;
    size_t out = rows * (size_t)(f->z.p + f->z.q) * sizeof(float);
    if (!records(f)) return 0;
    for (int k = 0; k < FNVAE_SEEN; k++)
        TRY(arena_declare(f->memory, &f->e_host[k],
                          rows * (size_t)nn_shape_of(f->e_in[k]).D * sizeof(float)));
    TRY(arena_declare(f->memory, &f->e_mean_host, out));
    TRY(arena_declare(f->memory, &f->e_next_host, out));
out:
    return rc;
}

/* Tensors are (T, B, D) per replica. */
static size_t place(const fnvae *f, int replica, int b, int t)
{
    size_t T = (size_t)fnvae_encode_length(f), B = (size_t)f->o.encode;
    return ((size_t)replica * T + (size_t)t) * B + (size_t)b;
}

void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_row *rows)
{
    bool moved = false;
    fnvae_settle(f, replica);
    for (int t = 0; t < fnvae_encode_length(f); t++) {
        size_t at = place(f, replica, b, t), d = (size_t)f->z.d, m = (size_t)f->z.m;
        fnvae_put(f, replica, SCALE_S, rows[t].s, f->e_host[0] + at * d);
        memcpy(f->e_host[1] + at * m, rows[t].a, m * sizeof(float));
        fnvae_put(f, replica, SCALE_S, rows[t].s1, f->e_host[2] + at * d);
        fnvae_put(f, replica, SCALE_R, &rows[t].r, f->e_host[3] + at);
        fnvae_put_change(f, replica, &rows[t], f->e_host[7] + at * d);
        moved = moved || (t > 0 && rows[t].change);
        f->e_host[4][at] = rows[t].change;
        f->e_host[5][at] = moved;
        f->e_host[6][at] = !moved;
    }
}

int fnvae_encode(fnvae *f)
{
    for (int k = 0; k < FNVAE_SEEN; k++) nn_write_all(f->e_in[k], f->e_host[k]);
    int rc = nn_plan_run(f->encode);
    if (rc < 0) return rc;
    nn_read_all(f->e_mean, f->e_mean_host);
    nn_read_all(f->e_next, f->e_next_host);
    return 0;
}

const float *fnvae_encoded(const fnvae *f, int replica, int b, int t)
{
    return f->e_mean_host + place(f, replica, b, t) * (size_t)(f->z.p + f->z.q);
}

const float *fnvae_encoded_next(const fnvae *f, int replica, int b, int t)
{
    return f->e_next_host + place(f, replica, b, t) * (size_t)(f->z.p + f->z.q);
}
