/* cmd_export.c - fans export: a trained policy for other programs and machines. */
#include <ctype.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/os.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "deploy/c_export.h"
#include "deploy/onnx.h"

enum { SEED = 1000000 }; /* of the life whose first ticks the self-test repeats */

typedef struct wish {
    const char *folder, *to, *name, *out, *weights;
    program_options options;
} wish;

/* It begins every name in the C code. */
static bool is_identifier(const char *s)
{
    if (!isalpha((unsigned char)*s)) return false;
    while (isalnum((unsigned char)*s) || *s == '_') s++;
    return *s == '\0';
}

static int check(wish *w)
{
    if (!w->to) return fans_fail(CLI_USAGE, "export: --to is missing: c or onnx");
    if (strcmp(w->to, "c") != 0 && strcmp(w->to, "onnx") != 0)
        return fans_fail(CLI_USAGE, "export: --to %s: c or onnx", w->to);
    if (strcmp(w->weights, "f32") != 0 && strcmp(w->weights, "f16") != 0)
        return fans_fail(CLI_USAGE, "export: --weights %s: f32 or f16", w->weights);
    if (!is_identifier(w->name) || strlen(w->name) > 40)
        return fans_fail(CLI_USAGE,
                         "export: --name %s: up to 40 letters, digits and _, the first a letter",
                         w->name);
    w->options.f16 = !strcmp(w->weights, "f16");
    return 0;
}

static int write_file(const wish *w, const char *ending, const void *bytes, size_t n)
{
    char path[RUN_PATH];
    if (snprintf(path, sizeof path, "%s/%s.%s", w->out, w->name, ending) >= RUN_PATH)
        return fans_fail(FANS_EIO, "--out %s: the path is too long", w->out);
    return os_write_file(path, bytes, n);
}

static int write_c(const wish *w, const program *p, const session *s)
{
    recording r = {0};
    text header = {0}, code = {0};
    int rc = 0;
    TRY(recording_live(&r, p, s, 1, SEED));
    c_export_header(p, w->name, &header);
    TRY(text_done(&header));
    TRY(c_export_source(p, w->name, &r, &code));
    TRY(write_file(w, "h", header.s, header.length));
    TRY(write_file(w, "c", code.s, code.length));
out:
    text_free(&header);
    text_free(&code);
    recording_free(&r);
    return rc;
}

static int write_onnx(const wish *w, const program *p)
{
    void *bytes = NULL;
    size_t n;
    int rc = onnx_write(p, w->name, &bytes, &n);
    if (rc == 0) rc = write_file(w, "onnx", bytes, n);
    mem_free(bytes);
    return rc;
}

int cmd_export(int argc, char **argv)
{
    wish w = {.name = "policy", .out = ".", .weights = "f32"};
    const char *json = NULL;
    const arg args[] = {
        ARG_WORD("RUN", &w.folder, "folder of a trained run"),
        ARG_TEXT("to", "FORM", &w.to, "c: a .c and a .h in C99; onnx: a model in ONNX"),
        ARG_TEXT("out", "DIR", &w.out, "folder for the files (the current one)"),
        ARG_TEXT("name", "NAME", &w.name,
                 "of the files, and before every name in the C code (policy)"),
        ARG_TEXT("weights", "TYPE", &w.weights, "f32, or f16 for half the size (f32)"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    session s = {0};
    program *p = NULL;
    int rc = args_parse("export", ARGS(args), argc, argv);
    if (rc) return rc;
    TRY(check(&w));
    TRY(session_look(&s, w.folder, &(text_list){0}, 1));
    TRY(program_new(&p, s.entries[0].algo, training_agent(s.trainings[0]), 0, w.options));
    TRY(os_make_folders(w.out));
    TRY(!strcmp(w.to, "c") ? write_c(&w, p, &s) : write_onnx(&w, p));
    const program_shape *z = program_shape_of(p);
    c_export_sizes bytes = c_export_sizes_of(p);
    TRY(cli_write_json(json, json_pack("{s:s, s:I, s:I, s:I}", "algo", s.entries[0].algo->name,
                                       "flash", (json_int_t)bytes.flash, "state",
                                       (json_int_t)bytes.state, "stack", (json_int_t)bytes.stack)));
    printf("%s/%s.%s: %s, %d observations, %d actions\n", w.out, w.name, w.to,
           s.entries[0].algo->name, z->in[TICK_obs].width, z->out[TICK_actions].width);
    printf("flash %zu bytes of constants, state %zu bytes a life, stack %zu bytes\n", bytes.flash,
           bytes.state, bytes.stack);
out:
    program_free(p);
    session_close(&s);
    return rc;
}
