/* cuda_relabel.c - methods that relabel, on a GPU: interrupted runs end bit-identical. */
#include "relabel_agents.h"

static void runs_resume_bit_identically(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(METHODS); k++) check_resumes(&METHODS[k]);
}

int main(void)
{
    nn_backend *gpu;
    nn_cuda_options o = {0};
    if (nn_cuda_new(&gpu, &o) < 0) {
        printf("skipped: %s\n", fans_error());
        return 77;
    }
    nn_backend_free(gpu);
    rig_device = "cuda";
    const struct CMUnitTest tests[] = {cmocka_unit_test(runs_resume_bit_identically)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
