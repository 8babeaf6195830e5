/* handle.h - the door of the library: what every public handle begins with, and the checks that a
 * caller's handle and structs pass before anything is done with them.
 *
 * A handle knows its kind, whether a call is using it, and in which process it was made: the child
 * of a fork has neither the threads nor the locks of its parent. Asking costs no system call. */
#ifndef API_HANDLE_H
#define API_HANDLE_H

#include <stdatomic.h>
#include <stddef.h>

#include "fans/fans.h"

typedef enum {
    HANDLE_CONFIG = 0x46414e53, /* so that memory of something else is hardly taken for one */
    HANDLE_WORLDS,
    HANDLE_TRAINER,
    HANDLE_POLICY,
    HANDLE_LIFE
} handle_kind;

typedef struct handle {
    handle_kind kind;
    unsigned process; /* forks before this one */
    atomic_flag busy;
} handle;

int handle_begin(handle *h, handle_kind kind);

/* Refuses NULL, another kind, and a handle from before a fork; `function` is what was called. */
int handle_check(const void *h, handle_kind kind, const char *function);

/* The same, and keeps other threads out until handle_leave, which returns `rc`. */
int handle_enter(void *h, handle_kind kind, const char *function);
int handle_leave(void *h, int rc);

/* Whether a handle may be freed; it is then no handle any more. NULL and those of another process
 * may not: what they own is gone, or was never there. */
bool handle_end(void *h, handle_kind kind);

/* A struct that the caller passes: its `size` must be at least `least` bytes. */
int check_size(const void *s, size_t least, const char *function);

/* Copies the part of a struct that the caller knows, but for `size` itself. */
void copy_known(void *to, const void *from, size_t size);

/* An argument that must not be NULL. Inline, so that static analysis sees what follows from it. */
static inline int check_pointer(const void *p, const char *name, const char *function)
{
    if (p) return 0;
    fans_fail(FANS_EINVAL, "%s: %s is NULL", function, name);
    return FANS_EINVAL;
}

/* An index from `first` to before `end`. */
int check_index(int i, int first, int end, const char *function);

#define ENTER(h, kind)       handle_enter(h, kind, __func__)
#define CHECK(h, kind)       handle_check(h, kind, __func__)
#define CHECK_POINTER(p)     check_pointer(p, #p, __func__)
#define CHECK_SIZE(s, least) check_size(s, least, __func__)
#define UP_TO(type, field)   (offsetof(type, field) + sizeof(((type *)0)->field))

#endif
