/* bench_nn.c - whole training steps of the numeric core: time, GFLOP/s, the share of the machine's
 * GEMM ceiling on the same shapes, and the ratio to PyTorch if it is installed.
 *
 *     bench_nn [--threads N] [--seconds S] [--only NAME] [--json F] [--peer COMMAND]
 *     bench_nn --profile --threads 1
 *     bench_nn --cpu --threads 1 [...]      processor time, where other programs run, too
 *
 * The ceiling: every matrix product of the step, as one call of the library, run by all threads at
 * once on their own memory; nothing else. COMMAND must print one line "name seconds" per step;
 * bench/peers/nn_torch.py does so. */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "../tests/nn/nn_steps.h"
#include "base/json.h"
#include "base/os.h"
#include "method_steps.h"
#include "nn/gemm.h"
#include "peer.h"

enum { MOST_ROWS = 16, MOST_SHAPES = 256 };

typedef struct row {
    const char *name;
    double seconds, flops, ceiling, peer; /* ceiling and peer in seconds; 0 where unknown */
} row;

typedef struct bench {
    pool *threads;
    nn_backend *cpu;
    double budget; /* seconds per measurement */
    bool profile;
    const char *only; /* the one step to run, or NULL */
    row rows[MOST_ROWS];
    int count;
} bench;

/* ---- timing ---------------------------------------------------------------------------------- */

static double cpu_now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* What is measured: time on the wall, or with --cpu that of the processor. */
static double (*now_of)(void) = os_now;

/* Best of five: the time of fn, each called often enough to fill a fifth of the budget. */
static double time_of(double budget, void (*fn)(void *), void *arg)
{
    double start = now_of();
    fn(arg); /* warm up */
    double once = now_of() - start, best = 1e30;
    int repeat = (int)(budget / 5 / once) + 1;
    for (int k = 0; k < 5; k++) {
        start = now_of();
        for (int i = 0; i < repeat; i++) fn(arg);
        double t = (now_of() - start) / repeat;
        if (t < best) best = t;
    }
    return best;
}

/* ---- the ceiling ----------------------------------------------------------------------------- */

typedef struct shape {
    bool ta, tb;
    int m, n, k;
    int times; /* in one step */
} shape;

typedef struct shapes {
    shape list[MOST_SHAPES];
    int count;
} shapes;

static void note(shapes *s, bool ta, bool tb, int m, int n, int k, int times)
{
    for (int i = 0; i < s->count; i++) {
        shape *x = &s->list[i];
        if (x->ta == ta && x->tb == tb && x->m == m && x->n == n && x->k == k) {
            x->times += times;
            return;
        }
    }
    assert(s->count < MOST_SHAPES);
    s->list[s->count++] = (shape){ta, tb, m, n, k, times};
}

static void note_linear(shapes *s, const nn_call *c, bool backward)
{
    int inputs = c->attr.i[0], rows = (int)nn_rows(c->out.shape);
    nn_shape W = c->in[inputs].shape;
    if (!backward) {
        note(s, false, false, rows, W.D, W.B, W.T);
        return;
    }
    if (c->in[inputs].g) note(s, true, false, W.B, W.D, rows, W.T);
    for (int k = 0; k < inputs; k++)
        if (c->in[k].g) note(s, false, true, rows, c->in[k].shape.D / W.T, W.D, W.T);
}

static void note_lstm(shapes *s, const nn_call *c, bool backward)
{
    int T = c->out.shape.T, B = c->out.shape.B, H = c->in[1].shape.B;
    note(s, false, backward, B, backward ? H : 4 * H, backward ? 4 * H : H, T);
    if (backward && c->in[1].g) note(s, true, false, H, 4 * H, T * B, 1);
}

static void note_plan(shapes *s, const nn_plan *p)
{
    for (size_t i = 0; i < p->program.step_count; i++) {
        const nn_step *step = &p->program.steps[i];
        bool backward = step->call.out.g != NULL;
        if (!strncmp(step->name, "linear#", 7)) note_linear(s, &step->call, backward);
        if (!strncmp(step->name, "lstm#", 5)) note_lstm(s, &step->call, backward);
    }
}

typedef struct product {
    const shape *s;
    real *A[256], *B[256], *C[256];
    int repeat;
} product;

static void run_product(void *arg, int thread)
{
    product *p = arg;
    const shape *s = p->s;
    for (int i = 0; i < p->repeat; i++)
        gemm(s->ta, s->tb, s->m, s->n, s->k, p->A[thread], s->ta ? s->m : s->k, p->B[thread],
             s->tb ? s->k : s->n, 0, p->C[thread], s->n);
}

static real *numbers(size_t n)
{
    real *x = mem_alloc(n * sizeof *x);
    for (size_t i = 0; i < n; i++) x[i] = (real)(i % 17) - 8;
    return x;
}

/* Seconds that one such product takes when all threads share the work perfectly. */
static double product_time(bench *b, const shape *s)
{
    static product p; /* large */
    int threads = pool_threads(b->threads);
    double flops = 2.0 * s->m * s->n * s->k, best = 1e30;
    p.s = s;
    p.repeat = (int)(b->budget / 40 * 5e10 / flops) + 1;
    for (int t = 0; t < threads; t++) {
        p.A[t] = numbers((size_t)s->m * (size_t)s->k);
        p.B[t] = numbers((size_t)s->n * (size_t)s->k);
        p.C[t] = numbers((size_t)s->m * (size_t)s->n);
    }
    for (int k = 0; k < 4; k++) {
        double start = now_of();
        pool_run(b->threads, threads, run_product, &p);
        double t = (now_of() - start) / p.repeat / threads;
        if (t < best) best = t;
    }
    for (int t = 0; t < threads; t++) {
        mem_free(p.A[t]);
        mem_free(p.B[t]);
        mem_free(p.C[t]);
    }
    return best;
}

static double ceiling_of(bench *b, nn_plan *const *plans, int count)
{
    static shapes s;
    double total = 0;
    s.count = 0;
    for (int i = 0; i < count; i++) note_plan(&s, plans[i]);
    for (int i = 0; i < s.count; i++) total += s.list[i].times * product_time(b, &s.list[i]);
    return total;
}

/* ---- where the time goes: CPU time of the calling thread, by operator; use with --threads 1 -- */

static void profile(const char *title, nn_plan *const *plans, int count)
{
    double spent[NN_OP_COUNT][2] = {{0}}, total = 0;
    enum { TIMES = 20 };
    for (int k = 0; k < TIMES; k++) {
        for (int i = 0; i < count; i++) {
            for (size_t j = 0; j < plans[i]->program.step_count; j++) {
                const nn_step *step = &plans[i]->program.steps[j];
                int op = 0;
                while (strncmp(step->name, nn_op_name(op), strcspn(step->name, "#")) ||
                       nn_op_name(op)[strcspn(step->name, "#")])
                    op++;
                double start = cpu_now();
                step->body(&step->call);
                double t = (cpu_now() - start) / TIMES;
                spent[op][step->call.out.g != NULL] += t;
                total += t;
            }
        }
    }
    printf("%s: %.3f ms\n", title, 1e3 * total);
    for (int op = 0; op < NN_OP_COUNT; op++)
        if (spent[op][0] + spent[op][1] > 0.005 * total)
            printf("  %-16s forward %8.3f  backward %8.3f ms  %3.0f%%\n", nn_op_name(op),
                   1e3 * spent[op][0], 1e3 * spent[op][1],
                   100 * (spent[op][0] + spent[op][1]) / total);
}

/* ---- the steps ------------------------------------------------------------------------------- */

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_nn: %s\n", fans_error());
    exit(1);
}

static void run_sac(void *s)
{
    must(sac_step_run(s));
}

static void run_fnvae(void *s)
{
    must(fnvae_step_run(s));
}

static bool skipped(const bench *b, const char *name)
{
    return b->only && strcmp(b->only, name);
}

static void bench_sac(bench *b, const char *name, sac_sizes z)
{
    if (skipped(b, name)) return;
    sac_step s;
    const uint64_t seed = 1;
    must(sac_step_new(&s, b->cpu, z, 1, &seed));
    nn_plan *plans[] = {s.critic_plan, s.actor_plan};
    row *r = &b->rows[b->count++];
    *r = (row){.name = name, .seconds = time_of(b->budget, run_sac, &s)};
    for (int i = 0; i < 2; i++) r->flops += nn_plan_flops(plans[i]);
    r->ceiling = ceiling_of(b, plans, 2);
    if (b->profile) profile(name, plans, 2);
    nn_graph_free(s.g);
}

static void bench_fnvae(bench *b, const char *name, fnvae_sizes z)
{
    if (skipped(b, name)) return;
    fnvae_step s;
    const uint64_t seed = 1;
    must(fnvae_step_new(&s, b->cpu, z, 1, &seed));
    row *r = &b->rows[b->count++];
    *r = (row){.name = name, .seconds = time_of(b->budget, run_fnvae, &s)};
    r->flops = nn_plan_flops(s.plan);
    r->ceiling = ceiling_of(b, &s.plan, 1);
    if (b->profile) profile(name, &s.plan, 1);
    nn_graph_free(s.g);
}

static void run_rsac(void *s)
{
    must(rsac_step_run(s));
}

static void run_varibad(void *s)
{
    must(varibad_step_run(s));
}

/* A method's update: `fn` runs `step`, of which these are the plans. */
static void bench_method(bench *b, const char *name, void (*fn)(void *), void *step,
                         const nn_graph *g)
{
    row *r = &b->rows[b->count++];
    *r = (row){.name = name, .seconds = time_of(b->budget, fn, step), .flops = method_flops(g)};
    r->ceiling = ceiling_of(b, g->plans, (int)g->plan_count);
    if (b->profile) profile(name, g->plans, (int)g->plan_count);
}

static void bench_methods(bench *b)
{
    rsac_step s;
    varibad_step v;
    if (!skipped(b, "rsac")) {
        must(rsac_step_new(&s, b->cpu));
        bench_method(b, "rsac", run_rsac, &s, s.g);
        rsac_step_free(&s);
    }
    if (skipped(b, "varibad")) return;
    must(varibad_step_new(&v, b->cpu));
    bench_method(b, "varibad", run_varibad, &v, v.g);
    varibad_step_free(&v);
}

/* d masked decoders of width `total`/d, against one dense network of width `total`: forward,
 * backward and Adam on 1600 rows. */
typedef struct decoder {
    nn_graph *g;
    nn_group *net;
    nn_plan *plan;
} decoder;

static void run_decoder(void *arg)
{
    decoder *d = arg;
    nn_adam adam = NN_ADAM_DEFAULT;
    must(nn_plan_run(d->plan));
    must(nn_group_adam(d->net, &adam));
}

static void bench_decoder(bench *b, const char *name, int d, int total, bool factored)
{
    if (skipped(b, name)) return;
    enum { ROWS = 1600, M = 6, P = 20 };
    decoder x;
    const uint64_t seed = 1;
    must(nn_graph_new(&x.g, b->cpu, 1, &seed));
    x.net = nn_group_new(x.g, "net");
    nn_group *phi = nn_group_new(x.g, "phi");
    nn_var s = nn_input(x.g, "s", 1, ROWS, d), a = nn_input(x.g, "a", 1, ROWS, M);
    nn_var y = nn_input(x.g, "y", 1, ROWS, d), C = nn_input(x.g, "C", 1, d + M + P, d);
    nn_var theta = nn_param(phi, "theta", 1, ROWS, P, NN_INIT_NORMAL, 1);
    nn_list in = NN_IN(s, a, theta);
    nn_var out = factored ? nn_masked_mlp(x.net, "rec", in, C, d, 2, total / d, NN_RELU, 1)
                          : nn_mlp(x.net, "rec", in, 1, 2, total, NN_RELU, d);
    nn_var loss = nn_gauss_nll(y, out, NN_NONE, NN_NONE);
    nn_group *groups[] = {x.net, phi};
    must(nn_plan_new(&x.plan, x.g, &loss, 1, 1, groups, 2));
    must(nn_graph_commit(x.g));
    step_fill(s, -1, 1, 1);
    step_fill(a, -1, 1, 1);
    step_fill(y, -1, 1, 1);
    step_fill(C, 0, 1, 1);
    row *r = &b->rows[b->count++];
    *r = (row){.name = name,
               .seconds = time_of(b->budget, run_decoder, &x),
               .flops = nn_plan_flops(x.plan)};
    nn_graph_free(x.g);
}

/* What an update from pixels adds: frames of 128 rows gathered, stacked and shifted; convolutions
 * and the layer after them, forward and backward; the same of the successors, forward; Adam. */
enum { FILM_ROWS = 128, FILM_FRAMES = 3, FILM_SIDE = 64, FILM_KEPT = 2000 };

static nn_var record_film(nn_group *eye, nn_group *reader, nn_var table, int views)
{
    nn_var at = nn_index(table.graph, "at", 1, FILM_ROWS, FILM_FRAMES);
    nn_var shift = nn_index(table.graph, "shift", 1, FILM_ROWS, 2);
    nn_var x = nn_frames(table, at, shift, (nn_film){views, FILM_SIDE, FILM_SIDE, 3});
    nn_conv c = {FILM_FRAMES * views * 3, FILM_SIDE, FILM_SIDE, 32, 3, 2, 0, 0};
    for (int k = 0; k < 4; k++) {
        char layer[8];
        snprintf(layer, sizeof layer, "conv%d", k);
        x = nn_conv_layer(eye, layer, x, c, false, NN_RELU);
        c.channels = c.filters;
        c.height = c.width = nn_conv_out(c, c.height, false);
        c.stride = 1;
    }
    return nn_norm_dense(reader, "features", NN_IN(x), 1, true, 50, NN_TANH);
}

static void fill_film(nn_var film, int most)
{
    static int32_t numbers[FILM_ROWS * FILM_FRAMES];
    nn_shape s = nn_shape_of(film);
    for (int i = 0; i < s.B * s.D; i++) numbers[i] = i * 7919 % most;
    nn_write_index(film, 0, numbers);
}

typedef struct film {
    nn_graph *g;
    nn_group *eye, *reader, *target;
    nn_plan *plan;
} film;

static void run_film(void *arg)
{
    film *f = arg;
    nn_adam adam = NN_ADAM_DEFAULT;
    must(nn_plan_run(f->plan));
    must(nn_group_adam(f->eye, &adam));
    must(nn_group_adam(f->reader, &adam));
}

static void bench_film(bench *b, const char *name, int views)
{
    if (skipped(b, name)) return;
    film f;
    const uint64_t seed = 1;
    int width = views * FILM_SIDE * FILM_SIDE * 3;
    uint8_t *kept = mem_alloc((size_t)FILM_KEPT * (size_t)width);
    must(kept ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < (size_t)FILM_KEPT * (size_t)width; i++) kept[i] = (uint8_t)(i * 37);
    must(nn_graph_new(&f.g, b->cpu, 1, &seed));
    f.eye = nn_group_new(f.g, "eye");
    f.reader = nn_group_new(f.g, "reader");
    f.target = nn_group_new(f.g, "target");
    nn_var table = nn_table(f.g, "table", FILM_KEPT, width, NN_U8, kept);
    nn_var now = record_film(f.eye, f.reader, table, views);
    nn_var next = record_film(f.eye, f.target, table, views);
    nn_var loss = nn_mse(now, nn_detach(next), NN_NONE);
    nn_group *groups[] = {f.eye, f.reader};
    must(nn_plan_new(&f.plan, f.g, &loss, 1, 1, groups, 2));
    must(nn_graph_commit(f.g));
    for (size_t i = 0; i < f.g->count; i++)
        if (f.g->nodes[i].op == LEAF_INDEX)
            fill_film((nn_var){f.g, (int)i}, f.g->nodes[i].shape.D == 2 ? 7 : FILM_KEPT);
    row *r = &b->rows[b->count++];
    *r = (row){.name = name, .seconds = time_of(b->budget, run_film, &f)};
    r->flops = nn_plan_flops(f.plan);
    if (b->profile) profile(name, &f.plan, 1);
    nn_graph_free(f.g);
    mem_free(kept);
}

/* ---- the peer and the table ------------------------------------------------------------------ */

static void take_peer(void *user, const char *line)
{
    bench *b = user;
    char name[64];
    double seconds;
    if (sscanf(line, "%63s %lf", name, &seconds) < 2) return;
    for (int i = 0; i < b->count; i++)
        if (!strcmp(b->rows[i].name, name)) b->rows[i].peer = seconds;
}

static void print_table(const bench *b)
{
    printf("%-18s %10s %9s %9s %10s %8s\n", "step", "ms", "GFLOP", "GFLOP/s", "of ceiling",
           "x torch");
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        printf("%-18s %10.3f %9.3f %9.1f", r->name, 1e3 * r->seconds, 1e-9 * r->flops,
               1e-9 * r->flops / r->seconds);
        if (r->ceiling > 0)
            printf(" %9.0f%%", 100 * r->ceiling / r->seconds);
        else
            printf(" %10s", "-");
        if (r->peer > 0)
            printf(" %8.2f\n", r->seconds / r->peer);
        else
            printf(" %8s\n", "-");
    }
}

static int write_json(const bench *b, const char *path)
{
    json_t *list = json_array();
    for (int i = 0; i < b->count; i++) {
        const row *r = &b->rows[i];
        json_array_append_new(
            list,
            json_pack("{s:s, s:f, s:f, s:f, s:f}", "step", r->name, "seconds", r->seconds, "flops",
                      r->flops, "ceiling_seconds", r->ceiling, "torch_seconds", r->peer));
    }
    json_t *all = json_pack("{s:i, s:o}", "threads", pool_threads(b->threads), "steps", list);
    int rc = json_write_file(path, all);
    json_decref(all);
    return rc;
}

int main(int argc, char **argv)
{
    static bench b = {.budget = 2};
    const char *json = NULL, *peer = NULL;
    int threads = 0;
    int first = 1;
    for (; first < argc && (!strcmp(argv[first], "--profile") || !strcmp(argv[first], "--cpu"));
         first++)
        if (argv[first][2] == 'p')
            b.profile = true;
        else
            now_of = cpu_now;
    for (int i = first; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--threads")) threads = atoi(argv[i + 1]);
        if (!strcmp(argv[i], "--seconds")) b.budget = atof(argv[i + 1]);
        if (!strcmp(argv[i], "--only")) b.only = argv[i + 1];
        if (!strcmp(argv[i], "--json")) json = argv[i + 1];
        if (!strcmp(argv[i], "--peer")) peer = argv[i + 1];
    }
    omp_set_num_threads(1); /* here products are called outside of plans too */
    must(pool_new(&b.threads, threads));
    must(nn_cpu_new(&b.cpu, b.threads));
    bench_sac(&b, "sac", (sac_sizes){57, 6, 256, 256, false});
    bench_sac(&b, "sac-norm", (sac_sizes){57, 6, 256, 256, true});
    bench_fnvae(&b, "fnvae-64", (fnvae_sizes){17, 6, 20, 20, 128, 64, 128, 50, 32});
    bench_fnvae(&b, "fnvae-512", (fnvae_sizes){17, 6, 20, 20, 256, 512, 512, 50, 32});
    bench_methods(&b);
    bench_film(&b, "pixels-1", 1);
    bench_film(&b, "pixels-2", 2);
    static const int dims[] = {17, 34, 68, 136};
    static char names[8][24];
    for (int i = 0; i < 4 && !b.profile; i++) {
        snprintf(names[2 * i], sizeof names[0], "factored-%d", dims[i]);
        snprintf(names[2 * i + 1], sizeof names[0], "dense-%d", dims[i]);
        bench_decoder(&b, names[2 * i], dims[i], 1088, true);
        bench_decoder(&b, names[2 * i + 1], dims[i], 1088, false);
    }
    if (peer) must(peer_run(peer, take_peer, &b));
    char cpu[128];
    os_cpu_name(cpu, sizeof cpu);
    printf("%s, %d threads\n", cpu, pool_threads(b.threads));
    print_table(&b);
    if (json) must(write_json(&b, json));
    nn_backend_free(b.cpu);
    pool_free(b.threads);
    return 0;
}
