/* cmd_train.c - fans train: trains algorithms on tasks, or resumes runs. */
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "train/sections.h"

/* One result.json for several runs, in `folder`. */
static int write_results(const session *s, const char *folder, int first, int count)
{
    char path[RUN_PATH + 16];
    json_t *all = json_array();
    for (int i = first; i < first + count; i++) {
        json_array_append_new(all, session_result(s, &s->runs[i]));
    }
    json_t *file = json_pack("{s:o}", "runs", all);
    snprintf(path, sizeof path, "%s/result.json", folder);
    int rc = json_write_file(path, file);
    json_decref(file);
    return rc;
}

static int gather_results(const session *s, const char *out)
{
    int rc = 0;
    for (int e = 0; e < s->entry_count; e++)
        if (s->entries[e].count > 1)
            TRY(write_results(s, s->entries[e].folder, s->entries[e].first, s->entries[e].count));
    if (s->entry_count > 1) TRY(write_results(s, out ? out : "runs", 0, s->run_count));
out:
    return rc;
}

static int report_json(const session *s, const char *json)
{
    json_t *all = json_array();
    for (int i = 0; i < s->run_count; i++) {
        const session_run *r = &s->runs[i];
        double final = session_final(s, r);
        json_t *number = json_number(final);
        json_array_append_new(all,
                              json_pack("{s:s, s:o}", "run", r->folder, "final_return", number));
    }
    return cli_write_json(json, json_pack("{s:o}", "runs", all));
}

/* With one entry, every run; with several, the mean and standard deviation of each. */
static int report(const session *s, const char *json)
{
    int rc = report_json(s, json);
    if (rc < 0) return rc;
    for (int i = 0; s->entry_count == 1 && i < s->run_count; i++) {
        int recent = session_recent(s, &s->runs[i]);
        if (!*s->runs[i].fault)
            printf("%s: return %.2f over the last %d episode%s\n", s->runs[i].folder,
                   session_final(s, &s->runs[i]), recent, plural(recent));
    }
    for (int e = 0; s->run_count > 1 && e < s->entry_count; e++) {
        spread x = spread_of(s, e);
        printf("%s: return %.2f", s->entries[e].folder, x.mean);
        if (s->entries[e].count > 1) printf(" ± %.2f over %d seeds", x.sd, x.count);
        printf("\n");
    }
    return 0;
}

/* Mistakes of the command line that show without any config. */
static int check_algos(const char *list)
{
    const fans_algo_def *found;
    char name[OPTION_TEXT];
    for (; list && *list; list += strcspn(list, ",") + (strchr(list, ',') != NULL)) {
        int n = (int)strcspn(list, ",");
        if (n >= OPTION_TEXT)
            return fans_fail(CLI_USAGE, "train: --algo: %.*s: longer than %d characters", n, list,
                             OPTION_TEXT - 1);
        snprintf(name, sizeof name, "%.*s", n, list);
        int rc = algo_find(&found, name);
        if (rc < 0) return fans_fail_within(CLI_USAGE, "train: --algo");
    }
    return 0;
}

static int check_wish(const plan_wish *w)
{
    int rc = check_algos(w->algos);
    if (rc < 0) return rc;
    if (preset_check(w->preset) < 0) return fans_fail_within(CLI_USAGE, "train: --preset");
    if (w->seed > INT_MAX - w->seeds + 1)
        return fans_fail(CLI_USAGE, "train: --seed %d --seeds %d: seeds end at %d", w->seed,
                         w->seeds, INT_MAX);
    return 0;
}

int cmd_train(int argc, char **argv)
{
    plan_wish w = PLAN_WISH;
    session_wish how = SESSION_WISH;
    const char *json = NULL;
    bool quiet = false;
    const arg args[] = {
        ARG_WORDS("CONFIG", &w.configs,
                  "config file: the task and any other settings; several train together"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &w.settings, "override a config key"),
        ARG_TEXT("algo", "A[,B...]", &w.algos,
                 "algorithms, see `fans list algos` (train.algo: sac)"),
        ARG_TEXT("preset", "P", &w.preset, "paper, standard (default), small, classic or pixels"),
        ARG_INT("seed", &w.seed, 0, 2147483647, "seed of the first run (0)"),
        ARG_INT("seeds", &w.seeds, 1, 1024, "number of seeds to train at once (1)"),
        ARG_TEXT("out", "DIR", &w.out,
                 "folder of the seed-N folders (runs/CONFIG-ALGO); with several configs or "
                 "algorithms, of their CONFIG-ALGO folders (runs)"),
        ARG_INT("steps", &w.steps, 1, 2000000000,
                "steps per run, in whole episodes (train.episodes × horizon)"),
        ARG_TEXT("device", "D", &how.device,
                 "auto (default: a GPU where there is one), cpu, cuda or cuda:N"),
        ARG_PRECISION(&how.precision),
        ARG_INT("threads", &how.threads, 0, 256,
                "number of threads; 0: one per core, or one where networks are small (0)"),
        ARG_FLAG("quiet", &quiet, "print no progress"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    text command = {0};
    run_plan planned = {0};
    session s = {0};
    int rc = args_parse("train", ARGS(args), argc, argv);
    if (rc || (rc = check_wish(&w)) < 0) return rc;
    TRY(join_command("train", argc, argv, &command));
    TRY(run_plan_make(&planned, &w));
    how.command = command.s;
    how.runs = planned.runs;
    how.count = planned.count;
    watch eye = {.terminal = on_terminal(), .quiet = quiet};
    watch_signals(&eye);
    TRY(session_open(&s, &how));
    rc = watch_train(&eye, &s);
    if (rc == 0) {
        TRY(gather_results(&s, w.out));
        TRY(report(&s, json));
        TRY(tell_faults(&s));
    }
out:
    session_close(&s);
    run_plan_free(&planned);
    text_free(&command);
    return rc;
}
