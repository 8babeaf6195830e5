/* mem.c - counted allocations and arenas.
 *
 * The counters are process-wide: they are how the tests prove that training does not allocate and
 * that every failed allocation is survived. A header in front of each block remembers its size. */
#include "base/mem.h"

#include <assert.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "base/error.h"

static atomic_uint_fast64_t made, held, fail_in;

static int must_fail(void)
{
    uint_fast64_t n = atomic_load(&fail_in);
    while (n > 0)
        if (atomic_compare_exchange_weak(&fail_in, &n, n - 1)) return n == 1;
    return 0;
}

/* Large blocks on huge pages, where the system has any: activations are read in long strides. */
static char *take(size_t total)
{
    enum { HUGE = 2 << 20 };
    if (total < 2 * HUGE) return aligned_alloc(MEM_ALIGN, total);
    char *block = aligned_alloc(HUGE, (total + HUGE - 1) / HUGE * HUGE);
    if (block) madvise(block, total, MADV_HUGEPAGE);
    return block;
}

void *mem_alloc(size_t bytes)
{
    size_t total = bytes + MEM_ALIGN;
    if (total < bytes || total > SIZE_MAX / 2) {
        fans_fail(FANS_ENOMEM, "out of memory: %zu bytes asked for", bytes);
        return NULL;
    }
    total = (total + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    char *block = must_fail() ? NULL : take(total);
    if (!block) {
        fans_fail(FANS_ENOMEM, "out of memory: %zu bytes asked for, %llu held", bytes,
                  (unsigned long long)mem_held());
        return NULL;
    }
    memset(block, 0, total);
    memcpy(block, &bytes, sizeof bytes);
    atomic_fetch_add(&made, 1);
    atomic_fetch_add(&held, bytes);
    return block + MEM_ALIGN;
}

void mem_free(void *memory)
{
    if (!memory) return;
    char *block = (char *)memory - MEM_ALIGN;
    size_t bytes;
    memcpy(&bytes, block, sizeof bytes);
    atomic_fetch_sub(&held, bytes);
    free(block);
}

char *mem_text_n(const char *text, size_t length)
{
    char *copy = mem_alloc(length + 1);
    if (copy) memcpy(copy, text, length);
    return copy;
}

char *mem_text(const char *text)
{
    return mem_text_n(text, strlen(text));
}

int mem_grow(void *list, size_t *capacity, size_t need, size_t item)
{
    if (need <= *capacity) return 0;
    size_t more = *capacity < 8 ? 8 : *capacity * 2;
    if (more < need) more = need;
    size_t bytes = more <= SIZE_MAX / item ? more * item : SIZE_MAX; /* which is refused */
    void *old, *fresh = mem_alloc(bytes);
    if (!fresh) return FANS_ENOMEM;
    memcpy(&old, list, sizeof old);
    if (old) memcpy(fresh, old, *capacity * item);
    mem_free(old);
    memcpy(list, &fresh, sizeof fresh);
    *capacity = more;
    return 0;
}

uint64_t mem_count(void)
{
    return atomic_load(&made);
}

uint64_t mem_held(void)
{
    return atomic_load(&held);
}

void mem_fail_at(uint64_t n)
{
    atomic_store(&fail_in, n);
}

/* ---- arenas ---------------------------------------------------------------------------------- */

typedef struct claim {
    void *slot;
    size_t offset;
} claim;

struct arena {
    arena_source source;
    claim *claims;
    size_t count, capacity, bytes;
    void *block;
};

static void *take_heap(void *self, size_t bytes)
{
    (void)self;
    return mem_alloc(bytes);
}

static void give_heap(void *self, void *memory)
{
    (void)self;
    mem_free(memory);
}

int arena_new_from(arena **out, arena_source source)
{
    arena *a = mem_alloc(sizeof *a);
    if (!a) return FANS_ENOMEM;
    a->source = source;
    *out = a;
    return 0;
}

int arena_new(arena **out)
{
    return arena_new_from(out, (arena_source){take_heap, give_heap, NULL});
}

int arena_declare(arena *a, void *slot, size_t bytes)
{
    assert(!a->block && "declare before commit");
    size_t room = SIZE_MAX - MEM_ALIGN - a->bytes;
    if (bytes > room) return fans_fail(FANS_ENOMEM, "out of memory: %zu bytes asked for", bytes);
    if (mem_grow(&a->claims, &a->capacity, a->count + 1, sizeof *a->claims) < 0) return FANS_ENOMEM;
    a->claims[a->count++] = (claim){slot, a->bytes};
    a->bytes += (bytes + MEM_ALIGN - 1) / MEM_ALIGN * MEM_ALIGN;
    return 0;
}

int arena_commit(arena *a)
{
    assert(!a->block && "commit once");
    a->block = a->source.take(a->source.self, a->bytes);
    if (!a->block) return FANS_ENOMEM;
    for (size_t i = 0; i < a->count; i++) {
        void *p = (char *)a->block + a->claims[i].offset;
        memcpy(a->claims[i].slot, &p, sizeof p);
    }
    return 0;
}

size_t arena_bytes(const arena *a)
{
    return a->bytes;
}

void arena_free(arena *a)
{
    if (!a) return;
    if (a->block) a->source.give(a->source.self, a->block);
    mem_free(a->claims);
    mem_free(a);
}
