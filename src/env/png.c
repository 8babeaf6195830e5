/* png.c - PNG (ISO/IEC 15948) as far as an RGB picture needs it.
 *
 * A PNG is three chunks around a zlib stream, so zlib is all it takes. Rejected: libpng (a second
 * library for sixty lines), lodepng (C++, and it comes with some builds of MuJoCo only). Rows are
 * filtered by "up" (the difference to the row above), the best single choice for rendered scenes.
 */
#include "env/png.h"

#include <string.h>
#include <zlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"

static void put_u32(uint8_t *at, uint32_t x)
{
    for (int k = 0; k < 4; k++) at[k] = (uint8_t)(x >> (24 - 8 * k));
}

/* Wraps the n bytes at chunk + 8 into a chunk; returns where the next one begins. */
static uint8_t *close_chunk(uint8_t *chunk, const char *type, size_t n)
{
    put_u32(chunk, (uint32_t)n);
    memcpy(chunk + 4, type, 4);
    put_u32(chunk + 8 + n, (uint32_t)crc32(0, chunk + 4, (uInt)n + 4));
    return chunk + 12 + n;
}

static void filter(uint8_t *out, int width, int height, const uint8_t *rgb)
{
    enum { UP = 2 };
    size_t row = 3 * (size_t)width;
    for (int y = 0; y < height; y++, rgb += row) {
        *out++ = y ? UP : 0;
        const uint8_t *above = y ? rgb - row : NULL;
        for (size_t i = 0; i < row; i++) *out++ = (uint8_t)(above ? rgb[i] - above[i] : rgb[i]);
    }
}

static size_t raw_bytes(int width, int height)
{
    return (3 * (size_t)width + 1) * (size_t)height;
}

size_t png_room(int width, int height)
{
    size_t raw = raw_bytes(width, height);
    return compressBound(raw) + raw + 128;
}

int png_pack(uint8_t *out, size_t *n, int width, int height, const uint8_t *rgb, bool fast)
{
    static const uint8_t signature[8] = {0x89, 'P', 'N', 'G', '\r', '\n', 0x1a, '\n'};
    size_t raw = raw_bytes(width, height);
    uLongf packed = compressBound(raw);
    uint8_t *at = out, *rows = out + packed + 64; /* the end of the room, until it is packed */
    memcpy(at, signature, sizeof signature);
    at += sizeof signature;
    /* header: size, 8 bits, RGB */
    put_u32(at + 8, (uint32_t)width);
    put_u32(at + 12, (uint32_t)height);
    memcpy(at + 16, (uint8_t[]){8, 2, 0, 0, 0}, 5);
    at = close_chunk(at, "IHDR", 13);
    filter(rows, width, height, rgb);
    if (compress2(at + 8, &packed, rows, raw, fast ? 1 : 9) != Z_OK)
        return fans_fail(FANS_ENOMEM, "zlib failed to pack the picture");
    at = close_chunk(at, "IDAT", packed);
    at = close_chunk(at, "IEND", 0);
    *n = (size_t)(at - out);
    return 0;
}

int png_write(const char *path, int width, int height, const uint8_t *rgb)
{
    size_t n = 0;
    int rc = FANS_ENOMEM;
    uint8_t *file = mem_alloc(png_room(width, height));
    if (!file) return rc;
    rc = png_pack(file, &n, width, height, rgb, false);
    rc = rc < 0 ? fans_fail_within(rc, "%s", path) : os_write_file(path, file, n);
    mem_free(file);
    return rc;
}
