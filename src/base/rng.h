/* rng.h - counter-based random numbers: Philox4x32-10 (Salmon et al., SC 2011).
 *
 * A stream is named by (seed, purpose, index): "replay" of replica 3, "reset" of environment 0. The
 * k-th number of a stream is a pure function of that name and k, so streams never disturb each
 * other, a checkpoint needs only the counter, and a GPU can compute any part of one in parallel.
 *
 * The bodies are in this header because CUDA kernels include it too. Floating-point steps are
 * written as explicit fused multiply-adds with polynomials of our own instead of libm, so that the
 * results are bit-identical on every compiler, CPU and GPU. */
#ifndef BASE_RNG_H
#define BASE_RNG_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#ifdef __CUDACC__
#    define RNG_FN static inline __host__ __device__
#else
#    define RNG_FN static inline
#endif

typedef struct rng_block {
    uint32_t v[4];
} rng_block;

/* The block number `n` of the stream (seed, purpose, index). */
RNG_FN rng_block rng_philox(uint64_t seed, uint32_t purpose, uint32_t index, uint64_t n)
{
    uint32_t c0 = (uint32_t)n, c1 = (uint32_t)(n >> 32), c2 = purpose, c3 = index;
    uint32_t k0 = (uint32_t)seed, k1 = (uint32_t)(seed >> 32);
    for (int round = 0; round < 10; round++) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t hi0 = (uint32_t)(p0 >> 32), lo0 = (uint32_t)p0;
        uint32_t hi1 = (uint32_t)(p1 >> 32), lo1 = (uint32_t)p1;
        c0 = hi1 ^ c1 ^ k0;
        c2 = hi0 ^ c3 ^ k1;
        c1 = lo1;
        c3 = lo0;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    rng_block b = {{c0, c1, c2, c3}};
    return b;
}

/* Uniform in (0, 1): the odd multiples of 2^-24, all of them exact. A finer grid would round to 1
 * at its upper end, and log(1 - u) must stay finite. */
RNG_FN float rng_unit(uint32_t x)
{
    return fmaf((float)(x >> 9), 0x1p-23f, 0x1p-24f);
}

/* Natural logarithm of a float in (0, 1); relative error below 2e-7. */
RNG_FN float rng_log(float u)
{
    uint32_t bits;
    memcpy(&bits, &u, 4);
    /* u = m 2^e with m in [0.707, 1.414) */
    uint32_t shifted = bits - 0x3F3504F3u;
    float e = (float)((int32_t)shifted >> 23);
    uint32_t mbits = (shifted & 0x007FFFFFu) + 0x3F3504F3u;
    float m;
    memcpy(&m, &mbits, 4);
    /* log m = 2 atanh(s) with s = (m - 1) / (m + 1) */
    float s = (m - 1.0f) / (m + 1.0f), z = s * s;
    float p = fmaf(fmaf(fmaf(0.2222222222f, z, 0.2857142857f), z, 0.4f), z, 0.6666666667f);
    p = fmaf(p, z, 2.0f);
    return fmaf(e, 0.693147182464599609375f, s * p);
}

/* sin and cos of 2 pi u for u in (0, 1). */
RNG_FN void rng_sincos(float u, float *sine, float *cosine)
{
    float q = floorf(fmaf(u, 4.0f, 0.5f));
    float x = fmaf(q, -0.25f, u) * 6.283185482025146484375f, z = x * x;
    float s = fmaf(fmaf(fmaf(-1.9515296e-4f, z, 8.3321609e-3f), z, -1.6666655e-1f), z, 1.0f) * x;
    float c = fmaf(fmaf(fmaf(2.4433157e-5f, z, -1.3887316e-3f), z, 4.1666646e-2f), z, -0.5f);
    c = fmaf(c, z, 1.0f);
    int quadrant = (int)q & 3;
    float a = (quadrant & 1) ? c : s, b = (quadrant & 1) ? s : c;
    *sine = (quadrant & 2) ? -a : a;
    *cosine = (quadrant == 1 || quadrant == 2) ? -b : b;
}

/* Two independent standard normals (Box-Muller) from two words. */
RNG_FN void rng_normal_pair(uint32_t x, uint32_t y, float *a, float *b)
{
    float radius = sqrtf(-2.0f * rng_log(rng_unit(x))), s, c;
    rng_sincos(rng_unit(y), &s, &c);
    *a = radius * c;
    *b = radius * s;
}

/* The four normals that block `n` of a stream yields. */
RNG_FN void rng_normal_block(uint64_t seed, uint32_t purpose, uint32_t index, uint64_t n,
                             float out[4])
{
    rng_block b = rng_philox(seed, purpose, index, n);
    rng_normal_pair(b.v[0], b.v[1], out + 0, out + 1);
    rng_normal_pair(b.v[2], b.v[3], out + 2, out + 3);
}

/* ---- sequential use -------------------------------------------------------------------------- */

/* A stream and the place reached in it. Plain data: copy it to save it. */
typedef struct rng {
    uint64_t seed, drawn;
    uint32_t purpose, index;
} rng;

/* The number that stands for a purpose: FNV-1a of its name. */
RNG_FN uint32_t rng_purpose(const char *name)
{
    uint32_t h = 2166136261u;
    for (; *name; name++) h = (h ^ (uint8_t)*name) * 16777619u;
    return h;
}

RNG_FN rng rng_stream(uint64_t seed, const char *purpose, uint32_t index)
{
    rng r = {seed, 0, rng_purpose(purpose), index};
    return r;
}

RNG_FN uint32_t rng_u32(rng *r)
{
    rng_block b = rng_philox(r->seed, r->purpose, r->index, r->drawn / 4);
    return b.v[r->drawn++ % 4];
}

/* Uniform in (0, 1), and in (low, high). */
RNG_FN double rng_uniform(rng *r)
{
    return ((double)rng_u32(r) + 0.5) * 0x1p-32;
}

RNG_FN double rng_between(rng *r, double low, double high)
{
    return low + (high - low) * rng_uniform(r);
}

/* Uniform on 0 .. n-1; the bias is below n / 2^32. */
RNG_FN uint32_t rng_below(rng *r, uint32_t n)
{
    return (uint32_t)(((uint64_t)rng_u32(r) * n) >> 32);
}

RNG_FN double rng_normal(rng *r)
{
    float a, b;
    uint32_t x = rng_u32(r), y = rng_u32(r);
    rng_normal_pair(x, y, &a, &b);
    return (double)a;
}

#endif
