/* error.c - one message per thread, written where the fault is found.
 *
 * A fixed buffer, so that reporting "out of memory" needs no memory. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include "base/text.h"

enum { MESSAGE_SIZE = 1024 };
static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local int replica = -1;
static _Thread_local unsigned count;

/* Stores the message as one line, whatever it quotes. */
static void note(const char line[MESSAGE_SIZE])
{
    count++;
    memcpy(message, line, sizeof message);
    text_plain(message);
}

const char *fans_error(void)
{
    return message;
}

unsigned fans_error_count(void)
{
    return count;
}

static void note_format(const char *format, va_list args)
{
    char line[MESSAGE_SIZE]; /* the arguments may point into the old message */
    vsnprintf(line, sizeof line, format, args);
    note(line);
}

int fans_fail(int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_format(format, args);
    va_end(args);
    replica = -1;
    return code;
}

int fans_fail_replica(int code, int which, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    note_format(format, args);
    va_end(args);
    replica = which;
    return code;
}

int error_replica(void)
{
    return replica;
}

int error_settle(const char *function, int rc, unsigned before)
{
    if (rc == 0) return 0;
    if (rc > 0)
        return fans_fail(FANS_EINVAL, "%s returned %d, which is neither 0 nor a FANS_E code",
                         function, rc);
    if (count == before) fans_fail(rc, "%s returned %d and set no message", function, rc);
    return rc <= FANS_ESTOP ? FANS_EINVAL : rc;
}

int fans_fail_within(int code, const char *format, ...)
{
    char line[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(line, sizeof line, format, args);
    va_end(args);
    if (n < 0 || n >= MESSAGE_SIZE - 3) return code;
    snprintf(line + n, sizeof line - (size_t)n, ": %s", message);
    note(line);
    return code;
}
