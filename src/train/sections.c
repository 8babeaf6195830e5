/* sections.c - the sections of a config file. */
#include "train/sections.h"

#include "algo/fans.h"
#include "algo/oracle.h"
#include "base/error.h"
#include "env/task.h"
#include "learn/learner.h"
#include "train/model_run.h"
#include "train/train.h"

typedef const option_group *option_group_fn(void);
static option_group_fn *const groups[] = {
#define X(function) function,
#include "train/option_groups.h"
#undef X
};
enum { GROUPS = sizeof groups / sizeof *groups };

const option_group *section_at(int i)
{
    return i < GROUPS ? groups[i]() : NULL;
}

int sections_skip(config *c)
{
    int rc = 0;
    for (int i = 0; i < GROUPS; i++) TRY(config_skip(c, groups[i]()->section));
out:
    return rc;
}
