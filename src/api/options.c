/* options.c - every option of a config file, as text. */
#include <stdio.h>

#include "api/handle.h"
#include "base/error.h"
#include "train/sections.h"

int fans_abi(void)
{
    return FANS_ABI;
}

/* Option i of all sections; NULL after the last. */
static const option *find_option(int i, const option_group **group)
{
    for (int k = 0; i >= 0 && (*group = section_at(k)); k++) {
        if ((size_t)i < (*group)->count) return &(*group)->options[i];
        i -= (int)(*group)->count;
    }
    return NULL;
}

/* The texts of this thread's last answer. */
static _Thread_local struct {
    char key[128], initial[OPTION_TEXT], range[512];
} said;

static int say(char *to, size_t size, const option *o, void print(const option *, text *))
{
    text t = {0};
    print(o, &t);
    int rc = text_done(&t);
    if (rc == 0) snprintf(to, size, "%s", t.s ? t.s : "");
    text_free(&t);
    return rc;
}

int fans_option_at(int i, fans_option_info *out)
{
    const option_group *group = NULL;
    int rc = 0;
    TRY(CHECK_SIZE(out, UP_TO(fans_option_info, help)));
    const option *o = find_option(i, &group);
    if (!o) return fans_fail(FANS_EINVAL, "fans_option_at: there is no option %d", i);
    snprintf(said.key, sizeof said.key, "%s.%s", group->section, o->name);
    TRY(say(said.initial, sizeof said.initial, o, option_print_initial));
    TRY(say(said.range, sizeof said.range, o, option_print_range));
    fans_option_info all = {0, said.key, option_kind(o), said.initial, said.range, o->help};
    copy_known(out, &all, sizeof all);
out:
    return rc;
}
