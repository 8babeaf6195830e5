/* cmd_work.c - fans work: trains a share of a plan. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/worker.h"

/* ---- which share ----------------------------------------------------------------------------- */

typedef struct shard {
    int k, n;
} shard;

/* Where launchers say which of how many a process is. `first` and `step`, where set, say how they
 * count. */
static const struct {
    const char *rank, *count, *first, *step;
} launchers[] = {
    {"SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT", "SLURM_ARRAY_TASK_MIN",
     "SLURM_ARRAY_TASK_STEP"},
    {"SLURM_PROCID", "SLURM_NTASKS", NULL, NULL},
    {"OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE", NULL, NULL},
    {"PMI_RANK", "PMI_SIZE", NULL, NULL},
    {"JOB_COMPLETION_INDEX", NULL, NULL, NULL},
};

static const char *variable(const char *name)
{
    const char *s = name ? getenv(name) : NULL;
    return s && *s ? s : NULL;
}

static int whole(const char *s, int other)
{
    char *end;
    if (!s) return other;
    long n = strtol(s, &end, 10);
    return *end || n < 0 || n > 1000000000 ? -1 : (int)n;
}

/* A shard from the environment; `n` is the number of shards if the user gave it, or 0. */
static int find_rank(int n, shard *out)
{
    for (size_t i = 0; i < sizeof launchers / sizeof *launchers; i++) {
        if (!variable(launchers[i].rank)) continue;
        int rank = whole(variable(launchers[i].rank), 0);
        int first = whole(variable(launchers[i].first), 0);
        int step = whole(variable(launchers[i].step), 1);
        if (n == 0 && !variable(launchers[i].count))
            return fans_fail(CLI_USAGE, "work: --shard auto: %s says no number; give auto/N",
                             launchers[i].rank);
        *out = (shard){step > 0 ? (rank - first) / step : -1,
                       n > 0 ? n : whole(variable(launchers[i].count), 0)};
        if (rank >= 0 && first >= 0 && out->k >= 0 && out->k < out->n) return 0;
        return fans_fail(CLI_USAGE, "work: --shard auto: %s=%s is not one of %d from %d on",
                         launchers[i].rank, variable(launchers[i].rank), out->n, first);
    }
    return fans_fail(CLI_USAGE, "work: --shard auto: no variable of Slurm, MPI or Kubernetes is "
                                "set; give K/N");
}

/* The whole number at *s, past which *s moves; -1 where none stands. */
static int number_at(const char **s)
{
    if (**s < '0' || **s > '9') return -1;
    char *end;
    long x = strtol(*s, &end, 10);
    *s = end;
    return x <= INT_MAX ? (int)x : -1;
}

static int read_shard(const char *s, shard *out)
{
    const char *at = s;
    bool automatic = !strncmp(s, "auto", 4);
    if (!strcmp(s, "auto")) return find_rank(0, out);
    int k = automatic ? 0 : number_at(&at);
    if (automatic) at += 4;
    int n = *at++ == '/' ? number_at(&at) : -1;
    if (k < 0 || k >= n || *at)
        return fans_fail(CLI_USAGE,
                         "work: --shard %s: must be K/N with K from 0 to N - 1, auto or auto/N", s);
    if (automatic) return find_rank(n, out);
    *out = (shard){k, n};
    return 0;
}

/* ---- the command ----------------------------------------------------------------------------- */

int cmd_work(int argc, char **argv)
{
    const char *path, *share = "0/1", *limit = NULL, *json = NULL;
    int together = 64;
    bool quiet = false;
    worker w = {.how = SESSION_WISH};
    shard s = {0, 1};
    double seconds = 0;
    const arg args[] = {
        ARG_WORD("PLAN", &path, "the plan, as written by `fans sweep`"),
        ARG_TEXT("shard", "K/N", &share,
                 "train part K, from 0, of N (0/1: all); auto: as Slurm, MPI or Kubernetes say"),
        ARG_TEXT("for", "TIME", &limit, "stop after this time, such as 3:50:00, with a checkpoint"),
        ARG_INT("together", &together, 1, 4096, "runs to train side by side, at most (64)"),
        ARG_TEXT("device", "D", &w.how.device,
                 "auto (default: a GPU where there is one), cpu, cuda or cuda:N"),
        ARG_PRECISION(&w.how.precision),
        ARG_INT("threads", &w.how.threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_FLAG("quiet", &quiet, "print no progress"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    text command = {0};
    double started = os_now();
    int rc = args_parse("work", ARGS(args), argc, argv);
    if (rc || (rc = read_shard(share, &s)) < 0) return rc;
    if (limit && (rc = read_time("work: --for", limit, &seconds)) < 0) return rc;
    watch eye = {.terminal = on_terminal(), .quiet = quiet, .until = limit ? started + seconds : 0};
    watch_signals(&eye);
    TRY(join_command("work", argc, argv, &command));
    w.how.command = command.s;
    TRY(run_plan_read(&w.plan, path));
    TRY(worker_open(&w, s.k, s.n));
    TRY(worker_train(&w, &eye, together));
    TRY(cli_write_json(json, worker_figures(&w)));
    rc = worker_sum_up(&w, &eye);
out:
    worker_close(&w);
    text_free(&command);
    return rc;
}
