/* log.h - messages for people; where they go is set by fans_log_to. */
#ifndef BASE_LOG_H
#define BASE_LOG_H

#include "fans/fans.h"

void log_say(fans_log_level level, const char *format, ...) __attribute__((format(printf, 2, 3)));

#define log_debug(...)   log_say(FANS_LOG_DEBUG, __VA_ARGS__)
#define log_info(...)    log_say(FANS_LOG_INFO, __VA_ARGS__)
#define log_warning(...) log_say(FANS_LOG_WARNING, __VA_ARGS__)

#endif
