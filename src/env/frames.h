/* frames.h - the last frames that a camera has seen. */
#ifndef ENV_FRAMES_H
#define ENV_FRAMES_H

#include <stddef.h>
#include <stdint.h>

/* The last `count` frames of `bytes` each, oldest first, as one block `pixels` of the caller. */
void frames_fill(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame);
void frames_push(uint8_t *pixels, int count, size_t bytes, const uint8_t *frame);

#endif
