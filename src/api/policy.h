/* policy.h - a public policy: a program (deploy/program.h) that is freed with its last user. */
#ifndef API_POLICY_H
#define API_POLICY_H

#include "api/handle.h"
#include "deploy/program.h"

struct fans_policy {
    handle handle;
    program *program;
    int horizon;
    atomic_int users; /* the caller, and its lives */
};

/* The policy of an agent as it is now. */
int policy_make(fans_policy **out, const fans_algo_def *algo, void *agent, int horizon);
void policy_leave(fans_policy *p); /* one user less */

#endif
