/* options.h - option tables: one line per option yields the struct field, the default, the range,
 * the parser, the help text and the dump.
 *
 * A module writes its options once,
 *
 *     #define SAC_OPTIONS(X)                                                  \
 *         X(REAL,   lr,     3e-4, 1e-8, 1, "learning rate")                   \
 *         X(INT,    batch,  256, 1, 65536, "transitions per update")          \
 *         X(FLAG,   auto_temp, true, "learn the temperature")                 \
 *         X(CHOICE, target, 0, "polyak|copy", "how targets are updated")       \
 *         X(TEXT,   note,   "", "free text, kept in the run folder")
 *     OPTIONS_STRUCT(sac_options, SAC_OPTIONS)
 *     const option_group *sac_option_group(void);
 *
 * and in its .c file
 *
 *     OPTIONS_GROUP(sac_option_group, sac_options, "sac", "soft actor-critic", SAC_OPTIONS)
 *
 * REAL fields are double, INT int, FLAG bool, CHOICE an int counted from 0 along the list, TEXT an
 * array of OPTION_TEXT characters. A text that would not read back from a dump is refused: one with
 * control characters, with spaces at an end, or with what begins a comment. */
#ifndef BASE_OPTIONS_H
#define BASE_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

/* libinih reads lines of up to 198 characters: key, " = " and text must fit. */
enum { OPTION_TEXT = 160 };

typedef enum { OPTION_REAL, OPTION_INT, OPTION_FLAG, OPTION_CHOICE, OPTION_STRING } option_kind;

typedef struct option {
    const char *name;
    option_kind kind;
    size_t offset;     /* in the options struct */
    double initial;    /* the default of all kinds but text */
    double low, high;  /* REAL and INT */
    const char *words; /* CHOICE: "a|b|c"; TEXT: the default */
    const char *help;
} option;

typedef struct option_group {
    const char *section; /* of the config file; a trailing '*' means one section per name */
    const char *help;
    const option *options;
    size_t count;
} option_group;

#define OPTION_FIELD_REAL(name)       double name;
#define OPTION_FIELD_INT(name)        int name;
#define OPTION_FIELD_FLAG(name)       bool name;
#define OPTION_FIELD_CHOICE(name)     int name;
#define OPTION_FIELD_TEXT(name)       char name[OPTION_TEXT];
#define OPTION_FIELD(kind, name, ...) OPTION_FIELD_##kind(name)
#define OPTIONS_STRUCT(type, LIST) \
    typedef struct type {          \
        LIST(OPTION_FIELD)         \
    } type;

#define OPTION_ROW_REAL(name, initial, low, high, help) \
    {#name, OPTION_REAL, offsetof(options_of, name), initial, low, high, NULL, help},
#define OPTION_ROW_INT(name, initial, low, high, help) \
    {#name, OPTION_INT, offsetof(options_of, name), initial, low, high, NULL, help},
#define OPTION_ROW_FLAG(name, initial, help) \
    {#name, OPTION_FLAG, offsetof(options_of, name), initial, 0, 1, NULL, help},
#define OPTION_ROW_CHOICE(name, initial, words, help) \
    {#name, OPTION_CHOICE, offsetof(options_of, name), initial, 0, 0, words, help},
#define OPTION_ROW_TEXT(name, initial, help) \
    {#name, OPTION_STRING, offsetof(options_of, name), 0, 0, 0, initial, help},
#define OPTION_ROW(kind, name, ...) OPTION_ROW_##kind(name, __VA_ARGS__)
#define OPTIONS_GROUP(function, type, section, help, LIST)                                   \
    const option_group *function(void)                                                       \
    {                                                                                        \
        typedef type options_of;                                                             \
        static const option rows[] = {LIST(OPTION_ROW)};                                     \
        static const option_group group = {section, help, rows, sizeof rows / sizeof *rows}; \
        return &group;                                                                       \
    }

/* Sets every field of `options` to its default. */
void options_default(const option_group *g, void *options);

/* Parses `value` into the option `key`. Errors name the key, the value and what is allowed. */
int options_set(const option_group *g, void *options, const char *key, const char *value);

/* Appends "[section]" and one "key = value" line per option; reads back to the same values. */
void options_dump(const option_group *g, const char *section, const void *options, text *out);

/* Appends the default of one option as it is written in a config file. */
void option_print_initial(const option *o, text *out);

/* The range or the words that an option takes, for help texts and messages. */
void option_print_range(const option *o, text *out);

/* The word of a CHOICE field: the `index`-th of "a|b|c", copied into `word`. */
const char *option_word(const char *words, int index, char *word, size_t size);

#endif
