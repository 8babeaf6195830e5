/* fuzz_checkpoint.c - a checkpoint. The checksum is made right first: without that, nothing else
 * would be looked at. */
#define _GNU_SOURCE
#include "data/checkpoint.h"
#include "data/crc32c.h"
#include "fuzz.h"

enum { NUMBERS = 6, ROWS = 50 };

static void repair(uint8_t *file, size_t size)
{
    static const char key[] = "\"crc32c\":\"";
    uint64_t n;
    char digits[9];
    if (size < 8) return;
    memcpy(&n, file, 8);
    if (n > size - 8) return;
    char *place = memmem(file + 8, n, key, sizeof key - 1);
    if (!place || place + sizeof key - 1 + 8 > (char *)file + 8 + n) return;
    place += sizeof key - 1;
    if (!memcmp(place, "badbadba", 8)) return; /* meant to be wrong */
    memcpy(place, "00000000", 8);
    snprintf(digits, sizeof digits, "%08x", crc32c(0, file, size));
    memcpy(place, digits, 8);
}

static void list_all(state_list *s)
{
    static int64_t count;
    static float numbers[NUMBERS];
    static double rows[ROWS];
    static uint8_t kinds[ROWS];
    static uint64_t drawn;
    state_add_number(s, "run/tick", FANS_I64, &count);
    state_range(s, 0, STATE_COUNT);
    state_add_number(s, "drawn", FANS_U64, &drawn);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "numbers", FANS_F32, 2, (int64_t[]){2, 3}, numbers);
    state_add(s, "rows", FANS_F64, 1, (int64_t[]){ROWS}, rows);
    state_compress(s);
    state_add(s, "kinds", FANS_U8, 1, (int64_t[]){ROWS}, kinds);
    state_range(s, 0, 2);
    state_compress(s);
}

static void read_checkpoint(const uint8_t *data, size_t size)
{
    state_list s = {0};
    int64_t tick;
    uint8_t *file = malloc(size + 1);
    memcpy(file, data, size);
    repair(file, size);
    fuzz_put("checkpoint.safetensors", file, size);
    list_all(&s);
    fuzz_demand(state_done(&s) == 0, "the state is not listed");
    const char *path = FUZZ_FOLDER "/checkpoint.safetensors";
    unsigned before = fuzz_begin();
    fuzz_result(checkpoint_read(&s, "fuzz", path), before);
    before = fans_error_count();
    fuzz_result(checkpoint_peek(path, "run/tick", &tick), before);
    if (getenv("FUZZ_MAKE")) { /* the first input of the corpus */
        checkpoint *c = NULL;
        fuzz_demand(checkpoint_new(&c, &s) == 0, "no checkpoint");
        checkpoint_gather(c, &s);
        fuzz_demand(checkpoint_write(c, &s, "fuzz", getenv("FUZZ_MAKE")) == 0, "cannot write");
        checkpoint_free(c);
    }
    state_free(&s);
    free(file);
}

FUZZ_TARGET(read_checkpoint);
