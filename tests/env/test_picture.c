/* test_picture.c - pictures for people by each way there is: EGL, OSMesa, and none.
 *
 * A process keeps the GL that it has chosen, so each way is tried in a child of its own. */
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/rng.h"
#include "env/gl.h"
#include "fans/env.h"

extern const fans_env_def env_sawyer_reach;

enum { W = 160, H = 120, BYTES = W * H * 3, NO_GL = 77 };

/* What a child leaves for its parent. */
typedef struct result {
    char probe[200];
    uint8_t rgb[BYTES], again[BYTES], small[BYTES / 4];
} result;

static int draw_all(const fans_env_def *def, void *env, result *out)
{
    int rc = def->picture(env, W, H, out->rgb);
    if (rc == 0) rc = def->picture(env, W / 2, H / 2, out->small); /* another size and back */
    if (rc == 0) rc = def->picture(env, W, H, out->again);
    return rc;
}

static int child(result *out, const char *way)
{
    void *env;
    fans_env_info info;
    float obs[8];
    rng r = rng_stream(1, "test", 0);
    uint64_t held = mem_held();
    setenv("FANS_GL", way, 1);
    int found = gl_probe(out->probe, sizeof out->probe);
    const fans_env_def *def = &env_sawyer_reach;
    if (def->open(&env, &info, (double[]){0}, 1) < 0 || def->reset(env, &r, obs) < 0) return 1;
    if (draw_all(def, env, out) < 0) return 1;
    def->close(env);
    if (mem_held() != held) return 1;
    return found < 0 ? NO_GL : 0;
}

static int try_way(result **out, const char *way)
{
    int status;
    *out = mmap(NULL, sizeof **out, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(*out != MAP_FAILED);
    pid_t pid = fork();
    if (pid == 0) _exit(child(*out, way));
    waitpid(pid, &status, 0);
    assert_true(WIFEXITED(status));
    print_message("FANS_GL=%s: %s\n", way, (*out)->probe);
    return WEXITSTATUS(status);
}

static int count(const uint8_t *rgb, int from, int to, int (*is)(const uint8_t *))
{
    int n = 0;
    for (int i = from * W; i < to * W; i++) n += is(rgb + 3 * i);
    return n;
}

static int is_sky(const uint8_t *p)
{
    return p[2] > 200 && p[2] > p[0] + 10;
}

static int is_red(const uint8_t *p)
{
    return p[0] > 60 && p[0] > 3 * p[1];
}

/* The sky is above, the red arm is there, and the same scene gives the same picture. */
static void looks_right(const result *r)
{
    assert_true(count(r->rgb, 0, H / 4, is_sky) > W * H / 8);
    assert_int_equal(count(r->rgb, 3 * H / 4, H, is_sky), 0);
    assert_true(count(r->rgb, 0, H, is_red) > W * H / 100);
    assert_memory_equal(r->rgb, r->again, BYTES);
}

static void all_ways_show_the_same(void **state)
{
    (void)state;
    static const char *const ways[] = {"egl", "osmesa"};
    result *rays, *drawn;
#ifdef __SANITIZE_THREAD__
    print_message("skipped: ThreadSanitizer cannot see into Mesa's threads\n");
    skip();
#endif
    assert_int_equal(try_way(&rays, "none"), NO_GL); /* pictures come all the same */
    looks_right(rays);
    for (int k = 0; k < 2; k++) {
        int rc = try_way(&drawn, ways[k]);
        assert_true(rc == 0 || rc == NO_GL);
        looks_right(drawn);
        if (rc == NO_GL) continue;
        int differ = 0;
        for (int i = 0; i < BYTES; i++) differ += abs(drawn->rgb[i] - rays->rgb[i]) > 40;
        print_message("%s: %.1f %% of the bytes differ by more than 40 from the ray caster's\n",
                      ways[k], 100.0 * differ / BYTES);
        assert_true(differ < BYTES / 50);
    }
}

static void a_wrong_wish_is_explained(void **state)
{
    (void)state;
    result *r;
    assert_int_equal(try_way(&r, "vulkan"), NO_GL);
    assert_non_null(strstr(r->probe, "FANS_GL"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_ways_show_the_same),
        cmocka_unit_test(a_wrong_wish_is_explained),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
