/* options.h - option tables: one line per option yields the struct field, the default, the range,
 * the parser, the help text and the line in a run's config.ini.
 *
 * A module writes its options once,
 *
 *     #define SAC_OPTIONS(X)                                                  \
 *         X(REAL,   lr,     3e-4, 1e-8, 1, "learning rate")                   \
 *         X(INT,    batch,  256, 1, 65536, "transitions per update")          \
 *         X(FLAG,   auto_temp, true, "learn the temperature")                 \
 *         X(CHOICE, target, 0, "polyak|copy", "how the targets follow")       \
 *         X(TEXT,   note,   "", "free text, kept in the run folder")              \
 *         X(LIST,   at,     "", "numbers: 1, 2, 3")
 *     FANS_OPTIONS_STRUCT(sac_options, SAC_OPTIONS)
 *
 * and defines the function that returns the table, with a semicolon after it,
 *
 *     FANS_OPTIONS_GROUP(sac_option_group, sac_options, "sac", "soft actor-critic", SAC_OPTIONS);
 *
 * REAL fields are double, INT int, FLAG bool, CHOICE an int (the position in the list, from 0),
 * TEXT an array of FANS_OPTION_TEXT characters, LIST one of FANS_OPTION_LIST. A text that a config
 * file could not hold is refused: one with control characters, with spaces at either end, with the
 * start of a comment, or with a comma at the end, after which a list continues on the next line.
 */
#ifndef FANS_OPTIONS_H
#define FANS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

/* A line of a config file has at most 197 characters: key, " = " and text must fit. A list may have
 * many lines. */
enum { FANS_OPTION_TEXT = 160, FANS_OPTION_LIST = 32768 };

typedef enum {
    FANS_OPTION_REAL,
    FANS_OPTION_INT,
    FANS_OPTION_FLAG,
    FANS_OPTION_CHOICE,
    FANS_OPTION_STRING,
    FANS_OPTION_NUMBERS
} fans_option_kind;

typedef struct fans_option {
    const char *name;
    fans_option_kind kind;
    size_t offset;     /* in the options struct */
    double initial;    /* the default of all kinds but texts and lists */
    double low, high;  /* REAL and INT */
    const char *words; /* CHOICE: "a|b|c"; TEXT and LIST: the default */
    const char *help;
} fans_option;

typedef struct fans_option_group {
    const char *section; /* of the config file; with a trailing '*', one section per name */
    const char *help;
    const fans_option *options;
    size_t count;
    size_t size; /* bytes of the options struct */
} fans_option_group;

typedef const fans_option_group *fans_option_group_fn(void);

#define FANS_FIELD_REAL(name)       double name;
#define FANS_FIELD_INT(name)        int name;
#define FANS_FIELD_FLAG(name)       bool name;
#define FANS_FIELD_CHOICE(name)     int name;
#define FANS_FIELD_TEXT(name)       char name[FANS_OPTION_TEXT];
#define FANS_FIELD_LIST(name)       char name[FANS_OPTION_LIST];
#define FANS_FIELD(kind, name, ...) FANS_FIELD_##kind(name)
#define FANS_OPTIONS_STRUCT(type, LIST) \
    typedef struct type {               \
        LIST(FANS_FIELD)                \
    } type;

#define FANS_ROW_REAL(name, initial, low, high, help) \
    {#name, FANS_OPTION_REAL, offsetof(options_of, name), initial, low, high, NULL, help},
#define FANS_ROW_INT(name, initial, low, high, help) \
    {#name, FANS_OPTION_INT, offsetof(options_of, name), initial, low, high, NULL, help},
#define FANS_ROW_FLAG(name, initial, help) \
    {#name, FANS_OPTION_FLAG, offsetof(options_of, name), initial, 0, 1, NULL, help},
#define FANS_ROW_CHOICE(name, initial, words, help) \
    {#name, FANS_OPTION_CHOICE, offsetof(options_of, name), initial, 0, 0, words, help},
#define FANS_ROW_TEXT(name, initial, help) \
    {#name, FANS_OPTION_STRING, offsetof(options_of, name), 0, 0, 0, initial, help},
#define FANS_ROW_LIST(name, initial, help) \
    {#name, FANS_OPTION_NUMBERS, offsetof(options_of, name), 0, 0, 0, initial, help},
#define FANS_ROW(kind, name, ...) FANS_ROW_##kind(name, __VA_ARGS__)
#define FANS_OPTIONS_GROUP(function, type, section, help, LIST)                                  \
    const fans_option_group *function(void)                                                      \
    {                                                                                            \
        typedef type options_of;                                                                 \
        static const fans_option rows[] = {LIST(FANS_ROW)};                                      \
        static const fans_option_group group = {section, help, rows, sizeof rows / sizeof *rows, \
                                                sizeof(options_of)};                             \
        return &group;                                                                           \
    }                                                                                            \
    const fans_option_group *function(void)

#endif
