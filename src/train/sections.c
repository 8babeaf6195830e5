/* sections.c - the sections of a config file, and the presets of the algorithms. */
#include "train/sections.h"

#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "env/task.h"
#include "train/model_run.h"
#include "train/train.h"

/* ---- sections -------------------------------------------------------------------------------- */

static fans_option_group_fn *const own[] = {env_option_group, change_option_group,
                                            model_option_group, train_option_group};
enum { OWN = sizeof own / sizeof *own };

/* Group k of algorithm i, or NULL. */
static fans_option_group_fn *group_of(int i, int k)
{
    return algo_at(i)->groups ? algo_at(i)->groups[k] : NULL;
}

/* Algorithms share sections: each section counts where it comes first. */
static bool came_before(int i, int k)
{
    for (int a = 0; a <= i; a++)
        for (int b = 0; group_of(a, b) && (a < i || b < k); b++)
            if (!strcmp(group_of(a, b)()->section, group_of(i, k)()->section)) return true;
    return false;
}

const option_group *section_at(int at)
{
    if (at < OWN) return own[at]();
    at -= OWN;
    for (int i = 0; i < algo_count(); i++)
        for (int k = 0; group_of(i, k); k++)
            if (!came_before(i, k) && at-- == 0) return group_of(i, k)();
    return NULL;
}

int sections_skip(config *c)
{
    int rc = 0;
    for (int i = 0; section_at(i); i++) TRY(config_skip(c, section_at(i)->section));
out:
    return rc;
}

/* ---- presets --------------------------------------------------------------------------------- */

int preset_check(const char *name)
{
    nearest near = {.word = name};
    for (int i = 0; i < algo_count(); i++)
        for (const fans_preset *p = algo_at(i)->presets; p && p->name; p++) {
            if (!strcmp(p->name, name)) return 0;
            nearest_offer(&near, p->name);
        }
    const char *hint = nearest_hint(&near);
    return fans_fail(FANS_EINVAL, "there is no preset '%s'%s", name,
                     *hint ? hint : "; choose paper, standard, small, classic or pixels");
}

int preset_add(config *c, const char *name)
{
    int rc = preset_check(name);
    for (int i = 0; rc == 0 && i < algo_count(); i++)
        for (const fans_preset *p = algo_at(i)->presets; rc == 0 && p && p->name; p++)
            if (!strcmp(p->name, name)) rc = config_add_text(c, "preset", p->ini);
    return rc;
}
