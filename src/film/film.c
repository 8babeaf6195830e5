/* film.c - the lanes of a film: what has happened so far. */
#include "film/film.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "film/film_parts.h"

/* ---- making and freeing ---------------------------------------------------------------------- */

static int make_lane(film *f, film_lane *l)
{
    size_t steps = (size_t)f->s.steps;
    int rc = 0;
    TRY(follow_new(&l->follow, f->s.task));
    f->factors = l->follow.factors;
    TRY((l->moments = mem_alloc(((size_t)f->factors + 1) * sizeof *l->moments)) ? 0 : FANS_ENOMEM);
    TRY((l->reward = mem_alloc(steps * sizeof *l->reward)) ? 0 : FANS_ENOMEM);
    TRY((l->fresh = mem_alloc(steps)) ? 0 : FANS_ENOMEM);
    for (int k = 0; k < f->factors; k++)
        TRY((l->moments[k] = mem_alloc(steps * sizeof **l->moments)) ? 0 : FANS_ENOMEM);
    l->ended = true;
    l->episode = -1;
out:
    return rc;
}

int film_new(film **out, const film_setup *s)
{
    int rc = 0;
    film *f = mem_alloc(sizeof *f);
    if (!f) return FANS_ENOMEM;
    *f = (film){.s = *s};
    snprintf(f->title, sizeof f->title, "%s", s->title);
    TRY((f->lanes = mem_alloc((size_t)s->lanes * sizeof *f->lanes)) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < s->lanes; i++) TRY(make_lane(f, &f->lanes[i]));
    if (s->task->options->pixels) f->seen = task_pixels(s->task);
    film_layout(f);
    size_t pixels = (size_t)s->width * (size_t)f->picture_height;
    for (int i = 0; i < s->lanes; i++) {
        film_lane *l = &f->lanes[i];
        TRY((l->picture = mem_alloc(3 * pixels)) ? 0 : FANS_ENOMEM);
        TRY((l->saw = mem_alloc(f->seen + 1)) ? 0 : FANS_ENOMEM);
        TRY((l->imagined = mem_alloc(f->seen + 1)) ? 0 : FANS_ENOMEM);
    }
    f->page.rgb = mem_alloc(3 * (size_t)f->page.width * (size_t)f->page.height);
    TRY(f->page.rgb ? 0 : FANS_ENOMEM);
    *out = f;
out:
    if (rc < 0) film_free(f);
    return rc;
}

static void free_lane(const film *f, film_lane *l)
{
    for (int k = 0; l->moments && k < f->factors; k++) mem_free(l->moments[k]);
    mem_free(l->moments);
    follow_free(&l->follow);
    mem_free(l->reward);
    mem_free(l->fresh);
    mem_free(l->picture);
    mem_free(l->saw);
    mem_free(l->imagined);
}

void film_free(film *f)
{
    if (!f) return;
    for (int i = 0; f->lanes && i < f->s.lanes; i++) free_lane(f, &f->lanes[i]);
    mem_free(f->lanes);
    mem_free(f->page.rgb);
    mem_free(f);
}

int film_open(film *f, int i, const char *name, fans_told told, const char *folder)
{
    film_lane *l = &f->lanes[i];
    snprintf(l->name, sizeof l->name, "%s", name);
    return follow_open(&l->follow, told, folder);
}

/* ---- steps ----------------------------------------------------------------------------------- */

int film_picture(film *f, int i, world *w)
{
    return world_picture(w, f->s.width, f->picture_height, f->lanes[i].picture);
}

void film_note(film *f, int i, const play_view *v)
{
    film_lane *l = &f->lanes[i];
    if (l->steps == f->s.steps) return;
    if (l->ended) {
        l->sum += l->gain;
        l->gain = 0;
        l->episode++;
    }
    l->tau = l->ended ? 0 : l->tau + 1;
    l->fresh[l->steps] = l->ended;
    l->reward[l->steps] = (float)v->reward;
    l->gain += v->reward;
    l->ended = v->ended;
    for (int k = 0; k < f->factors; k++)
        l->moments[k][l->steps] = follow_step(&l->follow, k, v, false);
    l->steps++;
}

void film_saw(film *f, int i, const uint8_t *pixels, const uint8_t *imagined)
{
    film_lane *l = &f->lanes[i];
    if (!pixels) return;
    memcpy(l->saw, pixels, f->seen);
    l->imagines = imagined != NULL;
    if (imagined) memcpy(l->imagined, imagined, f->seen);
}

/* A lane whose episodes are over has fewer steps than the others. */
bool film_has_news(const film *f)
{
    int64_t most = 0;
    for (int i = 0; i < f->s.lanes; i++)
        if (f->lanes[i].steps > most) most = f->lanes[i].steps;
    for (int i = 0; i < f->s.lanes; i++)
        if (f->lanes[i].steps == most && follow_has_news(&f->lanes[i].follow, FILM_NEWS))
            return true;
    return false;
}

follow_count film_noticed_of(const film *f, int i)
{
    return follow_total(&f->lanes[i].follow);
}

bool film_reads(const film *f, int i)
{
    return !f->lanes[i].follow.without;
}

const canvas *film_page(const film *f)
{
    return &f->page;
}
