/* run_plan_make.c - from a command line to a plan. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "base/error.h"
#include "base/mem.h"
#include "train/run_plan.h"
#include "train/source.h"

/* What is being planned. */
typedef struct maker {
    run_plan *plan;
    const plan_wish *w;
    text algos;    /* the wish's, one per line */
    bool several;  /* configs, algorithms or points: each has a folder of its own */
    bool again;    /* another point of a config that was read before */
    text settings; /* of the point of the grid, after those for all */
    text point;    /* "-sac.lr=1e-4", for the folder */
    char **names;  /* of CONFIG-ALGO so far, with their configs */
    const char **from;
    int name_count;
} maker;

/* ---- names ----------------------------------------------------------------------------------- */

/* A pair of a config and an algorithm must have a folder of its own. */
static int note_name(maker *m, const source *s, const char *algo, const char *name)
{
    for (int i = 0; i < m->name_count; i++) {
        if (strcmp(m->names[i], name) != 0) continue;
        if (m->from[i] == s->path) return fans_fail(FANS_EINVAL, "--algo: %s is named twice", algo);
        return fans_fail(FANS_EINVAL, "%s and %s: both would use the folder %s; rename one of them",
                         m->from[i], s->path, name);
    }
    m->from[m->name_count] = s->path;
    m->names[m->name_count] = mem_text(name);
    return m->names[m->name_count++] ? 0 : FANS_ENOMEM;
}

/* One entry uses the folder DIR, several use DIR/CONFIG-ALGO. Every seed has a folder in it, also a
 * single one: more can join it later. */
static int place(const maker *m, const char *name, int seed, char *out)
{
    const char *top = m->w->out ? m->w->out : "runs";
    int n = m->w->out && !m->several ? snprintf(out, RUN_PATH, "%s/seed-%d", top, seed)
                                     : snprintf(out, RUN_PATH, "%s/%s%s/seed-%d", top, name,
                                                m->point.length ? m->point.s : "", seed);
    if (n >= RUN_PATH) return fans_fail(FANS_EIO, "%s: the path is too long", name);
    return 0;
}

/* ---- entries --------------------------------------------------------------------------------- */

static int add_seeds(maker *m, const source *s, const char *given, const char *name)
{
    char folder[RUN_PATH];
    int rc = 0, first = m->w->seed >= 0 ? m->w->seed : s->options.seed;
    if (first > INT_MAX - (m->w->seeds - 1))
        return fans_fail(FANS_EINVAL, "%d seeds from %d on: the largest seed is %d", m->w->seeds,
                         first, INT_MAX);
    for (int i = 0; i < m->w->seeds; i++) {
        TRY(place(m, name, first + i, folder));
        TRY(run_plan_add(m->plan, &(plan_run){.folder = folder,
                                              .config = (char *)s->path,
                                              .algo = (char *)given,
                                              .preset = (char *)s->preset,
                                              .settings = (char *)s->settings,
                                              .seed = first + i}));
    }
out:
    return rc;
}

static int add_entry(maker *m, source *s, const char *given)
{
    const fans_algo_def *algo;
    fans_taken *taken = NULL;
    char name[OPTION_TEXT + 96];
    int rc = 0;
    TRY(algo_find(&algo, given));
    snprintf(name, sizeof name, "%s-%s", s->name, algo->name);
    if (!m->again) TRY(note_name(m, s, given, name));
    TRY(train_applies(algo, s->task, (fans_tells)s->options.told));
    TRY(source_take(algo, s->config, &taken));
    TRY(add_seeds(m, s, given, name));
out:
    source_give_back(taken);
    return rc;
}

/* The algorithms of the wish, or the config's. */
static int add_entries(maker *m, source *s)
{
    int rc = 0;
    if (!m->w->algos) return add_entry(m, s, s->options.algo);
    for (const char *at = m->algos.s; *at; at += strlen(at) + 1) TRY(add_entry(m, s, at));
out:
    return rc;
}

/* --steps sets the length, which is kept in episodes. */
static int shorten(maker *m, source *s)
{
    int horizon = s->task->info.horizon, steps = m->w->steps;
    if (steps % horizon && !m->w->rounded)
        return fans_fail(FANS_EINVAL, "--steps %d: not a whole number of episodes of %d steps",
                         steps, horizon);
    int episodes = (steps - 1) / horizon + 1;
    text_add(&m->settings, "train.episodes=%d\n", episodes);
    if (m->w->rounded) text_add(&m->point, "-train.episodes=%d", episodes);
    s->settings = m->settings.s;
    return text_done(&m->settings) < 0 ? FANS_ENOMEM : text_done(&m->point);
}

static int add_config(maker *m, const char *path)
{
    source s = {0};
    int rc = 0;
    size_t length = m->settings.length;
    if (!m->w->algos) TRY(source_load_algo(path, m->settings.s));
    rc = source_read(&s, path, m->w->preset, length ? m->settings.s : NULL);
    if (rc < 0 && m->w->configs.count > 1 && !strstr(fans_error(), path))
        rc = fans_fail_within(rc, "%s", path);
    if (rc < 0) goto out;
    if (m->w->steps > 0) TRY(shorten(m, &s));
    TRY(add_entries(m, &s));
    TRY(source_check(&s));
out:
    source_free(&s);
    m->settings.length = length;
    if (m->settings.s) m->settings.s[length] = 0;
    return rc;
}

/* ---- the grid -------------------------------------------------------------------------------- */

/* Value number i of "key=value,value", or a NULL start. */
static text_line grid_value(const char *axis, int i)
{
    const char *at = strchr(axis, '=') + 1;
    for (; i > 0 && at; i--) {
        at = strchr(at, ',');
        if (at) at++;
    }
    return (text_line){at, at ? (int)strcspn(at, ",") : 0};
}

static int check_axis(const char *axis)
{
    const char *equals = strchr(axis, '=');
    if (!equals || equals == axis || !equals[1])
        return fans_fail(FANS_EINVAL, "--grid %s: must be SECTION.KEY=VALUE,VALUE...", axis);
    if (strchr(axis, '/'))
        return fans_fail(FANS_EINVAL, "--grid %s: a value with '/' cannot name a folder", axis);
    return 0;
}

/* Sets settings and name of a point, whose number counts through the axes, the last one fastest.
 * Returns false past the last point. */
static bool set_point(maker *m, int number)
{
    const text_list *grid = &m->w->grid;
    m->settings.length = m->point.length = 0;
    text_add(&m->settings, "%s", "");
    for (int i = 0; i < m->w->settings.count; i++)
        text_add(&m->settings, "%s\n", m->w->settings.items[i]);
    text_line values[TEXT_LIST_MOST];
    for (int i = grid->count - 1; i >= 0; i--) {
        int n = 1;
        while (grid_value(grid->items[i], n).s) n++;
        values[i] = grid_value(grid->items[i], number % n);
        number /= n;
    }
    for (int i = 0; i < grid->count; i++) {
        int key = (int)strcspn(grid->items[i], "=");
        text_add(&m->settings, "%.*s=%.*s\n", key, grid->items[i], values[i].n, values[i].s);
        text_add(&m->point, "-%.*s=%.*s", key, grid->items[i], values[i].n, values[i].s);
    }
    return number == 0;
}

/* ---- the whole ------------------------------------------------------------------------------- */

/* The list of names, cut at its commas; loads libraries. */
static int cut_algos(maker *m)
{
    const fans_algo_def *found;
    int rc = 0;
    const char *at = m->w->algos;
    if (!at) return 0;
    do {
        size_t n = strcspn(at, ","), start = m->algos.length;
        text_add_n(&m->algos, at, n);
        text_add_n(&m->algos, "", 1);
        TRY(text_done(&m->algos));
        TRY(algo_find(&found, m->algos.s + start));
        at += n + (at[n] == ',');
    } while (*at);
    text_add_n(&m->algos, "", 1);
    rc = text_done(&m->algos);
out:
    return rc;
}

static int make_names(maker *m)
{
    size_t algos = 1;
    for (const char *c = m->w->algos; c && *c; c++) algos += *c == ',';
    m->several = m->w->apart || m->w->configs.count > 1 || algos > 1 || m->w->grid.count > 0;
    m->names = mem_alloc((size_t)m->w->configs.count * algos * sizeof *m->names);
    m->from = mem_alloc((size_t)m->w->configs.count * algos * sizeof *m->from);
    return m->names && m->from ? 0 : FANS_ENOMEM;
}

int run_plan_make(run_plan *p, const plan_wish *w)
{
    maker m = {.plan = p, .w = w};
    int rc = 0;
    for (int i = 0; i < w->grid.count; i++) TRY(check_axis(w->grid.items[i]));
    TRY(cut_algos(&m));
    TRY(make_names(&m));
    for (int i = 0; i < w->configs.count; i++)
        for (int k = 0; set_point(&m, k); k++) {
            m.again = k > 0;
            TRY(text_done(&m.settings));
            TRY(add_config(&m, w->configs.items[i]));
        }
out:
    for (int i = 0; i < m.name_count; i++) mem_free(m.names[i]);
    mem_free(m.names);
    mem_free(m.from);
    text_free(&m.algos);
    text_free(&m.settings);
    text_free(&m.point);
    return rc;
}
