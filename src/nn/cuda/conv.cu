/* conv.cu - convolution and transposed convolution as matrix products whose operands are unfolded
 * while they are read; nothing is stored in columns.
 *
 * There is an image, planes of height × width, and there are the positions the kernel takes on it.
 * A convolution goes from image to positions, a transposed one from positions to image, and their
 * backward passes the other way round: three readers serve all six products. */
#include "nn/conv.h"
#include "nn/cuda/columns.cuh"
#include "nn/cuda/operand.cuh"

enum { THREADS = 256, MOST_SPLITS = 64 };

typedef small_tile conv_tile;

/* ---- readers --------------------------------------------------------------------------------- */

/* The image under the kernel: element `depth` = (plane, ky, kx) at a position of some image. */
__device__ static float under(const conv_geometry &g, const float *images, int position, int depth)
{
    int P = g.rows * g.columns, kk = g.kernel * g.kernel;
    int image = position / P, p = position % P, plane = depth / kk, k = depth % kk;
    int y = p / g.columns * g.stride + k / g.kernel - g.pad;
    int x = p % g.columns * g.stride + k % g.kernel - g.pad;
    if (y < 0 || y >= g.height || x < 0 || x >= g.width) return 0;
    return images[(((size_t)image * (size_t)g.channels + (size_t)plane) * (size_t)g.height +
                   (size_t)y) *
                      (size_t)g.width +
                  (size_t)x];
}

struct under_position {
    enum { along = false };
    conv_geometry g;
    const float *images;
    __device__ float operator()(int position, int depth) const
    {
        return under(g, images, position, depth);
    }
};

struct under_depth {
    enum { along = true };
    conv_geometry g;
    const float *images;
    __device__ float operator()(int depth, int position) const
    {
        return under(g, images, position, depth);
    }
};

/* What lies over a pixel of an image: the position whose kernel reaches it with (ky, kx), in one of
 * `planes` planes of positions. */
struct over_pixel {
    enum { along = false };
    conv_geometry g;
    const float *at;
    int planes;
    __device__ float operator()(int pixel, int k) const
    {
        int area = g.height * g.width, kk = g.kernel * g.kernel;
        int image = pixel / area, p = pixel % area, plane = k / kk;
        int y = p / g.width + g.pad - k % kk / g.kernel, x = p % g.width + g.pad - k % g.kernel;
        if (y < 0 || x < 0 || y % g.stride || x % g.stride) return 0;
        y /= g.stride;
        x /= g.stride;
        if (y >= g.rows || x >= g.columns) return 0;
        return at[(((size_t)image * (size_t)planes + (size_t)plane) * (size_t)g.rows + (size_t)y) *
                      (size_t)g.columns +
                  (size_t)x];
    }
};

/* Element (image, plane, i) of tensors of planes, where image and i are one number. */
struct in_planes {
    enum { along = true };
    const float *at;
    int planes, area;
    __device__ float operator()(int plane, int i) const
    {
        return at[((size_t)(i / area) * (size_t)planes + (size_t)plane) * (size_t)area +
                  (size_t)(i % area)];
    }
};

/* Weights as a matrix. */
template <bool ALONG> struct plain_weights {
    enum { along = ALONG };
    const float *W;
    int step;
    __device__ float operator()(int x, int k) const
    {
        return W[ALONG ? (size_t)x * (size_t)step + (size_t)k
                       : (size_t)k * (size_t)step + (size_t)x];
    }
};

/* Weights by (plane of the image, plane of positions, ky, kx): k is (plane of positions, ky, kx).
 */
struct turned_weights {
    enum { along = false };
    const float *W;
    int kk, image_step, position_step, kernel_step;
    __device__ float operator()(int plane, int k) const
    {
        return W[(size_t)plane * (size_t)image_step + (size_t)(k / kk) * (size_t)position_step +
                 (size_t)(k % kk) * (size_t)kernel_step];
    }
};

/* ---- writers --------------------------------------------------------------------------------- */

struct to_planes {
    float *at;
    int planes, area;
    bool add;
    __device__ void operator()(int i, int plane, float sum) const
    {
        float *to = at + ((size_t)(i / area) * (size_t)planes + (size_t)plane) * (size_t)area +
                    (size_t)(i % area);
        NN_PUT(add, *to, sum);
    }
};

struct to_output {
    to_planes planes;
    const float *bias;
    int act;
    __device__ void operator()(int i, int plane, float sum) const
    {
        planes(i, plane, act_value(act, bias ? sum + bias[plane] : sum));
    }
};

/* ---- products -------------------------------------------------------------------------------- */

template <class TILE, class A, class B, class Out>
__global__ void __launch_bounds__(TILE::THREADS, TILE::RESIDENT)
    product(const __grid_constant__ A a, const __grid_constant__ B b,
            const __grid_constant__ Out out, int m, int n, int k)
{
    await_previous();
    __shared__ typename TILE::memory mem;
    TILE::run(mem, (int)blockIdx.x * TILE::HEIGHT, (int)blockIdx.y * TILE::WIDTH, m, n, 0, k,
              one_by_one<A>{a}, one_by_one<B>{b}, out);
}

template <class A, class B, class Out>
static void run_product(gpu *self, const A &a, const B &b, const Out &out, int m, int n, int k)
{
    dim3 grid(blocks_of((size_t)m, conv_tile::HEIGHT), blocks_of((size_t)n, conv_tile::WIDTH));
    void (*kernel)(A, B, Out, int, int, int) = self->precision == NN_FP32
                                                   ? product<conv_tile, A, B, Out>
                                                   : product<conv_tile::plain, A, B, Out>;
    launch(self, "convolution", kernel, grid, conv_tile::THREADS, a, b, out, m, n, k);
}

/* The weights' gradient: few tiles and a long inner dimension, which blocks share. */
template <class TILE, class A, class B>
__global__ void __launch_bounds__(TILE::THREADS, TILE::RESIDENT)
    split_product(const __grid_constant__ A a, const __grid_constant__ B b, float *parts, int m,
                  int n, int k, int length)
{
    await_previous();
    int from = (int)blockIdx.z * length, to = from + length < k ? from + length : k;
    into out = {parts + (size_t)blockIdx.z * (size_t)m * (size_t)n, n, false, NULL, NN_LINEAR};
    __shared__ typename TILE::memory mem;
    TILE::run(mem, (int)blockIdx.x * TILE::HEIGHT, (int)blockIdx.y * TILE::WIDTH, m, n, from, to,
              one_by_one<A>{a}, one_by_one<B>{b}, out);
}

struct sum_splits {
    enum { SUMS = 1 };
    const float *parts;
    float *to;
    int width;
    bool add, wanted;
    template <int WIDE> __device__ numbers<WIDE> take(int r, int row, int column) const
    {
        numbers<WIDE> v;
        (void)r;
        for (int k = 0; k < WIDE; k++)
            v.x[k] = parts[(size_t)row * (size_t)width + (size_t)(column + k)];
        return v;
    }
    __device__ void put(int r, int column, const float *sum) const
    {
        (void)r;
        NN_PUT(add, to[column], *sum);
    }
};

template <class A, class B>
static void run_split(gpu *self, const A &a, const B &b, float *to, bool add, int m, int n, int k)
{
    dim3 grid(blocks_of((size_t)m, conv_tile::HEIGHT), blocks_of((size_t)n, conv_tile::WIDTH));
    int splits = 4 * self->processors / (int)(grid.x * grid.y) + 1, most = (k + 255) / 256;
    size_t room = WORKSPACE / sizeof(float) / ((size_t)m * (size_t)n);
    if (splits > most) splits = most;
    if (splits > MOST_SPLITS) splits = MOST_SPLITS;
    if ((size_t)splits > room) splits = room > 0 ? (int)room : 1;
    int length = (k + splits - 1) / splits;
    grid.z = (unsigned)((k + length - 1) / length);
    float *parts = (float *)self->now->workspace;
    void (*kernel)(A, B, float *, int, int, int, int) = self->precision == NN_FP32
                                                            ? split_product<conv_tile, A, B>
                                                            : split_product<conv_tile::plain, A, B>;
    launch(self, "convolution's weights", kernel, grid, conv_tile::THREADS, a, b, parts, m, n, k,
           length);
    run_sum_columns(self, sum_splits{parts, to, m * n, add, true}, (int)grid.z, m * n, 1, false);
}

/* ---- what both directions share -------------------------------------------------------------- */

static const float *bias_of(const nn_call *c, int r)
{
    return c->attr.i[7] ? nn_v(&c->in[2], r) : NULL;
}

__global__ static void slopes(const __grid_constant__ nn_call c)
{
    await_previous();
    size_t i = blockIdx.x * (size_t)THREADS + threadIdx.x;
    int r = (int)blockIdx.y;
    if (i >= nn_size(c.out.shape)) return;
    float *d = nn_g(&c.out, r) + i;
    *d = act_slope(c.attr.i[6], nn_v(&c.out, r)[i], *d);
}

/* Sums over images and pixels, one per filter. */
struct filter_sums {
    enum { SUMS = 1 };
    nn_tensor out, bias;
    int area;
    bool wanted;
    template <int WIDE> __device__ numbers<WIDE> take(int r, int row, int filter) const
    {
        in_planes d = {nn_g(&out, r), out.shape.D / area, area};
        numbers<WIDE> v;
        for (int k = 0; k < WIDE; k++) v.x[k] = d(filter + k, row);
        return v;
    }
    __device__ void put(int r, int filter, const float *sum) const
    {
        NN_PUT(bias.add, nn_g(&bias, r)[filter], *sum);
    }
};

static void slopes_and_bias(const nn_call *c)
{
    gpu *self = gpu_of(c);
    int F = c->attr.i[4], area = c->out.shape.D / F;
    dim3 grid(blocks_of(nn_size(c->out.shape), THREADS), (unsigned)c->replicas);
    if (c->attr.i[6] != NN_LINEAR) launch(self, "slopes", slopes, grid, THREADS, *c);
    if (c->attr.i[7] && c->in[2].g)
        run_sum_columns(self, filter_sums{c->out, c->in[2], area, true},
                        (int)nn_rows(c->out.shape) * area, F, c->replicas, false);
}

/* ---- conv2d ---------------------------------------------------------------------------------- */

void conv2d_forward(const nn_call *c)
{
    conv_geometry g = conv_geometry_of(&c->attr, false);
    int images = (int)nn_rows(c->out.shape), F = c->attr.i[4], K = (int)conv_depth(&g);
    int P = (int)conv_positions(&g);
    for (int r = 0; r < c->replicas; r++) {
        to_planes planes = {nn_v(&c->out, r), F, P, false};
        run_product(gpu_of(c), under_position{g, nn_v(&c->in[0], r)},
                    plain_weights<false>{nn_v(&c->in[1], r), F},
                    to_output{planes, bias_of(c, r), c->attr.i[6]}, images * P, F, K);
    }
}

void conv2d_backward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    const nn_tensor *x = &c->in[0], *W = &c->in[1];
    conv_geometry g = conv_geometry_of(&c->attr, false);
    int images = (int)nn_rows(c->out.shape), F = c->attr.i[4], K = (int)conv_depth(&g);
    int P = (int)conv_positions(&g), kk = g.kernel * g.kernel, area = g.height * g.width;
    slopes_and_bias(c);
    for (int r = 0; r < c->replicas; r++) {
        if (W->g)
            run_split(self, under_depth{g, nn_v(x, r)}, in_planes{nn_g(&c->out, r), F, P},
                      nn_g(W, r), W->add, K, F, images * P);
        if (x->g)
            run_product(self, over_pixel{g, nn_g(&c->out, r), F},
                        turned_weights{nn_v(W, r), kk, kk * F, 1, F},
                        to_planes{nn_g(x, r), g.channels, area, x->add}, images * area, g.channels,
                        F * kk);
    }
}

/* ---- conv2d_transpose ------------------------------------------------------------------------ */

void conv2d_transpose_forward(const nn_call *c)
{
    conv_geometry g = conv_geometry_of(&c->attr, true);
    int images = (int)nn_rows(c->out.shape), F = c->attr.i[4], C = c->attr.i[1];
    int kk = g.kernel * g.kernel, area = g.height * g.width;
    for (int r = 0; r < c->replicas; r++) {
        to_planes planes = {nn_v(&c->out, r), F, area, false};
        run_product(gpu_of(c), over_pixel{g, nn_v(&c->in[0], r), C},
                    turned_weights{nn_v(&c->in[1], r), kk, kk, F * kk, 1},
                    to_output{planes, bias_of(c, r), c->attr.i[6]}, images * area, F, C * kk);
    }
}

void conv2d_transpose_backward(const nn_call *c)
{
    gpu *self = gpu_of(c);
    const nn_tensor *x = &c->in[0], *W = &c->in[1];
    conv_geometry g = conv_geometry_of(&c->attr, true);
    int images = (int)nn_rows(c->out.shape), C = c->attr.i[1], K = (int)conv_depth(&g);
    int P = (int)conv_positions(&g);
    slopes_and_bias(c);
    for (int r = 0; r < c->replicas; r++) {
        if (W->g)
            run_split(self, in_planes{nn_v(x, r), C, P}, under_depth{g, nn_g(&c->out, r)},
                      nn_g(W, r), W->add, C, K, images * P);
        if (x->g)
            run_product(self, under_position{g, nn_g(&c->out, r)},
                        plain_weights<true>{nn_v(W, r), K}, to_planes{nn_g(x, r), C, P, x->add},
                        images * P, C, K);
    }
}
