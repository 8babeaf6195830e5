/* rays.c - kernels: the rays of one row against one geom, then the colours of what they hit.
 *
 * Every loop over pixels here is free of branches and calls, so that the compiler makes vector code
 * of it; look at the whole picture's time (bench_render) before changing one. */
#include "env/rays.h"

#include <math.h>
#include <string.h>

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
    const double sx = g->size.x > 0 ? g->size.x : RAYS_FAR,
                 sy = g->size.y > 0 ? g->size.y : RAYS_FAR;
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
        double inverse = 1 / a, in = (-b - root) * inverse, out = (-b + root) * inverse;
        double w = 1 / (fabs(dz) > 1e-30 ? dz : 1e-30), low = (-h - o.z) * w, high = (h - o.z) * w;
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
        double u = 1 / (fabs(dx) > 1e-30 ? dx : 1e-30), v = 1 / (fabs(dy) > 1e-30 ? dy : 1e-30),
               w = 1 / (fabs(dz) > 1e-30 ? dz : 1e-30);
        double ax = (-s.x - o.x) * u, bx = (s.x - o.x) * u, ay = (-s.y - o.y) * v,
               by = (s.y - o.y) * v, az = (-s.z - o.z) * w, bz = (s.z - o.z) * w;
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

void rays_cast(raycast *r, int y)
{
    for (int x = 0; x < r->width; x++) {
        r->depth[x] = RAYS_FAR;
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

/* Where the rays of pixels [x0, x1) hit geom g, in its frame (for a ball: stretched). */
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

/* A point within rounding of an edge belongs to the face that it is nearest to. */
static void box_normals(raycast *r, const view_geom *g, int x0, int x1)
{
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    const float kx = 1 / (float)g->size.x, ky = 1 / (float)g->size.y, kz = 1 / (float)g->size.z;
    for (int x = x0; x < x1; x++) {
        float ax = fabsf(px[x]) * kx, ay = fabsf(py[x]) * ky, az = fabsf(pz[x]) * kz;
        nx[x] = (ax >= ay) & (ax >= az) ? px[x] : 0;
        ny[x] = (ay > ax) & (ay >= az) ? py[x] : 0;
        nz[x] = (az > ax) & (az > ay) ? pz[x] : 0;
    }
}

static void cylinder_normals(raycast *r, const view_geom *g, int x0, int x1)
{
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    const float k = 1 / (float)(g->size.x * g->size.x), h = 1 / (float)(g->size.y * g->size.y);
    for (int x = x0; x < x1; x++) {
        int end = pz[x] * pz[x] * h > (px[x] * px[x] + py[x] * py[x]) * k;
        nx[x] = end ? 0 : px[x];
        ny[x] = end ? 0 : py[x];
        nz[x] = end ? pz[x] : 0;
    }
}

/* Round ones: (x/a, y/b, z/c), with what a capsule's middle has along its axis left out. */
static void round_normals(raycast *r, const view_geom *g, int x0, int x1)
{
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    const bool capsule = g->type == mjGEOM_CAPSULE;
    const float kx = capsule ? 1 : 1 / (float)g->size.x, ky = capsule ? 1 : 1 / (float)g->size.y,
                kz = capsule ? 1 : 1 / (float)g->size.z, h = capsule ? (float)g->size.y : 0;
    for (int x = x0; x < x1; x++) {
        float z = pz[x], over = z - h, under = z + h;
        nx[x] = kx * px[x];
        ny[x] = ky * py[x];
        nz[x] = kz * (over > 0 ? over : under < 0 ? under : 0);
    }
}

static void plane_normals(raycast *r, int x0, int x1)
{
    float *restrict nx = r->normal, *restrict ny = nx + r->width, *restrict nz = ny + r->width;
    for (int x = x0; x < x1; x++) {
        nx[x] = ny[x] = 0;
        nz[x] = 1;
    }
}

/* Vectors along the outward normals at the points; not of unit length. */
static void find_normals(raycast *r, const view_geom *g, int x0, int x1)
{
    switch (g->type) {
    case mjGEOM_PLANE:
        plane_normals(r, x0, x1);
        break;
    case mjGEOM_BOX:
        box_normals(r, g, x0, x1);
        break;
    case mjGEOM_CYLINDER:
        cylinder_normals(r, g, x0, x1);
        break;
    default:
        round_normals(r, g, x0, x1);
    }
}

/* Adds the light of one lamp to `colour`: ambient, and diffuse by Lambert's law. */
static void shine(raycast *r, const lamp *l, const view_geom *g, int x0, int x1)
{
    const float *restrict nx = r->normal, *restrict ny = nx + r->width,
                          *restrict nz = ny + r->width;
    const float *restrict px = r->point, *restrict py = px + r->width, *restrict pz = py + r->width;
    float *restrict red = r->colour, *restrict green = red + r->width,
                    *restrict blue = green + r->width;
    const bool ball = g->type == mjGEOM_SPHERE || g->type == mjGEOM_ELLIPSOID;
    const vec at = into(g->mat, l->directional ? l->at : sub(l->at, g->pos));
    const float lx = (float)at.x, ly = (float)at.y, lz = (float)at.z, k = l->directional ? 0 : 1;
    const float kx = ball ? k * (float)g->size.x : k, ky = ball ? k * (float)g->size.y : k,
                kz = ball ? k * (float)g->size.z : k;
    const float ar = l->ambient[0], ag = l->ambient[1], ab = l->ambient[2];
    const float dr = l->diffuse[0], dg = l->diffuse[1], db = l->diffuse[2];
    for (int x = x0; x < x1; x++) {
        float u = lx - kx * px[x], v = ly - ky * py[x], w = lz - kz * pz[x];
        float along = u * nx[x] + v * ny[x] + w * nz[x];
        float lengths = (u * u + v * v + w * w) * (nx[x] * nx[x] + ny[x] * ny[x] + nz[x] * nz[x]);
        float cosine = along > 0 ? along / sqrtf(lengths) : 0;
        red[x] += ar + dr * cosine;
        green[x] += ag + dg * cosine;
        blue[x] += ab + db * cosine;
    }
}

/* A square wave of period 2, averaged over [at - width/2, at + width/2]; between -1 and 1. */
static inline float soft_wave(float at, float width)
{
    float a = 0.5f * (at - 0.5f * width), b = 0.5f * (at + 0.5f * width);
    a = fabsf(a - floorf(a) - 0.5f);
    b = fabsf(b - floorf(b) - 0.5f);
    return 2 * (a - b) / width;
}

/* A plane's checker, averaged over about a pixel: how much of the second colour there is. */
static void find_mix(raycast *r, const view_geom *g, int y, int x0, int x1)
{
    const vec row = axpy((double)y, g->down, g->corner), step = g->right, down = g->down;
    const float *restrict px = r->point, *restrict py = px + r->width;
    const double *restrict depth = r->depth;
    float *restrict mix = r->mix;
    const float sx = 1 / g->tile[0], sy = 1 / g->tile[1];
    for (int x = x0; x < x1; x++) {
        RAY(x);
        /* how far the point moves when the ray moves by a pixel */
        double t = depth[x], k = t / dz;
        double rx = t * step.x - k * dx * step.z, ry = t * step.y - k * dy * step.z;
        double bx = t * down.x - k * dx * down.z, by = t * down.y - k * dy * down.z;
        float wx = (float)(fabs(rx) + fabs(bx)) * sx + 1e-4f;
        float wy = (float)(fabs(ry) + fabs(by)) * sy + 1e-4f;
        mix[x] = 0.5f - 0.5f * soft_wave(px[x] * sx, wx) * soft_wave(py[x] * sy, wy);
    }
}

void rays_shade(raycast *r, int y, int x0, int x1)
{
    const view_geom *g = r->geoms + r->hit[x0];
    size_t w = (size_t)r->width, n = (size_t)(x1 - x0);
    find_points(r, g, y, x0, x1);
    find_normals(r, g, x0, x1);
    for (size_t k = 0; k < 3; k++) memset(r->colour + k * w + x0, 0, n * sizeof *r->colour);
    for (int i = 0; i < r->lamp_count; i++) shine(r, r->lamps + i, g, x0, x1);
    if (g->tile[0] > 0)
        find_mix(r, g, y, x0, x1);
    else
        memset(r->mix + x0, 0, n * sizeof *r->mix);
    for (size_t k = 0; k < 3; k++) {
        const float own = g->rgb[k], other = g->rgb2[k] - own;
        const float *restrict mix = r->mix;
        float *restrict colour = r->colour + k * w;
        for (int x = x0; x < x1; x++) colour[x] *= own + mix[x] * other;
    }
}

void raycast_sky(float up, float rgb[3])
{
    static const float horizon[3] = {0.82f, 0.87f, 0.92f}, zenith[3] = {0.33f, 0.50f, 0.70f};
    float s = up < 0 ? 0 : up > 1 ? 1 : up;
    for (int k = 0; k < 3; k++) rgb[k] = horizon[k] + s * (zenith[k] - horizon[k]);
}

void rays_shade_sky(raycast *r, vec first, vec step, int x0, int x1)
{
    for (int x = x0; x < x1; x++) {
        vec d = axpy((double)x, step, first);
        float colour[3];
        raycast_sky((float)(d.z / sqrt(dot(d, d))), colour);
        for (int k = 0; k < 3; k++) r->colour[k * r->width + x] = colour[k];
    }
}
