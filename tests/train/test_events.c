/* test_events.c - TensorBoard's file: records are complete, and what does not fit is refused.
 * parity/test_run_folder.py checks that TensorBoard reads it. */
#include "base/os.h"
#include "testing.h"
#include "train/events.h"

typedef struct rig {
    char folder[64], path[96];
    events *events;
} rig;

static void rig_open(rig *t)
{
    assert_non_null(temporary_folder(t->folder, sizeof t->folder));
    snprintf(t->path, sizeof t->path, "%s/events", t->folder);
    assert_int_equal(events_open(&t->events, t->path, -1), 0);
}

static void rig_close(rig *t)
{
    events_close(t->events);
    unlink(t->path);
    rmdir(t->folder);
}

/* Counts the records, which must fill the file to the last byte. */
static int count_records(const rig *t)
{
    void *bytes;
    size_t size, at = 0;
    int count = 0;
    assert_int_equal(os_read_file(&bytes, &size, t->path), 0);
    assert_int_equal(size, events_length(t->events));
    for (; at < size; count++) {
        uint64_t n;
        assert_true(at + 12 <= size);
        memcpy(&n, (char *)bytes + at, 8);
        at += 8 + 4 + n + 4;
    }
    assert_int_equal(at, size);
    mem_free(bytes);
    return count;
}

static void scalars_of_a_step_are_one_record(void **state)
{
    (void)state;
    rig t;
    rig_open(&t);
    assert_int_equal(count_records(&t), 1); /* the version */
    for (int step = 0; step < 3; step++) {
        for (int i = 0; i < 90; i++) events_add(t.events, "train/a_loss_of_many_words", i);
        assert_int_equal(events_write(t.events, step), 0);
    }
    assert_int_equal(count_records(&t), 4);
    rig_close(&t);
}

/* One scalar too many, or far too many; the next step is written again. */
static void too_many_scalars_are_refused(void **state)
{
    (void)state;
    rig t;
    rig_open(&t);
    for (int many = 150; many <= 100000; many = many < 400 ? many + 1 : many * 7) {
        int64_t before = events_length(t.events);
        for (int i = 0; i < many; i++) events_add(t.events, "train/a_loss_of_many_words", i);
        int rc = events_write(t.events, 1);
        if (rc < 0) assert_non_null(strstr(fans_error(), "scalars"));
        assert_int_equal(events_length(t.events) > before, rc == 0);
        if (many > 300) assert_true(rc < 0);
    }
    assert_true(count_records(&t) > 1);
    events_add(t.events, "after", 1);
    assert_int_equal(events_write(t.events, 2), 0);
    count_records(&t);
    rig_close(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_of_a_step_are_one_record),
        cmocka_unit_test(too_many_scalars_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
