/* version.c - the version as text. */
#include "fans/fans.h"

#define TEXT_(x) #x
#define TEXT(x)  TEXT_(x)

const char *fans_version(void)
{
    return TEXT(FANS_VERSION_MAJOR) "." TEXT(FANS_VERSION_MINOR) "." TEXT(FANS_VERSION_PATCH);
}
