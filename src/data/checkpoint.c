/* checkpoint.c - writing and reading safetensors: a length, a JSON header, then the numbers.
 *
 * The header is written by hand, because its layout is fixed and it must be padded. It is read with
 * jansson, and every rule of the format is checked: a file may come from anywhere. */
#define _GNU_SOURCE
#include "data/checkpoint.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <zstd.h>
#include <zstd_errors.h>

#include "base/error.h"
#include "base/json.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/text.h"
#include "data/crc32c.h"

enum { LEVEL = 1, CRC_DIGITS = 8, MOST_HEADER = 100000000 };
static const char CRC_ZERO[] = "00000000";
static const char *const DTYPES[] = {"F32", "F64", "I64", "U64", "U8"};

struct checkpoint {
    text header;
    char *file; /* header and numbers */
    size_t capacity;
    size_t at; /* end of the numbers so far */
    ZSTD_CCtx *zstd;
};

static int enlarge(char **memory, size_t *size, size_t wanted)
{
    if (wanted <= *size) return 0;
    mem_free(*memory);
    *size = wanted;
    return (*memory = mem_alloc(wanted)) ? 0 : FANS_ENOMEM;
}

int checkpoint_fit(checkpoint *c, const state_list *s)
{
    size_t capacity = 4096 + 512 * s->count;
    int rc = 0;
    for (size_t i = 0; i < s->count; i++) {
        size_t n = state_item_bytes(&s->items[i]);
        capacity += s->items[i].compress ? ZSTD_compressBound(n) : n;
    }
    TRY(enlarge(&c->file, &c->capacity, capacity));
out:
    return rc;
}

int checkpoint_new(checkpoint **out, const state_list *s)
{
    checkpoint *c = mem_alloc(sizeof *c);
    if (!c) return FANS_ENOMEM;
    int rc = checkpoint_fit(c, s);
    c->zstd = ZSTD_createCCtx();
    if (rc == 0 && !c->zstd) rc = fans_fail(FANS_ENOMEM, "out of memory for compression");
    if (rc < 0)
        checkpoint_free(c);
    else
        *out = c;
    return rc;
}

void checkpoint_free(checkpoint *c)
{
    if (!c) return;
    ZSTD_freeCCtx(c->zstd);
    text_free(&c->header);
    mem_free(c->file);
    mem_free(c);
}

/* ---- writing --------------------------------------------------------------------------------- */

static void print_shape(text *t, const state_item *item)
{
    text_add(t, "[");
    for (int i = 0; i < item->rank; i++) text_add(t, "%s%" PRId64, i ? "," : "", item->shape[i]);
    text_add(t, "]");
}

/* Writes an item's bytes to `to` and returns their number; 0 if compression fails. */
static size_t put_item(checkpoint *c, const state_item *item, char *to, size_t room)
{
    size_t n = state_item_bytes(item);
    if (item->compress) { /* a backend's arrays never are, so there is no copy to make */
        size_t packed = ZSTD_compressCCtx(c->zstd, to, room, item->data, n, LEVEL);
        return ZSTD_isError(packed) ? 0 : packed;
    }
    if (item->graph)
        nn_copy_out(item->graph, to, item->data, n);
    else
        memcpy(to, item->data, n);
    return n;
}

/* Arrays are ordered by alignment, as readers expect: 8 bytes, then 4, then 1. Compressed arrays
 * are bytes. */
static bool belongs_to(int pass, const state_item *item)
{
    static const size_t align[] = {8, 4, 1};
    return (item->compress ? 1 : state_type_bytes(item->type)) == align[pass];
}

#define EACH_ITEM(s, i, from, to)                \
    for (int pass = (from); pass < (to); pass++) \
        for (size_t i = 0; i < (s)->count; i++)  \
            if (belongs_to(pass, &(s)->items[i]))

/* Names, types and places of all items; `sizes` are those stored. */
static int write_header(text *t, const state_list *s, const char *kind, const size_t *sizes)
{
    size_t at = 0;
    t->length = 0;
    text_add(t, "{\"__metadata__\":{\"format\":\"fans\",\"kind\":\"%s\",\"crc32c\":\"%s\"", kind,
             CRC_ZERO);
    for (size_t i = 0; i < s->count; i++) {
        if (!s->items[i].compress) continue;
        text_add(t, ",\"%s\":\"zstd %s ", s->items[i].name, DTYPES[s->items[i].type]);
        print_shape(t, &s->items[i]);
        text_add(t, "\"");
    }
    text_add(t, "}");
    EACH_ITEM(s, i, 0, 3)
    {
        const state_item *item = &s->items[i];
        text_add(t, ",\"%s\":{\"dtype\":\"%s\",\"shape\":", item->name,
                 item->compress ? "U8" : DTYPES[item->type]);
        if (item->compress)
            text_add(t, "[%zu]", sizes[i]);
        else
            print_shape(t, item);
        text_add(t, ",\"data_offsets\":[%zu,%zu]}", at, at + sizes[i]);
        at += sizes[i];
    }
    text_add(t, "}");
    text_add(t, "%*s", (int)((8 - t->length % 8) % 8), ""); /* numbers begin at a multiple of 8 */
    return text_done(t);
}

/* The numbers are written first, after enough room for any header; then the header before them. */
static size_t header_room(const state_list *s)
{
    return 4096 + 512 * s->count;
}

/* Stored sizes by item, kept in the header's room until the header is written. */
static size_t *sizes_of(checkpoint *c)
{
    return (size_t *)(void *)c->file;
}

/* A backend's arrays are never compressed, so these two passes cover them all. */
void checkpoint_gather(checkpoint *c, const state_list *s)
{
    c->at = header_room(s);
    EACH_ITEM(s, i, 0, 2)
    {
        size_t n = put_item(c, &s->items[i], c->file + c->at, c->capacity - c->at);
        sizes_of(c)[i] = n;
        c->at += n;
    }
}

int checkpoint_write(checkpoint *c, const state_list *s, const char *kind, const char *path)
{
    size_t room = header_room(s), *sizes = sizes_of(c), at = c->at;
    EACH_ITEM(s, i, 2, 3)
    {
        assert(!s->items[i].graph);
        sizes[i] = put_item(c, &s->items[i], c->file + at, c->capacity - at);
        if (sizes[i] == 0 && state_item_bytes(&s->items[i]) > 0)
            return fans_fail(FANS_ENOMEM, "%s: cannot compress %s", path, s->items[i].name);
        at += sizes[i];
    }
    int rc = write_header(&c->header, s, kind, sizes);
    if (rc < 0) return rc;
    uint64_t n = c->header.length;
    if (n + 8 > room)
        return fans_fail(FANS_EINVAL,
                         "%s: cannot write: the header takes %llu bytes, more than %zu", path,
                         (unsigned long long)n + 8, room);
    char *start = c->file + room - n - 8, digits[CRC_DIGITS + 1];
    memcpy(start, &n, 8);
    memcpy(start + 8, c->header.s, n);
    size_t total = (size_t)(c->file + at - start);
    snprintf(digits, sizeof digits, "%08" PRIx32, crc32c(0, start, total));
    memcpy(strstr(start + 8, CRC_ZERO), digits, CRC_DIGITS);
    return os_write_file(path, start, total);
}

/* ---- reading --------------------------------------------------------------------------------- */

/* A file in memory, parsed. */
typedef struct opened {
    char *bytes;
    size_t size, data; /* where the numbers begin */
    json_t *header;
} opened;

static void close_file(opened *f)
{
    json_decref(f->header);
    mem_free(f->bytes);
}

static int damaged(const char *path, const char *why)
{
    return fans_fail(FANS_EFORMAT, "%s: damaged, or not a checkpoint: %s", path, why);
}

/* Compares the file with its checksum, which is computed with zeros in its own place. */
static int check_crc(opened *f, const char *path)
{
    const char *crc =
        json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), "crc32c"));
    if (!crc || strlen(crc) != CRC_DIGITS) return damaged(path, "it has no checksum");
    static const char KEY[] = "\"crc32c\":\"";
    size_t key = sizeof KEY - 1;
    char *place = memmem(f->bytes + 8, f->data - 8, KEY, key);
    if (!place || (size_t)(f->bytes + f->data - place) < key + CRC_DIGITS)
        return damaged(path, "it has no checksum");
    place += key;
    uint32_t expected = (uint32_t)strtoul(crc, NULL, 16);
    memcpy(place, CRC_ZERO, CRC_DIGITS);
    if (crc32c(0, f->bytes, f->size) != expected)
        return damaged(path, "its checksum is wrong: bytes have changed since it was written");
    return 0;
}

static int open_file(opened *f, const char *path)
{
    void *bytes;
    uint64_t n;
    *f = (opened){0};
    int rc = os_read_file(&bytes, &f->size, path);
    if (rc < 0) return rc;
    f->bytes = bytes;
    if (f->size < 8) return damaged(path, "it is shorter than 8 bytes");
    memcpy(&n, f->bytes, 8);
    if (n > MOST_HEADER || n > f->size - 8)
        return damaged(path, "its header is longer than the file: truncated, or not safetensors");
    f->data = 8 + (size_t)n;
    json_error_t why = {0};
    rc = json_parse(&f->header, f->bytes + 8, n, &why);
    if (rc == FANS_ENOMEM) return fans_fail_within(rc, "%s", path);
    if (!json_is_object(f->header)) return damaged(path, "its header is not JSON");
    return check_crc(f, path);
}

/* Finds the stored bytes of one array, which must have this dtype and shape. */
static int find(const opened *f, const char *path, const char *name, const char *dtype,
                const json_t *shape, const char **at, size_t *n)
{
    json_t *entry = json_object_get(f->header, name);
    if (!entry)
        return fans_fail(FANS_EFORMAT, "%s: has no array '%s', which this run needs", path, name);
    json_t *offsets = json_object_get(entry, "data_offsets");
    json_int_t from = json_integer_value(json_array_get(offsets, 0));
    json_int_t to = json_integer_value(json_array_get(offsets, 1));
    const char *stored = json_string_value(json_object_get(entry, "dtype"));
    if (from < 0 || to < from || (uint64_t)to > f->size - f->data)
        return damaged(path, "an array lies outside the file");
    if (!stored || strcmp(stored, dtype) ||
        (shape && !json_equal(json_object_get(entry, "shape"), shape)))
        return fans_fail(FANS_EFORMAT, "%s: the type or shape of '%s' is not what this run needs",
                         path, name);
    *at = f->bytes + f->data + from;
    *n = (size_t)(to - from);
    return 0;
}

static int load_packed(const opened *f, const char *path, const state_item *item, char *to)
{
    const char *at = NULL;
    size_t n = 0, bytes = state_item_bytes(item);
    int rc = find(f, path, item->name, "U8", NULL, &at, &n);
    if (rc < 0) return rc;
    if (ZSTD_getFrameContentSize(at, n) != bytes)
        return fans_fail(FANS_EFORMAT, "%s: the size of '%s' is not what this run needs", path,
                         item->name);
    size_t got = ZSTD_decompress(to, bytes, at, n);
    if (ZSTD_getErrorCode(got) == ZSTD_error_memory_allocation)
        return fans_fail(FANS_ENOMEM, "%s: out of memory", path);
    return got == bytes ? 0 : damaged(path, "an array cannot be decompressed");
}

static int load_plain(const opened *f, const char *path, const state_item *item, char *to)
{
    const char *at = NULL;
    size_t n = 0, bytes = state_item_bytes(item);
    json_t *shape = json_array();
    for (int i = 0; i < item->rank; i++)
        if (json_array_append_new(shape, json_integer(item->shape[i]))) {
            json_decref(shape);
            return fans_fail(FANS_ENOMEM, "%s: out of memory", path);
        }
    int rc = find(f, path, item->name, DTYPES[item->type], shape, &at, &n);
    json_decref(shape);
    if (rc < 0) return rc;
    if (n != bytes) return damaged(path, "an array's size does not match its shape");
    memcpy(to, at, n);
    return 0;
}

static int check_kind(const opened *f, const char *kind, const char *path)
{
    const char *stored =
        json_string_value(json_object_get(json_object_get(f->header, "__metadata__"), "kind"));
    if (stored && !strcmp(stored, kind)) return 0;
    return fans_fail(FANS_EFORMAT, "%s: is a checkpoint of '%s', not of '%s'", path,
                     stored ? stored : "another program", kind);
}

int checkpoint_read(const state_list *s, const char *kind, const char *path)
{
    opened f;
    char *all = NULL;
    size_t total = 0, at = 0;
    int rc;
    TRY(open_file(&f, path));
    TRY(check_kind(&f, kind, path));
    for (size_t i = 0; i < s->count; i++) total += state_item_bytes(&s->items[i]);
    TRY((all = mem_alloc(total)) ? 0 : FANS_ENOMEM);

    /* read and check everything before changing anything */
    for (size_t i = 0; i < s->count; i++) {
        const state_item *item = &s->items[i];
        TRY(item->compress ? load_packed(&f, path, item, all + at)
                           : load_plain(&f, path, item, all + at));
        if ((rc = state_check_item(item, all + at)) < 0) TRY(fans_fail_within(rc, "%s", path));
        at += state_item_bytes(item);
    }
    at = 0;
    for (size_t i = 0; i < s->count; i++) {
        const state_item *item = &s->items[i];
        size_t n = state_item_bytes(item);
        if (item->graph)
            nn_copy_in(item->graph, item->data, all + at, n);
        else
            memcpy(item->data, all + at, n);
        at += n;
    }
    if ((rc = state_loaded(s)) < 0) fans_fail_within(rc, "%s", path);
out:
    mem_free(all);
    close_file(&f);
    return rc;
}

int checkpoint_peek(const char *path, const char *name, int64_t *value)
{
    opened f;
    state_item item = {.type = FANS_I64, .data = value};
    snprintf(item.name, sizeof item.name, "%s", name);
    int rc = open_file(&f, path);
    if (rc == 0) rc = load_plain(&f, path, &item, (char *)value);
    close_file(&f);
    return rc;
}

int checkpoint_length(const char *path, const char *name, int64_t *length)
{
    opened f;
    const char *at;
    size_t n = 0;
    int rc = open_file(&f, path);
    if (rc == 0) rc = find(&f, path, name, "U8", NULL, &at, &n);
    *length = (int64_t)n;
    close_file(&f);
    return rc;
}
