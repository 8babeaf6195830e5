/* parity_rng.c - writes random numbers for test_rng.py to look at: the raw words of the first
 * blocks of a stream, then uniforms, then normals, all little-endian.
 * usage: parity_rng SEED PURPOSE INDEX COUNT */
#include <stdio.h>
#include <stdlib.h>

#include "base/rng.h"

int main(int argc, char **argv)
{
    if (argc != 5) return 2;
    uint64_t seed = strtoull(argv[1], NULL, 10);
    uint32_t index = (uint32_t)strtoul(argv[3], NULL, 10);
    long count = strtol(argv[4], NULL, 10);
    rng words = rng_stream(seed, argv[2], index), uniforms = words, normals = words;
    for (long i = 0; i < count; i++) {
        uint32_t x = rng_u32(&words);
        fwrite(&x, sizeof x, 1, stdout);
    }
    for (long i = 0; i < count; i++) {
        double x = rng_uniform(&uniforms);
        fwrite(&x, sizeof x, 1, stdout);
    }
    for (long i = 0; i < count; i++) {
        double x = rng_normal(&normals);
        fwrite(&x, sizeof x, 1, stdout);
    }
    return ferror(stdout) || fflush(stdout);
}
