/* bench_render.c - the ray caster against MuJoCo's renderer on software GL, at an agent's 64×64.
 *
 *     bench_render [repeats]        FANS_GL=egl|osmesa chooses the GL; OSMesa by default
 *
 * GL draws with shadows, reflections, skybox and multisampling off. Each figure is the fastest of
 * several rounds, which other load disturbs least, from updated poses to pixels in memory. The ray
 * caster uses one thread, llvmpipe one per core. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/os.h"
#include "env/gl.h"
#include "env/mj.h"
#include "env/raycast.h"

enum { SIDE = 64, ROUNDS = 25 };

typedef struct bench {
    sim *s;
    int camera;
    raycast *rays;
    gl *context;
    mjrContext mjr;
    mjvScene scene;
    mjvOption option;
    mjvCamera view;
    uint8_t rgb[SIDE * SIDE * 3];
} bench;

static void make(void *arg)
{
    bench *b = arg;
    mjModel *m = b->s->m;
    m->vis.global.offwidth = m->vis.global.offheight = SIDE;
    m->vis.quality.offsamples = 0;
    mjr_defaultContext(&b->mjr);
    mjr_makeContext(m, &b->mjr, mjFONTSCALE_100);
    mjr_setBuffer(mjFB_OFFSCREEN, &b->mjr);
    mjv_defaultScene(&b->scene);
    mjv_makeScene(m, &b->scene, 1000);
    mjv_defaultOption(&b->option);
    mjv_defaultCamera(&b->view);
    b->view.type = mjCAMERA_FIXED;
    b->scene.flags[mjRND_SHADOW] = b->scene.flags[mjRND_REFLECTION] = 0;
    b->scene.flags[mjRND_SKYBOX] = b->scene.flags[mjRND_FOG] = b->scene.flags[mjRND_HAZE] = 0;
}

static void by_gl(void *arg)
{
    bench *b = arg;
    mjrRect all = {0, 0, SIDE, SIDE};
    b->view.fixedcamid = b->camera;
    mjv_updateScene(b->s->m, b->s->d, &b->option, NULL, &b->view, mjCAT_ALL, &b->scene);
    mjr_render(all, &b->scene, &b->mjr);
    mjr_readPixels(b->rgb, NULL, all, &b->mjr);
}

static void by_rays(void *arg)
{
    bench *b = arg;
    raycast_draw(b->rays, b->s->m, b->s->d, b->camera, b->rgb);
}

/* Microseconds per picture. */
static double measure(bench *b, void (*draw)(void *), int repeats)
{
    double best = 1e30;
    sim_guard(b->s, draw, b);
    for (int k = 0; k < ROUNDS; k++) {
        double start = os_now();
        for (int i = 0; i < repeats; i++) sim_guard(b->s, draw, b);
        double took = 1e6 * (os_now() - start) / repeats;
        best = took < best ? took : best;
    }
    return best;
}

static int run(const char *asset, const char *const *cameras, int repeats)
{
    static bench b;
    int rc = 0;
    b = (bench){0};
    TRY(sim_new(&b.s, asset, asset));
    TRY(raycast_new(&b.rays, b.s->m, SIDE, SIDE));
    TRY(gl_new(&b.context));
    TRY(gl_enter(b.context));
    TRY(sim_guard(b.s, make, &b));
    TRY(sim_pose(b.s));
    for (; *cameras; cameras++) {
        TRY(b.camera = sim_find(b.s, mjOBJ_CAMERA, *cameras));
        double slow = measure(&b, by_gl, repeats), fast = measure(&b, by_rays, repeats);
        printf("%-18s %-8s %5d geoms %9.1f us GL %9.1f us rays %7.1f times\n", asset, *cameras,
               (int)b.s->m->ngeom, slow, fast, slow / fast);
    }
    mjv_freeScene(&b.scene);
    mjr_freeContext(&b.mjr);
    gl_leave(b.context);
out:
    gl_free(b.context);
    raycast_free(b.rays);
    sim_free(b.s);
    return rc;
}

int main(int argc, char **argv)
{
    static const char *const peg[] = {"track", "wrist", "picture", NULL};
    static const char *const reach[] = {"picture", NULL}, *const cheetah[] = {"picture", NULL};
    char gl_name[200], cpu[200];
    int repeats = argc > 1 ? atoi(argv[1]) : 40, rc = 0;
    setenv("FANS_GL", "osmesa", 0);
    gl_probe(gl_name, sizeof gl_name);
    os_cpu_name(cpu, sizeof cpu);
    printf("%d×%d pictures; %s; GL: %s\n", SIDE, SIDE, cpu, gl_name);
    TRY(run("sawyer_peg.xml", peg, repeats));
    TRY(run("sawyer_reach.xml", reach, repeats));
    TRY(run("half_cheetah.xml", cheetah, repeats));
out:
    if (rc < 0) fprintf(stderr, "bench_render: %s\n", fans_error());
    return rc < 0;
}
