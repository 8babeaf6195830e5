/* mj.h - what all MuJoCo environments share: a private model, guarded calls, exact states.
 *
 * The prefix is sim_, since mj_ is MuJoCo's own. Every environment instance owns one sim and so one
 * mjModel, which it may change; nothing is shared between instances, and two threads may step two
 * sims at the same time.
 *
 * MuJoCo reports a fatal error by a callback that must not return, and repairs a NaN by a silent
 * reset. Here both become an ordinary error that names the environment. A sim that has failed must
 * be reset or restored before its next step. By convention the sim is the first member of a MuJoCo
 * environment's struct, so that tests and drawing can reach it.
 *
 * Sizes such as m->nbody are int in MuJoCo 2 and 64 bits wide today: cast them. */
#ifndef ENV_MJ_H
#define ENV_MJ_H

#include <stddef.h>

#include <mujoco/mujoco.h>

typedef struct sim {
    const char *name; /* of the environment, for messages; borrowed */
    mjModel *m;
    mjData *d;
    /* the compiled values, for factors that multiply: nbody and nbody × 3 */
    double *body_mass, *body_inertia;
    void *kept; /* one state, held while MuJoCo recomputes its constants */
} sim;

/* Where the file `asset` of the assets folder is: $FANS_ASSETS, the folders of an installation or a
 * bundle next to the program, the source tree. A name that starts with a slash is used as it is. */
int sim_asset(char *path, size_t size, const char *asset);

/* Loads an MJCF file of the assets folder. `name` is the environment's and must outlive the sim. */
int sim_new(sim **out, const char *name, const char *asset);

void sim_free(sim *s);

/* The number of a named object; `type` is mjOBJ_BODY, mjOBJ_SITE and so on. */
int sim_find(const sim *s, int type, const char *name);

/* ---- running --------------------------------------------------------------------------------- */

/* qpos0, zero velocity, no forces. The model keeps its changes. */
int sim_reset(sim *s);

/* n calls of mj_step. Fails with FANS_ENUMERIC on a NaN, on a huge number, and on every warning of
 * MuJoCo that means wrong physics. Allocates nothing. */
int sim_step(sim *s, int n);

/* An entry of an action, clipped to [-1, 1]. NaN stays NaN, and MuJoCo will report it. */
static inline double sim_clip(double x)
{
    return x < -1 ? -1 : x > 1 ? 1 : x;
}

/* Brings the poses of bodies, geoms, sites, cameras and lights up to qpos: after mj_step they are
 * one sub-step late. The state stays bit-identical. */
int sim_pose(sim *s);

/* Runs other MuJoCo calls (mj_forward, drawing) under the same guard. */
int sim_guard(const sim *s, void (*body)(void *arg), void *arg);

/* ---- changing the model ---------------------------------------------------------------------- */

/* Sets mass and inertia of `count` bodies from `first` on to `scale` times the compiled values, and
 * recomputes every constant that follows from them. The state stays as it is. */
int sim_scale_mass(sim *s, int first, int count, double scale);

/* ---- states ---------------------------------------------------------------------------------- */

/* All that mj_step reads apart from the model, the solver's warm start included: a restored sim
 * continues bit-identically. Derived quantities (poses, contacts) are not in it; do
 * not call mj_forward after a restore, which would move the warm start. The model is not in it
 * either: its changes are functions of the factors, which the environment saves and sets again. */
size_t sim_state_bytes(const sim *s);
void sim_save(const sim *s, void *bytes);
void sim_restore(sim *s, const void *bytes);

#endif
