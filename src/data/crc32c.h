/* crc32c.h - the Castagnoli checksum, as TensorBoard and our checkpoints use it. */
#ifndef DATA_CRC32C_H
#define DATA_CRC32C_H

#include <stddef.h>
#include <stdint.h>

/* Continues `crc` (0 to begin with) over more bytes. */
uint32_t crc32c(uint32_t crc, const void *bytes, size_t n);

#endif
