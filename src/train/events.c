/* events.c - the TFRecord framing and the few protobuf fields that a scalar needs. */
#include "train/events.h"

#include <errno.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "base/wire.h"
#include "data/crc32c.h"

enum { MOST_RECORD = 8192, FRAME = 16 }; /* about a hundred scalars; length and checksums */

struct events {
    int fd;
    int64_t length;
    char *path;
    wire summary; /* the step's scalars so far; if it grows too large, writing it fails */
    unsigned char summary_bytes[MOST_RECORD];
};

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

static int write_record(events *e, const wire *data)
{
    unsigned char bytes[MOST_RECORD];
    wire w = {bytes, sizeof bytes, 0};
    uint64_t n = data->n;
    if (n > MOST_RECORD - FRAME)
        return fans_fail(FANS_EINVAL, "%s: too many scalars in a step: %llu bytes, at most %d",
                         e->path, (unsigned long long)n, MOST_RECORD - FRAME);
    uint32_t crc_n = masked_crc(&n, 8), crc = masked_crc(data->bytes, data->n);
    wire_bytes(&w, &n, 8);
    wire_bytes(&w, &crc_n, 4);
    wire_bytes(&w, data->bytes, data->n);
    wire_bytes(&w, &crc, 4);
    ssize_t k = write(e->fd, bytes, w.n);
    if (k != (ssize_t)w.n)
        return fans_fail(FANS_EIO, "%s: cannot write: %s", e->path,
                         k < 0 ? strerror(errno) : "the disk is full");
    e->length += (int64_t)w.n;
    return 0;
}

static int write_version(events *e)
{
    unsigned char bytes[64];
    wire w = {bytes, sizeof bytes, 0};
    wire_double(&w, 1, wall_time());
    wire_text(&w, 3, "brain.Event:2");
    return write_record(e, &w);
}

int events_open(events **out, const char *path, int64_t keep)
{
    events *e = mem_alloc(sizeof *e);
    if (!e) return FANS_ENOMEM;
    int rc = 0;
    e->fd = -1;
    e->summary = (wire){e->summary_bytes, sizeof e->summary_bytes, 0};
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

typedef struct scalar {
    const char *tag;
    float value;
} scalar;

static void put_scalar(wire *w, const void *message)
{
    const scalar *s = message;
    wire_text(w, 1, s->tag);
    wire_float(w, 2, s->value);
}

void events_add(events *e, const char *tag, double value)
{
    wire_message(&e->summary, 1, put_scalar, &(scalar){tag, (float)value});
}

int events_write(events *e, int64_t step)
{
    unsigned char bytes[MOST_RECORD];
    wire w = {bytes, sizeof bytes, 0};
    wire_double(&w, 1, wall_time());
    wire_int(&w, 2, (uint64_t)step);
    wire_block(&w, 5, e->summary.bytes, e->summary.n);
    e->summary.n = 0;
    return write_record(e, &w);
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
