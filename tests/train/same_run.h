/* same_run.h - whether two folders hold the same run, byte for byte but for times. */
#ifndef TESTS_SAME_RUN_H
#define TESTS_SAME_RUN_H

#include "base/json.h"
#include "train_rig.h"

/* A checkpoint in memory: header and data. */
typedef struct file {
    char *bytes;
    json_t *header;
    const char *numbers;
} file;

static inline file open_checkpoint(const char *folder)
{
    file f;
    size_t n;
    uint64_t length;
    f.bytes = rig_read(folder, "checkpoint.safetensors", &n);
    memcpy(&length, f.bytes, 8);
    f.header = json_loadb(f.bytes + 8, length, 0, NULL);
    f.numbers = f.bytes + 8 + length;
    assert_non_null(f.header);
    return f;
}

static inline const char *array(const file *f, const char *name, size_t *n)
{
    json_t *at = json_object_get(json_object_get(f->header, name), "data_offsets");
    size_t from = (size_t)json_integer_value(json_array_get(at, 0));
    *n = (size_t)json_integer_value(json_array_get(at, 1)) - from;
    return f->numbers + from;
}

/* Compares every array except those that depend on the clock. */
static inline void same_checkpoints(const char *a, const char *b)
{
    file x = open_checkpoint(a), y = open_checkpoint(b);
    const char *name;
    json_t *value;
    assert_int_equal(json_object_size(x.header), json_object_size(y.header));
    json_object_foreach(x.header, name, value)
    {
        size_t n, m;
        if (!strcmp(name, "__metadata__") || !strcmp(name, "run/wall") ||
            !strcmp(name, "run/busy") || !strcmp(name, "run/events_bytes"))
            continue;
        const char *p = array(&x, name, &n), *q = array(&y, name, &m);
        if (n != m || memcmp(p, q, n)) fail_msg("'%s' differs between %s and %s", name, a, b);
    }
    json_decref(x.header);
    json_decref(y.header);
    mem_free(x.bytes);
    mem_free(y.bytes);
}

/* What a run leaves: curves, beliefs, the graph, and all that it goes on from. */
static inline void same_run(const char *a, const char *b)
{
    static const char *const files[] = {"config.ini", "metrics.csv", "beliefs.csv", "graph.json"};
    for (size_t i = 0; i < COUNT(files); i++) {
        char path[256];
        snprintf(path, sizeof path, "%s/%s", a, files[i]);
        if (access(path, F_OK) == 0) rig_same_file(a, b, files[i]);
    }
    same_checkpoints(a, b);
}

#endif
