/* wire.h - protobuf's wire format, written by hand: TensorBoard's events and ONNX need a dozen
 * kinds of messages between them, for which a generator would be one more dependency.
 *
 * A wire writes to memory of the caller's. What does not fit is counted but not written, so an
 * empty wire measures a message. */
#ifndef BASE_WIRE_H
#define BASE_WIRE_H

#include <stddef.h>
#include <stdint.h>

typedef struct wire {
    unsigned char *bytes;
    size_t room, n; /* n > room: it did not fit */
} wire;

void wire_bytes(wire *w, const void *bytes, size_t n);

/* Fields: a whole number, a text, bytes, numbers of 4 and 8 bytes. */
void wire_int(wire *w, int field, uint64_t x);
void wire_text(wire *w, int field, const char *s);
void wire_block(wire *w, int field, const void *bytes, size_t n);
void wire_float(wire *w, int field, float x);
void wire_double(wire *w, int field, double x);

/* A message within: `fill` writes its fields, once to measure and once in earnest. */
typedef void wire_fn(wire *w, const void *message);
void wire_message(wire *w, int field, wire_fn *fill, const void *message);

#endif
