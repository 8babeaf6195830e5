/* pictures.c - draws docs/img: one picture per task, and what the peg task's agent sees.
 *
 *     cmake --build build --target pictures && build/pictures docs/img */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/png.h"
#include "env/registry.h"

enum { W = 480, H = 320, FINE = 3 }; /* drawn FINE times as large, then averaged */
enum { MAX_OBS = 64, MAX_ACT = 16, ZOOM = 5 };

/* Steps with a constant action bring each task into a pose that shows what it is about. */
static const struct {
    const char *env;
    int steps;
    float action[MAX_ACT];
} poses[] = {
    {"half_cheetah", 30, {0}},
    {"minitaur", 20, {0}},
    {"pendulum", 26, {-1}},
    {"sawyer_peg", 4, {0.2f, 0, 0, 0, 0, 0, 0}},
    {"sawyer_reach", 9, {0, 0.6f, 0, -1}},
};

static void shrink(const uint8_t *fine, uint8_t *rgb)
{
    for (int y = 0; y < H; y++)
        for (int x = 0; x < W; x++)
            for (int k = 0; k < 3; k++) {
                int sum = FINE * FINE / 2;
                for (int v = 0; v < FINE; v++)
                    for (int u = 0; u < FINE; u++)
                        sum += fine[3 * ((y * FINE + v) * W * FINE + x * FINE + u) + k];
                rgb[3 * (y * W + x) + k] = (uint8_t)(sum / (FINE * FINE));
            }
}

/* The views side by side, each pixel as a square. */
static int write_views(const fans_env_def *def, void *env, const fans_env_info *info,
                       const char *path)
{
    int w = info->width, h = info->height, across = info->views * w * ZOOM;
    uint8_t *small = mem_alloc((size_t)(info->views * w * h) * 3);
    uint8_t *large = mem_alloc((size_t)(across * h * ZOOM) * 3);
    int rc = small && large ? def->draw(env, small) : FANS_ENOMEM;
    for (int y = 0; rc == 0 && y < h * ZOOM; y++)
        for (int x = 0; x < across; x++) {
            int view = x / (w * ZOOM), from = (view * h + y / ZOOM) * w + x / ZOOM % w;
            memcpy(large + 3 * (y * across + x), small + 3 * from, 3);
        }
    if (rc == 0) rc = png_write(path, across, h * ZOOM, large);
    mem_free(small);
    mem_free(large);
    return rc;
}

static int write_pictures(const fans_env_def *def, void *env, const fans_env_info *info,
                          const char *folder)
{
    static uint8_t fine[W * FINE * H * FINE * 3], rgb[W * H * 3];
    char path[1000];
    int rc = 0;
    TRY(def->picture(env, W * FINE, H * FINE, fine));
    shrink(fine, rgb);
    snprintf(path, sizeof path, "%s/%s.png", folder, def->name);
    TRY(png_write(path, W, H, rgb));
    if (!def->draw) return 0;
    snprintf(path, sizeof path, "%s/%s_views.png", folder, def->name);
    TRY(write_views(def, env, info, path));
out:
    return rc;
}

static int show(int pose, const char *folder)
{
    env_source source = {0};
    void *env = NULL;
    fans_env_info info;
    fans_env_result result;
    float obs[MAX_OBS];
    double options[16];
    int rc = 0;
    rng r = rng_stream(3, "reset", 0);
    TRY(env_load(&source, poses[pose].env));
    const fans_env_def *def = source.def;
    for (int i = 0; i < def->option_count; i++) options[i] = def->options[i].initial;
    TRY(def->open(&env, &info, options, 1));
    TRY(def->reset(env, &r, obs));
    for (int i = 0; i < poses[pose].steps; i++)
        TRY(def->step(env, &r, poses[pose].action, obs, &result));
    TRY(write_pictures(def, env, &info, folder));
out:
    if (env) source.def->close(env);
    env_unload(&source);
    return rc;
}

int main(int argc, char **argv)
{
    const char *folder = argc > 1 ? argv[1] : "docs/img";
    setenv("FANS_SHADOWS", "1", 0);
    for (size_t i = 0; i < sizeof poses / sizeof *poses; i++)
        if (show((int)i, folder) < 0) {
            fprintf(stderr, "pictures: %s: %s\n", poses[i].env, fans_error());
            return 1;
        }
    return 0;
}
