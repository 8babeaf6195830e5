/* registry.h - finds an algorithm by its name, or in a shared library. */
#ifndef ALGO_REGISTRY_H
#define ALGO_REGISTRY_H

#include "fans/algo.h"

#define X(name) extern const fans_algo_def algo_##name;
#include "algo/list.h"
#undef X

/* Raise it with every change after which the same config and seed give other numbers; a changed
 * default is one. Runs of different revisions are different runs, which neither resume nor count as
 * each other. */
enum { AGENT_REVISION = 1 };

/* By name, or by the path of a library, which stays loaded. */
int algo_find(const fans_algo_def **out, const char *name);

/* All known algorithms: the built-in ones, then the loaded ones. */
int algo_count(void);
const fans_algo_def *algo_at(int i);

/* "nothing", "boundaries", "labels", "truth" */
const char *algo_told(const fans_algo_def *a);
const char *algo_told_of(const char *name); /* "–" where it is not known; loads nothing */

/* What an algorithm is told where train.told (`tells` begins with its word) tells less:
 * "boundaries" become "episodes" or "nothing". */
const char *algo_told_in(const char *told, const char *tells);

#endif
