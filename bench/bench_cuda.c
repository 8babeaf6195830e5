/* bench_cuda.c - whole training steps on a GPU, compared with PyTorch's if it is installed.
 *
 *     bench_cuda [--seconds S] [--only NAME] [--peer COMMAND]
 *
 * The time is that of many queued steps until the last has finished, divided by their number: the
 * median of five. The floor is the larger of arithmetic and memory traffic: matrix products at the
 * rate given for their precision, every parameter and moment once per step, every activation and
 * its gradient written once and read twice. COMMAND prints lines "name seconds …";
 * bench/peers/cuda_torch.py does so. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tests/nn/nn_steps.h"
#include "base/os.h"
#include "method_steps.h"
#include "peer.h"

enum { MOST_ROWS = 32, MOST_REPLICAS = 64 };

typedef struct row {
    char name[48];
    double seconds, host, floor, gflop; /* host: to queue a step */
    double eager, graph;                /* PyTorch's; 0 where unknown */
} row;

typedef struct bench {
    double budget;
    const char *only;
    row rows[MOST_ROWS];
    int count;
} bench;

static void must(int rc)
{
    if (rc == 0) return;
    fprintf(stderr, "bench_cuda: %s\n", fans_error());
    exit(1);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double time_of(double budget, nn_graph *g, int (*step)(void *), void *arg, double *host)
{
    double times[5];
    for (int i = 0; i < 20; i++) must(step(arg)); /* capture, warm up */
    must(nn_graph_check(g));
    double start = os_now();
    for (int i = 0; i < 20; i++) must(step(arg));
    must(nn_graph_check(g));
    int repeat = (int)(budget / 5 / ((os_now() - start) / 20)) + 1;
    for (int k = 0; k < 5; k++) {
        start = os_now();
        for (int i = 0; i < repeat; i++) must(step(arg));
        *host = (os_now() - start) / repeat;
        must(nn_graph_check(g));
        times[k] = (os_now() - start) / repeat;
    }
    qsort(times, 5, sizeof *times, by_value);
    return times[2];
}

/* Rates of an H200: dense products by precision, measured copy bandwidth. */
static const double FLOPS[] = {67e12, 494e12, 989e12};
static const double BYTES = 4.3e12;

static double floor_of(double flops, double bytes, nn_precision p)
{
    double a = flops / FLOPS[p], b = bytes / BYTES;
    return a > b ? a : b;
}

static row *new_row(bench *b, const char *name)
{
    row *r = &b->rows[b->count];
    if (b->only && strncmp(b->only, name, strlen(b->only))) return NULL;
    b->count++;
    snprintf(r->name, sizeof r->name, "%s", name);
    return r;
}

static int run_sac(void *s)
{
    return sac_step_run(s);
}

static int run_fnvae(void *s)
{
    return fnvae_step_run(s);
}

static void bench_sac(bench *b, int replicas, bool norm, nn_precision precision)
{
    char name[48];
    sac_step s;
    uint64_t seeds[MOST_REPLICAS];
    nn_backend *gpu;
    nn_cuda_options o = {.precision = precision};
    snprintf(name, sizeof name, "sac-%d%s%s", replicas, norm ? "-norm" : "",
             precision == NN_TF32 ? "-tf32" : "");
    row *r = new_row(b, name);
    if (!r) return;
    for (int i = 0; i < replicas; i++) seeds[i] = (uint64_t)i + 1;
    must(nn_cuda_new(&gpu, &o));
    must(sac_step_new(&s, gpu, (sac_sizes){57, 6, 256, 256, norm}, replicas, seeds));
    r->seconds = time_of(b->budget, s.g, run_sac, &s, &r->host);
    double flops = nn_plan_flops(s.critic_plan) + nn_plan_flops(s.actor_plan);
    r->gflop = 1e-9 * flops;
    r->floor = floor_of(flops, 3.0 * (double)nn_graph_bytes(s.g), precision);
    nn_graph_free(s.g);
    nn_backend_free(gpu);
}

static void bench_fnvae(bench *b, const char *name, fnvae_sizes z, nn_precision precision)
{
    fnvae_step s;
    const uint64_t seed = 1;
    nn_backend *gpu;
    nn_cuda_options o = {.precision = precision};
    row *r = new_row(b, name);
    if (!r) return;
    must(nn_cuda_new(&gpu, &o));
    must(fnvae_step_new(&s, gpu, z, 1, &seed));
    r->seconds = time_of(b->budget, s.g, run_fnvae, &s, &r->host);
    double flops = nn_plan_flops(s.plan);
    r->gflop = 1e-9 * flops;
    r->floor = floor_of(flops, 3.0 * (double)nn_graph_bytes(s.g), precision);
    nn_graph_free(s.g);
    nn_backend_free(gpu);
}

static void measure_method(const bench *b, row *r, nn_graph *g, int (*step)(void *), void *arg,
                           nn_precision precision)
{
    double flops = method_flops(g);
    r->seconds = time_of(b->budget, g, step, arg, &r->host);
    r->gflop = 1e-9 * flops;
    r->floor = floor_of(flops, 3.0 * (double)nn_graph_bytes(g), precision);
}

static void bench_rsac(bench *b, const char *name, nn_precision precision)
{
    rsac_step s;
    nn_backend *gpu;
    nn_cuda_options o = {.precision = precision};
    row *r = new_row(b, name);
    if (!r) return;
    must(nn_cuda_new(&gpu, &o));
    must(rsac_step_new(&s, gpu));
    measure_method(b, r, s.g, rsac_step_run, &s, precision);
    rsac_step_free(&s);
    nn_backend_free(gpu);
}

static void bench_varibad(bench *b, const char *name, nn_precision precision)
{
    varibad_step s;
    nn_backend *gpu;
    nn_cuda_options o = {.precision = precision};
    row *r = new_row(b, name);
    if (!r) return;
    must(nn_cuda_new(&gpu, &o));
    must(varibad_step_new(&s, gpu));
    measure_method(b, r, s.g, varibad_step_run, &s, precision);
    varibad_step_free(&s);
    nn_backend_free(gpu);
}

static void take_peer(void *user, const char *line)
{
    bench *b = user;
    char name[64], mode[16];
    double seconds;
    if (sscanf(line, "%63s %15s %lf", name, mode, &seconds) < 3) return;
    for (int i = 0; i < b->count; i++)
        if (!strcmp(b->rows[i].name, name))
            *(strcmp(mode, "graph") ? &b->rows[i].eager : &b->rows[i].graph) = seconds;
}

static void print_time(double seconds)
{
    if (seconds > 0)
        printf(" %12.3f", 1e3 * seconds);
    else
        printf(" %12s", "-");
}

int main(int argc, char **argv)
{
    static bench b = {.budget = 1};
    const char *peer = NULL;
    char device[256];
    for (int i = 1; i + 1 < argc; i += 2) {
        if (!strcmp(argv[i], "--seconds")) b.budget = atof(argv[i + 1]);
        if (!strcmp(argv[i], "--only")) b.only = argv[i + 1];
        if (!strcmp(argv[i], "--peer")) peer = argv[i + 1];
    }
    if (nn_cuda_probe(device, sizeof device) < 0) {
        printf("skipped: no GPU: %s\n", device);
        return 77;
    }
    printf("%s\n", device);
    const fnvae_sizes paper = {17, 6, 20, 20, 256, 512, 512, 50, 256};
    for (int norm = 0; norm < 2; norm++) {
        bench_sac(&b, 1, norm, NN_FP32);
        bench_sac(&b, 10, norm, NN_FP32);
        bench_sac(&b, 10, norm, NN_TF32);
        bench_sac(&b, 54, norm, NN_FP32);
        bench_sac(&b, 54, norm, NN_TF32);
    }
    bench_fnvae(&b, "fnvae-fp32", paper, NN_FP32);
    bench_fnvae(&b, "fnvae-tf32", paper, NN_TF32);
    bench_fnvae(&b, "fnvae-bf16", paper, NN_BF16);
    bench_rsac(&b, "rsac-fp32", NN_FP32);
    bench_rsac(&b, "rsac-tf32", NN_TF32);
    bench_varibad(&b, "varibad-fp32", NN_FP32);
    if (peer) must(peer_run(peer, take_peer, &b));
    printf("%-14s %10s %10s %9s %9s %8s %12s %12s\n", "step", "ms", "queued in", "GFLOP", "TFLOP/s",
           "x floor", "torch eager", "torch graph");
    for (int i = 0; i < b.count; i++) {
        const row *r = &b.rows[i];
        printf("%-14s %10.4f %10.4f %9.2f %9.1f %8.1f", r->name, 1e3 * r->seconds, 1e3 * r->host,
               r->gflop, 1e-3 * r->gflop / r->seconds, r->seconds / r->floor);
        print_time(r->eager);
        print_time(r->graph);
        printf("\n");
    }
    return 0;
}
