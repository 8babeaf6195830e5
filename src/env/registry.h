/* registry.h - finds environments: built-in ones, and the user's in shared libraries. */
#ifndef ENV_REGISTRY_H
#define ENV_REGISTRY_H

#include "fans/env.h"

/* A definition and the library that holds it (NULL for a built-in one). */
typedef struct env_source {
    const fans_env_def *def;
    void *library;
} env_source;

/* `name` is one of the list, or the path of a shared library. A definition of another ABI, or with
 * a part missing, is refused. */
int env_load(env_source *out, const char *name);
void env_unload(env_source *source);

/* The i-th built-in environment; NULL after the last. */
const fans_env_def *env_builtin(int i);

/* Worlds of another program. Found by its name, but listed nowhere: it has no world to show. */
extern const fans_env_def env_own;

#endif
