/* wire.c - keys, varints and lengths. */
#include "base/wire.h"

#include <string.h>

enum { VARINT, EIGHT_BYTES, BLOCK, FOUR_BYTES = 5 }; /* wire types */

void wire_bytes(wire *w, const void *bytes, size_t n)
{
    if (w->n + n <= w->room) memcpy(w->bytes + w->n, bytes, n);
    w->n += n;
}

static void put_varint(wire *w, uint64_t x)
{
    do {
        unsigned char byte = (unsigned char)((x & 127) | (x > 127 ? 128 : 0));
        wire_bytes(w, &byte, 1);
        x >>= 7;
    } while (x);
}

static void put_key(wire *w, int field, int type)
{
    put_varint(w, (uint64_t)(field << 3 | type));
}

void wire_int(wire *w, int field, uint64_t x)
{
    put_key(w, field, VARINT);
    put_varint(w, x);
}

static void put_head(wire *w, int field, size_t n)
{
    put_key(w, field, BLOCK);
    put_varint(w, n);
}

void wire_block(wire *w, int field, const void *bytes, size_t n)
{
    put_head(w, field, n);
    wire_bytes(w, bytes, n);
}

void wire_text(wire *w, int field, const char *s)
{
    wire_block(w, field, s, strlen(s));
}

void wire_float(wire *w, int field, float x)
{
    put_key(w, field, FOUR_BYTES);
    wire_bytes(w, &x, sizeof x);
}

void wire_double(wire *w, int field, double x)
{
    put_key(w, field, EIGHT_BYTES);
    wire_bytes(w, &x, sizeof x);
}

void wire_message(wire *w, int field, wire_fn *fill, const void *message)
{
    wire measured = {0};
    fill(&measured, message);
    put_head(w, field, measured.n);
    fill(w, message);
}
