/* test_base_json.c - JSON files, there and back. */
#include "testing.h"

#include <math.h>

#include "base/json.h"
#include "base/os.h"

static void values_come_back(void **state)
{
    (void)state;
    const char *path = in_test_folder("a.json");
    json_t *out =
        json_pack("{sf si ss s[bn]}", "pi", M_PI, "n", 42, "text", "wind → \n", "list", 1);
    json_t *back;
    assert_int_equal(json_write_file(path, out), 0);
    assert_int_equal(json_read_file(&back, path), 0);
    assert_true(json_equal(out, back));
    assert_true(json_real_value(json_object_get(back, "pi")) == M_PI);
    json_decref(out);
    json_decref(back);

    /* people look at these files: they end with a newline */
    void *bytes;
    size_t n;
    assert_int_equal(os_read_file(&bytes, &n, path), 0);
    assert_int_equal(((char *)bytes)[n - 1], '\n');
    mem_free(bytes);
}

static void doubles_keep_their_bits(void **state)
{
    (void)state;
    static const double values[] = {0.1, 1.0 / 3, 1e-300, 4.9e-324, 1.7976931348623157e308, -0.7};
    for (size_t i = 0; i < COUNT(values); i++) {
        json_t *out = json_pack("[f]", values[i]), *back;
        assert_int_equal(json_write_file(in_test_folder("d.json"), out), 0);
        assert_int_equal(json_read_file(&back, in_test_folder("d.json")), 0);
        assert_true(json_real_value(json_array_get(back, 0)) == values[i]);
        json_decref(out);
        json_decref(back);
    }
}

static void bad_files_are_named(void **state)
{
    (void)state;
    static const char *const bad[] = {"",         "{",     "{\"a\": 1,\n \"a\": 2}",
                                      "nonsense", "[1] 2", "[NaN]"};
    const char *path = in_test_folder("bad.json");
    json_t *back = NULL;
    for (size_t i = 0; i < COUNT(bad); i++) {
        assert_int_equal(os_write_file(path, bad[i], strlen(bad[i])), 0);
        assert_fails(json_read_file(&back, path), FANS_EFORMAT, "not valid JSON");
        assert_null(back);
    }
    assert_fails(json_read_file(&back, in_test_folder("absent")), FANS_EIO, "absent: cannot read");
    assert_fails(json_write_file(path, NULL), FANS_ENOMEM, "out of memory");
    json_t *empty = json_array();
    assert_fails(json_write_file("/dev/full", empty), FANS_EIO, "/dev/full: cannot write");
    json_decref(empty);
}

static int write_and_read(void)
{
    json_t *list = json_pack("[iii]", 1, 2, 3), *back = NULL;
    int rc = json_write_file(in_test_folder("m.json"), list);
    if (rc == 0) rc = json_read_file(&back, in_test_folder("m.json"));
    json_decref(list);
    json_decref(back);
    return rc;
}

static void every_allocation_of_ours_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(write_and_read);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_come_back),
        cmocka_unit_test(doubles_keep_their_bits),
        cmocka_unit_test(bad_files_are_named),
        cmocka_unit_test(every_allocation_of_ours_may_fail),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
