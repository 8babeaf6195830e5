/* plugin.h - code of the user's own, in shared libraries.
 *
 * Only what the user names is loaded: on the command line, or in a task file. The config.ini of a
 * run is data that may come from elsewhere, so a library that it names must also be named with
 * --plugin. */
#ifndef BASE_PLUGIN_H
#define BASE_PLUGIN_H

#include <stdbool.h>

#include "base/config.h"

/* Does `name` mean a shared library? Anything with a slash, or with ".so" at its end. */
bool plugin_is_path(const char *name);

/* Trusts the library at `path`, whoever names it. Call it before other threads start. */
int plugin_trust(const char *path);

/* Refuses a library that section.key names in a run's config.ini and that is not trusted. */
int plugin_check(const config *c, const char *section, const char *key);

/* Loads a library; a bare name is looked for in the current folder. Close it with dlclose. */
int plugin_open(void **library, const char *path);

#endif
