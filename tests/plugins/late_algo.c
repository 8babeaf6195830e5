/* late_algo.c - an agent whose belief is the truth: at once where it is told of a change, else LATE
 * steps later. So a test knows what a film or the live page must show. It does nothing at all. */
#include <stdlib.h>
#include <string.h>

#include <fans/algo.h>

enum { LATE = 5 };

typedef struct late {
    int rows, act, factors;
    double *past; /* (LATE + 1, rows, factors), the latest first */
    float *belief;
} late;

static void close_late(void *agent)
{
    late *a = agent;
    free(a->past);
    free(a->belief);
    free(a);
}

static int open_late(void **agent, const fans_algo_setup *s)
{
    late *a = calloc(1, sizeof *a);
    if (!a) return fans_fail(FANS_ENOMEM, "late: out of memory");
    a->rows = s->replicas * s->worlds;
    a->act = s->info->act_dim;
    a->factors = s->info->factor_count;
    size_t n = (size_t)a->rows * (size_t)a->factors;
    a->past = calloc((LATE + 1) * n, sizeof *a->past);
    a->belief = calloc(n, sizeof *a->belief);
    *agent = a;
    if (a->past && a->belief) return 0;
    close_late(a);
    return fans_fail(FANS_ENOMEM, "late: out of memory");
}

static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    late *a = agent;
    size_t n = (size_t)a->rows * (size_t)a->factors;
    (void)explore;
    memmove(a->past + n, a->past, LATE * n * sizeof *a->past);
    memcpy(a->past, now->factors, n * sizeof *a->past);
    for (size_t i = 0; i < n; i++) {
        bool told = now->change[i / (size_t)a->factors];
        for (size_t t = 1; told && t <= LATE; t++) a->past[t * n + i] = a->past[i];
        a->belief[i] = (float)a->past[LATE * n + i];
    }
    memset(action, 0, (size_t)a->rows * (size_t)a->act * sizeof *action);
    return 0;
}

static const float *belief(void *agent, int row, int *n)
{
    const late *a = agent;
    *n = a->factors;
    return a->belief + row * a->factors;
}

FANS_API const fans_algo_def fans_algo = {.abi = FANS_ALGO_ABI,
                                          .name = "late",
                                          .help = "knows the truth, a little late",
                                          .told = FANS_TOLD_BOUNDARIES,
                                          .open = open_late,
                                          .close = close_late,
                                          .act = act,
                                          .belief = belief};
