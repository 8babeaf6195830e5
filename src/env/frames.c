/* frames.c - a film of a few frames. */
#include "env/frames.h"

#include <string.h>

void frames_fill(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame)
{
    for (int k = 0; k < count; k++) memcpy(pixels + (size_t)k * bytes, frame, bytes);
}

void frames_push(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame)
{
    memmove(pixels, pixels + bytes, (size_t)(count - 1) * bytes);
    memcpy(pixels + (size_t)(count - 1) * bytes, frame, bytes);
}
