/* log.c - formats a line and hands it to the sink that the program chose. */
#include "base/log.h"

#include <stdarg.h>
#include <stdio.h>

/* Process-wide by design: a log has one destination. Set once at start. */
static fans_log_sink *log_sink;
static void *log_user;

void fans_log_to(fans_log_sink *sink, void *user)
{
    log_sink = sink;
    log_user = user;
}

void log_say(fans_log_level level, const char *format, ...)
{
    if (!log_sink) return;
    char line[1024];
    va_list args;
    va_start(args, format);
    vsnprintf(line, sizeof line, format, args);
    va_end(args);
    log_sink(log_user, level, line);
}
