/* mem.h - every allocation of the library goes through here, so that it can be counted and so that
 * tests can make any one of them fail. */
#ifndef BASE_MEM_H
#define BASE_MEM_H

#include <stddef.h>
#include <stdint.h>

/* Zeroed, aligned to MEM_ALIGN. NULL on failure, with the error noted. Zero bytes give a pointer.
 */
enum { MEM_ALIGN = 64 };
void *mem_alloc(size_t bytes);
void mem_free(void *memory);

/* Copies of a string; NULL on failure, with the error noted. */
char *mem_text(const char *text);
char *mem_text_n(const char *text, size_t length);

/* Makes room for `need` items of `item` bytes in *(void **)list, whose capacity is *capacity. */
int mem_grow(void *list, size_t *capacity, size_t need, size_t item);

/* How many allocations were made so far, and how many bytes are held now. */
uint64_t mem_count(void);
uint64_t mem_held(void);

/* For tests: the n-th allocation from now (1 = the next) fails, once. 0 switches it off. */
void mem_fail_at(uint64_t n);

/* Arenas: declare what is needed, then commit. A commit makes one allocation and fills in every
 * declared pointer. `slot` is the address of the pointer to fill. */
typedef struct arena arena;
int arena_new(arena **out);
int arena_declare(arena *a, void *slot, size_t bytes);
int arena_commit(arena *a);
size_t arena_bytes(const arena *a);
void arena_free(arena *a);

/* An arena whose one block comes from elsewhere (a GPU, say). `take` returns zeroed memory. */
typedef struct arena_source {
    void *(*take)(void *self, size_t bytes);
    void (*give)(void *self, void *memory);
    void *self;
} arena_source;
int arena_new_from(arena **out, arena_source source);

#endif
