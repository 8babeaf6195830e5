/* test_api_config.c - options and configs of the public interface. */
#include <sys/wait.h>

#include "fans/fans.h"
#include "testing.h"

static void every_option_can_be_asked_for(void **state)
{
    fans_option_info o = {.size = sizeof o};
    char value[256];
    fans_config *c = NULL;
    int n = 0;
    (void)state;
    assert_int_equal(fans_config_new(&c, NULL, NULL), 0);
    for (; fans_option_at(n, &o) == 0; n++) {
        assert_true(*o.key && *o.kind && *o.range && *o.help);
        if (strchr(o.key, '*')) continue;
        char key[128], initial[256]; /* the texts stay until the next call */
        snprintf(key, sizeof key, "%s", o.key);
        snprintf(initial, sizeof initial, "%s", o.initial);
        assert_int_equal(fans_config_get(c, key, value, sizeof value), 0);
        assert_string_equal(value, initial);
    }
    assert_true(n > 50);
    assert_fails(fans_option_at(n, &o), FANS_EINVAL, "there is no option");
    assert_fails(fans_option_at(-1, &o), FANS_EINVAL, "there is no option -1");
    o.size = 8;
    assert_fails(fans_option_at(0, &o), FANS_EINVAL, "set it to sizeof");
    assert_fails(fans_option_at(0, NULL), FANS_EINVAL, "is NULL");
    fans_config_free(c);
}

static const char FLIP[] = SOURCE_DIR "/configs/pendulum_flip.ini";

static void layers_override_each_other(void **state)
{
    char value[64];
    fans_config *c = NULL;
    (void)state;
    assert_int_equal(fans_config_new(&c, FLIP, "small"), 0);
    assert_int_equal(fans_config_get(c, "sac.update_every", value, sizeof value), 0);
    assert_string_equal(value, "5"); /* the preset's */
    assert_int_equal(fans_config_get(c, "sac.tau", value, sizeof value), 0);
    assert_string_equal(value, "0.005"); /* the file's, over the preset's */
    assert_int_equal(fans_config_set(c, "sac.tau", "0.5"), 0);
    assert_int_equal(fans_config_get(c, "sac.tau", value, sizeof value), 0);
    assert_string_equal(value, "0.5");
    assert_int_equal(fans_config_get(c, "change.torque.function", value, sizeof value), 0);
    assert_string_equal(value, "choice");
    assert_int_equal(fans_config_set(c, "change.torque.function", "uniform"), 0);
    assert_fails(fans_config_get(c, "sac.tau", value, 3), FANS_EINVAL, "longer");
    fans_config_free(c);
}

/* ... and a refused setting leaves the config as it was. */
static void mistakes_are_told(void **state)
{
    char value[64];
    fans_config *c = NULL, *none = NULL;
    (void)state;
    assert_int_equal(fans_config_new(&c, FLIP, NULL), 0);
    assert_fails(fans_config_set(c, "sac.rl", "1"), FANS_EINVAL, "unknown key 'rl'");
    assert_fails(fans_config_set(c, "sac.lr", "-1"), FANS_EINVAL, "not a number from");
    assert_fails(fans_config_set(c, "sacc.lr", "1"), FANS_EINVAL, "unknown section [sacc]");
    assert_fails(fans_config_set(c, "lr", "1"), FANS_EINVAL, "SECTION.KEY=VALUE");
    assert_fails(fans_config_set(c, "sac.lr", "1\nsac.tau=1"), FANS_EINVAL, "no line ends");
    assert_fails(fans_config_set(c, "sac.lr", NULL), FANS_EINVAL, "value is NULL");
    assert_fails(fans_config_set(NULL, "sac.lr", "1"), FANS_EINVAL, "the config is NULL");
    assert_fails(fans_config_get(c, "sac.no", value, sizeof value), FANS_EINVAL, "no section has");
    assert_fails(fans_config_get(c, "sac", value, sizeof value), FANS_EINVAL, "SECTION.KEY");
    assert_int_equal(fans_config_get(c, "sac.lr", value, sizeof value), 0);
    assert_string_equal(value, "1e-3");
    assert_int_equal(fans_config_set(c, "sac.lr", "1e-4"), 0);
    fans_config_free(c);
    assert_fails(fans_config_new(&none, "/nowhere.ini", NULL), FANS_EIO, "/nowhere.ini");
    assert_fails(fans_config_new(&none, NULL, "smal"), FANS_EINVAL, "did you mean 'small'");
    assert_fails(fans_config_new(NULL, NULL, NULL), FANS_EINVAL, "out is NULL");
    assert_null(none);
    fans_config_free(NULL);
}

static int make_and_set(void)
{
    fans_config *c = NULL;
    int rc = fans_config_new(&c, FLIP, "small");
    if (rc == 0) rc = fans_config_set(c, "sac.lr", "1e-4");
    fans_config_free(c);
    return rc;
}

static void memory_may_run_out(void **state)
{
    (void)state;
    fail_every_allocation(make_and_set);
}

static void handles_do_not_survive_a_fork(void **state)
{
    fans_config *c = NULL;
    int status;
    (void)state;
    assert_int_equal(fans_config_new(&c, NULL, NULL), 0);
    pid_t child = fork();
    if (child == 0) {
        int rc = fans_config_set(c, "sac.lr", "1");
        bool told = rc == FANS_EINVAL && strstr(fans_error(), "before a fork");
        fans_config_free(c);
        fans_config *mine = NULL;
        told = told && fans_config_new(&mine, NULL, NULL) == 0;
        told = told && fans_config_set(mine, "sac.lr", "1") == 0;
        fans_config_free(mine);
        _exit(told ? 0 : 1);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    assert_int_equal(status, 0);
    assert_int_equal(fans_config_set(c, "sac.lr", "1"), 0);
    fans_config_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_option_can_be_asked_for),
        cmocka_unit_test(layers_override_each_other),
        cmocka_unit_test(mistakes_are_told),
        cmocka_unit_test(memory_may_run_out),
        cmocka_unit_test(handles_do_not_survive_a_fork),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
