/* engine.h - what trains a plan on many machines: Slurm, MPI, GNU parallel, make, Kubernetes. FANS
 * links none of them; it writes their scripts. */
#ifndef CLI_ENGINE_H
#define CLI_ENGINE_H

typedef struct engine engine;

/* By name; `command` is whose --emit names it. */
int engine_find(const char *command, const char *name, const engine **out);

/* Writes the script that trains `runs` lines of the plan, `per` to a job, beside it; file[RUN_PATH]
 * is its path. */
int engine_write(const engine *e, const char *plan, int runs, int per, char *file);

#endif
