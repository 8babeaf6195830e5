/* error.c - one message per thread, written where the fault is found.
 *
 * A fixed buffer, so that reporting "out of memory" needs no memory. */
#include "base/error.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

enum { MESSAGE_SIZE = 1024 };
static _Thread_local char message[MESSAGE_SIZE];
static _Thread_local int replica = -1;
static _Thread_local unsigned count;

/* Stores the message as one line, whatever it quotes. */
static void note(const char text[MESSAGE_SIZE])
{
    count++;
    memcpy(message, text, sizeof message);
    for (char *c = message; *c; c++)
        if ((unsigned char)*c < 32 || *c == 127) *c = '?';
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
    char text[MESSAGE_SIZE]; /* the arguments may point into the old message */
    vsnprintf(text, sizeof text, format, args);
    note(text);
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

int fans_fail_within(int code, const char *format, ...)
{
    char text[MESSAGE_SIZE];
    va_list args;
    va_start(args, format);
    int n = vsnprintf(text, sizeof text, format, args);
    va_end(args);
    if (n < 0 || n >= MESSAGE_SIZE - 3) return code;
    snprintf(text + n, sizeof text - (size_t)n, ": %s", message);
    note(text);
    return code;
}
