/* random.c - the random numbers that environments draw, for those outside this library too. */
#include "base/rng.h"
#include "fans/env.h"

double fans_rng_uniform(fans_rng *r, double low, double high)
{
    return rng_between(r, low, high);
}

double fans_rng_normal(fans_rng *r)
{
    return rng_normal(r);
}
