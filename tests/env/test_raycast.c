/* test_raycast.c - distances against mj_ray, colours of known scenes, one fixed picture. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/pool.h"
#include "base/rng.h"
#include "env/frames.h"
#include "env/raycast.h"

static mjModel *compile(const char *xml)
{
    char path[] = "raycast_scene.xml", why[500] = "";
    FILE *f = fopen(path, "w");
    assert_non_null(f);
    fputs(xml, f);
    fclose(f);
    mjModel *m = mj_loadXML(path, NULL, why, sizeof why);
    remove(path);
    if (!m) fail_msg("%s", why);
    return m;
}

static const double EYE[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

/* mj_ray, which has learnt to give the normal too. */
static double true_distance(const mjModel *m, const mjData *d, const double ray[3], int *id)
{
#if mjVERSION_HEADER >= 350
    return mj_ray(m, d, d->cam_xpos, ray, NULL, 1, -1, id, NULL);
#else
    return mj_ray(m, d, d->cam_xpos, ray, NULL, 1, -1, id);
#endif
}

/* ---- distances ------------------------------------------------------------------------------- */

/* Eight geoms of one type around a camera, moved by hand below. */
static mjModel *crowd(const char *type, const char *size)
{
    char xml[4000];
    int n = snprintf(xml, sizeof xml, "<mujoco><worldbody><camera name='c' fovy='70'/>");
    for (int i = 0; i < 8; i++)
        n += snprintf(xml + n, sizeof xml - (size_t)n, "<geom type='%s' size='%s'/>", type, size);
    snprintf(xml + n, sizeof xml - (size_t)n, "</worldbody></mujoco>");
    return compile(xml);
}

static void random_rotation(rng *r, double *mat)
{
    double quat[4];
    for (int k = 0; k < 4; k++) quat[k] = rng_normal(r);
    mju_normalize4(quat);
    mju_quat2Mat(mat, quat);
}

static void scatter(const mjModel *m, mjData *d, rng *r)
{
    for (int k = 0; k < 3; k++) d->cam_xpos[k] = rng_between(r, -0.2, 0.2);
    random_rotation(r, d->cam_xmat);
    for (int g = 0; g < m->ngeom; g++) {
        double *pos = d->geom_xpos + 3 * g, away = 0;
        for (int k = 0; k < 3; k++) {
            pos[k] = rng_normal(r);
            away += pos[k] * pos[k];
        }
        /* outside of the geom, so that entries are all there is */
        for (int k = 0; k < 3; k++) pos[k] *= rng_between(r, 1.2, 3) / sqrt(away);
        random_rotation(r, d->geom_xmat + 9 * g);
    }
}

static void pixel_ray(const mjModel *m, const mjData *d, int width, int height, int x, int y,
                      double ray[3])
{
    double step = 2 * (double)(float)tan(m->cam_fovy[0] * mjPI / 360) / height;
    double local[3] = {(x - 0.5 * (width - 1)) * step, (0.5 * (height - 1) - y) * step, -1};
    mju_mulMatVec(ray, d->cam_xmat, local, 3, 3);
    mju_normalize3(ray);
}

static void distances_equal_mj_ray(const char *type, const char *size)
{
    enum { W = 48, H = 40, ROUNDS = 60 };
    static double distance[W * H];
    static int geom[W * H];
    mjModel *m = crowd(type, size);
    mjData *d = mj_makeData(m);
    raycast *rc;
    assert_int_equal(raycast_new(&rc, m, W, H), 0);
    rng r = rng_stream(7, type, 0);
    int hits = 0, misses = 0, grazed = 0;
    double worst = 0;
    for (int round = 0; round < ROUNDS; round++) {
        scatter(m, d, &r);
        raycast_probe(rc, m, d, 0, distance, geom);
        for (int i = 0; i < W * H; i++) {
            double ray[3];
            int id = -1;
            pixel_ray(m, d, W, H, i % W, i / W, ray);
            double truth = true_distance(m, d, ray, &id);
            if ((truth < 0) != (distance[i] < 0)) {
                grazed++; /* within rounding of an edge: counted, and bounded below */
                continue;
            }
            hits += truth >= 0;
            misses += truth < 0;
            if (truth < 0) continue;
            double error = fabs(distance[i] - truth) / truth;
            worst = error > worst ? error : worst;
            if (error > 1e-6) fail_msg("%s: %.12g instead of %.12g", type, distance[i], truth);
            assert_int_equal(geom[i], id);
        }
    }
    print_message("%-9s %6d hits, %6d misses, %d at an edge, worst relative error %.1e\n", type,
                  hits, misses, grazed, worst);
    assert_true(hits > 1000 && misses > 1000);
    assert_true(grazed <= 2);
    raycast_free(rc);
    mj_deleteData(d);
    mj_deleteModel(m);
}

static void distances(void **state)
{
    (void)state;
    distances_equal_mj_ray("plane", "0.7 0.4 1");
    distances_equal_mj_ray("sphere", "0.4");
    distances_equal_mj_ray("capsule", "0.15 0.5");
    distances_equal_mj_ray("ellipsoid", "0.2 0.4 0.6");
    distances_equal_mj_ray("cylinder", "0.3 0.4");
    distances_equal_mj_ray("box", "0.2 0.3 0.5");
}

/* Rays along a geom's own axis, where the quadratics degenerate. */
static void along_the_axis(void **state)
{
    (void)state;
    static const char *types[] = {"capsule", "cylinder", "box", "ellipsoid", "sphere"};
    for (int k = 0; k < 5; k++) {
        mjModel *m = crowd(types[k], "0.2 0.3 0.4");
        mjData *d = mj_makeData(m);
        raycast *rc;
        double distance[9];
        assert_int_equal(raycast_new(&rc, m, 3, 3), 0);
        for (int g = 0; g < m->ngeom; g++) {
            d->geom_xpos[3 * g + 2] = -2;
            memcpy(d->geom_xmat + 9 * g, EYE, sizeof EYE);
        }
        memcpy(d->cam_xmat, EYE, sizeof EYE);
        raycast_probe(rc, m, d, 0, distance, NULL);
        double down[3] = {0, 0, -1}, truth = true_distance(m, d, down, (int[1]){0});
        assert_true(fabs(distance[4] - truth) < 1e-12);
        raycast_free(rc);
        mj_deleteData(d);
        mj_deleteModel(m);
    }
}

/* ---- pictures -------------------------------------------------------------------------------- */

static const char SCENE[] =
    "<mujoco><visual><headlight ambient='.3 .3 .3' diffuse='.4 .4 .4'/></visual>"
    "<asset><texture name='t' type='2d' builtin='checker' rgb1='.2 .3 .4' rgb2='.6 .6 .6'"
    " width='64' height='64'/><material name='t' texture='t' texrepeat='4 4' texuniform='true'/>"
    "</asset><worldbody><light directional='true' dir='.3 .4 -1' diffuse='.5 .5 .5'/>"
    "<camera name='c' pos='0 -2.2 1.2' xyaxes='1 0 0 0 .4 1' fovy='50'/>"
    "<geom type='plane' size='3 3 1' material='t'/>"
    "<geom type='sphere' size='.3' pos='-.8 0 .3' rgba='.9 .2 .2 1'/>"
    "<geom type='capsule' size='.12 .3' pos='-.2 .2 .4' euler='20 30 0' rgba='.2 .8 .3 1'/>"
    "<geom type='cylinder' size='.2 .3' pos='.4 .3 .3' euler='10 0 0' rgba='.2 .4 .9 1'/>"
    "<geom type='box' size='.2 .25 .15' pos='.8 -.4 .15' euler='0 0 30' rgba='.9 .8 .2 1'/>"
    "<geom type='ellipsoid' size='.1 .2 .3' pos='0 -.6 .3' euler='0 40 0' rgba='.7 .3 .8 1'/>"
    "</worldbody></mujoco>";

enum { SIDE = 64, BYTES = SIDE * SIDE * 3 };

static uint64_t fnv(const uint8_t *bytes, size_t n)
{
    uint64_t h = 14695981039346656037ull;
    for (size_t i = 0; i < n; i++) h = (h ^ bytes[i]) * 1099511628211ull;
    return h;
}

/* Poses with short decimals written straight into mjData: no libm stands between the numbers here
 * and the pixels, so that the sum below holds for every machine. */
static void pose_by_hand(const mjModel *m, mjData *d)
{
    static const double turn[9] = {0.8, -0.6, 0, 0.6, 0.8, 0, 0, 0, 1};
    static const double look[9] = {1, 0, 0, 0, 0.28, -0.96, 0, 0.96, 0.28};
    for (int g = 0; g < m->ngeom; g++) {
        memcpy(d->geom_xpos + 3 * g, m->geom_pos + 3 * g, 3 * sizeof(double));
        memcpy(d->geom_xmat + 9 * g, turn, sizeof turn);
    }
    memcpy(d->cam_xpos, (double[3]){0, -2.25, 0.75}, 3 * sizeof(double));
    memcpy(d->cam_xmat, look, sizeof look);
    memcpy(d->light_xdir, (double[3]){0, 0.6, -0.8}, 3 * sizeof(double));
}

static void fixed_picture(void **state)
{
    (void)state;
    static uint8_t rgb[BYTES];
    mjModel *m = compile(SCENE);
    mjData *d = mj_makeData(m);
    raycast *rc;
    assert_int_equal(raycast_new(&rc, m, SIDE, SIDE), 0);
    pose_by_hand(m, d);
    uint64_t before = mem_count();
    raycast_draw(rc, m, d, 0, rgb);
    assert_int_equal(mem_count(), before); /* drawing allocates nothing */
    assert_int_equal(fnv(rgb, BYTES), 0xcbe6b205b12c797eull);
    raycast_free(rc);
    mj_deleteData(d);
    mj_deleteModel(m);
}

typedef struct job {
    const mjModel *m;
    const mjData *d;
    raycast *rc[16];
    uint8_t rgb[16][BYTES];
} job;

static void draw_one(void *arg, int item)
{
    job *j = arg;
    raycast_draw(j->rc[item], j->m, j->d, 0, j->rgb[item]);
}

static void threads_agree(void **state)
{
    (void)state;
    static job j;
    mjModel *m = compile(SCENE);
    mjData *d = mj_makeData(m);
    mj_forward(m, d);
    j.m = m;
    j.d = d;
    for (int i = 0; i < 16; i++) assert_int_equal(raycast_new(j.rc + i, m, SIDE, SIDE), 0);
    pool *p;
    assert_int_equal(pool_new(&p, 3), 0);
    pool_run(p, 16, draw_one, &j);
    for (int i = 1; i < 16; i++) assert_memory_equal(j.rgb[0], j.rgb[i], BYTES);
    pool_free(p);
    for (int i = 0; i < 16; i++) raycast_free(j.rc[i]);
    mj_deleteData(d);
    mj_deleteModel(m);
}

/* A white ball under one lamp from straight above: brightness is the normal's upward part. */
static void lambert(void **state)
{
    (void)state;
    static uint8_t rgb[BYTES];
    mjModel *m = compile("<mujoco><visual><headlight active='0'/></visual><worldbody>"
                         "<light directional='true' dir='0 0 -1' diffuse='1 1 1' ambient='0 0 0'/>"
                         "<camera name='c' pos='0 0 3' fovy='45'/>"
                         "<geom type='sphere' size='1' rgba='1 1 1 1'/></worldbody></mujoco>");
    mjData *d = mj_makeData(m);
    raycast *rc;
    assert_int_equal(raycast_new(&rc, m, SIDE, SIDE), 0);
    mj_forward(m, d);
    raycast_draw(rc, m, d, 0, rgb);
    double distance[SIDE * SIDE];
    raycast_probe(rc, m, d, 0, distance, NULL);
    for (int i = 0; i < SIDE * SIDE; i++) {
        double ray[3];
        pixel_ray(m, d, SIDE, SIDE, i % SIDE, i / SIDE, ray);
        if (distance[i] < 0) continue;
        double up = 3 + distance[i] * ray[2]; /* z of the point = z of the normal */
        assert_true(fabs(rgb[3 * i] - 255 * up) <= 0.51);
    }
    raycast_free(rc);
    mj_deleteData(d);
    mj_deleteModel(m);
}

static void meshes_are_refused(void **state)
{
    (void)state;
    mjModel *m =
        compile("<mujoco><asset><hfield name='h' nrow='4' ncol='4' size='1 1 1 1'/></asset>"
                "<worldbody><geom name='hills' type='hfield' hfield='h'/></worldbody>"
                "</mujoco>");
    raycast *rc;
    assert_true(raycast_new(&rc, m, SIDE, SIDE) == FANS_ENOSUP);
    assert_non_null(strstr(fans_error(), "hills"));
    mj_deleteModel(m);
}

static void frames_stack(void **state)
{
    (void)state;
    uint8_t stack[8];
    frames_fill(stack, 4, 2, (uint8_t[2]){1, 2});
    assert_memory_equal(stack, ((uint8_t[8]){1, 2, 1, 2, 1, 2, 1, 2}), 8);
    frames_push(stack, 4, 2, (uint8_t[2]){3, 4});
    frames_push(stack, 4, 2, (uint8_t[2]){5, 6});
    assert_memory_equal(stack, ((uint8_t[8]){1, 2, 1, 2, 3, 4, 5, 6}), 8);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(distances),     cmocka_unit_test(along_the_axis),
        cmocka_unit_test(fixed_picture), cmocka_unit_test(threads_agree),
        cmocka_unit_test(lambert),       cmocka_unit_test(meshes_are_refused),
        cmocka_unit_test(frames_stack),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
