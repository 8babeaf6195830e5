/* bench_model.c - one update of the FN-VAE, by preset, with masks that are learned and with frozen
 * ones; and one step of the belief.
 *
 *     bench_model [--threads N] [--seconds S] [--preset NAME] [--json F] [--peer COMMAND]
 *
 * Sizes are Half-Cheetah's (17 states, 6 actions) with 20 + 20 factors. Learned and frozen masks
 * take turns, and the best round of each counts: other programs can only make a round slower. The
 * `paper` preset runs with 8 of its 64 windows: all of them need more memory than a desktop has.
 * The peer prints "preset seconds"; bench/peers/model_torch.py does so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/config.h"
#include "base/error.h"
#include "base/json.h"
#include "base/os.h"
#include "base/pool.h"
#include "learn/belief.h"
#include "peer.h"

static const fnvae_dims DIMS = {.d = 17, .m = 6, .p = 20, .q = 20};
enum { ROUNDS = 5, WORLDS = 16 };

typedef struct result {
    double learned, fixed, belief, bytes, peer;
} result;

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_model: %s\n", fans_error());
    exit(1);
}

static fnvae_options options_of(const char *preset)
{
    const char *ini;
    config *c;
    fnvae_options o;
    must(fnvae_preset(preset, &ini));
    must(config_new(&c));
    must(config_add_text(c, preset, ini));
    must(config_take(c, fnvae_option_group(), "fnvae", &o));
    config_free(c);
    if (o.batch > 8) o.batch = 8;
    if (o.window == 0) o.window = 200; /* there is no task to derive it from */
    return o;
}

/* A lifetime of noise, and windows of it with a new segment every ten steps. */
static void live(replay *r, int count)
{
    rng draws = rng_stream(0, "bench", 0);
    float obs[17 * WORLDS], action[6 * WORLDS], next[17 * WORLDS], reward[WORLDS];
    int64_t segment[WORLDS] = {0};
    uint8_t no[WORLDS] = {0};
    for (int t = 0; t < count; t++) {
        for (int i = 0; i < 17 * WORLDS; i++) obs[i] = (float)rng_normal(&draws);
        for (int i = 0; i < 17 * WORLDS; i++) next[i] = (float)rng_normal(&draws);
        for (int i = 0; i < 6 * WORLDS; i++) action[i] = (float)rng_normal(&draws);
        for (int i = 0; i < WORLDS; i++) reward[i] = 1;
        fans_moment now = {obs, NULL, segment, no};
        fans_outcome o = {reward, no, no, next};
        replay_add(r, &now, action, &o, NULL, NULL);
    }
}

static void fill(fnvae *f, const replay *r)
{
    rng draws = rng_stream(0, "bench", 0);
    replay_step *rows = mem_alloc((size_t)f->o.window * sizeof *rows);
    must(rows ? 0 : FANS_ENOMEM);
    for (int b = 0; b < f->o.batch; b++) {
        replay_window(r, 0, b, f->o.window, rows);
        for (int t = 0; t < f->o.window; t++) rows[t].change = t % 10 == 0;
        fnvae_window(f, 0, b, rows, &draws);
    }
    mem_free(rows);
}

/* Seconds of one update, at update number `at`, which determines whether masks are learned. */
static double time_updates(fnvae *f, const replay *r, int64_t at, double budget)
{
    int n = 0;
    double start = os_now();
    f->update = at;
    fnvae_set_masks(f);
    do {
        fill(f, r); /* as a training does before each */
        must(fnvae_update(f));
        n++;
    } while (os_now() - start < budget);
    return (os_now() - start) / n;
}

static double time_belief(belief *b, double budget)
{
    int n = 0;
    must(belief_correct(b));
    double start = os_now();
    do {
        must(belief_correct(b));
        n++;
    } while (os_now() - start < budget);
    return (os_now() - start) / n;
}

static result measure(nn_backend *cpu, const char *preset, double budget)
{
    fnvae_options o = options_of(preset);
    const uint64_t seed = 0;
    nn_graph *g;
    replay *r;
    fnvae *f;
    belief *b;
    o.updates = 100000000; /* so that rates and masks stay constant */
    replay_shape z = {.replicas = 1,
                      .worlds = WORLDS,
                      .steps = 2 * o.window,
                      .horizon = 50,
                      .obs = DIMS.d,
                      .act = DIMS.m};
    must(replay_new(&r, z));
    live(r, 2 * o.window);
    must(nn_graph_new(&g, cpu, 1, &seed));
    replay_record(r, g);
    must(fnvae_new(&f, g, r, &o, DIMS));
    must(belief_new(&b, f, 0, NULL));
    must(fnvae_plan(f));
    must(belief_plan(b));
    must(nn_graph_commit(g));
    must(fnvae_ready(f));
    must(belief_ready(b));
    fill(f, r);
    int64_t learns = fnvae_share(f, o.masks_from), frozen = fnvae_share(f, o.masks_until);
    result best = {1e9, 1e9, 1e9, (double)nn_graph_bytes(g), 0};
    for (int i = 0; i < ROUNDS; i++) {
        double x = time_updates(f, r, learns, budget / ROUNDS);
        if (x < best.learned) best.learned = x;
        x = time_updates(f, r, frozen, budget / ROUNDS);
        if (x < best.fixed) best.fixed = x;
        x = time_belief(b, budget / ROUNDS / 4);
        if (x < best.belief) best.belief = x;
    }
    belief_free(b);
    fnvae_free(f);
    nn_graph_free(g);
    replay_free(r);
    return best;
}

static const char *const presets[] = {"small", "standard", "paper"};
enum { PRESETS = 3 };

static void take_peer(void *user, const char *line)
{
    result *rows = user;
    char name[64];
    double seconds;
    if (sscanf(line, "%63s %lf", name, &seconds) < 2) return;
    for (int i = 0; i < PRESETS; i++)
        if (!strcmp(presets[i], name)) rows[i].peer = seconds;
}

static json_t *print_row(const char *preset, result r)
{
    printf("%-10s %16.2f %14.2f %8.1f%% %18.1f %9.0f", preset, 1e3 * r.learned, 1e3 * r.fixed,
           100 * (r.learned / r.fixed - 1), 1e6 * r.belief, r.bytes / 1048576);
    if (r.peer > 0) printf(" %8.2f", r.learned / r.peer);
    printf("\n");
    return json_pack("{ss sf sf sf sf sf}", "preset", preset, "learned", r.learned, "frozen",
                     r.fixed, "belief", r.belief, "bytes", r.bytes, "torch_seconds", r.peer);
}

int main(int argc, char **argv)
{
    const char *only = NULL, *json = NULL, *peer = NULL;
    int threads = 0;
    double budget = 3;
    result rows[PRESETS] = {{0}};
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--seconds")) budget = atof(argv[i + 1]);
        if (!strcmp(argv[i], "--preset")) only = argv[i + 1];
        if (!strcmp(argv[i], "--json")) json = argv[i + 1];
        if (!strcmp(argv[i], "--peer")) peer = argv[i + 1];
    }
    pool *p;
    nn_backend *cpu;
    must(pool_new(&p, threads));
    must(nn_cpu_new(&cpu, p));
    for (int i = 0; i < PRESETS; i++)
        if (!only || !strcmp(only, presets[i])) rows[i] = measure(cpu, presets[i], budget);
    if (peer) must(peer_run(peer, take_peer, rows));
    json_t *out = json_array();
    printf("%-10s %16s %14s %9s %18s %9s %8s\n", "preset", "masks learned ms", "frozen ms", "more",
           "belief us (16)", "MiB", peer ? "x torch" : "");
    for (int i = 0; i < PRESETS; i++)
        if (rows[i].learned > 0) json_array_append_new(out, print_row(presets[i], rows[i]));
    if (json) must(json_write_file(json, out));
    json_decref(out);
    nn_backend_free(cpu);
    pool_free(p);
    return 0;
}
