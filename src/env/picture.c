/* picture.c - MuJoCo's own renderer on an offscreen context, or the ray caster in its place.
 *
 * Reflections, skybox and multisampling are off, and shadows unless asked for: in software GL they
 * cost five times the rest, shadows alone more than the rest. Instead of a skybox, pixels at the
 * far plane get the ray caster's sky. */
#include "env/picture.h"

#include <math.h>
#include <pthread.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "env/gl.h"
#include "env/raycast.h"

enum { MAX_GEOMS = 2000, SHADOW_MAP = 2048 };

struct picture {
    int width, height, camera; /* camera: -1 is the free one */
    mjvScene scene;
    mjvOption option;
    mjvCamera view;
    gl *context;  /* NULL: `rays` is in use */
    bool has_mjr; /* `mjr` holds GL objects */
    mjrContext mjr;
    float *depth; /* width × height */
    raycast *rays;
};

/* MuJoCo loads GL functions into process-wide pointers: one thread draws at a time. */
static pthread_mutex_t drawing = PTHREAD_MUTEX_INITIALIZER;

/* ---- life ------------------------------------------------------------------------------------ */

typedef struct job {
    picture *p;
    sim *s;
    uint8_t *rgb;
} job;

static void make_scene(void *arg)
{
    job *j = arg;
    picture *p = j->p;
    mjv_defaultScene(&p->scene);
    mjv_makeScene(j->s->m, &p->scene, MAX_GEOMS);
    mjv_defaultOption(&p->option);
    p->option.flags[mjVIS_STATIC] = 1;
    mjv_defaultFreeCamera(j->s->m, &p->view);
    p->camera = mj_name2id(j->s->m, mjOBJ_CAMERA, "picture");
    if (p->camera >= 0) {
        p->view.type = mjCAMERA_FIXED;
        p->view.fixedcamid = p->camera;
    }
    const char *shadows = getenv("FANS_SHADOWS");
    p->scene.flags[mjRND_SHADOW] = shadows && !strcmp(shadows, "1");
    p->scene.flags[mjRND_REFLECTION] = 0;
    p->scene.flags[mjRND_SKYBOX] = p->scene.flags[mjRND_FOG] = p->scene.flags[mjRND_HAZE] = 0;
}

static void make_mjr(void *arg)
{
    job *j = arg;
    mjVisual *vis = &j->s->m->vis, before = *vis;
    vis->global.offwidth = j->p->width;
    vis->global.offheight = j->p->height;
    vis->quality.offsamples = 0;
    vis->quality.shadowsize = SHADOW_MAP;
    mjr_defaultContext(&j->p->mjr);
    mjr_makeContext(j->s->m, &j->p->mjr, mjFONTSCALE_100);
    *vis = before;
    j->p->has_mjr = true;
    mjr_setBuffer(mjFB_OFFSCREEN, &j->p->mjr);
}

static int make_gl(job *j)
{
    picture *p = j->p;
    p->depth = mem_alloc((size_t)p->width * (size_t)p->height * sizeof *p->depth);
    if (!p->depth) return FANS_ENOMEM;
    int rc = gl_new(&p->context);
    if (rc < 0) return rc;
    if ((rc = gl_enter(p->context)) == 0) {
        rc = sim_guard(j->s, make_mjr, j);
        gl_leave(p->context);
    }
    return rc;
}

static int picture_new(picture **out, sim *s, int width, int height)
{
    int rc = 0;
    picture *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    p->width = width;
    p->height = height;
    job j = {p, s, NULL};
    TRY(sim_guard(s, make_scene, &j));
    if (make_gl(&j) < 0) {
        log_info("%s: pictures are drawn by the ray caster (%s)", s->name, fans_error());
        gl_free(p->context);
        p->context = NULL;
        TRY(raycast_new(&p->rays, s->m, width, height));
    }
    *out = p;
    return 0;
out:
    picture_free(p);
    return rc;
}

void picture_free(picture *p)
{
    if (!p) return;
    if (p->has_mjr && gl_enter(p->context) == 0) {
        mjr_freeContext(&p->mjr);
        gl_leave(p->context);
    }
    gl_free(p->context);
    mjv_freeScene(&p->scene);
    raycast_free(p->rays);
    mem_free(p->depth);
    mem_free(p);
}

/* ---- drawing --------------------------------------------------------------------------------- */

/* The point between the two eyes of MuJoCo's camera, its axes and its vertical field of view. */
static void look_from(const picture *p, const mjModel *m, double pos[3], double mat[9],
                      double *fovy)
{
    const mjvGLCamera *eye = p->scene.camera;
    double back[3], up[3], right[3];
    for (int k = 0; k < 3; k++) {
        pos[k] = 0.5 * ((double)eye[0].pos[k] + (double)eye[1].pos[k]);
        back[k] = -(double)eye[0].forward[k];
        up[k] = (double)eye[0].up[k];
    }
    mju_cross(right, up, back);
    for (int k = 0; k < 3; k++)
        mat[3 * k] = right[k], mat[3 * k + 1] = up[k], mat[3 * k + 2] = back[k];
    *fovy = p->camera >= 0 ? m->cam_fovy[p->camera] : (double)m->vis.global.fovy;
}

/* Paints the sky over the pixels that show nothing, in a picture that has its top row first. */
static void paint_sky(const picture *p, const mjModel *m, uint8_t *rgb)
{
    double pos[3], mat[9], fovy;
    look_from(p, m, pos, mat, &fovy);
    double step = 2 * tan(fovy * mjPI / 360) / p->height;
    for (int y = 0; y < p->height; y++)
        for (int x = 0; x < p->width; x++) {
            if (p->depth[(p->height - 1 - y) * p->width + x] < 1.0f) continue;
            double u = (x - 0.5 * (p->width - 1)) * step, v = (0.5 * (p->height - 1) - y) * step;
            double up = mat[6] * u + mat[7] * v - mat[8];
            float colour[3];
            raycast_sky((float)(up / sqrt(u * u + v * v + 1)), colour);
            for (int k = 0; k < 3; k++)
                rgb[3 * (y * p->width + x) + k] = (uint8_t)(255.0f * colour[k] + 0.5f);
        }
}

static void flip_rows(uint8_t *rgb, int width, int height)
{
    for (int y = 0; y < height / 2; y++)
        for (int x = 0; x < 3 * width; x++) {
            uint8_t *a = rgb + 3 * width * y + x, *b = rgb + 3 * width * (height - 1 - y) + x;
            uint8_t swap = *a;
            *a = *b;
            *b = swap;
        }
}

static void render(void *arg)
{
    job *j = arg;
    picture *p = j->p;
    mjrRect all = {0, 0, p->width, p->height};
    mjv_updateScene(j->s->m, j->s->d, &p->option, NULL, &p->view, mjCAT_ALL, &p->scene);
    mjr_render(all, &p->scene, &p->mjr);
    mjr_readPixels(j->rgb, p->depth, all, &p->mjr);
}

static void cast(void *arg)
{
    job *j = arg;
    double pos[3], mat[9], fovy;
    mjv_updateCamera(j->s->m, j->s->d, &j->p->view, &j->p->scene);
    look_from(j->p, j->s->m, pos, mat, &fovy);
    raycast_draw_from(j->p->rays, j->s->m, j->s->d, pos, mat, fovy, j->rgb);
}

static int draw_by_gl(job *j)
{
    picture *p = j->p;
    int rc = gl_enter(p->context);
    if (rc < 0) return rc;
    rc = sim_guard(j->s, render, j);
    gl_leave(p->context);
    if (rc < 0) return rc;
    flip_rows(j->rgb, p->width, p->height);
    paint_sky(p, j->s->m, j->rgb);
    return 0;
}

int picture_draw(picture **p, sim *s, int width, int height, uint8_t *rgb)
{
    int rc = 0;
    pthread_mutex_lock(&drawing);
    if (*p && ((*p)->width != width || (*p)->height != height)) {
        picture_free(*p);
        *p = NULL;
    }
    if (!*p) TRY(picture_new(p, s, width, height));
    TRY(sim_pose(s));
    job j = {*p, s, rgb};
    rc = (*p)->context ? draw_by_gl(&j) : sim_guard(s, cast, &j);
out:
    pthread_mutex_unlock(&drawing);
    return rc;
}

bool picture_place(const picture *p, const sim *s, const double at[3], double *x, double *y)
{
    double pos[3], mat[9], fovy, from[3], seen[3];
    look_from(p, s->m, pos, mat, &fovy);
    mju_sub3(from, at, pos);
    mju_mulMatTVec(seen, mat, from, 3, 3); /* right, up, back */
    if (seen[2] >= 0) return false;
    double pixels = p->height / (2 * tan(fovy * mjPI / 360));
    *x = 0.5 * p->width - pixels * seen[0] / seen[2];
    *y = 0.5 * p->height + pixels * seen[1] / seen[2];
    return true;
}
