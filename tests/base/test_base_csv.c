/* test_base_csv.c - tables of numbers. */
#include <math.h>

#include "base/csv.h"
#include "base/os.h"
#include "testing.h"

static const char *write_file(const char *content)
{
    const char *path = in_test_folder("t.csv");
    assert_int_equal(os_write_file(path, content, strlen(content)), 0);
    return path;
}

static void names_and_numbers_are_read(void **state)
{
    (void)state;
    csv t = {0};
    assert_int_equal(csv_read(&t, write_file("a,b,c\r\n1,-2.5e3,nan\n,4,\n")), 0);
    assert_int_equal(t.columns, 3);
    assert_int_equal(t.rows, 2);
    assert_int_equal(csv_column(&t, "c"), 2);
    assert_int_equal(csv_column(&t, "d"), -1);
    assert_float_equal(csv_at(&t, 0, 1), -2500, 0);
    assert_true(isnan(csv_at(&t, 0, 2)));
    assert_true(isnan(csv_at(&t, 1, 0)) && isnan(csv_at(&t, 1, 2)));
    assert_float_equal(csv_at(&t, 1, 1), 4, 0);
    csv_free(&t);
}

/* Whoever appends to the file may be in the middle of a line. */
static void a_torn_line_is_left_out(void **state)
{
    (void)state;
    csv t = {0};
    assert_int_equal(csv_read(&t, write_file("a,b\n1,2\n3,4")), 0);
    assert_int_equal(t.rows, 1);
    csv_free(&t);
    assert_int_equal(csv_read(&t, write_file("a,b\n")), 0);
    assert_int_equal(t.rows, 0);
    csv_free(&t);
}

static void what_is_no_table_is_refused(void **state)
{
    (void)state;
    csv t = {0};
    assert_fails(csv_read(&t, write_file("")), FANS_EFORMAT, "t.csv: has no line of names");
    assert_fails(csv_read(&t, write_file("a,b\n1,2\n1,x\n")), FANS_EFORMAT,
                 "t.csv: line 3, column 2: not a number");
    assert_fails(csv_read(&t, write_file("a,b\n1\n")), FANS_EFORMAT, "line 2, column 1");
    assert_fails(csv_read(&t, write_file("a,b\n1,2,3\n")), FANS_EFORMAT, "line 2, column 2");
    assert_fails(csv_read(&t, write_file("a,b\n1, 2\n")), FANS_EFORMAT, "line 2, column 2");
    assert_fails(csv_read(&t, in_test_folder("none")), FANS_EIO, "none: cannot read");
    assert_null(t.cells);
}

static int read_again(void)
{
    csv t = {0};
    int rc = csv_read(&t, in_test_folder("t.csv"));
    csv_free(&t);
    return rc;
}

static void failed_allocations_are_reported(void **state)
{
    (void)state;
    write_file("a,b\n1,2\n3,4\n");
    fail_every_allocation(read_again);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_and_numbers_are_read),
        cmocka_unit_test(a_torn_line_is_left_out),
        cmocka_unit_test(what_is_no_table_is_refused),
        cmocka_unit_test(failed_allocations_are_reported),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
