/* cmd_doctor.c - fans doctor: what was built, what the machine has, what could be installed.
 *
 * Libraries that FANS can do without (GL, CUDA) are opened at run time, here as in the code that
 * uses them, so that one binary runs with or without them. They are never closed: the process
 * ends soon, and not all drivers survive it. */
#include <mujoco/mujoco.h>
#include <oneapi/dnnl/dnnl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/os.h"
#include "base/text.h"
#include "base/version.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/gl.h"
#include "nn/nn.h"

/* One line of the report. */
typedef struct finding {
    const char *name;
    bool found;
    text detail;
    const char *install; /* not found: how to get it */
    const char *without; /* not found: what happens instead */
    json_t *figures;     /* an object, for programs */
} finding;

/* ---- the build ------------------------------------------------------------------------------- */

static void check_fans(finding *f)
{
    text_add(&f->detail, "%s, commit %s, %s", fans_version(), version_commit(), version_compiler());
    json_object_set_new(f->figures, "version", json_string(fans_version()));
    json_object_set_new(f->figures, "commit", json_string(version_commit()));
    json_object_set_new(f->figures, "compiler", json_string(version_compiler()));
}

static void add_version(finding *f, const char *version)
{
    text_add(&f->detail, "%s", version);
    json_object_set_new(f->figures, "version", json_string(version));
}

/* Newest first: the first whose bits are all there is the one in use. */
static const struct {
    unsigned bits;
    const char *name;
} isas[] = {
    {dnnl_cpu_isa_avx512_core_amx, "AVX-512 with AMX"},
    {dnnl_cpu_isa_avx512_core_bf16, "AVX-512 with BF16"},
    {dnnl_cpu_isa_avx512_core_vnni, "AVX-512 with VNNI"},
    {dnnl_cpu_isa_avx512_core, "AVX-512"},
    {dnnl_cpu_isa_avx2_vnni, "AVX2 with VNNI"},
    {dnnl_cpu_isa_avx2, "AVX2"},
    {dnnl_cpu_isa_avx, "AVX"},
    {dnnl_cpu_isa_sse41, "SSE 4.1"},
};

static void check_onednn(finding *f)
{
    const dnnl_version_t *v = dnnl_version();
    unsigned isa = dnnl_get_effective_cpu_isa();
    const char *name = "no known instruction set";
    for (size_t i = 0; i < sizeof isas / sizeof *isas; i++) {
        if ((isa & isas[i].bits) != isas[i].bits) continue;
        name = isas[i].name;
        break;
    }
    text_add(&f->detail, "%d.%d.%d, uses %s", v->major, v->minor, v->patch, name);
    json_object_set_new(f->figures, "version",
                        json_sprintf("%d.%d.%d", v->major, v->minor, v->patch));
    json_object_set_new(f->figures, "isa", json_string(name));
}

static void check_mujoco(finding *f)
{
    add_version(f, mj_versionString());
}

static void check_jansson(finding *f)
{
    add_version(f, jansson_version_str());
}

static void check_inih(finding *f)
{
    add_version(f, INIH_VERSION); /* it cannot be asked at run time */
}

static void check_zstd(finding *f)
{
    add_version(f, ZSTD_versionString());
}

/* ---- the machine ----------------------------------------------------------------------------- */

static void check_cpu(finding *f)
{
    char name[256];
    os_cpu_name(name, sizeof name);
    text_add(&f->detail, "%s", name);
    json_object_set_new(f->figures, "name", json_string(name));
    json_t *features = json_array();
#if defined(__x86_64__)
#    define FEATURE(name, shown)                                 \
        if (__builtin_cpu_supports(name)) {                      \
            text_add(&f->detail, ", %s", shown);                 \
            json_array_append_new(features, json_string(shown)); \
        }
    FEATURE("avx2", "AVX2")
    FEATURE("fma", "FMA")
    FEATURE("avx512f", "AVX-512")
#    undef FEATURE
#endif
    json_object_set_new(f->figures, "features", features);
}

static void check_threads(finding *f)
{
    int usable = os_cores();
    long online = sysconf(_SC_NPROCESSORS_ONLN);
    text_add(&f->detail, "%d usable of %ld", usable, online);
    json_object_set_new(f->figures, "usable", json_integer(usable));
    json_object_set_new(f->figures, "online", json_integer(online));
}

static void check_memory(finding *f)
{
    double page = (double)sysconf(_SC_PAGESIZE), total = page * (double)sysconf(_SC_PHYS_PAGES);
    text_add(&f->detail, "%.1f GiB", total / 0x1p30);
    json_object_set_new(f->figures, "bytes", json_integer((json_int_t)total));
}

/* ---- libraries and programs that may be missing ---------------------------------------------- */

/* Which GL draws pictures for people; agents' cameras need none. */
static void check_gl(finding *f)
{
    char detail[256];
    setenv("EGL_LOG_LEVEL", "fatal", 0); /* Mesa would print messages of its own */
    f->found = gl_probe(detail, sizeof detail) == 0;
    f->install = "apt install libegl1 or libosmesa6, or the GPU's driver";
    f->without = "pictures and videos are drawn by a simple ray caster";
    text_add(&f->detail, "%s", detail);
}

/* The first executable called `name` along PATH. */
static bool find_program(const char *name, text *where)
{
    const char *path = getenv("PATH");
    while (path && *path) {
        size_t n = strcspn(path, ":");
        text candidate = {0};
        text_add(&candidate, "%.*s/%s", (int)n, path, name);
        bool found = candidate.s && access(candidate.s, X_OK) == 0;
        if (found) text_add(where, "%s", candidate.s);
        text_free(&candidate);
        if (found) return true;
        path += n + (path[n] == ':');
    }
    return false;
}

static void check_ffmpeg(finding *f)
{
    f->found = find_program("ffmpeg", &f->detail);
    if (!f->found) text_add(&f->detail, "not in PATH");
    f->install = "apt install ffmpeg";
    f->without = "videos are written as folders of PNG frames";
}

/* Which GPU trains, or the first thing that is missing for it. */
static void check_cuda(finding *f)
{
    char detail[256];
    f->found = nn_cuda_probe(detail, sizeof detail) == 0;
    f->install = "install NVIDIA's driver and cuBLAS, and build where nvcc is found";
    f->without = "everything runs on the CPU";
    text_add(&f->detail, "%s", detail);
}

/* ---- the command ----------------------------------------------------------------------------- */

static const struct {
    const char *name;
    void (*check)(finding *f);
} checks[] = {
    {"FANS", check_fans},       {"CPU", check_cpu},       {"threads", check_threads},
    {"memory", check_memory},   {"oneDNN", check_onednn}, {"MuJoCo", check_mujoco},
    {"jansson", check_jansson}, {"libinih", check_inih},  {"zstd", check_zstd},
    {"GL", check_gl},           {"ffmpeg", check_ffmpeg}, {"CUDA", check_cuda},
};
enum { CHECKS = sizeof checks / sizeof *checks };

static int report(const finding *f, table *out, json_t *all)
{
    if (text_done(&f->detail) < 0) return FANS_ENOMEM;
    table_row(out, f->name, f->found ? "yes" : "no", f->detail.s);
    if (!f->found) {
        text advice = {0};
        text_add(&advice, "to get it: %s; without it: %s", f->install, f->without);
        table_row(out, "", "", advice.s ? advice.s : "");
        text_free(&advice);
        json_object_set_new(f->figures, "install", json_string(f->install));
        json_object_set_new(f->figures, "without", json_string(f->without));
    }
    json_object_set_new(f->figures, "found", json_boolean(f->found));
    json_object_set_new(f->figures, "detail", json_string(f->detail.s));
    return json_object_set(all, f->name, f->figures) ? fans_fail(FANS_ENOMEM, "out of memory") : 0;
}

int cmd_doctor(int argc, char **argv)
{
    const char *json = NULL;
    const arg args[] = {ARG_JSON(&json)};
    int rc = args_parse("doctor", ARGS(args), argc, argv);
    if (rc) return rc;

    table out = {0};
    json_t *all = json_object();
    for (int i = 0; i < CHECKS && rc == 0; i++) {
        finding f = {.name = checks[i].name, .found = true, .figures = json_object()};
        checks[i].check(&f);
        rc = report(&f, &out, all);
        text_free(&f.detail);
        json_decref(f.figures);
    }
    if (rc == 0)
        rc = cli_write_json(json, all);
    else
        json_decref(all);
    if (rc == 0) rc = table_print(&out);
    table_free(&out);
    return rc;
}
