/* registry.c - the list of algorithms. */
#include "algo/registry.h"

#include <string.h>

#include "base/error.h"
#include "base/text.h"

#define X(name) &algo_##name,
static const fans_algo_def *const all[] = {
#include "algo/list.h"
};
#undef X

int algo_count(void)
{
    return sizeof all / sizeof *all;
}

const fans_algo_def *algo_at(int i)
{
    return all[i];
}

int algo_find(const fans_algo_def **out, const char *name)
{
    nearest near = {.word = name};
    for (int i = 0; i < algo_count(); i++) {
        if (!strcmp(all[i]->name, name)) {
            *out = all[i];
            return 0;
        }
        nearest_offer(&near, all[i]->name);
    }
    return fans_fail(FANS_EINVAL, "there is no algorithm '%s'%s (see `fans list algos`)", name,
                     nearest_hint(&near));
}
