/* test_device.c - backends by name, with and without a GPU. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/pool.h"
#include "nn/nn.h"

static pool *threads;

static void the_cpu_is_always_there(void **state)
{
    (void)state;
    nn_backend *b;
    char why[256];
    assert_int_equal(nn_device_new(&b, "cpu", NN_FP32, threads, why, sizeof why), 0);
    assert_string_equal(nn_backend_name(b), "cpu");
    assert_string_equal(why, "cpu, as asked for");
    nn_backend_free(b);
}

static void auto_finds_something_and_says_why(void **state)
{
    (void)state;
    nn_backend *b;
    char why[256] = "";
    assert_int_equal(nn_device_new(&b, "auto", NN_FP32, threads, why, sizeof why), 0);
    if (!strcmp(nn_backend_name(b), "cpu")) assert_non_null(strstr(why, "no GPU: "));
    assert_null(strchr(why, '\n'));
    nn_backend_free(b);
}

static void cuda_works_or_says_in_one_line_why_not(void **state)
{
    (void)state;
    nn_backend *b;
    if (nn_device_new(&b, "cuda", NN_TF32, threads, NULL, 0) == 0) {
        assert_non_null(strstr(nn_backend_name(b), "cuda"));
        nn_backend_free(b);
        return;
    }
    assert_non_null(strstr(fans_error(), "no GPU: "));
    assert_null(strchr(fans_error(), '\n'));
}

static void precisions_have_names(void **state)
{
    (void)state;
    nn_precision p;
    assert_int_equal(nn_precision_find(&p, "bf16"), 0);
    assert_int_equal(p, NN_BF16);
    assert_int_equal(nn_precision_find(&p, "fp32"), 0);
    assert_int_equal(p, NN_FP32);
    assert_int_equal(nn_precision_find(&p, "tf23"), FANS_EINVAL);
    assert_string_equal(fans_error(), "--precision tf23: not one of fp32, tf32 and bf16; "
                                      "did you mean 'tf32'?");
}

/* Never silently use another precision than the one asked for. */
static void lower_precisions_need_a_gpu(void **state)
{
    (void)state;
    nn_backend *b;
    assert_int_equal(nn_device_new(&b, "cpu", NN_BF16, threads, NULL, 0), FANS_EINVAL);
    assert_string_equal(fans_error(), "--precision bf16 needs a GPU: --device cuda");
    if (nn_device_new(&b, "auto", NN_TF32, threads, NULL, 0) == 0) {
        assert_non_null(strstr(nn_backend_name(b), "cuda"));
        nn_backend_free(b);
        return;
    }
    assert_non_null(strstr(fans_error(), "--precision tf32 needs a GPU: no GPU: "));
    assert_null(strchr(fans_error(), '\n'));
}

static void wrong_names_are_refused(void **state)
{
    (void)state;
    static const char *const wrong[] = {"gpu", "cuda:", "cuda:x", "cuda:-1", "cuda:1x", "", "CPU"};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        nn_backend *b;
        assert_int_equal(nn_device_new(&b, wrong[i], NN_FP32, threads, NULL, 0), FANS_EINVAL);
        assert_non_null(strstr(fans_error(), "not one of auto"));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_cpu_is_always_there),
        cmocka_unit_test(auto_finds_something_and_says_why),
        cmocka_unit_test(cuda_works_or_says_in_one_line_why_not),
        cmocka_unit_test(precisions_have_names),
        cmocka_unit_test(lower_precisions_need_a_gpu),
        cmocka_unit_test(wrong_names_are_refused),
    };
    if (pool_new(&threads, 1) < 0) return 1;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    pool_free(threads);
    return failed;
}
