/* test_contest.c - from run folders to figures: what is compared with what, curves, beliefs.
 * test_report.sh checks the page itself. */
#include <math.h>

#include "base/os.h"
#include "report/beliefs.h"
#include "report/curve.h"
#include "report/page.h"
#include "testing.h"

static void close_to(double a, double b)
{
    if (!(fabs(a - b) < 1e-9)) fail_msg("%.17g, not %.17g", a, b);
}

static void write_in(const char *run, const char *name, const char *content)
{
    char path[256];
    snprintf(path, sizeof path, "%s/%s", in_test_folder(run), name);
    assert_int_equal(os_write_file(path, content, strlen(content)), 0);
}

/* A finished run with the given returns, in episodes of ten steps; `more` is added to its config.
 */
static void make_run(const char *name, const char *algo, int seed, const char *change,
                     const char *more, const double *gains, int n)
{
    char line[512];
    text rows = {0};
    assert_int_equal(os_make_folders(in_test_folder(name)), 0);
    snprintf(line, sizeof line,
             "[train]\nalgo = %s\nseed = %d\nepisodes = %d\n[env]\nname = e\n"
             "[change.wind]\nfunction = %s\n%s",
             algo, seed, n, change, more);
    write_in(name, "config.ini", line);
    text_add(&rows, "episode,step,world,return,length,success\n");
    for (int i = 0; i < n; i++) text_add(&rows, "%d,%d,0,%g,10,nan\n", i, 10 * i + 10, gains[i]);
    write_in(name, "metrics.csv", rows.s);
    text_free(&rows);
    snprintf(line, sizeof line,
             "{\"runs\": [{\"status\": \"done\", \"steps\": %d, \"wall_s\": 2}]}", 10 * n);
    write_in(name, "result.json", line);
}

static void make_runs(void)
{
    const double low[] = {0, 10, 20}, high[] = {100, 100, 100}, more[] = {102, 102, 102};
    make_run("all/windy-sac/seed-0", "sac", 0, "sine", "[sac]\nlr = 1\n", low, 3);
    make_run("all/windy-sac/seed-1", "sac", 1, "sine", "[sac]\nlr = 1\n", low, 2);
    make_run("all/windy-oracle/seed-0", "oracle", 0, "sine", "", high, 3);
    make_run("all/windy-oracle/seed-1", "oracle", 1, "sine", "", more, 3);
    make_run("all/strange", "sac", 0, "sine", "[sac]\nlr = 2\n", high, 3);
    make_run("all/still-sac", "sac", 0, "constant", "[sac]\nlr = 1\n", low, 3);
}

static contests load(const char *folder)
{
    contests c = {0};
    assert_int_equal(contests_add(&c, in_test_folder(folder)), 0);
    assert_int_equal(contests_settle(&c), 0);
    return c;
}

static void runs_are_sorted_by_task_and_method(void **state)
{
    (void)state;
    make_runs();
    contests c = load("all");
    assert_int_equal(c.record_count, 6);
    assert_int_equal(c.count, 2);
    assert_string_equal(c.list[0].label, "still");
    const contest *t = &c.list[1];
    assert_string_equal(t->label, "strange"); /* the first of its runs gives the name */
    assert_int_equal(t->count, 3);
    assert_string_equal(t->methods[0].label, "sac · lr=1");
    assert_string_equal(t->methods[1].label, "sac · lr=2");
    assert_string_equal(t->methods[2].label, "oracle");
    assert_int_equal(t->methods[0].count, 2);
    assert_int_equal(t->methods[0].runs[1]->seed, 1);
    assert_int_equal(c.list[0].methods[0].unfinished, 0);
    contests_free(&c);
}

/* A prelude is a setting like others. One that does not count is marked. */
static void free_preludes_are_not_comparable(void **state)
{
    (void)state;
    const double gains[] = {1, 2, 3};
    make_run("free/a", "sac", 0, "sine", "[train]\nprelude = 0\nprelude_free = true\n", gains, 3);
    make_run("free/b", "sac", 0, "sine", "[train]\nprelude = 9\nprelude_free = true\n", gains, 3);
    make_run("free/c", "sac", 0, "sine", "[train]\nprelude = 9\nprelude_free = false\n", gains, 3);
    contests c = load("free");
    assert_int_equal(c.list[0].count, 3);
    assert_string_equal(c.list[0].methods[0].label, "sac (not comparable)");
    assert_string_equal(c.list[0].methods[1].label, "sac · prelude=0, prelude_free=true");
    assert_string_equal(c.list[0].methods[2].label, "sac · prelude=9, prelude_free=false");
    assert_int_equal(c.list[0].sac, 1);
    contests_free(&c);
}

static void figures_are_those_of_the_runs(void **state)
{
    (void)state;
    contests c = load("all");
    const contest *t = &c.list[1];
    close_to(t->methods[0].final[0], 10);
    close_to(t->methods[0].final[1], 5);
    close_to(t->methods[0].area[1], 5);
    close_to(t->methods[0].time[0], 2);

    /* sac 10 and 5, the oracle 100 and 102 */
    close_to(t->gap, 101 - 7.5);
    close_to(t->noise, sqrt((12.5 + 2) / 2));
    assert_true(t->has_gap);
    close_to(t->methods[0].score, 0);
    close_to(t->methods[2].score, 1);
    close_to(t->methods[1].score, (100 - 7.5) / 93.5);
    close_to(t->p[0 * 3 + 2].p, 0.5);      /* two pairs */
    assert_true(isnan(t->p[0 * 3 + 1].p)); /* one says nothing */
    assert_false(c.list[0].has_gap);
    contests_free(&c);
}

static void curves_average_over_seeds_that_got_there(void **state)
{
    (void)state;
    contests c = load("all");
    curve k;
    curve_of(&k, &c.list[1].methods[0], CURVE_STEPS); /* smoothed: 0, 5, 10 and 0, 5 */
    close_to(k.x[0], 10);
    close_to(k.x[k.n - 1], 30);
    close_to(k.mean[0], 0);
    close_to(k.sd[0], 0);
    close_to(k.mean[k.n - 1], 10);
    assert_true(isnan(k.sd[k.n - 1]));
    const record *r = c.list[1].methods[0].runs[0];
    close_to(curve_at(r, r->smooth, 15), 2.5);
    close_to(curve_at(r, r->smooth, 30), 10);
    assert_true(isnan(curve_at(r, r->smooth, 9)) && isnan(curve_at(r, r->smooth, 31)));
    curve_of(&k, &c.list[1].methods[2], CURVE_STEPS);
    close_to(k.mean[7], 101);
    close_to(k.sd[7], sqrt(2));
    contests_free(&c);
}

/* times.csv has a row now and then; between them, and before the first, time passes evenly. */
static void curves_may_run_over_time(void **state)
{
    (void)state;
    const double gains[] = {1, 2, 3, 4};
    curve k;
    make_run("timed/seed-0", "sac", 0, "sine", "", gains, 4);
    write_in("timed/seed-0", "times.csv", "step,seconds\n20,4\n30,5\n");
    contests c = load("timed");
    const record *r = c.records[0];
    assert_int_equal(r->timed, 3); /* nothing is known of the last episode */
    close_to(r->clock[0], 2);
    close_to(r->clock[2], 5);
    curve_of(&k, &c.list[0].methods[0], CURVE_SECONDS);
    close_to(k.x[0], 2);
    close_to(k.x[k.n - 1], 5);
    contests_free(&c);
    write_in("timed/seed-0", "times.csv", "step,minutes\n20,4\n");
    c = (contests){0};
    assert_int_equal(contests_add(&c, in_test_folder("timed")), FANS_EFORMAT);
    assert_non_null(strstr(fans_error(), "has no columns 'step' and 'seconds'"));
    contests_free(&c);
}

/* Without being asked, the program's commit does not tell runs apart: long ones see several. */
static void commits_are_compared_on_request(void **state)
{
    (void)state;
    const double gains[] = {1, 2, 3};
    make_run("commits/a", "sac", 0, "sine", "", gains, 3);
    make_run("commits/b", "sac", 1, "sine", "", gains, 3);
    write_in("commits/a", "system.json", "{\"commit\": \"aaa\"}");
    write_in("commits/b", "system.json", "{\"commit\": \"bbb\"}");
    contests c = load("commits");
    assert_int_equal(c.list[0].count, 1);
    contests_free(&c);
    make_run("commits/b", "sac", 0, "sine", "", gains, 3); /* the same seed, too */
    c = (contests){0};
    assert_int_equal(contests_add(&c, in_test_folder("commits")), 0);
    assert_int_equal(contests_settle(&c), FANS_EINVAL);
    assert_non_null(strstr(fans_error(), "--commits"));
    contests_free(&c);
    c = (contests){.by_commit = true};
    assert_int_equal(contests_add(&c, in_test_folder("commits")), 0);
    assert_int_equal(contests_settle(&c), 0);
    assert_int_equal(c.list[0].count, 2);
    assert_string_equal(c.list[0].methods[0].label, "sac · commit=aaa");
    assert_string_equal(c.list[0].methods[1].label, "sac · commit=bbb");
    contests_free(&c);
}

static void losses_are_averaged_over_shares_of_a_run(void **state)
{
    (void)state;
    const double gains[] = {1, 2};
    record r;
    make_run("lossy", "sac", 0, "sine", "", gains, 2);
    write_in("lossy", "metrics.csv",
             "episode,step,world,return,length,success,critic_loss,n_updates\n"
             "0,1,0,1,10,nan,4,1\n1,2,0,1,10,nan,6,2\n2,99,0,1,10,nan,,3\n3,100,0,2,10,nan,9,4\n");
    assert_int_equal(record_read(&r, in_test_folder("lossy")), 0);
    assert_int_equal(r.loss_count, 1); /* the number of updates is none */
    assert_string_equal(r.losses[0].name, "critic_loss");
    close_to(r.losses[0].mean[0], 4);
    close_to(r.losses[0].mean[1], 6);
    assert_true(isnan(r.losses[0].mean[25]));
    close_to(r.losses[0].mean[RECORD_LOSS - 1], 9);
    record_free(&r);
}

/* ---- beliefs --------------------------------------------------------------------------------- */

enum { EPISODES = 80 };

/* The belief rotates and stretches two factors; at the first step it knows nothing. */
static void write_lives(void)
{
    text t = {0};
    text_add(&t, "episode,step,tau,true.a,true.b,theta0,theta1\n");
    for (int e = 0; e < EPISODES; e++)
        for (int tau = 0; tau <= 10; tau += 10) {
            double a = sin(e * 1.3), b = cos(e * 0.7), k = tau ? 1 : 0;
            text_add(&t, "%d,%d,%d,%.9g,%.9g,%.9g,%.9g\n", e, 20 * e + tau, tau, a, b, k * (a + b),
                     k * (a - 3 * b));
        }
    assert_int_equal(os_make_folders(in_test_folder("all/strange")), 0);
    write_in("all/strange", "beliefs.csv", t.s);
    text_free(&t);
}

static void beliefs_are_read_through_a_linear_map(void **state)
{
    (void)state;
    beliefs b;
    double e[EPISODES], truth[EPISODES], guess[EPISODES];
    write_lives();
    assert_int_equal(beliefs_read(&b, in_test_folder("all/strange/beliefs.csv")), 0);
    assert_int_equal(b.factors, 2);
    assert_int_equal(b.thetas, 2);
    assert_int_equal(b.count, EPISODES);
    assert_string_equal(beliefs_name(&b, 1), "b");
    for (int f = 0; f < 2; f++) {
        assert_true(b.r2[f * BELIEF_MOMENTS + BELIEF_FIRST] < 0.1);
        assert_true(b.r2[f * BELIEF_MOMENTS + BELIEF_TENTH] > 0.9999);
        assert_true(b.r2[f * BELIEF_MOMENTS + BELIEF_LAST] > 0.9999);
    }
    assert_int_equal(beliefs_trace(&b, 1, e, truth, guess), 1);
    for (int i = 0; i < EPISODES; i++) {
        bool fitted = i >= EPISODES / 2 && i % 2 == 0;
        assert_float_equal(truth[i], cos(i * 0.7), 1e-6);
        assert_int_equal(isnan(guess[i]) != 0, fitted);
        if (!fitted) assert_float_equal(guess[i], truth[i], 1e-3);
    }
    beliefs_free(&b);
}

/* A factor flips with every episode, and the belief follows after two steps; in every fourth
 * episode, nothing changes. */
static void beliefs_notice_changes(void **state)
{
    (void)state;
    beliefs b;
    belief_reading reading;
    double share[SINCE_BINS];
    text t = {0};
    text_add(&t, "episode,step,tau,since,true.a,theta0\n");
    for (int e = 0, value = 1, before = 1; e < EPISODES; e++) {
        before = value;
        value = e % 4 == 3 ? value : -value;
        for (int tau = 0; tau <= 10; tau++)
            text_add(&t, "%d,%d,%d,%d,%d,%d\n", e, 11 * e + tau, tau, tau, value,
                     3 * (tau < 2 ? before : value));
    }
    write_in("all/strange", "beliefs.csv", t.s);
    text_free(&t);
    assert_int_equal(beliefs_read(&b, in_test_folder("all/strange/beliefs.csv")), 0);
    assert_int_equal(beliefs_reading(&b, 0, &reading), 1);
    assert_int_equal(beliefs_noticed(&b, &reading, share), 0);
    close_to(share[since_bin(0)], 0);
    close_to(share[since_bin(1)], 0);
    close_to(share[since_bin(2)], 1);
    close_to(share[since_bin(10)], 1);
    assert_true(isnan(share[since_bin(20)]));
    belief_reading_free(&reading);
    beliefs_free(&b);
    write_lives();
}

static void distances_are_those_of_the_rows(void **state)
{
    (void)state;
    beliefs b;
    static double e[BELIEF_MAP], truth[BELIEF_MAP * BELIEF_MAP], belief[BELIEF_MAP * BELIEF_MAP];
    assert_int_equal(beliefs_read(&b, in_test_folder("all/strange/beliefs.csv")), 0);
    int n = beliefs_distances(&b, e, truth, belief);
    assert_int_equal(n, EPISODES / 2);
    close_to(e[0], EPISODES / 2);
    double a0 = sin(40 * 1.3), b0 = cos(40 * 0.7), a1 = sin(41 * 1.3), b1 = cos(41 * 0.7);
    assert_float_equal(belief[1], hypot(a0 + b0 - a1 - b1, a0 - 3 * b0 - a1 + 3 * b1), 1e-6);
    close_to(belief[1], belief[n]);
    close_to(truth[0], 0);
    close_to(beliefs_correlation(truth, truth, n), 1);
    assert_true(isnan(beliefs_correlation(truth, truth, 1)));
    beliefs_free(&b);
}

/* ---- memory ---------------------------------------------------------------------------------- */

static int whole_report(void)
{
    contests c = {0};
    text page = {0};
    json_t *figures = NULL;
    int rc = 0;
    TRY(contests_add(&c, in_test_folder("all")));
    TRY(contests_settle(&c));
    TRY(page_write(&c, "t", &page, &figures));
out:
    json_decref(figures);
    text_free(&page);
    contests_free(&c);
    return rc;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    assert_int_equal(unlink(in_test_folder("all/strange/beliefs.csv")), 0);
    fail_every_allocation(whole_report);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(runs_are_sorted_by_task_and_method),
        cmocka_unit_test(free_preludes_are_not_comparable),
        cmocka_unit_test(figures_are_those_of_the_runs),
        cmocka_unit_test(curves_average_over_seeds_that_got_there),
        cmocka_unit_test(curves_may_run_over_time),
        cmocka_unit_test(commits_are_compared_on_request),
        cmocka_unit_test(losses_are_averaged_over_shares_of_a_run),
        cmocka_unit_test(beliefs_are_read_through_a_linear_map),
        cmocka_unit_test(beliefs_notice_changes),
        cmocka_unit_test(distances_are_those_of_the_rows),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
