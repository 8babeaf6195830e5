/* fans.h - the public face of FANS: version, errors and the log.
 *
 * FANS learns which hidden factors of a world drift, what they touch, and a policy that adapts as
 * they move. This header is the manual of the library; env.h beside it is the manual for writing
 * an environment.
 *
 * Conventions, everywhere:
 *  - A function that can fail returns 0, or one of the negative FANS_E... codes. fans_error() then
 *    gives one line that says what was wrong, where, and what would have been right. The message
 *    belongs to the calling thread and stays until its next failure.
 *  - `T **out` as the first parameter means that the caller owns the result and frees it with the
 *    matching x_free (NULL is fine). Any other pointer that is returned is borrowed.
 *  - The library never prints and never exits.
 */
#ifndef FANS_FANS_H
#define FANS_FANS_H

#ifdef __cplusplus
extern "C" {
#endif

#define FANS_VERSION_MAJOR 0
#define FANS_VERSION_MINOR 2
#define FANS_VERSION_PATCH 0

#define FANS_API           __attribute__((visibility("default")))

/* ---- errors ---------------------------------------------------------------------------------- */

enum {
    FANS_EINVAL = -1,   /* a value is out of range, a name is unknown, shapes disagree */
    FANS_ENOMEM = -2,   /* memory ran out */
    FANS_EIO = -3,      /* a file could not be read or written */
    FANS_EFORMAT = -4,  /* a file is not what it should be */
    FANS_ENUMERIC = -5, /* NaN or infinity instead of a number */
    FANS_ENOSUP = -6,   /* this build or this machine cannot do it */
    FANS_ESTOP = -7     /* stopped on request */
};

/* The line that explains this thread's last failure; "" when there was none. */
FANS_API const char *fans_error(void);

/* Notes a failure for this thread and returns `code`, so that callers write
 * `return fans_fail(FANS_EINVAL, "…")`. Environments and algorithms of your own use it too. */
FANS_API int fans_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- version and log ------------------------------------------------------------------------- */

/* "0.2.0" */
FANS_API const char *fans_version(void);

typedef enum { FANS_LOG_DEBUG, FANS_LOG_INFO, FANS_LOG_WARNING } fans_log_level;

/* Where messages go. The default is nowhere. `line` has no newline at its end. Set it once, before
 * other threads call into the library. */
typedef void fans_log_sink(void *user, fans_log_level level, const char *line);
FANS_API void fans_log_to(fans_log_sink *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
