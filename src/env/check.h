/* check.h - tests an environment against the contract of fans/env.h, as `fans check` does.
 *
 * It finds faults that would harm a learner silently: randomness from elsewhere than the given
 * stream, state that a save forgets, a factor that changes nothing or leaves a trace when it is set
 * back. It sees every allocation through base/mem while stepping; of others, only leaks. */
#ifndef ENV_CHECK_H
#define ENV_CHECK_H

typedef enum { CHECK_BEGINS, CHECK_PASSED, CHECK_FAILED } check_event;

/* Called when a check begins (the first, "open", only begins) and when it ends; `detail` then says
 * what was seen, or what is wrong. */
typedef void env_check_report(void *user, const char *check, check_event event, const char *detail);

/* Checks the environment `name` (or the library at that path) with its [env] options changed by
 * `settings`, written section.key=value. Returns the number of failed checks, or an error where
 * there is nothing to check. */
int env_check(const char *name, const char *const *settings, int count, env_check_report *report,
              void *user);

#endif
