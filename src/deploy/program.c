/* program.c - makes programs and runs them. */
#include "deploy/program.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "deploy/code.h"
#include "learn/agent.h"
#include "train/session.h"

/* ---- making and freeing ---------------------------------------------------------------------- */

int program_new(program **out, const fans_algo_def *algo, void *agent_, int replica,
                program_options o)
{
    const tick *t;
    int rc = 0;
    if (algo->act != agent_act)
        return fans_fail(FANS_ENOSUP, "%s cannot be exported: it is no agent with a policy",
                         algo->name);
    program *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    snprintf(p->algo, sizeof p->algo, "%s", algo->name);
    TRY(agent_tick(agent_, &t));
    TRY(lower_tick(p, t, replica, o));
    place_values(p);
    *out = p;
    return 0;
out:
    program_free(p);
    return fans_fail_within(rc, "%s cannot be exported", algo->name);
}

int program_load(program **out, const char *folder, program_options o)
{
    session s = {0};
    int rc = session_look(&s, folder, &(text_list){0}, 1);
    if (rc == 0) rc = program_new(out, s.entries[0].algo, training_agent(s.trainings[0]), 0, o);
    session_close(&s);
    return rc;
}

void program_free(program *p)
{
    if (!p) return;
    mem_free(p->values);
    mem_free(p->ops);
    mem_free(p->numbers);
    mem_free(p->matrices);
    mem_free(p);
}

const program_shape *program_shape_of(const program *p)
{
    return &p->shape;
}
