/* policy.c - what was learned, for acting. */
#include "api/policy.h"

#include "base/error.h"
#include "base/mem.h"
#include "train/session.h"

int policy_make(fans_policy **out, const fans_algo_def *algo, void *agent, int horizon)
{
    int rc = 0;
    fans_policy *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    p->horizon = horizon;
    atomic_init(&p->users, 1);
    TRY(handle_begin(&p->handle, HANDLE_POLICY));
    TRY(program_new(&p->program, algo, agent, 0, (program_options){.sampling = true}));
    if (program_shape_of(p->program)->in[TICK_factors].width)
        TRY(fans_fail(FANS_ENOSUP, "%s must be told the true factors, which no life is",
                      algo->name));
    *out = p;
    return 0;
out:
    policy_leave(p);
    return rc;
}

void policy_leave(fans_policy *p)
{
    if (!p || atomic_fetch_sub(&p->users, 1) > 1) return;
    program_free(p->program);
    mem_free(p);
}

static void describe(const fans_policy *p, fans_shape *out)
{
    const program_shape *z = program_shape_of(p->program);
    fans_shape all = {.obs = z->in[TICK_obs].width,
                      .act = z->out[TICK_actions].width,
                      .theta = z->out[TICK_belief].width / 2,
                      .horizon = p->horizon};
    copy_known(out, &all, sizeof all);
}

int fans_policy_open(fans_policy **out, const char *folder, fans_shape *shape)
{
    session s = {0};
    int rc = 0;
    TRY(CHECK_POINTER(out));
    TRY(CHECK_POINTER(folder));
    if (shape) TRY(CHECK_SIZE(shape, UP_TO(fans_shape, horizon)));
    TRY(session_look(&s, folder, &(text_list){0}, 1));
    TRY(policy_make(out, s.entries[0].algo, training_agent(s.trainings[0]),
                    s.sources[0].task->info.horizon));
    if (shape) describe(*out, shape);
out:
    session_close(&s);
    return rc;
}

int fans_policy_shape(const fans_policy *p, fans_shape *out)
{
    int rc = 0;
    TRY(CHECK(p, HANDLE_POLICY));
    TRY(CHECK_SIZE(out, UP_TO(fans_shape, horizon)));
    describe(p, out);
out:
    return rc;
}

void fans_policy_free(fans_policy *p)
{
    if (handle_end(p, HANDLE_POLICY)) policy_leave(p);
}
