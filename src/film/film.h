/* film.h - frames that show agents in a changing world: side by side, each in its own lane, with
 * the truth, the belief, when the world changed and when the belief noticed (report/noticing.h).
 *
 * For every step: film_picture before it is made, film_note after it, film_draw for the frame. */
#ifndef FILM_FILM_H
#define FILM_FILM_H

#include "env/canvas.h"
#include "film/follow.h"

typedef struct film film;

typedef struct film_setup {
    const task *task;
    const char *title;
    int lanes, width; /* width of a lane in pixels */
    int64_t steps;    /* at most, of a lane */
    bool slows;       /* while film_has_news, and says so */
} film_setup;

int film_new(film **out, const film_setup *s);
void film_free(film *f);

/* Opens lane i: what it is called, what its agent is told, and the folder of its run, whose
 * beliefs.csv says how to read the belief. */
int film_open(film *f, int i, const char *name, fans_told told, const char *folder);

/* The world of lane i before a step, and the step. */
int film_picture(film *f, int i, world *w);
void film_note(film *f, int i, const play_view *v);

/* From pixels: what the agent of lane i saw before the step, and what its model made of it (NULL:
 * nothing), (views, height, width, 3) each. */
void film_saw(film *f, int i, const uint8_t *pixels, const uint8_t *imagined);

/* Draws the frame, which film_page shows. */
void film_draw(film *f);
const canvas *film_page(const film *f);

/* Does lane i have a belief that can be read? */
bool film_reads(const film *f, int i);

/* Is a change just being noticed, too quickly for an eye? */
bool film_has_news(const film *f);

/* What the belief of lane i made of the changes so far. */
follow_count film_noticed_of(const film *f, int i);

#endif
