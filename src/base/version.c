/* version.c - version, commit and compiler as text. commit.h is written by the build. */
#include "base/version.h"

#include "commit.h"
#include "fans/fans.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *fans_version(void)
{
    return TEXT(FANS_VERSION_MAJOR) "." TEXT(FANS_VERSION_MINOR) "." TEXT(FANS_VERSION_PATCH);
}

const char *version_commit(void)
{
    return FANS_COMMIT;
}

const char *version_compiler(void)
{
#ifdef __clang__
    return "Clang " __clang_version__;
#else
    return "GCC " __VERSION__;
#endif
}
