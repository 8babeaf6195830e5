/* slow_zeus.c - the flip test; and contexts lie as far apart as the factors that they stand for, on
 * the synthetic FN-MDP, where every factor shows in every step. */
#include "base/csv.h"
#include "flip.h"

#define SMALL "--set zeus.coder=64 --set zeus.width=64"

static void it_finds_out_how_the_motor_is_wired(void **state)
{
    (void)state;
    flip_is_found_out("zeus", SMALL);
}

enum { PAIRS = 2000 };

/* Between two rows, over `count` columns. */
static double distance(const csv *t, size_t a, size_t b, int from, int count)
{
    double sum = 0;
    for (int i = from; i < from + count; i++) sum += pow(csv_at(t, a, i) - csv_at(t, b, i), 2);
    return sqrt(sum);
}

/* How many are smaller, and half of those that are equal. */
static double rank_of(const double *x, int i)
{
    double rank = 0;
    for (int j = 0; j < PAIRS; j++) rank += x[j] < x[i] ? 1 : x[j] > x[i] ? 0 : 0.5;
    return rank - PAIRS / 2.0;
}

static double rank_correlation(const double *x, const double *y)
{
    double xx = 0, yy = 0, xy = 0;
    for (int i = 0; i < PAIRS; i++) {
        double a = rank_of(x, i), b = rank_of(y, i);
        xx += a * a;
        yy += b * b;
        xy += a * b;
    }
    return xy / sqrt(xx * yy);
}

/* A row of the second half of the training, at least ten steps after a change. */
static size_t draw_row(const csv *t, rng *draw)
{
    size_t row;
    do row = t->rows / 2 + rng_below(draw, (uint32_t)(t->rows / 2));
    while (csv_at(t, row, csv_column(t, "tau")) < 10);
    return row;
}

static void contexts_differ_as_factors_do(void **state)
{
    (void)state;
    static double contexts[PAIRS], factors[PAIRS];
    char folder[64], line[1024];
    csv t = {0};
    rng draw = rng_stream(1, "pairs", 0);
    rig_folder(folder, sizeof folder);
    snprintf(line, sizeof line,
             TOOL " train " SOURCE_DIR "/configs/fnmdp_aep.ini --algo zeus " SMALL
                  " --set sac.width=64 --steps 10000 --quiet --out %s >/dev/null",
             folder);
    assert_int_equal(system(line), 0);
    snprintf(line, sizeof line, "%s/seed-0/beliefs.csv", folder);
    if (csv_read(&t, line) < 0) fail_msg("%s", fans_error());
    int first = csv_column(&t, "true.theta_s0"), n = csv_column(&t, "theta0") - first;
    assert_true(first >= 0 && n == 3);
    for (int i = 0; i < PAIRS; i++) {
        size_t a = draw_row(&t, &draw), b = draw_row(&t, &draw);
        factors[i] = distance(&t, a, b, first, n);
        contexts[i] = distance(&t, a, b, first + n, t.columns - first - n);
    }
    double found = rank_correlation(contexts, factors);
    print_message("rank correlation %.2f\n", found);
    assert_true(found > 0.5);
    csv_free(&t);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(contexts_differ_as_factors_do),
        cmocka_unit_test(it_finds_out_how_the_motor_is_wired),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
