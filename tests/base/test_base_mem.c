/* test_base_mem.c - counted allocations, growing lists, arenas. */
#include "testing.h"

static void allocations_are_zeroed_aligned_and_counted(void **state)
{
    (void)state;
    uint64_t count = mem_count(), held = mem_held();
    unsigned char *p = mem_alloc(1000);
    assert_non_null(p);
    assert_int_equal((uintptr_t)p % MEM_ALIGN, 0);
    for (int i = 0; i < 1000; i++) assert_int_equal(p[i], 0);
    assert_int_equal(mem_count(), count + 1);
    assert_int_equal(mem_held(), held + 1000);
    mem_free(p);
    mem_free(NULL);
    assert_int_equal(mem_held(), held);

    void *nothing = mem_alloc(0);
    assert_non_null(nothing);
    mem_free(nothing);
}

static void too_much_is_refused(void **state)
{
    (void)state;
    static const size_t sizes[] = {SIZE_MAX, SIZE_MAX - 63, SIZE_MAX / 2};
    for (size_t i = 0; i < COUNT(sizes); i++) {
        assert_null(mem_alloc(sizes[i]));
        assert_non_null(strstr(fans_error(), "out of memory"));
    }
    int *list = NULL;
    size_t capacity = 0;
    assert_fails(mem_grow(&list, &capacity, SIZE_MAX / 2, sizeof *list), FANS_ENOMEM, "memory");
    assert_null(list);
    assert_int_equal(capacity, 0);
}

static void the_nth_allocation_fails_once(void **state)
{
    (void)state;
    mem_fail_at(2);
    void *first = mem_alloc(1), *second = mem_alloc(1), *third = mem_alloc(1);
    assert_non_null(first);
    assert_null(second);
    assert_non_null(third);
    mem_free(first);
    mem_free(third);
    mem_fail_at(1);
    mem_fail_at(0);
    first = mem_alloc(1);
    assert_non_null(first);
    mem_free(first);
}

static void texts_are_copied(void **state)
{
    (void)state;
    char *all = mem_text("wind"), *part = mem_text_n("windmill", 4);
    assert_string_equal(all, "wind");
    assert_string_equal(part, "wind");
    mem_free(all);
    mem_free(part);
}

static void lists_grow_and_keep_their_items(void **state)
{
    (void)state;
    int *list = NULL;
    size_t capacity = 0;
    uint64_t count = mem_count();
    for (int i = 0; i < 1000; i++) {
        assert_int_equal(mem_grow(&list, &capacity, (size_t)i + 1, sizeof *list), 0);
        list[i] = i;
    }
    for (int i = 0; i < 1000; i++) assert_int_equal(list[i], i);
    assert_true(capacity >= 1000);
    assert_true(mem_count() - count <= 8); /* it doubles */

    /* a failure leaves the list as it was */
    mem_fail_at(1);
    assert_fails(mem_grow(&list, &capacity, 100000, sizeof *list), FANS_ENOMEM, "out of memory");
    assert_int_equal(list[999], 999);
    mem_free(list);
}

static void arenas_commit_once(void **state)
{
    (void)state;
    arena *a;
    float *x = NULL;
    char *y = NULL, *empty = NULL;
    assert_int_equal(arena_new(&a), 0);
    assert_int_equal(arena_declare(a, &x, 10 * sizeof *x), 0);
    assert_int_equal(arena_declare(a, &empty, 0), 0);
    assert_int_equal(arena_declare(a, &y, 1), 0);
    assert_null(x);
    uint64_t count = mem_count();
    assert_int_equal(arena_commit(a), 0);
    assert_int_equal(mem_count(), count + 1);
    assert_int_equal(arena_bytes(a), 2 * MEM_ALIGN);
    assert_int_equal((uintptr_t)x % MEM_ALIGN, 0);
    assert_int_equal((uintptr_t)y % MEM_ALIGN, 0);
    assert_true((char *)x + 10 * sizeof *x <= y);
    for (int i = 0; i < 10; i++) assert_true(x[i] == 0);
    x[9] = 1;
    assert_int_equal(*y, 0);
    arena_free(a);
    arena_free(NULL);
}

static void an_arena_of_everything_is_refused(void **state)
{
    (void)state;
    arena *a;
    void *x, *y;
    assert_int_equal(arena_new(&a), 0);
    assert_int_equal(arena_declare(a, &x, 1000), 0);
    assert_fails(arena_declare(a, &y, SIZE_MAX - 10), FANS_ENOMEM, "out of memory");
    assert_int_equal(arena_declare(a, &y, SIZE_MAX / 2), 0);
    assert_fails(arena_commit(a), FANS_ENOMEM, "out of memory");
    arena_free(a);
}

static void *take(void *self, size_t bytes)
{
    ++*(int *)self;
    return calloc(1, bytes);
}

static void give(void *self, void *memory)
{
    --*(int *)self;
    free(memory);
}

static void an_arena_can_use_memory_from_elsewhere(void **state)
{
    (void)state;
    int taken = 0;
    arena *a;
    char *x;
    assert_int_equal(arena_new_from(&a, (arena_source){take, give, &taken}), 0);
    assert_int_equal(arena_declare(a, &x, 100), 0);
    assert_int_equal(arena_commit(a), 0);
    assert_int_equal(taken, 1);
    x[99] = 1;
    arena_free(a);
    assert_int_equal(taken, 0);
}

static int build_an_arena(void)
{
    arena *a = NULL;
    void *slots[20];
    int rc = arena_new(&a);
    for (int i = 0; i < 20 && rc == 0; i++) rc = arena_declare(a, &slots[i], 100);
    if (rc == 0) rc = arena_commit(a);
    arena_free(a);
    return rc;
}

static void every_allocation_of_an_arena_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(build_an_arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocations_are_zeroed_aligned_and_counted),
        cmocka_unit_test(too_much_is_refused),
        cmocka_unit_test(the_nth_allocation_fails_once),
        cmocka_unit_test(texts_are_copied),
        cmocka_unit_test(lists_grow_and_keep_their_items),
        cmocka_unit_test(arenas_commit_once),
        cmocka_unit_test(an_arena_of_everything_is_refused),
        cmocka_unit_test(an_arena_can_use_memory_from_elsewhere),
        cmocka_unit_test(every_allocation_of_an_arena_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
