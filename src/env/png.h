/* png.h - writes an RGB picture (top row first) as a PNG. */
#ifndef ENV_PNG_H
#define ENV_PNG_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Fails if the file cannot be written; what was there before is kept then. */
int png_write(const char *path, int width, int height, const uint8_t *rgb);

/* The file as n bytes in `out`, which has png_room bytes; `fast` rather than small. */
size_t png_room(int width, int height);
int png_pack(uint8_t *out, size_t *n, int width, int height, const uint8_t *rgb, bool fast);

#endif
