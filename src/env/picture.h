/* picture.h - pictures of MuJoCo tasks for people: GL where there is one, else the ray caster. */
#ifndef ENV_PICTURE_H
#define ENV_PICTURE_H

#include <stdbool.h>
#include <stdint.h>

#include "env/mj.h"

typedef struct picture picture;

/* Draws the model's camera named "picture" (or MuJoCo's free camera, where there is none) as
 * height × width × 3 bytes, top row first. *p starts as NULL; the tools are made on first use and
 * remade when the size changes. FANS_SHADOWS=1 in the environment gives shadows, for twice the
 * time in software GL. */
int picture_draw(picture **p, sim *s, int width, int height, uint8_t *rgb);
void picture_free(picture *p);

/* Where a point of the world is in the last picture; false if it is behind the camera. */
bool picture_place(const picture *p, const sim *s, const double at[3], double *x, double *y);

#endif
