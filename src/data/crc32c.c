/* crc32c.c - uses the processor's instruction if there is one, else works bit by bit. */
#include "data/crc32c.h"

#include <string.h>

uint32_t crc32c(uint32_t crc, const void *bytes, size_t n)
{
    const unsigned char *p = bytes;
    crc = ~crc;
#ifdef __SSE4_2__
    for (; n >= 8; n -= 8, p += 8) {
        uint64_t word;
        memcpy(&word, p, 8);
        crc = (uint32_t)__builtin_ia32_crc32di(crc, word);
    }
    for (; n > 0; n--, p++) crc = __builtin_ia32_crc32qi(crc, *p);
#else
    for (; n > 0; n--, p++) {
        crc ^= *p;
        for (int k = 0; k < 8; k++) crc = crc >> 1 ^ (crc & 1 ? 0x82F63B78u : 0);
    }
#endif
    return ~crc;
}
