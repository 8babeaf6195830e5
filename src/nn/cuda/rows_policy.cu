/* rows_policy.cu - the row steps behind a squashed Gaussian policy, as one kernel each way.
 *
 * mean, log_std = the halves of a layer's output; u ~ N(mean, clip(log_std)); a = tanh u; log π(a).
 * As row steps by themselves they would hand every number on through memory six times, which is
 * most of what they take, and an update of SAC waits for them three times. Here the numbers of an
 * action stay in registers. Results are those of the row steps (rows_gauss.cuh), bit by bit. */
#include "nn/cuda/cuda.cuh"
#include "nn/cuda/rows_gauss.cuh"

enum { THREADS = 128, STEPS = 6, MOST_ACTIONS = 32 }; /* forward, a warp takes a row */

typedef struct policy {
    nn_call mean, log_std, clip, sample, tanh, logp; /* the steps; mean and log_std are slices */
} policy;

/* ---- kernels --------------------------------------------------------------------------------- */

__device__ static float clipped(const policy &p, float x)
{
    float low = (float)p.clip.attr.f[0], high = (float)p.clip.attr.f[1], v = x < low ? low : x;
    return v > high ? high : v;
}

__global__ static void policy_forward(const __grid_constant__ policy p)
{
    await_previous();
    unsigned m = (unsigned)p.mean.out.shape.D, lane = threadIdx.x % 32;
    unsigned row = (blockIdx.x * THREADS + threadIdx.x) / 32, i = row * m + lane;
    int r = (int)blockIdx.y;
    float term = 0, sum = 0;
    if (row >= nn_rows(p.mean.out.shape)) return;
    if (lane < m) {
        const float *x = nn_v(&p.mean.in[0], r) + (size_t)row * 2 * m + lane;
        float mean = x[0], log_std = x[m], s = clipped(p, log_std), eps = noise_at(&p.sample, r, i);
        float u = mean + nn_exp(s) * eps;
        term = squash_term(u, mean, s);
        nn_v(&p.mean.out, r)[i] = mean;
        nn_v(&p.log_std.out, r)[i] = log_std;
        nn_v(&p.clip.out, r)[i] = s;
        nn_scratch(&p.sample, r)[i] = eps;
        nn_v(&p.sample.out, r)[i] = u;
        nn_v(&p.tanh.out, r)[i] = nn_tanh(u);
    }
    for (unsigned j = 0; j < m; j++) sum -= __shfl_sync(~0u, term, (int)j);
    if (lane == 0) nn_v(&p.logp.out, r)[row] = sum;
}

/* Gradients between the steps are nobody else's: they are not written. */
__global__ static void policy_backward(const __grid_constant__ policy p)
{
    await_previous();
    unsigned m = (unsigned)p.mean.out.shape.D, i = blockIdx.x * THREADS + threadIdx.x;
    unsigned row = i / m, j = i % m;
    int r = (int)blockIdx.y;
    if (row >= nn_rows(p.mean.out.shape)) return;
    float d = nn_g(&p.logp.out, r)[row], a = nn_v(&p.tanh.out, r)[i], u = nn_v(&p.sample.out, r)[i];
    float s = nn_v(&p.clip.out, r)[i], log_std = nn_v(&p.log_std.out, r)[i];
    float inv = nn_exp(-s), z = (u - nn_v(&p.mean.out, r)[i]) * inv;
    float du = nn_g(&p.tanh.out, r)[i] * (1 - a * a) + d * (2 * nn_tanh(u) - z * inv);
    float dmean = d * z * inv + du;
    float ds = d * (z * z - 1) + du * nn_exp(s) * nn_scratch(&p.sample, r)[i];
    bool inside = log_std >= (float)p.clip.attr.f[0] && log_std <= (float)p.clip.attr.f[1];
    float *to = nn_g(&p.mean.in[0], r) + (size_t)row * 2 * m + j;
    to[0] = dmean;
    to[m] = inside ? ds : 0;
}

/* ---- recognising them ------------------------------------------------------------------------ */

/* Which of them a step may be, or NULL. */
static nn_call *part_of(policy *p, const nn_step *s)
{
    switch (s->op) {
    case NN_OP_slice:
        return s->call.attr.i[0] == 0 ? &p->mean : &p->log_std;
    case NN_OP_clip:
        return &p->clip;
    case NN_OP_gauss_sample:
        return &p->sample;
    case NN_OP_activate:
        return s->call.attr.i[0] == NN_TANH ? &p->tanh : NULL;
    case NN_OP_squash_logp:
        return &p->logp;
    }
    return NULL;
}

/* Each of the six once, in whatever order, all in the same direction. */
static bool sort_steps(policy *p, const nn_step *steps)
{
    *p = {};
    for (int i = 0; i < STEPS; i++) {
        nn_call *to = part_of(p, &steps[i]);
        if (!to || to->replicas > 0 || steps[i].backward != steps[0].backward) return false;
        *to = steps[i].call;
    }
    return true;
}

static bool belong_together(const policy *p)
{
    int m = p->mean.out.shape.D;
    return p->log_std.in[0].v == p->mean.in[0].v && p->mean.in[0].shape.D == 2 * m &&
           p->log_std.attr.i[0] == m && p->log_std.out.shape.D == m && m <= MOST_ACTIONS &&
           p->clip.in[0].v == p->log_std.out.v && p->sample.in[0].v == p->mean.out.v &&
           p->sample.in[1].v == p->clip.out.v && p->tanh.in[0].v == p->sample.out.v &&
           p->logp.in[0].v == p->sample.out.v && p->logp.in[1].v == p->mean.out.v &&
           p->logp.in[2].v == p->clip.out.v;
}

/* All gradients are wanted, and nobody else has a part in them. */
static bool are_alone(const policy *p)
{
    const nn_call *c[] = {&p->mean, &p->log_std, &p->clip, &p->sample, &p->tanh, &p->logp};
    const nn_tensor *in[] = {&p->mean.in[0], &p->log_std.in[0], &p->clip.in[0],
                             &p->tanh.in[0], &p->sample.in[0],  &p->sample.in[1],
                             &p->logp.in[0], &p->logp.in[1],    &p->logp.in[2]};
    for (int i = 0; i < STEPS; i++)
        if (!c[i]->out.g) return false;
    for (size_t i = 0; i < sizeof in / sizeof *in; i++)
        if (!in[i]->g) return false;
    return in[0]->add != in[1]->add && !in[2]->add && in[3]->add != in[6]->add &&
           in[4]->add != in[7]->add && in[5]->add != in[8]->add;
}

bool run_policy_steps(gpu *self, const nn_step *steps, int count)
{
    policy p;
    if (count != STEPS || !sort_steps(&p, steps) || !belong_together(&p)) return false;
    bool backward = steps[0].backward;
    if (backward && !are_alone(&p)) return false;
    size_t rows = nn_rows(p.mean.out.shape), m = (size_t)p.mean.out.shape.D;
    dim3 grid(blocks_of(backward ? rows * m : rows * 32, THREADS), (unsigned)p.mean.replicas);
    launch(self, "a policy's steps", backward ? policy_backward : policy_forward, grid, THREADS, p);
    return true;
}
