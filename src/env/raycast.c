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

#define FAR 1e30 /* depth of a ray that hits nothing */

typedef struct vec {
    double x, y, z;
} vec;

/* A geom as one camera sees it; all vectors in its own frame. */
typedef struct view_geom {
    int type, id;
    int x0, x1, y0, y1;      /* pixels it may cover: [x0, x1) × [y0, y1) */
    vec origin;              /* the camera */
    vec corner, right, down; /* ray through pixel (x, y): corner + x right + y down */
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
    double *depth; /* one row */
    int *hit;      /* one row: index into geoms, or -1 */
    float *light;  /* one row of shading, 3 × width */
    float *normal; /* 3 × width */
    float *point;  /* 3 × width */
};

/* ---- small vectors --------------------------------------------------------------------------- */

static vec vec_of(const double *v)
{
    return (vec){v[0], v[1], v[2]};
}

static vec sub(vec a, vec b)
{
    return (vec){a.x - b.x, a.y - b.y, a.z - b.z};
}

static vec axpy(double s, vec a, vec b)
{
    return (vec){s * a.x + b.x, s * a.y + b.y, s * a.z + b.z};
}

static double dot(vec a, vec b)
{
    return a.x * b.x + a.y * b.y + a.z * b.z;
}

/* The world vector v in the frame whose axes are the columns of m, and back. */
static vec into(const double *m, vec v)
{
    return (vec){m[0] * v.x + m[3] * v.y + m[6] * v.z, m[1] * v.x + m[4] * v.y + m[7] * v.z,
                 m[2] * v.x + m[5] * v.y + m[8] * v.z};
}

static vec out_of(const double *m, vec v)
{
    return (vec){m[0] * v.x + m[1] * v.y + m[2] * v.z, m[3] * v.x + m[4] * v.y + m[5] * v.z,
                 m[6] * v.x + m[7] * v.y + m[8] * v.z};
}

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
    *r = (raycast){.width = width, .height = height, .max_geoms = m->ngeom};
    r->max_lamps = m->nlight + 1;
    size_t w = (size_t)width;
    r->geoms = mem_alloc((size_t)m->ngeom * sizeof *r->geoms);
    r->lamps = mem_alloc((size_t)r->max_lamps * sizeof *r->lamps);
    r->depth = mem_alloc(w * sizeof *r->depth);
    r->hit = mem_alloc(w * sizeof *r->hit);
    r->light = mem_alloc(3 * w * sizeof *r->light);
    r->normal = mem_alloc(3 * w * sizeof *r->normal);
    r->point = mem_alloc(3 * w * sizeof *r->point);
    if (!r->geoms || !r->lamps || !r->depth || !r->hit || !r->light || !r->normal || !r->point) {
        raycast_free(r);
        return FANS_ENOMEM;
    }
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
    mem_free(r->light);
    mem_free(r->normal);
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
    double scale = 0.5 * r->height / c->tangent, low_x = FAR, high_x = -FAR, low_y = FAR,
           high_y = -FAR;
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

/* A plane's texture is read as a checker: its colours a quarter along the first row of tiles and
 * three quarters along; a texture repeats `texrepeat` times, per unit of length or over the plane.
 */
static void checker(view_geom *g, const mjModel *m, int material)
{
    int t = texture_of(m, material);
    if (t < 0 || m->tex_type[t] != mjTEXTURE_2D) return;
    int y = m->tex_height[t] / 4;
    const uint8_t *a = texel(m, t, m->tex_width[t] / 4, y);
    const uint8_t *b = texel(m, t, 3 * m->tex_width[t] / 4, y);
    for (int k = 0; k < 3; k++) {
        g->rgb2[k] = g->rgb[k] * ((float)b[k] / 255.0f);
        g->rgb[k] *= (float)a[k] / 255.0f;
    }
    for (int k = 0; k < 2; k++) {
        double size = k ? g->size.y : g->size.x;
        double across = m->mat_texuniform[material] || size <= 0 ? 1 : 2 * size;
        double repeat = (double)m->mat_texrepeat[2 * material + k];
        g->tile[k] = repeat > 0 ? (float)(0.5 * across / repeat) : 0;
    }
    if (g->tile[0] <= 0 || g->tile[1] <= 0) g->tile[0] = 0;
}

/* Colours as MuJoCo draws them: the material's, unless the geom has one of its own. */
static void paint(view_geom *g, const mjModel *m)
{
    static const float plain[4] = {0.5f, 0.5f, 0.5f, 1};
    const float *rgba = m->geom_rgba + 4 * g->id;
    int material = m->geom_matid[g->id];
    if (material >= 0 && !memcmp(rgba, plain, sizeof plain)) rgba = m->mat_rgba + 4 * material;
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
        g->origin = into(mat, sub(c->pos, vec_of(pos)));
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
#if mjVERSION_HEADER >= 330
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

/* ---- kernels: the depth at which the rays of one row enter a geom ----------------------------
 *
 * Only entries count: what surrounds the camera is not seen, as with GL's back-face culling. Each
 * kernel keeps the nearer of its own depth and what the row already has. */

#define ROW_LOOP(g, y)                                                          \
    const vec o = (g)->origin, row = axpy((double)(y), (g)->down, (g)->corner); \
    const vec step = (g)->right;                                                \
    for (int x = (g)->x0; x < (g)->x1; x++)
#define RAY(x)                                                                     \
    const double dx = (double)(x)*step.x + row.x, dy = (double)(x)*step.y + row.y, \
                 dz = (double)(x)*step.z + row.z
#define KEEP(x, t, is_hit)                                    \
    do {                                                      \
        int nearer = (is_hit) & ((t) > 0) & ((t) < depth[x]); \
        depth[x] = nearer ? (t) : depth[x];                   \
        hit[x] = nearer ? self : hit[x];                      \
    } while (0)

static void cast_plane(const view_geom *g, int self, int y, double *restrict depth,
                       int *restrict hit)
{
    const double sx = g->size.x > 0 ? g->size.x : FAR, sy = g->size.y > 0 ? g->size.y : FAR;
    ROW_LOOP(g, y)
    {
        RAY(x);
        double t = -o.z / dz, px = o.x + t * dx, py = o.y + t * dy;
        KEEP(x, t, (fabs(px) <= sx) & (fabs(py) <= sy));
    }
}

/* The unit sphere: spheres and ellipsoids come here stretched. */
static void cast_ball(const view_geom *g, int self, int y, double *restrict depth,
                      int *restrict hit)
{
    const double c = dot(g->origin, g->origin) - 1;
    ROW_LOOP(g, y)
    {
        RAY(x);
        double a = dx * dx + dy * dy + dz * dz, b = o.x * dx + o.y * dy + o.z * dz;
        double disc = b * b - a * c, t = (-b - sqrt(disc > 0 ? disc : 0)) / a;
        KEEP(x, t, disc > 0);
    }
}

/* A ray that meets a capsule has entered the endless cylinder beside it, or above or below it; then
 * it can only enter through the ball at that end. */
static void cast_capsule(const view_geom *g, int self, int y, double *restrict depth,
                         int *restrict hit)
{
    const double r2 = g->size.x * g->size.x, h = g->size.y;
    const double side = g->origin.x * g->origin.x + g->origin.y * g->origin.y - r2;
    ROW_LOOP(g, y)
    {
        RAY(x);
        double a = dx * dx + dy * dy, b = o.x * dx + o.y * dy;
        a = a > 1e-30 ? a : 1e-30; /* a ray along the axis enters at an end, infinitely far away */
        double disc = b * b - a * side, t = (-b - sqrt(disc > 0 ? disc : 0)) / a;
        double z = o.z + t * dz, end = z > h ? h : -h, oz = o.z - end;
        double full = dx * dx + dy * dy + dz * dz, b2 = b + oz * dz;
        double disc2 = b2 * b2 - full * (side + oz * oz);
        double t2 = (-b2 - sqrt(disc2 > 0 ? disc2 : 0)) / full;
        int beside = fabs(z) <= h;
        double first = beside ? t : t2;
        KEEP(x, first, (disc > 0) & (beside | (disc2 > 0)));
    }
}

static void cast_cylinder(const view_geom *g, int self, int y, double *restrict depth,
                          int *restrict hit)
{
    const double r2 = g->size.x * g->size.x, h = g->size.y;
    const double side = g->origin.x * g->origin.x + g->origin.y * g->origin.y - r2;
    ROW_LOOP(g, y)
    {
        RAY(x);
        double a = dx * dx + dy * dy, b = o.x * dx + o.y * dy;
        a = a > 1e-30 ? a : 1e-30;
        double disc = b * b - a * side, root = sqrt(disc > 0 ? disc : 0);
        double in = (-b - root) / a, out = (-b + root) / a;
        double w = fabs(dz) > 1e-30 ? dz : 1e-30, low = (-h - o.z) / w, high = (h - o.z) / w;
        double in2 = low < high ? low : high, out2 = low < high ? high : low;
        in = in > in2 ? in : in2;
        out = out < out2 ? out : out2;
        KEEP(x, in, (disc > 0) & (in <= out));
    }
}

static void cast_box(const view_geom *g, int self, int y, double *restrict depth, int *restrict hit)
{
    const vec s = g->size;
    ROW_LOOP(g, y)
    {
        RAY(x);
        double u = fabs(dx) > 1e-30 ? dx : 1e-30, v = fabs(dy) > 1e-30 ? dy : 1e-30,
               w = fabs(dz) > 1e-30 ? dz : 1e-30;
        double ax = (-s.x - o.x) / u, bx = (s.x - o.x) / u, ay = (-s.y - o.y) / v,
               by = (s.y - o.y) / v, az = (-s.z - o.z) / w, bz = (s.z - o.z) / w;
        double in = ax < bx ? ax : bx, out = ax < bx ? bx : ax;
        double in2 = ay < by ? ay : by, out2 = ay < by ? by : ay;
        double in3 = az < bz ? az : bz, out3 = az < bz ? bz : az;
        in = in > in2 ? in : in2;
        in = in > in3 ? in : in3;
        out = out < out2 ? out : out2;
        out = out < out3 ? out : out3;
        KEEP(x, in, in <= out);
    }
}

static void cast_row(raycast *r, int y)
{
    for (int x = 0; x < r->width; x++) {
        r->depth[x] = FAR;
        r->hit[x] = -1;
    }
    for (int i = 0; i < r->geom_count; i++) {
        const view_geom *g = r->geoms + i;
        if (y < g->y0 || y >= g->y1) continue;
        switch (g->type) {
        case mjGEOM_PLANE:
            cast_plane(g, i, y, r->depth, r->hit);
            break;
        case mjGEOM_CAPSULE:
            cast_capsule(g, i, y, r->depth, r->hit);
            break;
        case mjGEOM_CYLINDER:
            cast_cylinder(g, i, y, r->depth, r->hit);
            break;
        case mjGEOM_BOX:
            cast_box(g, i, y, r->depth, r->hit);
            break;
        default:
            cast_ball(g, i, y, r->depth, r->hit);
        }
    }
}

/* ---- shading --------------------------------------------------------------------------------- */

/* Where the rays of pixels [x0, x1) hit geom g, in its frame. */
static void find_points(raycast *r, const view_geom *g, int y, int x0, int x1)
{
    const vec o = g->origin, row = axpy((double)y, g->down, g->corner), step = g->right;
    float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    const double *restrict depth = r->depth;
    for (int x = x0; x < x1; x++) {
        RAY(x);
        px[x] = (float)(o.x + depth[x] * dx);
        py[x] = (float)(o.y + depth[x] * dy);
        pz[x] = (float)(o.z + depth[x] * dz);
    }
}

/* A vector along the outward normal at those points; not yet of unit length. */
static void find_normals(raycast *r, const view_geom *g, int x0, int x1)
{
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    const float sx = (float)g->size.x, sy = (float)g->size.y, sz = (float)g->size.z;
    for (int x = x0; x < x1; x++) {
        float u = px[x], v = py[x], w = pz[x];
        float ax = fabsf(u) / sx, ay = fabsf(v) / sy, az = fabsf(w) / sz;
        switch (g->type) {
        case mjGEOM_PLANE:
            u = v = 0, w = 1;
            break;
        case mjGEOM_CAPSULE:
            w = w > sy ? w - sy : w < -sy ? w + sy : 0;
            break;
        case mjGEOM_CYLINDER:
            if (fabsf(w) / sy > sqrtf(u * u + v * v) / sx)
                u = v = 0;
            else
                w = 0;
            break;
        case mjGEOM_BOX: /* the face that the point is nearest to */
            u = ax >= ay && ax >= az ? u : 0;
            v = ay > ax && ay >= az ? v : 0;
            w = az > ax && az > ay ? w : 0;
            break;
        default:
            u /= sx, v /= sy, w /= sz; /* points of a ball are in stretched space */
        }
        nx[x] = u, ny[x] = v, nz[x] = w;
    }
}

static void unit_normals(raycast *r, int x0, int x1)
{
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    for (int x = x0; x < x1; x++) {
        float s = 1.0f / sqrtf(nx[x] * nx[x] + ny[x] * ny[x] + nz[x] * nz[x]);
        nx[x] *= s, ny[x] *= s, nz[x] *= s;
    }
}

/* Adds the light of one lamp: ambient, and diffuse by Lambert's law. */
static void shine(raycast *r, const lamp *l, const view_geom *g, const double *pos,
                  const double *mat, int x0, int x1)
{
    const float *restrict nx = r->normal, *restrict ny = nx + r->width,
                          *restrict nz = ny + r->width;
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict red = r->light, *restrict green = red + r->width,
                    *restrict blue = green + r->width;
    bool ball = g->type == mjGEOM_SPHERE || g->type == mjGEOM_ELLIPSOID;
    vec at = into(mat, l->directional ? l->at : sub(l->at, vec_of(pos)));
    const float lx = (float)at.x, ly = (float)at.y, lz = (float)at.z, far = l->directional ? 0 : 1;
    const float kx = ball ? far * (float)g->size.x : far, ky = ball ? far * (float)g->size.y : far,
                kz = ball ? far * (float)g->size.z : far;
    for (int x = x0; x < x1; x++) {
        float u = lx - kx * px[x], v = ly - ky * py[x], w = lz - kz * pz[x];
        float cosine = (u * nx[x] + v * ny[x] + w * nz[x]) / sqrtf(u * u + v * v + w * w);
        cosine = cosine > 0 ? cosine : 0;
        red[x] += l->ambient[0] + l->diffuse[0] * cosine;
        green[x] += l->ambient[1] + l->diffuse[1] * cosine;
        blue[x] += l->ambient[2] + l->diffuse[2] * cosine;
    }
}

static uint8_t byte_of(float c)
{
    c = c < 0 ? 0 : c > 1 ? 1 : c;
    return (uint8_t)(int)(255.0f * c + 0.5f);
}

/* A square wave of period 2, averaged over [at - width/2, at + width/2]; between -1 and 1. */
static float soft_wave(float at, float width)
{
    float a = 0.5f * (at - 0.5f * width), b = 0.5f * (at + 0.5f * width);
    a = fabsf(a - floorf(a) - 0.5f), b = fabsf(b - floorf(b) - 0.5f);
    return 4 * (a - b) / (2 * width);
}

/* How much of the second colour a plane has at pixel x: checkers, averaged over about the pixel. */
static float second_colour(const raycast *r, const view_geom *g, int y, int x)
{
    vec d = axpy((double)x, g->right, axpy((double)y, g->down, g->corner));
    double t = r->depth[x], k = t / d.z;
    /* how far the point moves when the ray moves by a pixel */
    double rx = t * g->right.x - k * d.x * g->right.z, ry = t * g->right.y - k * d.y * g->right.z;
    double dx = t * g->down.x - k * d.x * g->down.z, dy = t * g->down.y - k * d.y * g->down.z;
    float wx = (float)(fabs(rx) + fabs(dx)) / g->tile[0] + 1e-4f;
    float wy = (float)(fabs(ry) + fabs(dy)) / g->tile[1] + 1e-4f;
    float u = soft_wave(r->point[x] / g->tile[0], wx);
    float v = soft_wave(r->point[r->width + x] / g->tile[1], wy);
    return 0.5f - 0.5f * u * v;
}

static void shade_run(raycast *r, const mjData *d, int y, int x0, int x1, uint8_t *rgb)
{
    const view_geom *g = r->geoms + r->hit[x0];
    size_t w = (size_t)r->width;
    find_points(r, g, y, x0, x1);
    find_normals(r, g, x0, x1);
    unit_normals(r, x0, x1);
    for (size_t k = 0; k < 3; k++)
        memset(r->light + k * w + x0, 0, (size_t)(x1 - x0) * sizeof *r->light);
    for (int i = 0; i < r->lamp_count; i++)
        shine(r, r->lamps + i, g, d->geom_xpos + 3 * g->id, d->geom_xmat + 9 * g->id, x0, x1);
    for (int x = x0; x < x1; x++) {
        float mix = g->tile[0] > 0 ? second_colour(r, g, y, x) : 0;
        for (size_t k = 0; k < 3; k++) {
            float own = g->rgb[k] + mix * (g->rgb2[k] - g->rgb[k]);
            rgb[3 * (size_t)x + k] = byte_of(own * r->light[k * w + (size_t)x]);
        }
    }
}

void raycast_sky(float up, float rgb[3])
{
    static const float horizon[3] = {0.82f, 0.87f, 0.92f}, zenith[3] = {0.33f, 0.50f, 0.70f};
    float s = up < 0 ? 0 : up > 1 ? 1 : up;
    for (int k = 0; k < 3; k++) rgb[k] = horizon[k] + s * (zenith[k] - horizon[k]);
}

static void shade_sky(const eye *c, int y, int x0, int x1, uint8_t *rgb)
{
    for (int x = x0; x < x1; x++) {
        vec d = axpy((double)x, c->right, axpy((double)y, c->down, c->corner));
        float colour[3];
        raycast_sky((float)(d.z / sqrt(dot(d, d))), colour);
        for (int k = 0; k < 3; k++) rgb[3 * x + k] = byte_of(colour[k]);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

void raycast_draw_from(raycast *r, const mjModel *m, const mjData *d, const double pos[3],
                       const double mat[9], double fovy, uint8_t *rgb)
{
    eye c = aim(r, pos, mat, fovy);
    place_geoms(r, m, d, &c);
    place_lamps(r, m, d, &c);
    for (int y = 0; y < r->height; y++, rgb += 3 * r->width) {
        cast_row(r, y);
        for (int x = 0, end; x < r->width; x = end) {
            for (end = x + 1; end < r->width && r->hit[end] == r->hit[x];) end++;
            if (r->hit[x] < 0)
                shade_sky(&c, y, x, end, rgb);
            else
                shade_run(r, d, y, x, end, rgb);
        }
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
        cast_row(r, y);
        for (int x = 0; x < r->width; x++) {
            vec ray = axpy((double)x, c.right, axpy((double)y, c.down, c.corner));
            int i = y * r->width + x;
            distance[i] = r->hit[x] < 0 ? -1 : r->depth[x] * sqrt(dot(ray, ray));
            if (geom) geom[i] = r->hit[x] < 0 ? -1 : r->geoms[r->hit[x]].id;
        }
    }
}

/* ---- frame stacking -------------------------------------------------------------------------- */

void frames_fill(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame)
{
    for (int k = 0; k < count; k++) memcpy(pixels + (size_t)k * bytes, frame, bytes);
}

void frames_push(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame)
{
    memmove(pixels, pixels + bytes, (size_t)(count - 1) * bytes);
    memcpy(pixels + (size_t)(count - 1) * bytes, frame, bytes);
}
