/* png.h - writes a picture as a PNG file. */
#ifndef ENV_PNG_H
#define ENV_PNG_H

#include <stdint.h>

/* `rgb` is height × width × 3 bytes, top row first. Replaces the file as a whole. */
int png_write(const char *path, int width, int height, const uint8_t *rgb);

#endif
