/* test_base_text.c - growing strings, spelling hints, error messages, the log. */
#include "testing.h"

#include <locale.h>
#include <pthread.h>

#include "base/log.h"
#include "base/text.h"

static void texts_grow(void **state)
{
    (void)state;
    text t = {0};
    for (int i = 0; i < 1000; i++) text_add(&t, "%d,", i);
    text_add_n(&t, "end\0of", 3);
    assert_int_equal(text_done(&t), 0);
    assert_int_equal(t.length, strlen(t.s));
    assert_memory_equal(t.s, "0,1,2,3,", 8);
    assert_string_equal(t.s + t.length - 7, "999,end");
    text_free(&t);
    assert_null(t.s);
}

static int write_a_text(void)
{
    text t = {0};
    for (int i = 0; i < 100; i++) text_add(&t, "%d", i);
    text_add_n(&t, "abc", 3);
    int rc = text_done(&t);
    text_free(&t);
    return rc;
}

static void every_allocation_of_a_text_may_fail(void **state)
{
    (void)state;
    fail_every_allocation(write_a_text);
}

static const char *hint_for(const char *word)
{
    static const char *const names[] = {"lr", "batch", "discount", "target_entropy"};
    nearest n = {.word = word};
    for (size_t i = 0; i < COUNT(names); i++) nearest_offer(&n, names[i]);
    return nearest_hint(&n);
}

static void hints_name_what_is_near(void **state)
{
    (void)state;
    assert_string_equal(hint_for("bacth"), "; did you mean 'batch'?");
    assert_string_equal(hint_for("discont"), "; did you mean 'discount'?");
    assert_string_equal(hint_for("target-entropy"), "; did you mean 'target_entropy'?");
    assert_string_equal(hint_for("ls"), "; did you mean 'lr'?");
    assert_string_equal(hint_for("zzz"), "");
    assert_string_equal(hint_for(""), "");
    nearest nothing = {.word = "x"};
    assert_string_equal(nearest_hint(&nothing), "");
    char endless[500];
    memset(endless, 'a', sizeof endless);
    endless[sizeof endless - 1] = 0;
    hint_for(endless); /* must only survive */
}

static void errors_carry_code_and_line(void **state)
{
    (void)state;
    assert_int_equal(fans_fail(FANS_EIO, "%s: %d", "file", 7), FANS_EIO);
    assert_string_equal(fans_error(), "file: 7");

    /* the old message may be an argument of the new one */
    fans_fail(FANS_EIO, "again: %s", fans_error());
    assert_string_equal(fans_error(), "again: file: 7");
    assert_int_equal(fans_fail_within(FANS_EINVAL, "run %d", 3), FANS_EINVAL);
    assert_string_equal(fans_error(), "run 3: again: file: 7");

    /* one line, whatever it quotes */
    fans_fail(FANS_EINVAL, "bad '%s'", "a\nb\x1b[31m");
    assert_string_equal(fans_error(), "bad 'a?b?[31m'");

    /* and no more than fits */
    char endless[5000];
    memset(endless, 'x', sizeof endless);
    endless[sizeof endless - 1] = 0;
    fans_fail(FANS_EINVAL, "%s", endless);
    assert_int_equal(strlen(fans_error()), 1023);
    fans_fail_within(FANS_EINVAL, "%s", endless);
    assert_int_equal(strlen(fans_error()), 1023);
}

static void *fail_elsewhere(void *arg)
{
    (void)arg;
    fans_fail(FANS_EIO, "theirs");
    return strcmp(fans_error(), "theirs") ? (void *)1 : NULL;
}

static void errors_belong_to_their_thread(void **state)
{
    (void)state;
    pthread_t thread;
    void *bad;
    fans_fail(FANS_EIO, "ours");
    assert_int_equal(pthread_create(&thread, NULL, fail_elsewhere, NULL), 0);
    pthread_join(thread, &bad);
    assert_null(bad);
    assert_string_equal(fans_error(), "ours");
}

static void keep_line(void *user, fans_log_level level, const char *line)
{
    snprintf(user, 64, "%d %s", level, line);
}

static void the_log_goes_where_it_is_sent(void **state)
{
    (void)state;
    char last[64] = "none";
    log_info("into the void");
    fans_log_to(keep_line, last);
    assert_string_equal(last, "none");
    log_info("%s %d", "episode", 3);
    assert_string_equal(last, "1 episode 3");
    log_warning("w");
    assert_string_equal(last, "2 w");
    fans_log_to(NULL, NULL);
    log_debug("nobody hears");
    assert_string_equal(last, "2 w");
}

static void differing_lines_are_found_in_order(void **state)
{
    (void)state;
    const char *a = "one\ntwo\nthree\nfour", *b = "one\n2\nthree\n";
    text_line x[2];
    assert_true(text_differ(&a, &b, x));
    assert_true(x[0].n == 3 && !strncmp(x[0].s, "two", 3));
    assert_true(x[1].n == 1 && *x[1].s == '2');
    assert_true(text_differ(&a, &b, x));
    assert_true(x[0].n == 4 && !strncmp(x[0].s, "four", 4) && x[1].n == 0);
    assert_false(text_differ(&a, &b, x));
}

static void names_are_plain(void **state)
{
    (void)state;
    assert_true(text_is_name("torso_z") && text_is_name("arm.7") && text_is_name("a"));
    assert_true(text_is_name("abcdefghijklmnopqrstuvwxyz01234")); /* 31 */
    assert_false(text_is_name("abcdefghijklmnopqrstuvwxyz012345"));
    assert_false(text_is_name("") || text_is_name("Torso") || text_is_name("a b"));
    assert_false(text_is_name("a,b") || text_is_name("v\xc3\xbc"));
}

static void numbers_have_a_point_in_any_locale(void **state)
{
    (void)state;
    static const char *const with_comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "es_ES.UTF-8", "de_DE"};
    bool found = false;
    for (size_t i = 0; i < COUNT(with_comma) && !found; i++)
        found = setlocale(LC_NUMERIC, with_comma[i]) != NULL;
    if (!found) SKIP("no locale of this machine writes numbers with a comma");
    text t = {0};
    char s[32], *end;
    text_add(&t, "%g %.2f", 0.5, 1.25);
    assert_string_equal(t.s, "0.5 1.25");
    text_write_number(s, sizeof s, 9, 0.125);
    assert_string_equal(s, "0.125");
    assert_true(text_number("0.5,", &end) == 0.5);
    assert_string_equal(end, ",");
    snprintf(s, sizeof s, "%g", 0.5);
    assert_string_equal(s, "0,5"); /* the program's own numbers stay as they are */
    setlocale(LC_NUMERIC, "C");
    text_free(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(texts_grow),
        cmocka_unit_test(every_allocation_of_a_text_may_fail),
        cmocka_unit_test(hints_name_what_is_near),
        cmocka_unit_test(errors_carry_code_and_line),
        cmocka_unit_test(errors_belong_to_their_thread),
        cmocka_unit_test(the_log_goes_where_it_is_sent),
        cmocka_unit_test(differing_lines_are_found_in_order),
        cmocka_unit_test(names_are_plain),
        cmocka_unit_test(numbers_have_a_point_in_any_locale),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
