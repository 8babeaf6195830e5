/* events.c - the TFRecord framing and the few protobuf fields that a scalar needs. */
#include "train/events.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "data/crc32c.h"

enum { MOST_RECORD = 8192, FRAME = 16 }; /* about a hundred scalars; length and checksums */

/* A record being built. If it grows too large, writing it fails. */
typedef struct record {
    unsigned char b[MOST_RECORD];
    size_t n;
} record;

struct events {
    int fd;
    int64_t length;
    char *path;
    record summary; /* the step's scalars so far */
};

static void put(record *r, const void *bytes, size_t n)
{
    if (r->n + n <= MOST_RECORD) memcpy(r->b + r->n, bytes, n);
    r->n += n;
}

static void put_varint(record *r, uint64_t x)
{
    do {
        unsigned char byte = (unsigned char)((x & 127) | (x > 127 ? 128 : 0));
        put(r, &byte, 1);
        x >>= 7;
    } while (x);
}

static void put_key(record *r, int field, int wire)
{
    put_varint(r, (uint64_t)(field << 3 | wire));
}

static void put_block(record *r, int field, const void *bytes, size_t n)
{
    put_key(r, field, 2);
    put_varint(r, n);
    put(r, bytes, n);
}

static void put_double(record *r, int field, double x)
{
    put_key(r, field, 1);
    put(r, &x, 8);
}

static uint32_t masked_crc(const void *bytes, size_t n)
{
    uint32_t c = crc32c(0, bytes, n);
    return (c >> 15 | c << 17) + 0xA282EAD8u;
}

static double wall_time(void)
{
    struct timespec t;
    clock_gettime(CLOCK_REALTIME, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int write_record(events *e, const record *data)
{
    record r = {.n = 0};
    uint64_t n = data->n;
    if (n > MOST_RECORD - FRAME)
        return fans_fail(FANS_EINVAL, "%s: too many scalars in a step: %llu bytes, at most %d",
                         e->path, (unsigned long long)n, MOST_RECORD - FRAME);
    uint32_t crc_n = masked_crc(&n, 8), crc = masked_crc(data->b, data->n);
    put(&r, &n, 8);
    put(&r, &crc_n, 4);
    put(&r, data->b, data->n);
    put(&r, &crc, 4);
    ssize_t k = write(e->fd, r.b, r.n);
    if (k != (ssize_t)r.n)
        return fans_fail(FANS_EIO, "%s: cannot write: %s", e->path,
                         k < 0 ? strerror(errno) : "the disk is full");
    e->length += (int64_t)r.n;
    return 0;
}

static int write_version(events *e)
{
    record r = {.n = 0};
    put_double(&r, 1, wall_time());
    put_block(&r, 3, "brain.Event:2", 13);
    return write_record(e, &r);
}

int events_open(events **out, const char *path, int64_t keep)
{
    events *e = mem_alloc(sizeof *e);
    if (!e) return FANS_ENOMEM;
    int rc = 0;
    e->fd = -1;
    TRY((e->path = mem_text(path)) ? 0 : FANS_ENOMEM);
    TRY(os_open_append(path, &e->fd));
    TRY(os_cut(e->fd, path, keep > 0 ? keep : 0));
    e->length = keep > 0 ? keep : 0;
    if (e->length == 0) TRY(write_version(e));
    *out = e;
    return 0;
out:
    events_close(e);
    return rc;
}

void events_add(events *e, const char *tag, double value)
{
    record v = {.n = 0};
    float f = (float)value;
    put_block(&v, 1, tag, strlen(tag));
    put_key(&v, 2, 5);
    put(&v, &f, 4);
    put_block(&e->summary, 1, v.b, v.n);
}

int events_write(events *e, int64_t step)
{
    record event = {.n = 0};
    put_double(&event, 1, wall_time());
    put_key(&event, 2, 0);
    put_varint(&event, (uint64_t)step);
    put_block(&event, 5, e->summary.b, e->summary.n);
    e->summary.n = 0;
    return write_record(e, &event);
}

int events_sync(events *e)
{
    if (fsync(e->fd) < 0)
        return fans_fail(FANS_EIO, "%s: cannot write: %s", e->path, strerror(errno));
    return 0;
}

int64_t events_length(const events *e)
{
    return e->length;
}

void events_close(events *e)
{
    if (!e) return;
    if (e->fd >= 0) close(e->fd);
    mem_free(e->path);
    mem_free(e);
}
