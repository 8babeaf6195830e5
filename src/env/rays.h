/* rays.h - inside the ray caster: what raycast.c sets up and rays.c works through, row by row. */
#ifndef ENV_RAYS_H
#define ENV_RAYS_H

#include <stdbool.h>
#include <stdint.h>

#include "env/raycast.h"

#define RAYS_FAR 1e30

typedef struct vec {
    double x, y, z;
} vec;

/* A geom as one camera sees it; all vectors in its own frame. */
typedef struct view_geom {
    int type, id;
    int x0, x1, y0, y1;      /* pixels it may cover: [x0, x1) × [y0, y1) */
    vec origin;              /* the camera */
    vec corner, right, down; /* ray through pixel (x, y): corner + x right + y down */
    vec pos;                 /* of its frame, in the world */
    const double *mat;       /* its axes, as columns */
    vec size;
    float rgb[3];
    float tile[2], rgb2[3]; /* a plane's checker: size of a tile, or 0; its second colour */
} view_geom;

/* A light in the world; a directional one has `at` = towards it. */
typedef struct lamp {
    vec at;
    bool directional;
    float ambient[3], diffuse[3];
} lamp;

struct raycast {
    int width, height, max_geoms, max_lamps;
    int geom_count, lamp_count;
    view_geom *geoms;
    lamp *lamps;
    /* one row */
    double *depth; /* along the optical axis; RAYS_FAR where nothing is */
    int *hit;      /* index into geoms, or -1 */
    float *point;  /* (3, width) where the geom is hit, in its frame */
    float *normal; /* (3, width) */
    float *colour; /* (3, width) */
    float *mix;    /* how much of a plane's second colour there is */
};

/* ---- small vectors --------------------------------------------------------------------------- */

static inline vec vec_of(const double *v)
{
    return (vec){v[0], v[1], v[2]};
}

static inline vec sub(vec a, vec b)
{
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static inline vec axpy(double s, vec a, vec b)
{
    return (vec){s * a.x + b.x, s * a.y + b.y, s * a.z + b.z};
}

static inline double dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The world vector v in the frame whose axes are the columns of m, and back. */
static inline vec into(const double *m, vec v)
{
    return (vec){m[0] * v.x + m[3] * v.y + m[6] * v.z, m[1] * v.x + m[4] * v.y + m[7] * v.z,
                 m[2] * v.x + m[5] * v.y + m[8] * v.z};
}

static inline vec out_of(const double *m, vec v)
{
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}

/* ---- rows ------------------------------------------------------------------------------------ */

/* Finds the nearest geom for every pixel of row y: depth and hit. */
void rays_cast(raycast *r, int y);

/* Colours the pixels [x0, x1) of row y, which all hit the same geom; or none, with rays from
 * `first` on, `step` apart. */
void rays_shade(raycast *r, int y, int x0, int x1);
void rays_shade_sky(raycast *r, vec first, vec step, int x0, int x1);

#endif
