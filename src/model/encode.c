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
    return !f->o.observed && f->past.rows > 0;
}

/* [s | change of s | r], each with its shift and scale: the normalised units. */
static int units_size(const fnvae *f)
{
    return 2 * (2 * f->z.d + 1);
}

static nn_var in_units(const fnvae *f, nn_var x, int *at)
{
    int n = nn_shape_of(x).D;
    nn_var shift = nn_slice(f->e_units, *at, n), scale = nn_slice(f->e_units, *at + n, n);
    *at += 2 * n;
    return nn_mul(nn_add(x, shift), scale);
}

/* The steps themselves, from the memory. */
static fnvae_seen record_steps(const fnvae *f)
{
    int d = f->z.d, m = f->z.m, at = 0;
    fnvae_seen x = {.state_s = NN_NONE, .state_r = NN_NONE, .change = f->e_in[ENCODE_CHANGE]};
    nn_var now = nn_gather(f->e_table, f->e_in[ENCODE_AT]), s = nn_slice(now, 0, d);
    nn_var s1 = nn_slice(nn_gather(f->e_table, f->e_in[ENCODE_NEXT]), 0, d);
    x.s = in_units(f, s, &at);
    at = 0;
    x.s1 = in_units(f, s1, &at);
    x.ds = in_units(f, nn_add(s1, nn_affine(s, -1, 0)), &at);
    x.r = in_units(f, nn_slice(now, d + m, 1), &at);
    x.a = nn_slice(now, d, m);
    return x;
}

/* p_gamma of where theta is, and of where the segment before ended; as long as none has ended in
 * the window, theta has not moved. */
static nn_var record_next(fnvae *f, const char *kind, nn_var mean, nn_var C)
{
    nn_var ended = nn_hold(nn_shift(mean, NN_NONE), f->e_in[ENCODE_CHANGE]);
    nn_var before =
        nn_add(nn_mul(ended, f->e_in[ENCODE_MOVED]), nn_mul(mean, f->e_in[ENCODE_UNMOVED]));
    return fnvae_record_prior(f, kind, (nn_var[]){mean, before}, C);
}

void fnvae_record_encode(fnvae *f)
{
    static const char *const names[] = {"encode at", "encode next", "encode change", "encode moved",
                                        "encode unmoved"};
    fnvae_posterior q_s, q_r;
    if (!records(f)) return;
    f->e_table = nn_table(f->g, "past", f->past.rows, f->past.width, f->past.steps);
    f->e_units = nn_input(f->g, "encode units", 1, 1, units_size(f));
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++)
        f->e_in[k] = nn_input(f->g, names[k], fnvae_encode_length(f), f->o.encode, 1);
    fnvae_seen x = record_steps(f);
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
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++)
        TRY(arena_declare(f->memory, &f->e_host[k], rows * sizeof(float)));
    TRY(arena_declare(f->memory, &f->e_units_host,
                      (size_t)f->replicas * (size_t)units_size(f) * sizeof(float)));
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

void fnvae_tell(fnvae *f, int replica, int first, int count)
{
    nn_table_send(f->e_table, replica, first, count);
}

void fnvae_encode_window(fnvae *f, int replica, int b, const fnvae_past *steps)
{
    bool moved = false;
    for (int t = 0; t < fnvae_encode_length(f); t++) {
        size_t at = place(f, replica, b, t);
        moved = moved || (t > 0 && steps[t].change);
        f->e_host[ENCODE_AT][at] = (float)steps[t].at;
        f->e_host[ENCODE_NEXT][at] = (float)steps[t].next;
        f->e_host[ENCODE_CHANGE][at] = steps[t].change;
        f->e_host[ENCODE_MOVED][at] = moved;
        f->e_host[ENCODE_UNMOVED][at] = !moved;
    }
}

/* As they are now. */
static void write_units(fnvae *f)
{
    static const int scales[] = {SCALE_S, SCALE_DS, SCALE_R};
    const int widths[] = {f->z.d, f->z.d, 1};
    float *to = f->e_units_host;
    for (int r = 0; r < f->replicas; r++)
        for (int k = 0; k < 3; k++) {
            fnvae_units(f, r, scales[k], to, to + widths[k]);
            to += 2 * widths[k];
        }
    nn_write_all(f->e_units, f->e_units_host);
}

int fnvae_encode(fnvae *f)
{
    write_units(f);
    for (int k = 0; k < FNVAE_ENCODE_COUNT; k++) nn_write_all(f->e_in[k], f->e_host[k]);
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
