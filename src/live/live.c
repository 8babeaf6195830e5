/* live.c - makes the steps, and remembers the last ones. */
#include "live/live.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "env/png.h"
#include "live/live_parts.h"

/* Seconds: until the worlds wait since nobody looks; that a slider may rest within one movement;
 * that the worlds may be late before the lost time is given up; between two looks at requests. */
static const double LINGER = 5, GRIP = 1, LATE = 0.1, SLICE = 0.01;

/* ---- making ---------------------------------------------------------------------------------- */

static int name_lane(live *l, const players *fresh, int i)
{
    text name = {0};
    players_name(fresh, i, &name);
    int rc = text_done(&name);
    if (rc == 0) snprintf(l->lanes[i].name, sizeof l->lanes[i].name, "%s", name.s);
    text_free(&name);
    return rc;
}

static int open_follow(follow *f, const players *fresh, int i)
{
    int rc = follow_new(f, players_task(fresh));
    return rc < 0 ? rc : follow_open(f, players_algo(fresh, i)->told, players_folder(fresh, i));
}

static int hold_all(live *l)
{
    int rc = 0;
    for (int i = 0; i < l->count; i++)
        for (int k = 0; k < l->info->factor_count; k++)
            if (!isnan(l->held[k])) TRY(play_hold(players_play(l->players, i), 0, k, l->held[k]));
out:
    return rc;
}

/* What has been made for one task does not fit another. */
static int check_task(const live *l, const players *fresh)
{
    const task *t = players_task(fresh);
    if (!l->players ||
        (t->info.factor_count == l->info->factor_count &&
         train_movements(t, NULL) == train_movements(players_task(l->players), NULL)))
        return 0;
    return fans_fail(FANS_EINVAL, "the runs have another task now: start fans watch again");
}

/* A picture that is not drawn yet is older than all news. */
static void exchange(live *l, players *fresh, const follow *follows)
{
    for (int i = 0; i < l->count; i++) {
        follow_free(&l->lanes[i].follow);
        l->lanes[i].follow = follows[i];
        l->lanes[i].drawn = 0;
    }
    players_free(l->players);
    l->players = fresh;
    l->info = &players_task(fresh)->info;
}

/* All of them, or those before stay. */
int live_open(live *l)
{
    players *fresh = NULL;
    follow *follows = mem_alloc((size_t)l->count * sizeof *follows);
    int rc = follows ? 0 : FANS_ENOMEM;
    if (rc < 0) return rc;
    TRY(players_new(&fresh, l->s.folders, l->s.settings, l->s.seed, 1));
    TRY(check_task(l, fresh));
    for (int i = 0; i < l->count; i++) TRY(open_follow(&follows[i], fresh, i));
    for (int i = 0; i < l->count; i++) TRY(name_lane(l, fresh, i));
    exchange(l, fresh, follows);
out:
    for (int i = 0; rc < 0 && i < l->count; i++) follow_free(&follows[i]);
    if (rc < 0) players_free(fresh);
    mem_free(follows);
    return rc;
}

int live_restart(live *l)
{
    int rc = 0;
    TRY(hold_all(l));
    for (int i = 0; i < l->count; i++) {
        live_lane *a = &l->lanes[i];
        play_tell(players_play(l->players, i), l->told);
        TRY(play_restart(players_play(l->players, i)));
        follow_restart(&a->follow);
        a->ended = true;
        a->episode = -1;
        a->gain = a->sum = 0;
    }
    memset(l->moved, 0, (size_t)l->info->factor_count * sizeof *l->moved);
    l->fault[0] = 0;
    l->step = 0;
    l->news++;
out:
    return rc;
}

static int make_lane(const live *l, live_lane *a)
{
    size_t factors = (size_t)train_movements(players_task(l->players), NULL);
    int rc = 0;
    TRY((a->moments = mem_alloc((factors + 1) * LIVE_STEPS * sizeof *a->moments)) ? 0
                                                                                  : FANS_ENOMEM);
    TRY((a->rgb = mem_alloc(3 * (size_t)l->s.width * (size_t)l->height)) ? 0 : FANS_ENOMEM);
    TRY((a->png = mem_alloc(png_room(l->s.width, l->height))) ? 0 : FANS_ENOMEM);
out:
    return rc;
}

int live_new(live **out, const live_setup *s)
{
    int rc = 0;
    live *l = mem_alloc(sizeof *l);
    if (!l) return FANS_ENOMEM;
    *l = (live){.s = *s,
                .count = s->folders->count,
                .height = 2 * s->width / 3,
                .told = true,
                .speed = 30,
                .curves_at = -INFINITY};
    TRY((l->lanes = mem_alloc((size_t)l->count * sizeof *l->lanes)) ? 0 : FANS_ENOMEM);
    TRY(live_open(l));
    size_t factors = (size_t)l->info->factor_count;
    TRY((l->held = mem_alloc(factors * sizeof *l->held)) ? 0 : FANS_ENOMEM);
    TRY((l->gripped = mem_alloc(factors * sizeof *l->gripped)) ? 0 : FANS_ENOMEM);
    TRY((l->moved = mem_alloc(factors * sizeof *l->moved)) ? 0 : FANS_ENOMEM);
    for (size_t k = 0; k < factors; k++) l->held[k] = NAN, l->gripped[k] = -INFINITY;
    for (int i = 0; i < l->count; i++) TRY(make_lane(l, &l->lanes[i]));
    TRY(live_restart(l));
    *out = l;
out:
    if (rc < 0) live_free(l);
    return rc;
}

void live_free(live *l)
{
    if (!l) return;
    for (int i = 0; l->lanes && i < l->count; i++) {
        follow_free(&l->lanes[i].follow);
        mem_free(l->lanes[i].moments);
        mem_free(l->lanes[i].rgb);
        mem_free(l->lanes[i].png);
    }
    mem_free(l->lanes);
    mem_free(l->held);
    mem_free(l->gripped);
    mem_free(l->moved);
    json_decref(l->curves);
    text_free(&l->out);
    players_free(l->players);
    mem_free(l);
}

/* ---- steps ----------------------------------------------------------------------------------- */

int live_fault(live *l, int rc)
{
    if (rc >= 0) return rc;
    snprintf(l->fault, sizeof l->fault, "%s", fans_error());
    l->paused = true;
    l->news++;
    return rc;
}

static void note_step(live *l, live_lane *a, const play_view *v)
{
    int at = (int)(l->step % LIVE_STEPS), factors = a->follow.factors;
    double now = os_now();
    if (a->ended) {
        a->sum += a->gain;
        a->gain = 0;
        a->episode++;
    }
    a->tau = a->ended ? 0 : a->tau + 1;
    a->fresh[at] = a->ended;
    a->reward[at] = (float)v->reward;
    a->gain += v->reward;
    a->ended = v->ended;
    for (int k = 0; k < factors; k++) {
        int factor = a->follow.moving[k].factor;
        bool grows = now - l->gripped[factor] < GRIP;
        live_moment *m = &a->moments[at * factors + k];
        m->seen = follow_step(&a->follow, k, v, grows);
        m->by_hand = m->seen.changed && l->moved[factor];
    }
}

static int step(live *l)
{
    int rc = 0;
    for (int i = 0; i < l->count; i++) {
        play *p = players_play(l->players, i);
        TRY(play_step(p));
        play_view view = play_look(p, 0);
        note_step(l, &l->lanes[i], &view);
    }
    memset(l->moved, 0, (size_t)l->info->factor_count * sizeof *l->moved);
    l->step++;
    l->news++;
out:
    return live_fault(l, rc);
}

/* A step for each press of a button, whatever the clock says. */
static double advance_by_hand(live *l)
{
    double until = os_now() + SLICE;
    while (l->wanted > 0 && !*l->fault && os_now() < until) {
        l->wanted--;
        if (step(l) < 0) break;
    }
    l->due = os_now();
    return l->wanted > 0 && !*l->fault ? 0 : LATE;
}

double live_advance(live *l)
{
    double now = os_now();
    if (l->paused) return advance_by_hand(l);
    if (now - l->asked > LINGER) {
        l->due = now;
        return LATE;
    }
    if (l->due < now - LATE) l->due = now - LATE;
    for (double until = now + SLICE; now < until && (l->speed == 0 || l->due <= now);
         now = os_now()) {
        if (step(l) < 0) return LATE;
        l->due = l->speed > 0 ? l->due + 1 / l->speed : now;
    }
    return l->speed > 0 ? fmax(l->due - now, 0) : 0;
}
