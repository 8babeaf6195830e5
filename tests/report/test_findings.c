/* test_findings.c - delays, missed changes and false alarms from segments.csv. */
#include "report/findings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/error.h"
#include "testing.h"

static findings read_text(const char *rows)
{
    char folder[256], path[300];
    csv table = {0};
    findings f;
    assert_non_null(temporary_folder(folder, sizeof folder));
    snprintf(path, sizeof path, "%s/segments.csv", folder);
    FILE *out = fopen(path, "w");
    assert_non_null(out);
    fputs(rows, out);
    assert_int_equal(fclose(out), 0);
    if (csv_read(&table, path) < 0) fail_msg("%s", fans_error());
    findings_read(&f, &table);
    csv_free(&table);
    unlink(path);
    rmdir(folder);
    return f;
}

static void only_changes_that_last_count(void **state)
{
    (void)state;
    findings f = read_text("segment,step,length,moved,noticed,alarms\n"
                           "0,0,500,0,,9\n" /* the first half */
                           "1,500,100,1,3,0\n"
                           "2,600,20,1,,0\n"   /* too short to be missed */
                           "3,620,80,1,,1\n"   /* missed */
                           "4,700,60,1,51,0\n" /* noticed too late */
                           "5,760,200,0,,1\n"  /* nothing changed */
                           "6,960,50,1,7,0\n"
                           "7,1000,90,1,0,0\n");
    assert_true(f.known);
    assert_int_equal(f.changes, 5);
    assert_int_equal(f.missed, 2);
    assert_true(findings_median(&f) == 7);
    assert_float_equal(findings_within(&f, 3), 0.4, 1e-9);
    assert_float_equal(findings_missed(&f), 0.4, 1e-9);
    assert_float_equal(f.quiet, 50 + 30 + 10 + 150 + 40, 1e-9);
    assert_float_equal(findings_alarms(&f), 2000.0 / 280, 1e-9);
    findings twice = f;
    findings_add(&twice, &f);
    assert_int_equal(twice.changes, 10);
    assert_true(findings_median(&twice) == 7);
}

static void who_is_told_finds_nothing(void **state)
{
    (void)state;
    findings f = read_text("segment,step,length\n0,0,10\n");
    assert_true(!f.known && isnan(findings_median(&f)) && isnan(findings_alarms(&f)));
    f = read_text("segment,step,length,moved,noticed,alarms\n1,0,60,1,,0\n2,60,60,1,,0\n");
    assert_true(isinf(findings_median(&f)));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(only_changes_that_last_count),
        cmocka_unit_test(who_is_told_finds_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
