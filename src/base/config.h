/* config.h - configuration in layers: defaults < preset < file < command line.
 *
 * Reading and understanding are two steps, because what a section may hold depends on other
 * sections (the environment decides which factors can change). A config first collects entries;
 * modules then take the sections they know; an entry that no module took is an error. */
#ifndef BASE_CONFIG_H
#define BASE_CONFIG_H

#include "base/options.h"

enum { CONFIG_MOST = 4096 }; /* entries: they are searched one by one */

typedef struct config config;
int config_new(config **out);
void config_free(config *c);

/* Adds a layer over the earlier ones: an INI file, INI text, or one "section.key=value". Within a
 * layer a key may appear only once. `name` is what messages call the text. */
int config_add_file(config *c, const char *path);
int config_add_text(config *c, const char *name, const char *ini);
int config_add_setting(config *c, const char *setting);

/* The value of section.key in the highest layer, or NULL. Does not mark it as taken. */
const char *config_get(const config *c, const char *section, const char *key);

/* Was section.key last set by the config.ini of a run, which may come from elsewhere? */
#define CONFIG_OF_RUN "# resolved by fans "
#define CONFIG_ASKED  "# asked for as "
bool config_is_of_run(const config *c, const char *section, const char *key);

/* Prefixes this thread's message with the place that set section.key (or any key of the section,
 * where key is NULL) in the highest layer; returns `code`. */
int config_blame(const config *c, const char *section, const char *key, int code);

/* Fills `options` with defaults, then with every entry of `section`, lowest layer first. */
int config_take(config *c, const option_group *g, const char *section, void *options);

/* Marks a section as known without reading it: it belongs to a part that is not used now. */
int config_skip(config *c, const char *section);

/* The i-th distinct section whose name begins with `prefix`, in order of appearance; NULL past the
 * last. For sections with a name in them, such as [change.wind]. */
const char *config_section(const config *c, const char *prefix, int i);

/* Appends the effective values of all entries not yet taken, in alphabetical order: two configs
 * with the same text mean the same. */
int config_rest(const config *c, text *out);

/* Fails on the first entry that no config_take has covered, and names its place. */
int config_check_taken(const config *c);

#endif
