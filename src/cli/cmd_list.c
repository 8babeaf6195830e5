/* cmd_list.c - fans list: the registries, one table each; as text, JSON or Markdown (docs/reference
 * is made of the last). */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/mem.h"
#include "base/options.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/task.h"
#include "nn/nn.h"
#include "train/sections.h"

/* ---- envs: environments, their observations, factors and options ----------------------------- */

static int load_env(task **out, const char *name)
{
    config *c = NULL;
    env_source source;
    char setting[OPTION_TEXT + 16];
    int rc = env_load(&source, name);
    if (rc == FANS_EINVAL) {
        fans_fail_within(rc, "list");
        return CLI_USAGE;
    }
    if (rc < 0) return rc;
    env_unload(&source);
    snprintf(setting, sizeof setting, "env.name=%s", name);
    rc = config_new(&c);
    if (rc == 0) rc = config_add_setting(c, setting);
    if (rc == 0) rc = task_load(out, c);
    config_free(c);
    return rc;
}

static json_t *list_factor(const fans_factor *f, table *out)
{
    const char *kind = f->kind == FANS_DYNAMICS ? "dynamics" : "reward";
    char name[64], line[256];
    snprintf(name, sizeof name, "  %s", f->name);
    snprintf(line, sizeof line, "factor of the %s, %g to %g (%g): %s", kind, f->low, f->high,
             f->initial, f->help);
    table_row(out, name, "", "", "", line);
    return json_pack("{ss ss sf sf sf ss}", "name", f->name, "kind", kind, "low", f->low, "high",
                     f->high, "initial", f->initial, "help", f->help);
}

static json_t *list_env_option(const fans_env_option *o, table *out)
{
    char name[64], line[256];
    snprintf(name, sizeof name, "  %s", o->name);
    snprintf(line, sizeof line, "option, %g to %g (%g): %s", o->low, o->high, o->initial, o->help);
    table_row(out, name, "", "", "", line);
    return json_pack("{ss sf sf sf ss}", "name", o->name, "low", o->low, "high", o->high, "initial",
                     o->initial, "help", o->help);
}

/* Names, as many to a line as fit. */
static json_t *list_names(const char *head, const char *const *names, int n, table *out)
{
    enum { WIDTH = 72 };
    json_t *list = json_array();
    char line[WIDTH + TEXT_NAME + 1];
    int length = 0;
    for (int i = 0; i < n; i++) {
        json_array_append_new(list, json_string(names[i]));
        length += snprintf(line + length, sizeof line - (size_t)length, "%s%s", length ? " " : "",
                           names[i]);
        if (i + 1 < n && length + 1 + (int)strlen(names[i + 1]) <= WIDTH) continue;
        table_row(out, head, "", "", "", line);
        head = "";
        length = 0;
    }
    return list;
}

static void list_cameras(const fans_env_info *info, table *out)
{
    char line[64];
    if (info->views < 1) return;
    snprintf(line, sizeof line, "%d of %d x %d pixels, for env.pixels", info->views, info->width,
             info->height);
    table_row(out, "  cameras", "", "", "", line);
}

static int list_env(const task *t, table *out, json_t *rows)
{
    const fans_env_info *info = &t->info;
    char obs[16], act[16], horizon[16];
    snprintf(obs, sizeof obs, "%d", info->obs_dim);
    snprintf(act, sizeof act, "%d", info->act_dim);
    snprintf(horizon, sizeof horizon, "%d", info->horizon);
    table_row(out, t->def->name, obs, act, horizon, t->def->help);
    json_t *observed = list_names("  observations", info->obs_names, info->obs_dim, out);
    json_t *acted = list_names("  actions", info->act_names, info->act_dim, out);
    list_cameras(info, out);
    json_t *factors = json_array(), *options = json_array();
    int bad = 0;
    for (int i = 0; i < info->factor_count; i++)
        bad |= json_array_append_new(factors, list_factor(&info->factors[i], out));
    for (int i = 0; i < t->def->option_count; i++)
        bad |= json_array_append_new(options, list_env_option(&t->def->options[i], out));
    json_t *row =
        json_pack("{ss si si si ss s{si si si} so so so so}", "name", t->def->name, "observations",
                  info->obs_dim, "actions", info->act_dim, "horizon", info->horizon, "help",
                  t->def->help, "cameras", "views", info->views, "height", info->height, "width",
                  info->width, "observation_names", observed, "action_names", acted, "factors",
                  factors, "options", options);
    bad |= json_array_append_new(rows, row);
    return bad ? fans_fail(FANS_ENOMEM, "out of memory") : 0;
}

static int list_one(const char *name, table *out, json_t *rows)
{
    task *t = NULL;
    int rc = load_env(&t, name);
    if (rc == 0) rc = list_env(t, out, rows);
    task_free(t);
    return rc;
}

static int list_envs(const char *one, table *out, json_t *rows)
{
    const fans_env_def *def;
    int rc = 0;
    table_row(out, "environment", "observations", "actions", "horizon", "what it is");
    if (one) return list_one(one, out, rows);
    for (int i = 0; rc == 0 && (def = env_builtin(i)); i++) rc = list_one(def->name, out, rows);
    return rc;
}

/* ---- ops: the operators of the numeric core -------------------------------------------------- */

static int list_ops(const char *one, table *out, json_t *rows)
{
    (void)one;
    for (int i = 0; i < nn_op_count(); i++) {
        table_row(out, nn_op_name(i), nn_op_help(i));
        json_t *row = json_pack("{ss ss}", "name", nn_op_name(i), "help", nn_op_help(i));
        if (json_array_append_new(rows, row)) return fans_fail(FANS_ENOMEM, "out of memory");
    }
    return 0;
}

/* ---- options: every key of a config file ----------------------------------------------------- */

static int list_option(const option_group *g, const option *o, table *out, json_t *rows)
{
    text initial = {0}, range = {0};
    option_print_initial(o, &initial);
    option_print_range(o, &range);
    int rc = text_done(&initial) < 0 || text_done(&range) < 0 ? FANS_ENOMEM : 0;
    if (rc == 0) {
        char path[128];
        snprintf(path, sizeof path, "%s.%s", g->section, o->name);
        table_row(out, path, initial.s, range.s, o->help);
        json_t *row =
            json_pack("{ss ss ss ss ss ss}", "section", g->section, "key", o->name, "type",
                      option_kind(o), "default", initial.s, "range", range.s, "help", o->help);
        if (json_array_append_new(rows, row)) rc = fans_fail(FANS_ENOMEM, "out of memory");
    }
    text_free(&initial);
    text_free(&range);
    return rc;
}

static int list_options(const char *one, table *out, json_t *rows)
{
    (void)one;
    table_row(out, "section.key", "default", "range", "meaning");
    const option_group *g;
    for (int i = 0; (g = section_at(i)); i++)
        for (size_t k = 0; k < g->count; k++)
            if (list_option(g, &g->options[k], out, rows) < 0) return FANS_ENOMEM;
    return 0;
}

/* ---- algos ----------------------------------------------------------------------------------- */

static int list_algos(const char *one, table *out, json_t *rows)
{
    (void)one;
    table_row(out, "algorithm", "what it does", "told of the factors", "sections");
    for (int i = 0; i < algo_count(); i++) {
        const fans_algo_def *a = algo_at(i);
        char sections[256] = "";
        for (int k = 0; a->groups && a->groups[k]; k++) {
            size_t n = strlen(sections);
            snprintf(sections + n, sizeof sections - n, "%s%s", k ? ", " : "",
                     a->groups[k]()->section);
        }
        table_row(out, a->name, a->help, algo_told(a), sections);
        json_array_append_new(rows, json_pack("{ss ss ss ss}", "name", a->name, "help", a->help,
                                              "told", algo_told(a), "sections", sections));
    }
    return 0;
}

/* ---- Markdown: what the rows of a list say, as the pages of docs/reference ------------------- */

typedef struct column {
    const char *key, *title;
} column;

static void markdown_cell(text *out, const json_t *cell, bool code)
{
    const char *s = json_string_value(cell), *mark = code ? "`" : "";
    text_add(out, " %s", mark);
    if (!s) text_add(out, "%g", json_number_value(cell));
    for (; s && *s; s++) text_add(out, *s == '|' ? "\\%c" : "%c", *s);
    text_add(out, "%s |", mark);
}

static void markdown_sentence(text *out, const char *s)
{
    text_add(out, "%c%s.", toupper((unsigned char)*s), s + 1);
}

/* One row each; `section`, where it is not NULL, picks those that have it. The first column is
 * code. */
static void markdown_table(text *out, const json_t *rows, const column *columns,
                           const char *section)
{
    size_t i;
    const json_t *row;
    text_add(out, "\n|");
    for (const column *c = columns; c->key; c++) text_add(out, " %s |", c->title);
    text_add(out, "\n|");
    for (const column *c = columns; c->key; c++) text_add(out, "---|");
    text_add(out, "\n");
    json_array_foreach(rows, i, row)
    {
        const char *in = json_string_value(json_object_get(row, "section"));
        if (section && in && strcmp(in, section)) continue;
        text_add(out, "|");
        for (const column *c = columns; c->key; c++)
            markdown_cell(out, json_object_get(row, c->key), c == columns);
        text_add(out, "\n");
    }
}

static void markdown_algos(const json_t *rows, text *out)
{
    static const column columns[] = {{"name", "algorithm"},
                                     {"help", "what it does"},
                                     {"told", "told of the factors"},
                                     {"sections", "sections of the config"},
                                     {0}};
    markdown_table(out, rows, columns, NULL);
}

static void markdown_env(const json_t *env, text *out)
{
    static const column factors[] = {{"name", "factor"},
                                     {"kind", "changes the"},
                                     {"low", "from"},
                                     {"high", "to"},
                                     {"initial", "default"},
                                     {"help", "meaning"},
                                     {0}};
    static const column options[] = {{"name", "option"},     {"low", "from"},     {"high", "to"},
                                     {"initial", "default"}, {"help", "meaning"}, {0}};
    const char *name, *help;
    int observations, actions, horizon, views, height, width;
    json_t *f, *o;
    json_unpack((json_t *)env, "{ss ss si si si s{si si si} so so}", "name", &name, "help", &help,
                "observations", &observations, "actions", &actions, "horizon", &horizon, "cameras",
                "views", &views, "height", &height, "width", &width, "factors", &f, "options", &o);
    text_add(out, "\n## %s\n\n", name);
    markdown_sentence(out, help);
    text_add(out, " %d observations, %d actions, %d steps an episode.\n", observations, actions,
             horizon);
    if (views > 0) text_add(out, "For `env.pixels`: %d × %d × %d pixels.\n", views, height, width);
    if (json_array_size(f)) markdown_table(out, f, factors, NULL);
    if (json_array_size(o)) markdown_table(out, o, options, NULL);
}

static void markdown_envs(const json_t *rows, text *out)
{
    size_t i;
    const json_t *row;
    json_array_foreach(rows, i, row) markdown_env(row, out);
}

static void markdown_ops(const json_t *rows, text *out)
{
    static const column columns[] = {{"name", "operator"}, {"help", "what it computes"}, {0}};
    markdown_table(out, rows, columns, NULL);
}

static void markdown_options(const json_t *rows, text *out)
{
    static const column columns[] = {{"key", "key"},         {"type", "type"},
                                     {"default", "default"}, {"range", "range"},
                                     {"help", "meaning"},    {0}};
    const option_group *g;
    for (int i = 0; (g = section_at(i)); i++) {
        size_t named = strcspn(g->section, "*");
        text_add(out, "\n## [%.*s%s]\n\n", (int)named, g->section, g->section[named] ? "NAME" : "");
        markdown_sentence(out, g->help);
        text_add(out, "\n");
        markdown_table(out, rows, columns, g->section);
    }
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    bool takes_one;
    int (*fill)(const char *one, table *out, json_t *rows); /* adds rows to both */
    void (*markdown)(const json_t *rows, text *out);
} lists[] = {{"algos", false, list_algos, markdown_algos},
             {"envs", true, list_envs, markdown_envs},
             {"ops", false, list_ops, markdown_ops},
             {"options", false, list_options, markdown_options}};
enum { LISTS = sizeof lists / sizeof *lists };

static int find(const char *what)
{
    nearest near = {.word = what};
    for (int i = 0; i < LISTS; i++) {
        if (!strcmp(what, lists[i].name)) return i;
        nearest_offer(&near, lists[i].name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(CLI_USAGE, "list: there is no list '%s'%s", what,
                     *hint ? hint : "; there are algos, envs, ops and options");
}

static int print_list(int which, const char *one, const char *json, bool markdown)
{
    table out = {0};
    text page = {0};
    json_t *rows = json_array();
    int rc = lists[which].fill(one, &out, rows);
    if (rc == 0 && markdown) {
        lists[which].markdown(rows, &page);
        rc = text_done(&page);
    }
    if (rc == 0)
        rc = cli_write_json(json, rows);
    else
        json_decref(rows);
    if (rc == 0 && markdown)
        fputs(page.s, stdout);
    else if (rc == 0)
        rc = table_print(&out);
    table_free(&out);
    text_free(&page);
    return rc;
}

int cmd_list(int argc, char **argv)
{
    const char *what, *one = NULL, *json = NULL;
    bool markdown = false;
    const arg args[] = {
        ARG_WORD("LIST", &what,
                 "algos (algorithms), envs (environments), ops (operators of the numeric core) or "
                 "options (of a config file)"),
        ARG_MAYBE("ENV", &one,
                  "envs: list only this one, by its name or the path of a shared library"),
        ARG_FLAG("markdown", &markdown, "print Markdown, as in docs/reference"),
        ARG_JSON(&json),
    };
    int rc = args_parse("list", ARGS(args), argc, argv);
    if (rc) return rc;
    int which = find(what);
    if (which < 0) return which;
    if (one && !lists[which].takes_one)
        return fans_fail(CLI_USAGE, "list: '%s' is one argument too many", one);
    return print_list(which, one, json, markdown);
}
