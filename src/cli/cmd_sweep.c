/* cmd_sweep.c - fans sweep: a plan of many runs, and a script that trains it on many machines. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/engine.h"
#include "train/run.h"
#include "train/run_plan.h"
#include "train/sections.h"

int cmd_sweep(int argc, char **argv)
{
    plan_wish w = PLAN_WISH;
    const char *path = "plan.csv", *emit = NULL;
    const engine *script = NULL;
    int per = 10;
    const arg args[] = {
        ARG_WORDS("CONFIG", &w.configs, "config file: the task and any other settings"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &w.settings, "override a config key"),
        ARG_MANY("grid", "SECTION.KEY=V,V...", &w.grid,
                 "train with each of these values; several grids multiply"),
        ARG_TEXT("algo", "A[,B...]", &w.algos,
                 "algorithms, see `fans list algos` (train.algo: sac)"),
        ARG_TEXT("preset", "P", &w.preset, "paper, standard (default), small, classic or pixels"),
        ARG_INT("seed", &w.seed, 0, 2147483647, "first seed (0)"),
        ARG_INT("seeds", &w.seeds, 1, 100000, "number of seeds (1)"),
        ARG_INT("steps", &w.steps, 1, 2000000000,
                "steps per run, in whole episodes (train.episodes × horizon)"),
        ARG_TEXT("out", "DIR", &w.out, "folder of the runs (runs)"),
        ARG_TEXT("plan", "F", &path, "the plan to write (plan.csv)"),
        ARG_TEXT("emit", "E", &emit,
                 "write a script beside it, for slurm, mpi, parallel, make or kubernetes"),
        ARG_INT("per", &per, 1, 100000, "runs per job of the script (10)"),
        ARG_PLUGIN,
    };
    char file[RUN_PATH] = "";
    run_plan p = {0};
    int rc = args_parse("sweep", ARGS(args), argc, argv);
    if (rc) return rc;
    if (emit && (rc = engine_find("sweep", emit, &script)) < 0) return rc;
    if (preset_check(w.preset) < 0) return fans_fail_within(CLI_USAGE, "sweep: --preset");
    TRY(run_plan_make(&p, &w));
    TRY(run_plan_write(&p, path));
    if (script) TRY(engine_write(script, path, p.count, per, file));
    printf("%s: %d run%s\n", path, p.count, plural(p.count));
    if (script) printf("%s: %d jobs\n", file, (p.count + per - 1) / per);
    if (!script) printf("next: fans work %s --shard 0/1, or K/N in N processes\n", path);
out:
    run_plan_free(&p);
    return rc;
}
