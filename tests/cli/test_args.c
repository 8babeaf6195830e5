/* test_args.c - the tool's argument parser, with a command made up for the purpose. */
#include "testing.h"

#include "cli/args.h"
#include "cli/cli.h"

/* What the made-up command takes, with its defaults. */
static const char *run, *json;
static text_list more, settings;
static int episodes;
static double scale;
static bool quiet;

static int parse_words(int argc, char **argv)
{
    run = json = NULL;
    more.count = settings.count = 0;
    episodes = 10;
    scale = 1;
    quiet = false;
    const arg args[] = {
        ARG_WORD("RUN", &run, "a run"),
        ARG_WORDS("MORE", &more, "more runs"),
        ARG_MANY("set", "S.K=V", &settings, "a setting"),
        ARG_INT("episodes", &episodes, 1, 100, "how many"),
        ARG_REAL("scale", &scale, 0, 2, "how much"),
        ARG_FLAG("quiet", &quiet, "say less"),
        ARG_JSON(&json),
    };
    return args_parse("try", ARGS(args), argc, argv);
}

#define parse(...) parse_words((int)COUNT(((char *[]){__VA_ARGS__})), (char *[]){__VA_ARGS__})

static void values_land_in_their_variables(void **state)
{
    (void)state;
    assert_int_equal(parse("a", "b", "c", "--episodes", "7", "--quiet", "--set", "x.y=1",
                           "--scale=0.5", "--set=z.w=2", "--json", "f"),
                     0);
    assert_string_equal(run, "a");
    assert_int_equal(more.count, 2);
    assert_string_equal(more.items[1], "c");
    assert_int_equal(episodes, 7);
    assert_true(scale == 0.5);
    assert_true(quiet);
    assert_int_equal(settings.count, 2);
    assert_string_equal(settings.items[0], "x.y=1");
    assert_string_equal(settings.items[1], "z.w=2");
    assert_string_equal(json, "f");
}

static void defaults_stay(void **state)
{
    (void)state;
    assert_int_equal(parse("a", "b"), 0);
    assert_int_equal(episodes, 10);
    assert_true(scale == 1);
    assert_false(quiet);
    assert_null(json);
    assert_int_equal(settings.count, 0);
}

static void two_dashes_end_the_options(void **state)
{
    (void)state;
    assert_int_equal(parse("--quiet", "--", "--set", "-x", "--help"), 0);
    assert_string_equal(run, "--set");
    assert_int_equal(more.count, 2);
    assert_int_equal(parse("-", "--", "-"), 0);
    assert_string_equal(run, "-");
}

static void mistakes_are_explained(void **state)
{
    (void)state;
    assert_fails(parse_words(0, NULL), CLI_USAGE, "try: RUN is missing: a run");
    assert_fails(parse("a"), CLI_USAGE, "try: MORE is missing: more runs");
    assert_fails(parse("a", "b", "--episode", "1"), CLI_USAGE,
                 "try: unknown option '--episode'; did you mean '--episodes'?");
    assert_fails(parse("a", "b", "--episodes", "none"), CLI_USAGE,
                 "try: --episodes none: not a whole number from 1 to 100");
    assert_fails(parse("a", "b", "--episodes=101"), CLI_USAGE, "not a whole number from 1 to 100");
    assert_fails(parse("a", "b", "--scale", "3"), CLI_USAGE, "not a number from 0 to 2");
    assert_fails(parse("a", "b", "--episodes"), CLI_USAGE, "--episodes needs a value: how many");
    assert_fails(parse("a", "b", "--quiet=yes"), CLI_USAGE, "--quiet takes no value");
    assert_fails(parse("a", "b", "-q"), CLI_USAGE, "options begin with two dashes");
    assert_fails(parse("a", "b", "--=x"), CLI_USAGE, "unknown option '--'");

    char *many[2 * TEXT_LIST_MOST + 4] = {"a", "b"};
    for (size_t i = 2; i < COUNT(many); i += 2) {
        many[i] = "--set";
        many[i + 1] = "x.y=1";
    }
    assert_fails(parse_words(COUNT(many), many), CLI_USAGE, "more than 256 times S.K=V");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(values_land_in_their_variables),
        cmocka_unit_test(defaults_stay),
        cmocka_unit_test(two_dashes_end_the_options),
        cmocka_unit_test(mistakes_are_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
