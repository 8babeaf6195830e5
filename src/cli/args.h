/* args.h - what a command takes on its command line, as a table.
 *
 *     const char *run, *json = NULL;
 *     int episodes = 10;
 *     const arg args[] = {
 *         ARG_WORD("RUN", &run, "folder of the run"),
 *         ARG_INT("episodes", &episodes, 1, 1000000, "how many to play"),
 *         ARG_JSON(&json),
 *     };
 *     int rc = args_parse("eval", ARGS(args), argc, argv);
 *     if (rc) return rc;
 *
 * Values are parsed in place: the initial value of a variable is its default. The table also gives
 * the usage line, the help text and the hints for misspelt options. `--name value` and
 * `--name=value` are the same; `--` ends the options. */
#ifndef CLI_ARGS_H
#define CLI_ARGS_H

#include <stdbool.h>
#include <stddef.h>

#include "base/text.h"

typedef enum {
    ARG_KIND_WORD,  /* by position; required */
    ARG_KIND_MAYBE, /* by position; optional; the last word */
    ARG_KIND_WORDS, /* by position; one or more; the last word */
    ARG_KIND_TEXT,  /* --name value */
    ARG_KIND_JSON,  /* --name value, where "-" is the standard output */
    ARG_KIND_MANY,  /* --name value, any number of times */
    ARG_KIND_PLUGIN,
    ARG_KIND_INT,
    ARG_KIND_REAL,
    ARG_KIND_FLAG /* --name */
} arg_kind;

typedef struct arg {
    arg_kind kind;
    const char *name;  /* of an option, without its dashes */
    const char *value; /* what help texts call the value */
    void *to;
    double low, high;
    const char *help;
} arg;

/* One row each; a variable of the wrong type is refused by the compiler. */
#define ARG_TO(type, to) (1 ? (void *)(to) : (void *)(type *){to})
#define ARG_WORD(value, to, help) \
    ((arg){ARG_KIND_WORD, NULL, value, ARG_TO(const char *, to), 0, 0, help})
#define ARG_MAYBE(value, to, help) \
    ((arg){ARG_KIND_MAYBE, NULL, value, ARG_TO(const char *, to), 0, 0, help})
#define ARG_WORDS(value, to, help) \
    ((arg){ARG_KIND_WORDS, NULL, value, ARG_TO(text_list, to), 0, 0, help})
#define ARG_TEXT(name, value, to, help) \
    ((arg){ARG_KIND_TEXT, name, value, ARG_TO(const char *, to), 0, 0, help})
#define ARG_MANY(name, value, to, help) \
    ((arg){ARG_KIND_MANY, name, value, ARG_TO(text_list, to), 0, 0, help})
#define ARG_INT(name, to, low, high, help) \
    ((arg){ARG_KIND_INT, name, "N", ARG_TO(int, to), low, high, help})
#define ARG_REAL(name, to, low, high, help) \
    ((arg){ARG_KIND_REAL, name, "X", ARG_TO(double, to), low, high, help})
#define ARG_FLAG(name, to, help) ((arg){ARG_KIND_FLAG, name, NULL, ARG_TO(bool, to), 0, 0, help})

/* Every command that prints figures takes this one; see cli_write_json. */
#define ARG_JSON(to)                                                   \
    ((arg){ARG_KIND_JSON, "json", "F", ARG_TO(const char *, to), 0, 0, \
           "write the figures to the file F as JSON; -: to stdout, and print nothing else there"})

/* Every command that reads configs takes this one; see plugin_trust. */
#define ARG_PLUGIN                                       \
    ((arg){ARG_KIND_PLUGIN, "plugin", "LIB", NULL, 0, 0, \
           "allow loading the library LIB, which a run's config.ini names"})

/* Every command that learns on a GPU takes this one; see nn_precision_find. */
#define ARG_PRECISION(to)          \
    ARG_TEXT("precision", "P", to, \
             "of matrix products: fp32 (default); on a GPU also tf32 or bf16, faster but coarser")

#define ARGS(args) (args), sizeof(args) / sizeof *(args)

/* Fills in the variables. Returns 0; 1 after printing the help that `--help` asks for; CLI_USAGE,
 * with a message that names the command; or another error. */
int args_parse(const char *command, const arg *args, size_t count, int argc, char **argv);

/* What a command takes, for manuals and for the shells' completion. */
typedef struct args_table {
    const char *command, *help;
    const arg *args;
    size_t count;
} args_table;

/* args_parse gives its table to `reader` instead of parsing, and returns 1; NULL: it parses again.
 */
typedef void args_reader(void *user, const args_table *table);
void args_read(args_reader *reader, void *user);

bool arg_is_word(const arg *a); /* by position */
bool arg_repeats(const arg *a);

#endif
