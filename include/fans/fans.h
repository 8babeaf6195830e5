/* fans.h - the public face of FANS: version, errors and the log.
 *
 * FANS learns which hidden factors of a world drift, what they influence, and a policy that adapts
 * to them. env.h explains how to write an environment, algo.h how to write an algorithm.
 *
 * Conventions, everywhere:
 *  - A function that can fail returns 0, or one of the negative FANS_E... codes. fans_error() then
 *    returns one line: what is wrong, where, and what would be right. The message belongs to the
 *    calling thread and stays until its next failure.
 *  - `T **out` as the first parameter means that the caller owns the result and frees it with the
 *    matching x_free (NULL is fine). Any other returned pointer is borrowed.
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
    FANS_ENUMERIC = -5, /* a value became NaN or infinite */
    FANS_ENOSUP = -6,   /* this build or this machine cannot do it */
    FANS_ESTOP = -7     /* stopped on request */
};

/* The message of this thread's last failure; "" if there was none. */
FANS_API const char *fans_error(void);

/* Sets this thread's message and returns `code`: `return fans_fail(FANS_EINVAL, "…")`. Use it in
 * your own environments and algorithms too. */
FANS_API int fans_fail(int code, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* ---- version and log ------------------------------------------------------------------------- */

/* "0.2.0" */
FANS_API const char *fans_version(void);

typedef enum { FANS_LOG_DEBUG, FANS_LOG_INFO, FANS_LOG_WARNING } fans_log_level;

/* Where log messages go; by default nowhere. `line` has no newline. Set it once, before other
 * threads call the library. */
typedef void fans_log_sink(void *user, fans_log_level level, const char *line);
FANS_API void fans_log_to(fans_log_sink *sink, void *user);

#ifdef __cplusplus
}
#endif
#endif
