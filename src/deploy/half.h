/* half.h - numbers in half precision. In C99: exported files with such weights contain it. */
#ifndef DEPLOY_HALF_H
#define DEPLOY_HALF_H

#include <stdint.h>
#include <string.h>

static inline float half_value(uint16_t half)
{
    uint32_t bits = (uint32_t)(half & 0x8000) << 16 | (uint32_t)(half & 0x7fff) << 13;
    float x;
    memcpy(&x, &bits, sizeof x);
    return x * 0x1p112f; /* the exponent of a half is smaller by that much */
}

/* The nearest one, for |x| < 65520; ties go to the even one. */
static inline uint16_t half_of(float x)
{
    uint32_t bits;
    float small = x * 0x1p-112f;
    memcpy(&bits, &small, sizeof bits);
    uint32_t size = bits & 0x7fffffff, sign = bits >> 16 & 0x8000;
    return (uint16_t)(sign | (size + 0xfff + (size >> 13 & 1)) >> 13);
}

#endif
