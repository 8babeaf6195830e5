/* registry.h - finds an algorithm by its name, or in a shared library. */
#ifndef ALGO_REGISTRY_H
#define ALGO_REGISTRY_H

#include "fans/algo.h"

#define X(name) extern const fans_algo_def algo_##name;
#include "algo/list.h"
#undef X

/* By name, or by the path of a library, which stays loaded. */
int algo_find(const fans_algo_def **out, const char *name);

/* All known algorithms: the built-in ones, then the loaded ones. */
int algo_count(void);
const fans_algo_def *algo_at(int i);

/* "nothing", "boundaries", "labels", "truth" */
const char *algo_told(const fans_algo_def *a);

#endif
