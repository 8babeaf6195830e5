/* pool.h - a fixed set of threads that share out the items of one job at a time. */
#ifndef BASE_POOL_H
#define BASE_POOL_H

typedef struct pool pool;

/* `threads` counts the caller; 0 means one per core that this process may use. */
int pool_new(pool **out, int threads);
void pool_free(pool *p);
int pool_threads(const pool *p);

/* Runs fn(arg, 0) .. fn(arg, items - 1), in any order and on any thread, and returns when all are
 * done. Items must not depend on each other, nor call pool_run. What is computed must not depend on
 * the number of threads: split the work by its shape alone. */
typedef void pool_fn(void *arg, int item);
void pool_run(pool *p, int items, pool_fn *fn, void *arg);

#endif
