/* film_parts.h - what the files of the film share: film.c keeps the lanes, film_draw.c draws them.
 */
#ifndef FILM_FILM_PARTS_H
#define FILM_FILM_PARTS_H

#include "film/film.h"
#include "film/follow.h"

typedef struct film_lane {
    char name[128];
    follow follow;
    follow_moment **moments; /* [factors][steps] */
    float *reward;           /* [steps] */
    uint8_t *fresh;          /* [steps] 1: the first step of an episode */
    uint8_t *picture;
    uint8_t *saw, *imagined; /* from pixels: see film_saw */
    bool imagines;
    int64_t steps;
    int episode, tau; /* of the last step */
    bool ended;       /* by the last step */
    double gain;      /* return of this episode so far */
    double sum;       /* returns of the episodes that have ended */
} film_lane;

enum { FILM_NEWS = 10 }; /* steps after a change */

struct film {
    film_setup s;
    char title[128];
    int factors; /* that move */
    film_lane *lanes;
    double unit; /* of lengths, in pixels */
    int picture_height;
    size_t seen; /* bytes of what an agent sees; 0: it sees no pixels */
    canvas page;
};

/* The size of a page in pixels. */
void film_layout(film *f);

#endif
