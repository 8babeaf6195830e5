/* cmd_eval.c - fans eval: evaluates a trained agent in new lifetimes, without learning. */
#include <math.h>
#include <stdio.h>

#include "base/mem.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "train/session.h"

int cmd_eval(int argc, char **argv)
{
    const char *folder, *json = NULL;
    int episodes = 100, seed = 1000000, threads = 0;
    text_list settings = {0};
    const arg args[] = {
        ARG_WORD("RUN", &folder, "folder of a trained run"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &settings,
                 "override a key of the task: env.KEY or change.FACTOR.KEY"),
        ARG_INT("episodes", &episodes, 1, 1000000, "number of episodes (100)"),
        ARG_INT("seed", &seed, 0, 2147483647, "seed of the new lifetime (1000000)"),
        ARG_INT("threads", &threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    session s = {0};
    double *returns = NULL, mean = 0, square = 0;
    int rc = args_parse("eval", ARGS(args), argc, argv);
    if (rc) return rc;
    TRY(session_look(&s, folder, &settings, threads));
    TRY((returns = mem_alloc((size_t)episodes * sizeof *returns)) ? 0 : FANS_ENOMEM);
    TRY(training_eval(s.trainings[0], episodes, (uint64_t)seed, returns));
    json_t *list = json_array();
    for (int i = 0; i < episodes; i++) {
        mean += returns[i] / episodes;
        json_array_append_new(list, json_number(returns[i]));
    }
    for (int i = 0; i < episodes; i++) square += (returns[i] - mean) * (returns[i] - mean);
    double sd = episodes > 1 ? sqrt(square / (episodes - 1)) : 0;
    TRY(cli_write_json(json, json_pack("{s:o, s:o, s:o}", "mean_return", json_number(mean), "sd",
                                       json_number(sd), "returns", list)));
    printf("%s: return %.2f", folder, mean);
    if (episodes > 1) printf(" ± %.2f", sd);
    printf(" over %d episode%s\n", episodes, plural(episodes));
out:
    mem_free(returns);
    session_close(&s);
    return rc;
}
