/* registry.h - finding an algorithm by its name. */
#ifndef ALGO_REGISTRY_H
#define ALGO_REGISTRY_H

#include "fans/algo.h"

#define X(name) extern const fans_algo_def algo_##name;
#include "algo/list.h"
#undef X

int algo_find(const fans_algo_def **out, const char *name);
int algo_count(void);
const fans_algo_def *algo_at(int i);

#endif
