/* test_rng.c - Philox against published vectors; moments of the derived distributions. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "base/rng.h"

/* Known answers of Philox4x32-10 from the Random123 distribution (kat_vectors). */
static void philox_known_answers(void **state)
{
    (void)state;
    rng_block zero = rng_philox(0, 0, 0, 0);
    assert_int_equal(zero.v[0], 0x6627e8d5);
    assert_int_equal(zero.v[1], 0xe169c58d);
    assert_int_equal(zero.v[2], 0xbc57ac4c);
    assert_int_equal(zero.v[3], 0x9b00dbd8);
    rng_block ones = rng_philox(~0ull, ~0u, ~0u, ~0ull);
    assert_int_equal(ones.v[0], 0x408f276d);
    assert_int_equal(ones.v[1], 0x41c83b0e);
    assert_int_equal(ones.v[2], 0xa20bc7c6);
    assert_int_equal(ones.v[3], 0x6d5451fd);
}

static void units_stay_inside(void **state)
{
    (void)state;
    assert_true(rng_unit(0) == 0x1p-24f);
    assert_true(rng_unit(~0u) == 1 - 0x1p-24f);
    assert_true(rng_unit(1u << 31) == 0.5f + 0x1p-24f);
}

static void logarithm_and_circle_are_accurate(void **state)
{
    (void)state;
    for (int i = 0; i < 100000; i++) {
        float u = rng_unit((uint32_t)i * 42949u + 7u), s, c;
        double exact = log((double)u);
        assert_true(fabs(rng_log(u) - exact) <= 4e-7 * fabs(exact) + 1e-7);
        rng_sincos(u, &s, &c);
        assert_true(fabs(s - sin(2 * M_PI * (double)u)) < 5e-7);
        assert_true(fabs(c - cos(2 * M_PI * (double)u)) < 5e-7);
    }
}

static void normals_have_the_right_moments(void **state)
{
    (void)state;
    enum { N = 400000 };
    rng r = rng_stream(1, "test", 0);
    double m1 = 0, m2 = 0, m3 = 0, m4 = 0;
    for (int i = 0; i < N; i++) {
        double x = rng_normal(&r);
        m1 += x / N;
        m2 += x * x / N;
        m3 += x * x * x / N;
        m4 += x * x * x * x / N;
    }
    /* five standard errors each */
    assert_true(fabs(m1) < 5 / sqrt(N));
    assert_true(fabs(m2 - 1) < 5 * sqrt(2.0 / N));
    assert_true(fabs(m3) < 5 * sqrt(15.0 / N));
    assert_true(fabs(m4 - 3) < 5 * sqrt(96.0 / N));
}

static void streams_differ_and_continue(void **state)
{
    (void)state;
    rng a = rng_stream(1, "replay", 0), b = rng_stream(1, "reset", 0),
        c = rng_stream(1, "replay", 1);
    int same = 0;
    for (int i = 0; i < 64; i++) {
        uint32_t x = rng_u32(&a);
        same += (x == rng_u32(&b)) + (x == rng_u32(&c));
    }
    assert_int_equal(same, 0);
    for (int i = 0; i < 5; i++) rng_u32(&a); /* stop in the middle of a block */
    rng saved = a;
    uint32_t next[9];
    for (int i = 0; i < 9; i++) next[i] = rng_u32(&a);
    for (int i = 0; i < 9; i++) assert_int_equal(next[i], rng_u32(&saved));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(philox_known_answers),
        cmocka_unit_test(units_stay_inside),
        cmocka_unit_test(logarithm_and_circle_are_accurate),
        cmocka_unit_test(normals_have_the_right_moments),
        cmocka_unit_test(streams_differ_and_continue),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
