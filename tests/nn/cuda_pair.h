/* cuda_pair.h - a GPU and the CPU side by side, for tests that compare them. */
#ifndef TESTS_CUDA_PAIR_H
#define TESTS_CUDA_PAIR_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/pool.h"
#include "nn/nn.h"

static nn_backend *gpu, *cpu;

/* Opens both, runs the tests (those that match a pattern, if the program gets one), closes them.
 * Without a GPU, says why; ./dev counts that as skipped. */
typedef int cuda_pair_fn(void);
static inline int cuda_pair_run(int argc, char **argv, cuda_pair_fn *run)
{
    nn_cuda_options o = {0};
    pool *threads = NULL;
    if (nn_cuda_new(&gpu, &o) < 0) {
        printf("skipped: %s\n", fans_error());
        return 77;
    }
    if (pool_new(&threads, 0) < 0 || nn_cpu_new(&cpu, threads) < 0) return 1;
    printf("%s\n", nn_backend_name(gpu));
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    int failed = run();
    nn_backend_free(gpu);
    nn_backend_free(cpu);
    pool_free(threads);
    return failed;
}

#endif
