/* cmd_model.c - fans model: fits the FN-VAE to a task's data, or evaluates a fitted one. */
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "train/model_run.h"

/* ---- printing ------------------------------------------------------------------------------- */

static void score_row(table *t, const char *name, causal_score s)
{
    char cell[5][32];
    snprintf(cell[0], sizeof cell[0], "%.3f", s.precision);
    snprintf(cell[1], sizeof cell[1], "%.3f", s.recall);
    snprintf(cell[2], sizeof cell[2], "%.3f", s.f1);
    snprintf(cell[3], sizeof cell[3], "%d", s.shd);
    snprintf(cell[4], sizeof cell[4], "%d", s.hits + s.missing);
    table_row(t, name, cell[0], cell[1], cell[2], cell[3], cell[4]);
}

static void print_graph(const model_run *m, const model_eval *e, table *t)
{
    table_row(t, "mask", "precision", "recall", "F1", "SHD", "edges");
    for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
        if (model_eval_judges(m, k)) score_row(t, causal_mask_names[k], e->mask[k]);
    score_row(t, "touched", e->touched);
    score_row(t, "all", e->all);
}

static void print_beliefs(const model_run *m, const model_eval *e, table *t)
{
    table_row(t, "factor", "start", "after 10", "end", "any step", "last episode's end");
    for (int i = 0; i < e->factors; i++) {
        char cell[EVAL_TIMES][32];
        for (int k = 0; k < EVAL_TIMES; k++) snprintf(cell[k], sizeof cell[k], "%.3f", e->r2[k][i]);
        table_row(t, model_eval_factor(m, i), cell[0], cell[1], cell[2], cell[3], cell[4]);
    }
}

static int print_eval(const model_run *m, const model_eval *e)
{
    int rc = 0;
    table graph = {0}, r2 = {0};
    if (e->graph_known) {
        print_graph(m, e, &graph);
        TRY(table_print(&graph));
    }
    if (m->o.observed) goto out;
    printf("\nR² of a linear map from belief to factor, on new episodes\n");
    print_beliefs(m, e, &r2);
    TRY(table_print(&r2));
    printf("\none step ahead, normalised squared error: states %.4f (with theta at its average: "
           "%.4f), reward %.4f (%.4f)\n",
           e->error, e->error_blind, e->error_r, e->error_r_blind);
out:
    table_free(&graph);
    table_free(&r2);
    return rc;
}

/* ---- fit ------------------------------------------------------------------------------------- */

typedef struct fit {
    const char *config, *data, *out, *preset, *device, *precision, *json;
    int transitions, seed, threads, episodes, report, save, stop;
    bool resume;
    text_list settings;
    model_run m;
} fit;

/* From a file, or lived with random actions. */
static int fit_data(const fit *k, model_run *m)
{
    int rc = 0;
    if (k->data) return model_run_read(m, &m->data_rows, k->data, &m->data.transitions);
    TRY(model_run_replay(m, &m->data_rows, m->data.transitions));
    TRY(model_run_collect(m, m->data_rows, 0, m->data.transitions));
out:
    return rc;
}

/* Everything that does not differ between starts. */
static int fit_load(const fit *k, model_run *m)
{
    int rc = 0;
    TRY(model_run_load(m, k->config, k->preset, &k->settings));
    if (k->transitions > 0) m->data.transitions = k->transitions;
    if (k->seed >= 0) m->data.seed = k->seed;
    if (!k->data && m->data.transitions < m->o.window)
        TRY(fans_fail(FANS_EINVAL, "model.transitions = %d: fewer than fnvae.window = %d",
                      m->data.transitions, m->o.window));
    TRY(fit_data(k, m));
out:
    return rc;
}

static int fit_make(const fit *k, model_run *m, bool resume)
{
    nn_precision precision;
    int rc = 0;
    TRY(nn_precision_find(&precision, k->precision));
    TRY(model_run_make(m, k->device, precision, k->threads));
    if (resume) return model_run_resume(m, k->out);
    model_run_observe(m);
out:
    return rc;
}

static int fit_prepare(fit *k)
{
    int rc = 0;
    if ((k->save || k->resume) && !k->out)
        TRY(fans_fail(CLI_USAGE, "model fit: --save and --resume need --out DIR"));
    if (k->data && k->transitions > 0)
        TRY(fans_fail(CLI_USAGE, "model fit: --transitions and --data exclude each other"));
    if (k->out) TRY(model_run_may_save(k->out));
    TRY(fit_load(k, &k->m));
    if (k->m.window_lacking)
        log_warning("fnvae.window = %d spans fewer than %d segments of the slowest clock; %d steps "
                    "would do",
                    k->m.o.window, k->m.o.order + 2, k->m.window_lacking);
    if (k->report < 0) k->report = isatty(STDERR_FILENO) ? (k->m.o.updates + 19) / 20 : 0;
    if (k->resume) TRY(model_run_find_start(&k->m, k->out));
    TRY(fit_make(k, &k->m, k->resume));
out:
    return rc;
}

static void report(const fnvae *f, int update)
{
    fprintf(stderr, "%d", update);
    for (int i = 0; i < FNVAE_COST_COUNT; i++)
        fprintf(stderr, "  %s %.4f", fnvae_cost_names[i], fnvae_cost(f, i, 0));
    fprintf(stderr, "\n");
}

/* Up to an update. What update u learns from depends on the seed and on u alone: a fit can be
 * resumed. */
static int fit_learn(const fit *k, model_run *m, int until, int report_every, int save)
{
    fnvae *f = m->f;
    int rc = 0;
    replay_sync(m->data_rows);
    for (int u = (int)f->update; u < until; u++) {
        rng windows = rng_stream((uint64_t)m->data.seed, "windows", (uint32_t)u);
        fnvae_fill(f, &windows, m->pool);
        TRY(fnvae_update(f));
        if (f->update == fnvae_share(f, f->o.masks_until)) TRY(model_run_settle(m));
        if (report_every && (u + 1) % report_every == 0) report(f, u + 1);
        if (save && (u + 1) % save == 0) TRY(model_run_save(m, k->out));
    }
out:
    return rc;
}

/* What one of the networks that a fit begins with costs after so many updates. */
static int fit_try(const fit *k, model_run *m, int updates, double *nats)
{
    int rc = 0;
    TRY(fit_learn(k, m, updates, 0, 0));
    TRY(model_run_score(m, nats));
    if (isnan(*nats)) *nats = INFINITY;
    if (k->report)
        fprintf(stderr, "start %d of %d: %.4f nats a step\n", (int)m->start + 1, m->data.starts,
                *nats);
out:
    if (rc != FANS_ENUMERIC) return rc;
    *nats = INFINITY; /* another may be better */
    return 0;
}

/* A network may begin where it cannot get out: with a reward's factor that is right for one sign of
 * a state, say. What it predicts shows that early. */
static int fit_choose(fit *k, int updates)
{
    int rc = 0;
    double best, nats;
    model_run other = {0};
    TRY(fit_try(k, &k->m, updates, &best));
    for (int i = 1; i < k->m.data.starts; i++) {
        TRY(fit_load(k, &other));
        other.start = i;
        TRY(fit_make(k, &other, false));
        TRY(fit_try(k, &other, updates, &nats));
        if (nats < best) {
            model_run worse = k->m;
            k->m = other;
            other = worse;
            best = nats;
        }
        model_run_free(&other);
    }
out:
    model_run_free(&other);
    return rc;
}

static int fit_run(fit *k)
{
    const fnvae *f = k->m.f;
    int rc = 0, all = f->o.updates, stop = k->stop > 0 && k->stop < all ? k->stop : all;
    int trial = all / 4;
    if (k->m.data.starts > 1 && !k->m.o.observed && f->update < trial && trial <= stop)
        TRY(fit_choose(k, trial));
    TRY(fit_learn(k, &k->m, stop, k->report, k->save));
    if (k->m.f->update >= all) fnvae_freeze(k->m.f);
out:
    return rc;
}

/* The costs of the last update. */
static json_t *costs_json(const fnvae *f)
{
    json_t *out = json_object();
    for (int i = 0; i < FNVAE_COST_COUNT; i++)
        json_object_set_new(out, fnvae_cost_names[i], json_number(fnvae_cost(f, i, 0)));
    return out;
}

static int fit_finish(fit *k, double seconds)
{
    int rc = 0;
    model_eval e;
    if (k->out) TRY(model_run_save(&k->m, k->out));
    TRY(model_run_eval(&k->m, k->episodes, &e));
    json_t *figures = model_eval_json(&k->m, &e);
    json_object_set_new(figures, "device", json_string(nn_backend_name(k->m.backend)));
    json_object_set_new(figures, "precision", json_string(k->precision));
    json_object_set_new(figures, "seconds", json_number(seconds));
    json_object_set_new(figures, "costs", costs_json(k->m.f));
    json_object_set_new(figures, "bytes", json_integer((json_int_t)nn_graph_bytes(k->m.graph)));
    TRY(cli_write_json(k->json, figures));
    TRY(print_eval(&k->m, &e));
    printf("%d updates on %d transitions in %.1f s\n", (int)k->m.f->update, k->m.data.transitions,
           seconds);
out:
    return rc;
}

static int model_fit(int argc, char **argv)
{
    fit k = {.preset = "standard",
             .device = "cpu",
             .precision = "fp32",
             .seed = -1,
             .episodes = 1000,
             .report = -1};
    const arg args[] = {
        ARG_WORD("CONFIG", &k.config,
                 "config file with [env], [change.FACTOR] and [fnvae] sections"),
        ARG_TEXT("data", "F", &k.data, "read the data from F, a file of `fans rollout --csv`"),
        ARG_TEXT("out", "DIR", &k.out, "save the model to the folder DIR"),
        ARG_TEXT("preset", "NAME", &k.preset, "paper, standard (default) or small"),
        ARG_TEXT("device", "D", &k.device, "cpu (default), cuda, cuda:N or auto"),
        ARG_PRECISION(&k.precision),
        ARG_INT("transitions", &k.transitions, 100, 100000000, "transitions to collect (20000)"),
        ARG_INT("seed", &k.seed, 0, 2147483647, "seed of data and model (0)"),
        ARG_INT("threads", &k.threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_INT("episodes", &k.episodes, 2, 1000000,
                "new episodes to evaluate the model on (1000)"),
        ARG_INT("save", &k.save, 0, 100000000,
                "save the model every N updates; 0: only at the end (0)"),
        ARG_INT("stop", &k.stop, 0, 100000000, "stop at update N; 0: at the last (0)"),
        ARG_FLAG("resume", &k.resume, "resume the fit in --out DIR"),
        ARG_INT(
            "report", &k.report, 0, 1000000,
            "print the losses to stderr every N updates; 0: never (20 times, if it is a terminal)"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &k.settings, "override a config key"),
        ARG_PLUGIN,
        ARG_JSON(&k.json),
    };
    const char *ini;
    int rc = args_parse("model fit", ARGS(args), argc, argv);
    if (rc) return rc;
    if (fnvae_preset(k.preset, &ini) < 0) return fans_fail_within(CLI_USAGE, "model fit: --preset");
    TRY(fit_prepare(&k));
    double start = os_now();
    TRY(fit_run(&k));
    TRY(fit_finish(&k, os_now() - start));
out:
    model_run_free(&k.m);
    return rc;
}

/* ---- eval ------------------------------------------------------------------------------------ */

static int judge(int argc, char **argv)
{
    const char *folder, *device = "cpu", *json = NULL;
    int episodes = 1000, threads = 0;
    const arg args[] = {
        ARG_WORD("DIR", &folder, "folder of a fitted model"),
        ARG_TEXT("device", "D", &device, "cpu (default), cuda, cuda:N or auto"),
        ARG_INT("episodes", &episodes, 2, 1000000, "new episodes to evaluate the model on (1000)"),
        ARG_INT("threads", &threads, 0, 256, "number of threads; 0: one per core (0)"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    int rc = args_parse("model eval", ARGS(args), argc, argv);
    if (rc) return rc;
    model_run m = {0};
    model_eval e;
    TRY(model_run_open(&m, folder, device, threads));
    TRY(model_run_eval(&m, episodes, &e));
    TRY(cli_write_json(json, model_eval_json(&m, &e)));
    TRY(print_eval(&m, &e));
out:
    model_run_free(&m);
    return rc;
}

/* ---- which ----------------------------------------------------------------------------------- */

int cmd_model(int argc, char **argv)
{
    const char *what = argc > 0 ? argv[0] : NULL;
    if (what && !strcmp(what, "fit")) return model_fit(argc - 1, argv + 1);
    if (what && !strcmp(what, "eval")) return judge(argc - 1, argv + 1);
    if (what && (!strcmp(what, "--help") || !strcmp(what, "-h"))) {
        printf("usage: fans model fit CONFIG [options]   fit the FN-VAE to data of random actions\n"
               "       fans model eval DIR [options]     evaluate a fitted model on new data\n"
               "`fans help model fit` explains the options.\n");
        return 1;
    }
    if (!what) return fans_fail(CLI_USAGE, "model: fit or eval is missing; see `fans help model`");
    nearest near = {.word = what};
    nearest_offer(&near, "fit");
    nearest_offer(&near, "eval");
    const char *hint = nearest_hint(&near);
    return fans_fail(CLI_USAGE, "model: there is no '%s'%s", what,
                     *hint ? hint : "; there are fit and eval");
}
