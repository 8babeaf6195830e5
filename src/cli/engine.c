/* engine.c - the scripts: each runs `fans work` on shards of a plan. */
#include "cli/engine.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/os.h"
#include "cli/cli.h"
#include "cli/watch.h"

/* What a script is made of. */
typedef struct job {
    text plan, here; /* quoted for a shell, with a space before */
    int runs, shards;
} job;

/* A job that Slurm ends sends TERM to the script: it passes it on, waits, and requeues what is
 * left. */
static void emit_slurm(const job *j, text *out)
{
    text_add(out,
             "#!/bin/bash\n"
             "# sbatch this; add your partition, time and memory to these lines\n"
             "#SBATCH --job-name=fans\n"
             "#SBATCH --array=0-%d\n"
             "#SBATCH --signal=B:TERM@120\n"
             "#SBATCH --requeue\n"
             "#SBATCH --open-mode=append\n"
             "cd%s || exit 1\n"
             "fans work%s --shard \"$SLURM_ARRAY_TASK_ID/%d\" &\n"
             "trap 'kill -TERM $!' TERM\n"
             "wait $!\n"
             "status=$?\n"
             "if [ $status -gt 128 ]; then # the trap ended the first wait\n"
             "    wait $!\n"
             "    status=$?\n"
             "fi\n"
             "if [ $status = 75 ]; then\n"
             "    scontrol requeue \"${SLURM_ARRAY_JOB_ID}_$SLURM_ARRAY_TASK_ID\"\n"
             "fi\n"
             "exit $status\n",
             j->shards - 1, j->here.s, j->plan.s, j->shards);
}

static void emit_mpi(const job *j, text *out)
{
    text_add(out,
             "#!/bin/sh\n"
             "# a rank a shard; run it again until it exits with 0\n"
             "cd%s || exit 1\n"
             "exec mpirun -n %d fans work%s --shard auto\n",
             j->here.s, j->shards, j->plan.s);
}

static void emit_parallel(const job *j, text *out)
{
    text_add(out,
             "#!/bin/sh\n"
             "# GNU parallel; its options, such as -j 4 or --sshlogin, may follow\n"
             "cd%s || exit 1\n"
             "seq 0 %d | exec parallel \"$@\" fans work%s --quiet --shard {}/%d\n",
             j->here.s, j->shards - 1, j->plan.s, j->shards);
}

static void emit_make(const job *j, text *out)
{
    text_add(out,
             "# make -k -j 4 -f this; run it again until nothing is left\n"
             "SHARDS := $(shell seq 0 %d)\n"
             ".PHONY: all $(SHARDS)\n"
             "all: $(SHARDS)\n"
             "$(SHARDS):\n"
             "\tcd%s && fans work%s --quiet --shard $@/%d\n",
             j->shards - 1, j->here.s, j->plan.s, j->shards);
}

/* The plan, the configs and the runs lie on a volume that all pods mount. */
static void emit_kubernetes(const job *j, text *out)
{
    text_add(out,
             "# set image and claim; configs, plan and runs lie on the volume\n"
             "apiVersion: batch/v1\n"
             "kind: Job\n"
             "metadata:\n"
             "  name: fans\n"
             "spec:\n"
             "  completionMode: Indexed\n"
             "  completions: %d\n"
             "  parallelism: %d\n"
             "  backoffLimitPerIndex: 20\n"
             "  template:\n"
             "    spec:\n"
             "      restartPolicy: Never\n"
             "      terminationGracePeriodSeconds: 120\n"
             "      containers:\n"
             "        - name: work\n"
             "          image: fans\n"
             "          workingDir: /data\n"
             "          command: [\"sh\", \"-c\", \"exec fans work%s --shard auto/%d\"]\n"
             "          volumeMounts: [{name: data, mountPath: /data}]\n"
             "      volumes:\n"
             "        - name: data\n"
             "          persistentVolumeClaim: {claimName: fans}\n",
             j->shards, j->shards, j->plan.s, j->shards);
}

struct engine {
    const char *name, *ending;
    void (*write)(const job *j, text *out);
};

static const engine engines[] = {
    {"slurm", ".slurm", emit_slurm},          {"mpi", ".mpi.sh", emit_mpi},
    {"parallel", ".sh", emit_parallel},       {"make", ".mk", emit_make},
    {"kubernetes", ".yaml", emit_kubernetes},
};

int engine_find(const char *command, const char *name, const engine **out)
{
    nearest near = {.word = name};
    for (size_t i = 0; i < sizeof engines / sizeof *engines; i++) {
        *out = &engines[i];
        if (!strcmp(name, (*out)->name)) return 0;
        nearest_offer(&near, (*out)->name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(CLI_USAGE, "%s: --emit: there is no engine '%s'%s", command, name,
                     *hint ? hint : "; choose slurm, mpi, parallel, make or kubernetes");
}

/* PLAN.csv gets PLAN.ENDING beside it. */
static int script_path(const char *plan, const char *ending, char *out)
{
    size_t n = strlen(plan);
    if (n > 4 && !strcmp(plan + n - 4, ".csv")) n -= 4;
    if (snprintf(out, RUN_PATH, "%.*s%s", (int)n, plan, ending) >= RUN_PATH)
        return fans_fail(FANS_EIO, "%s: the path is too long", plan);
    return 0;
}

int engine_write(const engine *e, const char *path, int runs, int per, char *file)
{
    char here[RUN_PATH];
    job j = {.runs = runs, .shards = (runs + per - 1) / per};
    text script = {0};
    int rc = 0;
    if (!getcwd(here, sizeof here)) return fans_fail(FANS_EIO, "cannot tell the current folder");
    add_word(&j.plan, path);
    add_word(&j.here, here);
    TRY(text_done(&j.plan));
    TRY(text_done(&j.here));
    e->write(&j, &script);
    TRY(text_done(&script));
    TRY(script_path(path, e->ending, file));
    TRY(os_write_file(file, script.s, script.length));
    chmod(file, 0755); /* sh runs it without this, too */
out:
    text_free(&j.plan);
    text_free(&j.here);
    text_free(&script);
    return rc;
}
