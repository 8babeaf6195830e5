/* options.h - parsing and printing of option tables; fans/options.h says how they are written. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include "base/text.h"
#include "fans/options.h"

enum { OPTION_TEXT = FANS_OPTION_TEXT, OPTION_LIST = FANS_OPTION_LIST };
typedef fans_option option;
typedef fans_option_group option_group;
#define OPTIONS_STRUCT FANS_OPTIONS_STRUCT
#define OPTIONS_GROUP  FANS_OPTIONS_GROUP

/* Sets every field of `options` to its default. */
void options_default(const option_group *g, void *options);

/* Parses `value` into the option `key`. Errors name the key, the value and what is allowed. */
int options_set(const option_group *g, void *options, const char *key, const char *value);

/* Appends "[section]" and one "key = value" line per option; reads back to the same values. */
void options_dump(const option_group *g, const char *section, const void *options, text *out);

/* Appends the default of one option as it is written in a config file. */
void option_print_initial(const option *o, text *out);

/* "number", "whole number", "true or false", "choice", "text" or "list" */
const char *option_kind(const option *o);

/* The range or the words that an option takes, for help texts and messages. */
void option_print_range(const option *o, text *out);

/* The word of a CHOICE field: the `index`-th of "a|b|c", copied into `word`. */
const char *option_word(const char *words, int index, char *word, size_t size);

#endif
