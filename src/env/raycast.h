/* raycast.h - what a camera of a MuJoCo model sees, as an agent's observation.
 *
 * A small ray caster over the primitive geoms (plane, sphere, capsule, ellipsoid, cylinder, box):
 * no GL, the same bytes on every machine and thread, and far faster than software GL at 64×64. One
 * object serves one thread; it allocates only when it is made. */
#ifndef ENV_RAYCAST_H
#define ENV_RAYCAST_H

#include <stdint.h>

#include <mujoco/mujoco.h>

typedef struct raycast raycast;

/* For pictures of width × height of `m`, or of any model with as many geoms and lights. A geom of
 * another type (mesh, height field) is an error that names it; invisible ones do not matter. */
int raycast_new(raycast **out, const mjModel *m, int width, int height);
void raycast_free(raycast *r);

/* Draws camera number `camera` as height × width × 3 bytes (RGB), top row first. `d` must hold the
 * positions of geoms, cameras and lights: after mj_step or mj_kinematics + mj_camlight. */
void raycast_draw(raycast *r, const mjModel *m, const mjData *d, int camera, uint8_t *rgb);

/* The same from a free point of view: `mat` has the right, upward and backward axis as columns. */
void raycast_draw_from(raycast *r, const mjModel *m, const mjData *d, const double pos[3],
                       const double mat[9], double fovy, uint8_t *rgb);

/* What the pixels show instead of how they look: distance from the camera (-1 where nothing is) and
 * geom (-1), height × width each; `geom` may be NULL. */
void raycast_probe(raycast *r, const mjModel *m, const mjData *d, int camera, double *distance,
                   int *geom);

/* The background, for a unit view direction's upward component. */
void raycast_sky(float up, float rgb[3]);

#endif
