/* error.h - errors inside the library; the public half is in fans.h. */
#ifndef BASE_ERROR_H
#define BASE_ERROR_H

#include "fans/fans.h"

/* Leaves the enclosing function through its `out:` label when `call` fails. */
#define TRY(call)                        \
    do {                                 \
        if ((rc = (call)) < 0) goto out; \
    } while (0)

/* A failure that concerns one replica of several that are computed together: error_replica() gives
 * it until the thread's next failure, -1 where none is named. */
int fans_fail_replica(int code, int replica, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
int error_replica(void);

/* How many messages this thread has set so far; tells whether a call set one. */
unsigned fans_error_count(void);

/* What a user's `function` returned, after `before` messages of this thread: a code of ours with a
 * message of its own, so that no older one is shown. */
int error_settle(const char *function, int rc, unsigned before);

/* Puts "prefix: " in front of this thread's message and returns `code`. */
int fans_fail_within(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

#endif
