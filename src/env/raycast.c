/* raycast.c - one ray per pixel against the primitive geoms.
 *
 * Per picture, every geom turns the camera into its own frame: the ray of pixel (x, y) there is
 * origin + t (corner + x right + y down), so that a pixel costs three additions instead of a
 * matrix. t is the depth along the optical axis, hence comparable between geoms. Per row, each geom
 * whose screen rectangle meets the row runs its kernel, a loop without branches that the compiler
 * turns into vector code, over the pixels of that rectangle; then runs of pixels that ended on the
 * same geom are shaded together. Lambert shading, no shadows, no textures but a plane's checker.
 *
 * Same bits everywhere: only + - * / and sqrt, all exactly rounded, in one order, and no
 * contraction
 * (-ffp-contract=off). Geometry is in double: in float, cancellation in the quadratics costs small
 * distant geoms their fourth digit; colours are in float.
 *
 * Rejected: a bounding volume hierarchy (20 to 60 geoms do not pay for one), shadows (twice the
 * rays for little information), supersampling (agents see 64×64). */
#include "env/raycast.h"

#include <math.h>
#include <stdbool.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "env/rays.h"

/* ---- making one ------------------------------------------------------------------------------ */

static bool visible(const mjModel *m, int g)
{
    return m->geom_group[g] < 3 && m->geom_rgba[4 * g + 3] > 0;
}

static int check_types(const mjModel *m)
{
    for (int g = 0; g < m->ngeom; g++) {
        int type = m->geom_type[g];
        if (!visible(m, g) || (type <= mjGEOM_BOX && type != mjGEOM_HFIELD)) continue;
        const char *name = mj_id2name(m, mjOBJ_GEOM, g);
        return fans_fail(FANS_ENOSUP,
                         "geom %d ('%s') is no primitive: only planes, spheres, "
                         "capsules, ellipsoids, cylinders and boxes can be seen by an agent",
                         g, name ? name : "");
    }
    return 0;
}

int raycast_new(raycast **out, const mjModel *m, int width, int height)
{
    int rc = check_types(m);
    if (rc < 0) return rc;
    if (width < 1 || height < 1 || width > 16384 || height > 16384)
        return fans_fail(FANS_EINVAL, "a picture of %d×%d pixels cannot be drawn", width, height);
    raycast *r = mem_alloc(sizeof *r);
    if (!r) return FANS_ENOMEM;
    *r = (raycast){.width = width, .height = height, .max_geoms = (int)m->ngeom};
    r->max_lamps = (int)m->nlight + 1;
    size_t w = (size_t)width;
    r->geoms = mem_alloc((size_t)m->ngeom * sizeof *r->geoms);
    r->lamps = mem_alloc((size_t)r->max_lamps * sizeof *r->lamps);
    r->depth = mem_alloc(w * sizeof *r->depth);
    r->hit = mem_alloc(w * sizeof *r->hit);
    r->point = mem_alloc(10 * w * sizeof *r->point); /* and the three after it */
    if (!r->geoms || !r->lamps || !r->depth || !r->hit || !r->point) {
        raycast_free(r);
        return FANS_ENOMEM;
    }
    r->normal = r->point + 3 * w;
    r->colour = r->point + 6 * w;
    r->mix = r->point + 9 * w;
    *out = r;
    return 0;
}

void raycast_free(raycast *r)
{
    if (!r) return;
    mem_free(r->geoms);
    mem_free(r->lamps);
    mem_free(r->depth);
    mem_free(r->hit);
    mem_free(r->point);
    mem_free(r);
}

/* ---- setting up a picture -------------------------------------------------------------------- */

typedef struct eye {
    vec pos;
    const double *mat;
    vec corner, right, down; /* rays, in the world */
    double tangent;          /* of half the vertical field of view */
} eye;

static eye aim(const raycast *r, const double pos[3], const double *mat, double fovy)
{
    /* rounded to float: the last bits of tan differ between C libraries */
    double tangent = (double)(float)tan(fovy * (3.14159265358979323846 / 360));
    double step = 2 * tangent / r->height; /* one pixel at depth 1 */
    vec c = {-0.5 * (r->width - 1) * step, 0.5 * (r->height - 1) * step, -1};
    return (eye){.pos = vec_of(pos),
                 .mat = mat,
                 .corner = out_of(mat, c),
                 .right = out_of(mat, (vec){step, 0, 0}),
                 .down = out_of(mat, (vec){0, -step, 0}),
                 .tangent = tangent};
}

/* Half-sizes of the box around a geom; false for a plane, which has none. */
static bool extent(const view_geom *g, vec *e)
{
    double r = g->size.x;
    switch (g->type) {
    case mjGEOM_PLANE:
        return false;
    case mjGEOM_SPHERE:
        *e = (vec){r, r, r};
        return true;
    case mjGEOM_CAPSULE:
        *e = (vec){r, r, g->size.y + r};
        return true;
    case mjGEOM_CYLINDER:
        *e = (vec){r, r, g->size.y};
        return true;
    default:
        *e = g->size;
        return true;
    }
}

/* The pixels that the box around a geom can cover; false when it is out of sight. */
static bool bound(view_geom *g, const raycast *r, const eye *c, const double *pos,
                  const double *mat)
{
    g->x0 = g->y0 = 0;
    g->x1 = r->width;
    g->y1 = r->height;
    vec e;
    if (!extent(g, &e)) return g->origin.z > 0;
    vec mid = sub(vec_of(pos), c->pos);
    double scale = 0.5 * r->height / c->tangent, low_x = RAYS_FAR, high_x = -RAYS_FAR,
           low_y = RAYS_FAR, high_y = -RAYS_FAR;
    int behind = 0;
    for (int k = 0; k < 8; k++) {
        vec s = {k & 1 ? e.x : -e.x, k & 2 ? e.y : -e.y, k & 4 ? e.z : -e.z};
        vec p = into(c->mat, axpy(1, out_of(mat, s), mid)); /* as the camera sees it */
        double depth = -p.z;
        if (depth < 1e-6) {
            behind++;
            continue;
        }
        double x = p.x / depth * scale, y = -p.y / depth * scale;
        low_x = x < low_x ? x : low_x;
        high_x = x > high_x ? x : high_x;
        low_y = y < low_y ? y : low_y;
        high_y = y > high_y ? y : high_y;
    }
    if (behind) return behind < 8; /* a box through the camera's plane may be anywhere */
    /* from the picture's middle to pixel numbers, with a margin for rounding */
    double w = r->width, h = r->height;
    low_x += 0.5 * w - 1, high_x += 0.5 * w + 1, low_y += 0.5 * h - 1, high_y += 0.5 * h + 1;
    if (high_x <= 0 || high_y <= 0 || low_x >= w || low_y >= h) return false;
    g->x0 = low_x > 0 ? (int)low_x : 0;
    g->y0 = low_y > 0 ? (int)low_y : 0;
    g->x1 = high_x < w ? (int)high_x : r->width;
    g->y1 = high_y < h ? (int)high_y : r->height;
    return true;
}

/* The first texture of a material, or -1. */
static int texture_of(const mjModel *m, int material)
{
#if mjVERSION_HEADER >= 320
    return m->mat_texid[material * mjNTEXROLE + mjTEXROLE_RGB];
#else
    return m->mat_texid[material];
#endif
}

static const uint8_t *texel(const mjModel *m, int t, int x, int y)
{
#if mjVERSION_HEADER >= 320
    return (const uint8_t *)m->tex_data + m->tex_adr[t] +
           m->tex_nchannel[t] * (y * m->tex_width[t] + x);
#else
    return (const uint8_t *)m->tex_rgb + m->tex_adr[t] + 3 * (y * m->tex_width[t] + x);
#endif
}

/* A plane's texture is read as a checker: its colours three quarters and one quarter along, as it
 * begins half a texture before the plane's middle. It repeats `texrepeat` times over the plane, or
 * over two units of length. */
static void checker(view_geom *g, const mjModel *m, int material)
{
    int t = texture_of(m, material);
    if (t < 0 || m->tex_type[t] != mjTEXTURE_2D) return;
    int y = m->tex_height[t] / 4;
    const uint8_t *a = texel(m, t, 3 * m->tex_width[t] / 4, y);
    const uint8_t *b = texel(m, t, m->tex_width[t] / 4, y);
    for (int k = 0; k < 3; k++) {
        g->rgb2[k] = g->rgb[k] * ((float)b[k] / 255.0f);
        g->rgb[k] *= (float)a[k] / 255.0f;
    }
    for (int k = 0; k < 2; k++) {
        double size = k ? g->size.y : g->size.x;
        double across = 2 * (m->mat_texuniform[material] || size <= 0 ? 1 : size);
        double repeat = (double)m->mat_texrepeat[2 * material + k];
        g->tile[k] = repeat > 0 ? (float)(0.5 * across / repeat) : 0;
    }
    if (g->tile[0] <= 0 || g->tile[1] <= 0) g->tile[0] = 0;
}

/* Colours as MuJoCo draws them: the material's, unless the geom has one of its own. */
static void paint(view_geom *g, const mjModel *m)
{
    const float *rgba = m->geom_rgba + 4 * g->id;
    int material = m->geom_matid[g->id];
    bool plain = rgba[0] == 0.5f && rgba[1] == 0.5f && rgba[2] == 0.5f && rgba[3] == 1;
    if (material >= 0 && plain) rgba = m->mat_rgba + 4 * material;
    memcpy(g->rgb, rgba, sizeof g->rgb);
    g->tile[0] = 0;
    if (material >= 0 && g->type == mjGEOM_PLANE) checker(g, m, material);
}

/* An ellipsoid is the unit sphere of a stretched space. */
static vec stretch(vec v, vec size)
{
    return (vec){v.x / size.x, v.y / size.y, v.z / size.z};
}

static void place_geoms(raycast *r, const mjModel *m, const mjData *d, const eye *c)
{
    r->geom_count = 0;
    for (int i = 0; i < m->ngeom && r->geom_count < r->max_geoms; i++) {
        if (!visible(m, i)) continue;
        view_geom *g = r->geoms + r->geom_count;
        const double *pos = d->geom_xpos + 3 * i, *mat = d->geom_xmat + 9 * i;
        *g = (view_geom){.type = m->geom_type[i], .id = i, .size = vec_of(m->geom_size + 3 * i)};
        g->pos = vec_of(pos);
        g->mat = mat;
        g->origin = into(mat, sub(c->pos, g->pos));
        if (!bound(g, r, c, pos, mat)) continue;
        g->corner = into(mat, c->corner);
        g->right = into(mat, c->right);
        g->down = into(mat, c->down);
        if (g->type == mjGEOM_SPHERE) g->size.y = g->size.z = g->size.x;
        if (g->type == mjGEOM_SPHERE || g->type == mjGEOM_ELLIPSOID) {
            g->origin = stretch(g->origin, g->size);
            g->corner = stretch(g->corner, g->size);
            g->right = stretch(g->right, g->size);
            g->down = stretch(g->down, g->size);
        }
        paint(g, m);
        r->geom_count++;
    }
}

static bool directional(const mjModel *m, int light)
{
#if mjVERSION_HEADER >= 333
    return m->light_type[light] == mjLIGHT_DIRECTIONAL;
#else
    return m->light_directional[light];
#endif
}

static void place_lamps(raycast *r, const mjModel *m, const mjData *d, const eye *c)
{
    r->lamp_count = 0;
    if (m->vis.headlight.active) {
        lamp *l = r->lamps + r->lamp_count++;
        *l = (lamp){.at = c->pos};
        memcpy(l->ambient, m->vis.headlight.ambient, sizeof l->ambient);
        memcpy(l->diffuse, m->vis.headlight.diffuse, sizeof l->diffuse);
    }
    for (int i = 0; i < m->nlight && r->lamp_count < r->max_lamps; i++) {
        if (!m->light_active[i]) continue;
        lamp *l = r->lamps + r->lamp_count++;
        vec dir = vec_of(d->light_xdir + 3 * i);
        *l = (lamp){.at = vec_of(d->light_xpos + 3 * i), .directional = directional(m, i)};
        if (l->directional) l->at = (vec){-dir.x, -dir.y, -dir.z};
        memcpy(l->ambient, m->light_ambient + 3 * i, sizeof l->ambient);
        memcpy(l->diffuse, m->light_diffuse + 3 * i, sizeof l->diffuse);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

/* One row: from planes of colour to bytes side by side. */
static void to_bytes(const raycast *r, uint8_t *restrict rgb)
{
    for (int k = 0; k < 3; k++) {
        const float *restrict colour = r->colour + k * r->width;
        for (int x = 0; x < r->width; x++) {
            float c = colour[x] < 0 ? 0 : colour[x] > 1 ? 1 : colour[x];
            rgb[3 * x + k] = (uint8_t)(int)(255.0f * c + 0.5f);
        }
    }
}

void raycast_draw_from(raycast *r, const mjModel *m, const mjData *d, const double pos[3],
                       const double mat[9], double fovy, uint8_t *rgb)
{
    eye c = aim(r, pos, mat, fovy);
    place_geoms(r, m, d, &c);
    place_lamps(r, m, d, &c);
    for (int y = 0; y < r->height; y++, rgb += 3 * r->width) {
        rays_cast(r, y);
        for (int x = 0, end; x < r->width; x = end) {
            for (end = x + 1; end < r->width && r->hit[end] == r->hit[x];) end++;
            if (r->hit[x] < 0)
                rays_shade_sky(r, axpy((double)y, c.down, c.corner), c.right, x, end);
            else
                rays_shade(r, y, x, end);
        }
        to_bytes(r, rgb);
    }
}

void raycast_draw(raycast *r, const mjModel *m, const mjData *d, int camera, uint8_t *rgb)
{
    raycast_draw_from(r, m, d, d->cam_xpos + 3 * camera, d->cam_xmat + 9 * camera,
                      m->cam_fovy[camera], rgb);
}

void raycast_probe(raycast *r, const mjModel *m, const mjData *d, int camera, double *distance,
                   int *geom)
{
    eye c = aim(r, d->cam_xpos + 3 * camera, d->cam_xmat + 9 * camera, m->cam_fovy[camera]);
    place_geoms(r, m, d, &c);
    for (int y = 0; y < r->height; y++) {
        rays_cast(r, y);
        for (int x = 0; x < r->width; x++) {
            vec ray = axpy((double)x, c.right, axpy((double)y, c.down, c.corner));
            int i = y * r->width + x;
            distance[i] = r->hit[x] < 0 ? -1 : r->depth[x] * sqrt(dot(ray, ray));
            if (geom) geom[i] = r->hit[x] < 0 ? -1 : r->geoms[r->hit[x]].id;
        }
    }
}
