/* cost.c - adds up what the runs of a table take. */
#include "report/cost.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "base/os.h"

int costs_read(json_t **out, const char *root, const char *name)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%sresults/cost/%s.json", root, name);
    *out = NULL;
    int rc = os_exists(path);
    return rc > 0 ? json_read_file(out, path) : rc;
}

static const char *word_of(const json_t *one, const char *key)
{
    const char *s = json_string_value(json_object_get(one, key));
    return s ? s : "";
}

/* NULL: not measured. */
static const json_t *find(const json_t *costs, const char *env, const char *algo)
{
    const json_t *list = json_object_get(costs, "costs");
    for (size_t i = 0; i < json_array_size(list); i++) {
        const json_t *one = json_array_get(list, i);
        if (!strcmp(word_of(one, "env"), env) && !strcmp(word_of(one, "algo"), algo)) return one;
    }
    return NULL;
}

/* The environment that a row's config names. */
static int read_env(const manifest_row *row, const char *root, char *env)
{
    char path[PATH_MAX];
    config *c = NULL;
    int rc = 0;
    snprintf(path, sizeof path, "%sconfigs/%s.ini", root, row->o.config);
    TRY(config_new(&c));
    TRY(config_add_file(c, path));
    const char *name = config_get(c, "env", "name");
    snprintf(env, OPTION_TEXT, "%s", name ? name : "");
out:
    config_free(c);
    return rc;
}

/* A row may ask for fewer episodes than a config has by itself. */
static double share_of(const manifest_row *row)
{
    static const char key[] = "train.episodes=";
    enum { EPISODES = 3000 };
    const char *at = strstr(row->o.set, key);
    return at ? text_number(at + strlen(key), NULL) / EPISODES : 1;
}

int cost_of(const json_t *costs, const comparison *c, int seeds, int steps, cost *out)
{
    const manifest *m = c->m;
    char env[OPTION_TEXT];
    int rc = 0;
    *out = (cost){0};
    if (!steps && strcmp(word_of(costs, "preset"), m->o.preset) != 0) return 0;
    for (int i = 0; i < m->row_count && manifest_has_runs(m); i++) {
        TRY(read_env(&m->rows[i], c->root, env));
        for (int k = 0; k < m->column_count; k++) {
            if (*comparison_at(c, i, k)->why) continue;
            const json_t *one = find(costs, env, m->columns[k].o.algo);
            double measured = json_number_value(json_object_get(one, "steps")),
                   share = steps ? steps / measured : share_of(&m->rows[i]);
            *(one ? &out->runs : &out->unknown) += seeds;
            if (one)
                out->seconds += seeds * share * json_number_value(json_object_get(one, "seconds"));
        }
    }
out:
    return rc;
}
