/* test_base_options.c - option tables: defaults, parsing, messages, dump and back. */
#include "testing.h"

#include "base/config.h"
#include "base/options.h"

#define DEMO_OPTIONS(X)                                      \
    X(REAL, lr, 3e-4, 1e-8, 1, "learning rate")              \
    X(INT, batch, 256, 1, 65536, "transitions per update")   \
    X(INT, shift, 0, -2147483648.0, 2147483647, "any int")   \
    X(FLAG, auto_temp, true, "learn the temperature")        \
    X(CHOICE, target, 1, "polyak|copy|none", "which target") \
    X(TEXT, note, "a note", "free text")
OPTIONS_STRUCT(demo_options, DEMO_OPTIONS)
static OPTIONS_GROUP(demo_group, demo_options, "demo", "for this test", DEMO_OPTIONS);

static demo_options o;

static int reset(void **state)
{
    (void)state;
    memset(&o, 0xAB, sizeof o);
    options_default(demo_group(), &o);
    return 0;
}

static int set(const char *key, const char *value)
{
    return options_set(demo_group(), &o, key, value);
}

static void defaults_are_those_of_the_table(void **state)
{
    (void)state;
    assert_true(o.lr == 3e-4);
    assert_int_equal(o.batch, 256);
    assert_true(o.auto_temp);
    assert_int_equal(o.target, 1);
    assert_string_equal(o.note, "a note");
    assert_int_equal(demo_group()->count, 6);
    assert_string_equal(demo_group()->section, "demo");
}

static void good_values_are_taken(void **state)
{
    (void)state;
    assert_int_equal(set("lr", "1e-3"), 0);
    assert_true(o.lr == 1e-3);
    assert_int_equal(set("lr", "1"), 0);
    assert_int_equal(set("batch", "65536"), 0);
    assert_int_equal(o.batch, 65536);
    assert_int_equal(set("shift", "-2147483648"), 0);
    assert_int_equal(o.shift, INT32_MIN);
    assert_int_equal(set("auto_temp", "off"), 0);
    assert_false(o.auto_temp);
    assert_int_equal(set("auto_temp", "yes"), 0);
    assert_true(o.auto_temp);
    assert_int_equal(set("target", "none"), 0);
    assert_int_equal(o.target, 2);
    assert_int_equal(set("note", ""), 0);
    assert_string_equal(o.note, "");
    assert_int_equal(set("note", "x=1;y # über"), 0);
    assert_string_equal(o.note, "x=1;y # über");
}

static void bad_values_are_refused_and_change_nothing(void **state)
{
    (void)state;
    static const struct {
        const char *key, *value, *message;
    } bad[] = {
        {"lr", "", "lr = : not a number from 1e-08 to 1"},
        {"lr", "fast", "lr = fast: not a number from 1e-08 to 1"},
        {"lr", "1e-3x", "not a number"},
        {"lr", "0", "not a number from"},
        {"lr", "1.0000001", "not a number from"},
        {"lr", "nan", "not a number from"},
        {"lr", "inf", "not a number from"},
        {"lr", "1e999", "not a number from"},
        {"batch", "0", "batch = 0: not a whole number from 1 to 65536"},
        {"batch", "65537", "not a whole number"},
        {"batch", "12.5", "not a whole number"},
        {"batch", "99999999999999999999", "not a whole number"},
        {"shift", "2147483648", "not a whole number"},
        {"auto_temp", "maybe", "auto_temp = maybe: not true or false"},
        {"auto_temp", "", "not true or false"},
        {"target", "polya", "target = polya: not one of polyak|copy|none"},
        {"target", "polyak|copy", "not one of"},
        {"target", "", "not one of"},
        {"note", "two\nlines", "not a line of at most 159 characters"},
        {"note", " space", "not a line"},
        {"note", "space ", "not a line"},
        {"note", "a ; comment", "not a line"},
        {"note", ";", "not a line"},
        {"note", "\t", "not a line"},
        {"bacth", "1", "unknown key 'bacth'; did you mean 'batch'?"},
        {"", "1", "unknown key ''"},
        {"LR", "1", "unknown key 'LR'"},
    };
    demo_options before = o;
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_fails(set(bad[i].key, bad[i].value), FANS_EINVAL, bad[i].message);
    char endless[1000];
    memset(endless, 'a', sizeof endless);
    endless[OPTION_TEXT] = 0;
    assert_fails(set("note", endless), FANS_EINVAL, "not a line of at most 159");
    assert_memory_equal(&before, &o, sizeof o);
    endless[OPTION_TEXT - 1] = 0;
    assert_int_equal(set("note", endless), 0);
    assert_string_equal(o.note, endless);
}

/* Dumps `o`, reads the dump as a config file, and compares. */
static void assert_round_trip(void)
{
    text ini = {0};
    config *c;
    demo_options back;
    options_dump(demo_group(), "demo", &o, &ini);
    assert_int_equal(text_done(&ini), 0);
    assert_int_equal(config_new(&c), 0);
    assert_int_equal(config_add_text(c, "dump", ini.s), 0);
    if (config_take(c, demo_group(), "demo", &back)) fail_msg("%s in %s", fans_error(), ini.s);
    assert_int_equal(config_check_taken(c), 0);
    assert_true(back.lr == o.lr);
    assert_int_equal(back.batch, o.batch);
    assert_int_equal(back.shift, o.shift);
    assert_int_equal(back.auto_temp, o.auto_temp);
    assert_int_equal(back.target, o.target);
    assert_string_equal(back.note, o.note);
    config_free(c);
    text_free(&ini);
}

static void a_dump_reads_back_to_the_same_bits(void **state)
{
    (void)state;
    static const double reals[] = {
        1e-8, 0.1, 1.0 / 3, 0.7, 2.0 / 3, 1 - 0x1p-53, 0x1.23456789abcdp-9};
    static const char *const notes[] = {"",    "x",  "a = b", "[section]", "# hash",
                                        "a;b", "\"", "ü→",    "a : b",     "k = v = w"};
    assert_round_trip();
    for (size_t i = 0; i < COUNT(reals); i++) {
        o.lr = reals[i];
        assert_round_trip();
    }
    for (size_t i = 0; i < COUNT(notes); i++) {
        assert_int_equal(set("note", notes[i]), 0);
        assert_round_trip();
    }
    memset(o.note, 'n', OPTION_TEXT - 1); /* the longest there is */
    o.note[OPTION_TEXT - 1] = 0;
    o.shift = INT32_MIN;
    o.auto_temp = false;
    assert_round_trip();
}

static void help_texts_come_from_the_table(void **state)
{
    (void)state;
    static const char *const initial[] = {"0.0003", "256", "0", "true", "copy", "a note"};
    static const char *const range[] = {
        "1e-08 to 1",
        "1 to 65536",
        "-2.14748365e+09 to 2.14748365e+09",
        "true or false",
        "one of polyak|copy|none",
        "a line of at most 159 characters without ' ;', and no comma at its end"};
    for (size_t i = 0; i < demo_group()->count; i++) {
        text a = {0}, b = {0};
        option_print_initial(&demo_group()->options[i], &a);
        option_print_range(&demo_group()->options[i], &b);
        assert_string_equal(a.s, initial[i]);
        assert_string_equal(b.s, range[i]);
        text_free(&a);
        text_free(&b);
    }
    char word[16];
    assert_string_equal(option_word("a|b|c", 2, word, sizeof word), "c");
    assert_null(option_word("a|b|c", 3, word, sizeof word));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(defaults_are_those_of_the_table, reset),
        cmocka_unit_test_setup(good_values_are_taken, reset),
        cmocka_unit_test_setup(bad_values_are_refused_and_change_nothing, reset),
        cmocka_unit_test_setup(a_dump_reads_back_to_the_same_bits, reset),
        cmocka_unit_test_setup(help_texts_come_from_the_table, reset),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
