/* players.c - opens runs to play side by side. */
#include "train/players.h"

#include <string.h>

#include "base/error.h"

typedef struct player {
    session s;
    play *play;
} player;

struct players {
    const text_list *folders, *settings;
    uint64_t seed;
    player *list; /* [count] */
    int count, threads;
};

static const session_entry *entry_of(const players *p, int i)
{
    return &p->list[i].s.entries[0];
}

static const task *task_of(const players *p, int i)
{
    return training_runs(p->list[i].s.trainings[0])[0].task;
}

/* Agents are compared in the same world only. */
static int check_task(const players *p, int i)
{
    text first = {0}, other = {0};
    int rc = 0;
    task_dump(task_of(p, 0), &first);
    task_dump(task_of(p, i), &other);
    TRY(text_done(&first));
    TRY(text_done(&other));
    if (strcmp(first.s, other.s))
        rc = fans_fail(FANS_EINVAL, "%s: was trained on another task than %s; play them one by one",
                       p->folders->items[i], p->folders->items[0]);
out:
    text_free(&first);
    text_free(&other);
    return rc;
}

static int open_player(players *p, int i)
{
    player *one = &p->list[i];
    int rc = 0;
    TRY(session_look(&one->s, p->folders->items[i], p->settings, p->threads));
    TRY(check_task(p, i));
    TRY(play_new(&one->play, one->s.trainings[0], p->seed));
out:
    return rc;
}

int players_new(players **out, const text_list *folders, const text_list *settings, uint64_t seed,
                int threads)
{
    int rc = 0;
    players *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    *p = (players){folders, settings, seed, NULL, folders->count, threads};
    TRY((p->list = mem_alloc((size_t)p->count * sizeof *p->list)) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < p->count; i++) TRY(open_player(p, i));
    *out = p;
out:
    if (rc < 0) players_free(p);
    return rc;
}

void players_free(players *p)
{
    if (!p) return;
    for (int i = 0; p->list && i < p->count; i++) {
        play_end(p->list[i].play);
        session_close(&p->list[i].s);
    }
    mem_free(p->list);
    mem_free(p);
}

int players_count(const players *p)
{
    return p->count;
}

const task *players_task(const players *p)
{
    return task_of(p, 0);
}

play *players_play(players *p, int i)
{
    return p->list[i].play;
}

const fans_algo_def *players_algo(const players *p, int i)
{
    return entry_of(p, i)->algo;
}

const char *players_folder(const players *p, int i)
{
    return p->list[i].s.runs[0].folder;
}

int64_t players_position(const players *p, int i)
{
    return training_progress(p->list[i].s.trainings[0]).steps;
}

int players_newest(const players *p, int i, int64_t *step)
{
    run_position now;
    int rc = run_position_of(players_folder(p, i), &now);
    if (rc == 0) *step = now.tick * p->list[i].s.entries[0].from->options.worlds;
    return rc;
}

void players_name(const players *p, int i, text *out)
{
    const char *name = players_algo(p, i)->name;
    bool twice = false;
    for (int k = 0; k < p->count; k++)
        twice = twice || (k != i && !strcmp(players_algo(p, k)->name, name));
    text_add(out, twice ? "%s, %s" : "%s", name, p->folders->items[i]);
}

void players_title(const players *p, text *out)
{
    const task *t = players_task(p);
    int n = 0;
    text_add(out, "%s", t->def->name);
    for (int k = 0; k < schedule_rules(t->change); k++) {
        fans_moving m = schedule_moving(t->change, k);
        if (m.low < m.high)
            text_add(out, "%s%s", n++ ? ", " : ": ", t->info.factors[m.factor].name);
    }
    if (n) text_add(out, n == 1 ? " changes" : " change");
}
