/* check.c - makes the two tasks, runs the checks, reports. */
#include "env/check.h"

#include <stdarg.h>
#include <stdio.h>

#include "base/error.h"
#include "env/checker.h"

void checker_saw(checker *k, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    vsnprintf(k->detail, sizeof k->detail, format, args);
    va_end(args);
}

void check_random_action(rng *r, float *action, int n)
{
    for (int i = 0; i < n; i++) action[i] = (float)rng_between(r, -1, 1);
}

typedef int check_fn(checker *k);

/* Nothing of an earlier check is left. */
static void begin(checker *k, const char *check)
{
    k->detail[0] = 0;
    k->report(k->user, check, CHECK_BEGINS, "");
}

static void conclude(checker *k, const char *check, int rc)
{
    k->failed += rc < 0;
    k->report(k->user, check, rc < 0 ? CHECK_FAILED : CHECK_PASSED,
              rc < 0 ? fans_error() : k->detail);
}

static void run(checker *k, const char *check, check_fn *fn)
{
    begin(k, check);
    conclude(k, check, fn(k));
}

static void run_checks(checker *k)
{
    static const struct {
        const char *name;
        check_fn *run;
    } checks[] = {
        {"shapes", check_shapes},         {"names", check_names},
        {"buffers", check_buffers},       {"finite", check_finite},
        {"same seed", check_same_seed},   {"other seed", check_seeds_differ},
        {"horizon", check_horizon},       {"allocation", check_allocation},
        {"save and restore", check_save}, {"clipping", check_clipping},
    };
    for (size_t i = 0; i < sizeof checks / sizeof *checks; i++)
        run(k, checks[i].name, checks[i].run);
    for (int i = 0; i < k->still->info.factor_count; i++) {
        char name[96];
        snprintf(name, sizeof name, "factor %s", k->still->info.factors[i].name);
        begin(k, name);
        conclude(k, name, check_factor(k, i));
    }
    if (k->still->info.views > 0 && k->still->def->draw) run(k, "cameras", check_cameras);
    if (k->still->def->picture) run(k, "picture", check_picture);
    if (k->still->def->truth) run(k, "graph", check_graph);
}

/* Every factor jumps between its least, default and greatest value at random steps. */
static int add_changes(config *c, const fans_env_info *info)
{
    text ini = {0};
    for (int i = 0; i < info->factor_count; i++) {
        const fans_factor *f = &info->factors[i];
        text_add(&ini, "[change.%s]\nclock = random\nrate = 0.05\nfunction = choice\n", f->name);
        text_add(&ini, "values = %.17g, %.17g, %.17g\n", f->low, f->initial, f->high);
    }
    int rc = text_done(&ini);
    if (rc == 0 && ini.s) rc = config_add_text(c, "the checker", ini.s);
    text_free(&ini);
    return rc;
}

static int load(checker *k, task **out, const fans_env_info *changes)
{
    config *c = NULL;
    char setting[OPTION_TEXT];
    int rc = 0;
    TRY(config_new(&c));
    snprintf(setting, sizeof setting, "env.name=%s", k->name);
    TRY(config_add_setting(c, setting));
    for (int i = 0; i < k->setting_count; i++) TRY(config_add_setting(c, k->settings[i]));
    if (changes) TRY(add_changes(c, changes));
    TRY(task_load(out, c));
    TRY(config_check_taken(c));
out:
    config_free(c);
    return rc;
}

int env_check(const char *name, const char *const *settings, int count, env_check_report *report,
              void *user)
{
    checker k = {
        .name = name, .settings = settings, .setting_count = count, .report = report, .user = user};
    int rc = 0;
    begin(&k, "open");
    env_source source; /* first alone: these errors are not about a config */
    TRY(env_load(&source, name));
    env_unload(&source);
    TRY(load(&k, &k.still, NULL));
    TRY(load(&k, &k.moving, &k.still->info));
    run_checks(&k);
out:
    task_free(k.moving);
    task_free(k.still);
    return rc < 0 ? rc : k.failed;
}
