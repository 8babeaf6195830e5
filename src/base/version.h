/* version.h - what this build is, beyond the public fans_version(). */
#ifndef BASE_VERSION_H
#define BASE_VERSION_H

/* The git commit of this build, with "-dirty" appended where files differed; "unknown" outside a
 * checkout. */
const char *version_commit(void);

/* "GCC 12.2.0" */
const char *version_compiler(void);

#endif
