/* test_base_config.c - layers, places in messages, and files that are no config. */
#include "testing.h"

#include "base/config.h"
#include "base/os.h"

#define SAC_OPTIONS(X)                    \
    X(REAL, lr, 3e-4, 0, 1, "rate")       \
    X(INT, batch, 256, 1, 65536, "batch") \
    X(TEXT, note, "", "note")             \
    X(LIST, at, "", "numbers")
OPTIONS_STRUCT(sac_options, SAC_OPTIONS)
static OPTIONS_GROUP(sac_group, sac_options, "sac", "for this test", SAC_OPTIONS);

#define WIND_OPTIONS(X) X(REAL, amplitude, 0, 0, 100, "newtons")
OPTIONS_STRUCT(wind_options, WIND_OPTIONS)
static OPTIONS_GROUP(wind_group, wind_options, "change.*", "for this test", WIND_OPTIONS);

static config *c;

static int open_config(void **state)
{
    (void)state;
    return config_new(&c);
}

static int close_config(void **state)
{
    (void)state;
    config_free(c);
    config_free(NULL);
    return 0;
}

static void later_layers_win(void **state)
{
    (void)state;
    sac_options o;
    assert_int_equal(config_add_text(c, "preset", "[sac]\nlr = 0.1\nbatch = 10\n"), 0);
    assert_int_equal(config_add_text(c, "file", "; comment\n[sac]\nbatch = 20 ; why\n"), 0);
    assert_int_equal(config_add_setting(c, "sac.note=a=b.c"), 0);
    assert_int_equal(config_add_setting(c, "sac.batch=30"), 0);
    assert_int_equal(config_add_setting(c, "sac.batch=40"), 0);
    assert_string_equal(config_get(c, "sac", "batch"), "40");
    assert_null(config_get(c, "sac", "absent"));
    assert_int_equal(config_take(c, sac_group(), "sac", &o), 0);
    assert_true(o.lr == 0.1);
    assert_int_equal(o.batch, 40);
    assert_string_equal(o.note, "a=b.c");
    assert_int_equal(config_check_taken(c), 0);
}

static void the_rest_is_what_is_in_force_and_nobody_took(void **state)
{
    (void)state;
    sac_options o;
    text rest = {0};
    assert_int_equal(config_add_text(c, "a", "[z]\nk = 1\n[sac]\nbatch = 20\n[b]\ny = 2\nx = 3\n"),
                     0);
    assert_int_equal(config_add_setting(c, "b.y=4"), 0);
    assert_int_equal(config_take(c, sac_group(), "sac", &o), 0);
    assert_int_equal(config_rest(c, &rest), 0);
    assert_string_equal(rest.s, "b.x=3\nb.y=4\nz.k=1\n");
    text_free(&rest);
}

static void an_empty_config_gives_defaults(void **state)
{
    (void)state;
    sac_options o;
    assert_int_equal(config_add_text(c, "empty", ""), 0);
    assert_int_equal(config_add_text(c, "blank", "\xEF\xBB\xBF\n\n  \n# nothing\n"), 0);
    assert_int_equal(config_take(c, sac_group(), "sac", &o), 0);
    assert_int_equal(o.batch, 256);
    assert_int_equal(config_check_taken(c), 0);
    assert_null(config_section(c, "", 0));
}

static void sections_are_found_by_prefix(void **state)
{
    (void)state;
    wind_options w;
    assert_int_equal(config_add_text(c, "file",
                                     "[change.wind]\namplitude = 1\n[sac]\nlr = 1\n"
                                     "[change.mass]\namplitude = 2\n"),
                     0);
    assert_int_equal(config_add_setting(c, "change.wind.amplitude=3"), 0);
    assert_string_equal(config_section(c, "change.", 0), "change.wind");
    assert_string_equal(config_section(c, "change.", 1), "change.mass");
    assert_null(config_section(c, "change.", 2));
    assert_int_equal(config_take(c, wind_group(), "change.wind", &w), 0);
    assert_true(w.amplitude == 3);
}

static void lines_may_be_indented_and_end_as_on_other_systems(void **state)
{
    (void)state;
    sac_options o;
    assert_int_equal(config_add_text(c, "file", "[sac]\r\n  lr = 0.5\r\n\tbatch = 7\r\n  note=x"),
                     0);
    assert_int_equal(config_take(c, sac_group(), "sac", &o), 0);
    assert_true(o.lr == 0.5);
    assert_int_equal(o.batch, 7);
    assert_string_equal(o.note, "x");
}

static void mistakes_name_their_place(void **state)
{
    (void)state;
    static const struct {
        const char *ini;
        int code;
        const char *message;
    } bad[] = {
        {"lr = 1\n", FANS_EINVAL, "f.ini, line 1: 'lr' comes before the first [section]"},
        {"[sac]\n\nlr = 1\nlr = 2\n", FANS_EINVAL,
         "f.ini, line 4: 'lr' was already set in [sac] at line 3"},
        {"[sac]\nlr = 1\n[other]\n[sac]\nlr = 1\n", FANS_EINVAL, "line 5: 'lr' was already set"},
        {"[sac]\nlr\n", FANS_EFORMAT, "f.ini, line 2: neither '[section]' nor 'key = value'"},
        {"[sac\nlr = 1\n", FANS_EFORMAT, "f.ini, line 1: neither"},
        {"[sac]\nlr = 1\n  and more\n", FANS_EFORMAT, "f.ini, line 3: neither"},
        {"[sac]\nnonsense\nlr = 1\nlr = 1\n", FANS_EFORMAT, "f.ini, line 2: neither"},
        {"[sac]\nlr = 1\nlr = 1\nnonsense\n", FANS_EINVAL, "f.ini, line 3: 'lr' was already"},
    };
    for (size_t i = 0; i < COUNT(bad); i++) {
        config *fresh;
        assert_int_equal(config_new(&fresh), 0);
        assert_fails(config_add_text(fresh, "f.ini", bad[i].ini), bad[i].code, bad[i].message);
        config_free(fresh);
    }
}

static void bad_values_and_names_name_their_place(void **state)
{
    (void)state;
    sac_options o;
    assert_int_equal(config_add_text(c, "f.ini", "[sac]\nlr = 1\nbatch = many\n[sacc]\nlr = 1\n"),
                     0);
    assert_fails(config_take(c, sac_group(), "sac", &o), FANS_EINVAL,
                 "f.ini, line 3: [sac]: batch = many: not a whole number from 1 to 65536");
    assert_int_equal(config_add_setting(c, "sac.batch=1"), 0);
    assert_fails(config_check_taken(c), FANS_EINVAL,
                 "f.ini, line 5: unknown section [sacc]; did you mean 'sac'?");
}

static void unknown_keys_get_a_hint(void **state)
{
    (void)state;
    sac_options o;
    assert_int_equal(config_add_setting(c, "sac.bacth=1"), 0);
    assert_fails(config_take(c, sac_group(), "sac", &o), FANS_EINVAL,
                 "--set sac.bacth: [sac]: unknown key 'bacth'; did you mean 'batch'?");
}

static void errors_name_where_a_value_was_set(void **state)
{
    (void)state;
    assert_int_equal(config_add_text(c, "file", "[sac]\nlr = 1\nbatch = 2\n"), 0);
    fans_fail(FANS_EINVAL, "bad");
    assert_int_equal(config_blame(c, "sac", "batch", FANS_EINVAL), FANS_EINVAL);
    assert_string_equal(fans_error(), "file, line 3: bad");
    fans_fail(FANS_EINVAL, "bad");
    config_blame(c, "sac", NULL, FANS_EINVAL);
    assert_string_equal(fans_error(), "file, line 2: bad");
    assert_int_equal(config_add_setting(c, "sac.batch=3"), 0);
    fans_fail(FANS_EINVAL, "bad");
    config_blame(c, "sac", NULL, FANS_EINVAL);
    assert_string_equal(fans_error(), "--set sac.batch: bad");
    fans_fail(FANS_EINVAL, "bad");
    config_blame(c, "env", "name", FANS_EINVAL);
    assert_string_equal(fans_error(), "bad");
}

static void settings_must_look_like_settings(void **state)
{
    (void)state;
    static const char *const bad[] = {"", "=", "sac", "sac.lr", "lr=1", ".lr=1", "sac.=1", "=1.2"};
    for (size_t i = 0; i < COUNT(bad); i++)
        assert_fails(config_add_setting(c, bad[i]), FANS_EINVAL,
                     "a setting is written SECTION.KEY=VALUE");
    char endless[2000];
    memset(endless, 'a', sizeof endless);
    memcpy(endless + 1990, ".b=c", 5);
    assert_fails(config_add_setting(c, endless), FANS_EINVAL,
                 "a setting is written SECTION.KEY=VALUE");
}

static void long_lines_are_refused_not_cut(void **state)
{
    (void)state;
    char ini[1000] = "[sac]\nnote = ";
    memset(ini + strlen(ini), 'x', 300);
    assert_fails(config_add_text(c, "f.ini", ini), FANS_EFORMAT, "f.ini, line 2: longer than 197");
}

static const char *list_of(const char *ini)
{
    config_free(c);
    assert_int_equal(config_new(&c), 0);
    assert_int_equal(config_add_text(c, "f.ini", ini), 0);
    return config_get(c, "sac", "at");
}

static void a_list_goes_on_after_a_comma(void **state)
{
    (void)state;
    assert_string_equal(list_of("[sac]\nat = 1, ; first\n  2,\n# a comment\n3\nlr = 1\n"),
                        "1, 2, 3");
    assert_string_equal(config_get(c, "sac", "lr"), "1");
    assert_string_equal(list_of("[sac]\nat = 1,\n\nlr = 1\n"), "1,");
    assert_string_equal(list_of("[sac]\nat = 1,\n[env]\nname = a\n"), "1,");
    assert_string_equal(config_get(c, "env", "name"), "a");
    char comment[600] = "[sac]\nat = 1, 2, ; old: ";
    memset(comment + strlen(comment), '3', 200);
    snprintf(comment + strlen(comment), 100, ", 4, 5\n6\n");
    assert_string_equal(list_of(comment), "1, 2, 6");
    assert_string_equal(list_of("[sac]\r\nat = 1, 2,  \r\n 3\r\n"), "1, 2, 3");
    char blank[700] = "[sac]\nat = 1,";
    memset(blank + strlen(blank), ' ', 300);
    memcpy(blank + 300, "\n2\n", 4);
    assert_string_equal(list_of(blank), "1, 2");
    assert_fails(config_add_text(c, "h.ini", "[sac]\nnote = a,\nlr = 1\n"), FANS_EFORMAT,
                 "h.ini, line 3: the value before ends in a comma");
    assert_fails(config_add_text(c, "g.ini", "[sac]\nat = 1,\n 2\n 3\n"), FANS_EFORMAT,
                 "g.ini, line 4: neither '[section]' nor 'key = value'");
}

/* 1,  2,  3 and so on, in one line. */
static void a_long_list_may_stand_in_one_line(void **state)
{
    (void)state;
    text ini = {0}, dump = {0};
    sac_options o;
    text_add(&ini, "[sac]\nat = 1");
    for (int i = 2; i <= 4000; i++) text_add(&ini, ",  %d", i);
    text_add(&ini, "\nlr = 0.5\nno key\n");
    assert_fails(config_add_text(c, "f.ini", ini.s), FANS_EFORMAT, "f.ini, line 4: neither");
    ini.s[ini.length - strlen("no key\n")] = 0;
    const char *list = list_of(ini.s);
    assert_memory_equal(list, ini.s + strlen("[sac]\nat = "), strlen(list));
    assert_int_equal(config_take(c, sac_group(), "sac", &o), 0);
    options_dump(sac_group(), "sac", &o, &dump);
    assert_string_equal(list_of(dump.s), o.at);
    text_free(&ini);
    text_free(&dump);
}

static void a_list_has_an_end(void **state)
{
    (void)state;
    text ini = {0};
    text_add(&ini, "[sac]\nat = 1");
    for (int i = 0; i < OPTION_LIST; i++) text_add(&ini, ", 1");
    assert_fails(config_add_text(c, "f.ini", ini.s), FANS_EFORMAT,
                 "f.ini, line 2: 'at' is longer than 32767 characters");
    text_free(&ini);
}

static void files_that_are_no_config_are_refused(void **state)
{
    (void)state;
    assert_fails(config_add_file(c, in_test_folder("absent.ini")), FANS_EIO,
                 "absent.ini: cannot read");
    assert_fails(config_add_file(c, test_folder), FANS_EIO, "cannot read: Is a directory");

    static const char zero[] = "[sac]\nlr = 1\0 more\n", control[] = "[sac]\n\x01\x02\n";
    const char *path = in_test_folder("binary.ini");
    assert_int_equal(os_write_file(path, zero, sizeof zero - 1), 0);
    assert_fails(config_add_file(c, path), FANS_EFORMAT, "binary.ini: not a text file");
    assert_int_equal(os_write_file(path, control, sizeof control - 1), 0);
    assert_fails(config_add_file(c, path), FANS_EFORMAT, "binary.ini: not a text file");

    /* any bytes at all: an error or not, but no crash */
    unsigned char noise[400];
    uint32_t x = 1;
    for (int round = 0; round < 200; round++) {
        for (size_t i = 0; i < sizeof noise; i++) {
            x = x * 1664525u + 1013904223u;
            noise[i] = (unsigned char)"[]=;:#\n\n \tab.0"[(x >> 24) % 14];
        }
        assert_int_equal(os_write_file(path, noise, sizeof noise), 0);
        config *fresh;
        assert_int_equal(config_new(&fresh), 0);
        config_add_file(fresh, path);
        config_free(fresh);
    }
}

static int read_a_config(void)
{
    config *fresh = NULL;
    sac_options o;
    int rc = config_new(&fresh);
    if (rc == 0) rc = config_add_file(fresh, in_test_folder("good.ini"));
    if (rc == 0) rc = config_add_setting(fresh, "sac.note=x");
    if (rc == 0) rc = config_take(fresh, sac_group(), "sac", &o);
    if (rc == 0) rc = config_check_taken(fresh);
    config_free(fresh);
    return rc;
}

static void every_allocation_of_a_config_may_fail(void **state)
{
    (void)state;
    static const char ini[] = "[sac]\nlr = 1\nbatch = 2\n";
    assert_int_equal(os_write_file(in_test_folder("good.ini"), ini, sizeof ini - 1), 0);
    fail_every_allocation(read_a_config);
}

int main(void)
{
#define TEST(f) cmocka_unit_test_setup_teardown(f, open_config, close_config)
    const struct CMUnitTest tests[] = {
        TEST(later_layers_win),
        TEST(the_rest_is_what_is_in_force_and_nobody_took),
        TEST(an_empty_config_gives_defaults),
        TEST(sections_are_found_by_prefix),
        TEST(lines_may_be_indented_and_end_as_on_other_systems),
        TEST(mistakes_name_their_place),
        TEST(bad_values_and_names_name_their_place),
        TEST(unknown_keys_get_a_hint),
        TEST(errors_name_where_a_value_was_set),
        TEST(settings_must_look_like_settings),
        TEST(long_lines_are_refused_not_cut),
        TEST(a_list_goes_on_after_a_comma),
        TEST(a_long_list_may_stand_in_one_line),
        TEST(a_list_has_an_end),
        TEST(files_that_are_no_config_are_refused),
        TEST(every_allocation_of_a_config_may_fail),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
