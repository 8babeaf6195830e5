/* args.c - parses command lines by table. Numbers are parsed as in config files. */
#include "cli/args.h"

#include <stdio.h>
#include <string.h>

#include "base/options.h"
#include "base/plugin.h"
#include "cli/cli.h"
#include "cli/table.h"

/* The command being parsed. */
typedef struct parsing {
    const char *command;
    const arg *args;
    size_t count;
    int words; /* seen so far */
} parsing;

static struct {
    args_reader *reader;
    void *user;
} asked;

void args_read(args_reader *reader, void *user)
{
    asked.reader = reader;
    asked.user = user;
}

bool arg_is_word(const arg *a)
{
    return a->kind == ARG_KIND_WORD || a->kind == ARG_KIND_MAYBE || a->kind == ARG_KIND_WORDS;
}

bool arg_repeats(const arg *a)
{
    return a->kind == ARG_KIND_WORDS || a->kind == ARG_KIND_MANY || a->kind == ARG_KIND_PLUGIN;
}

/* ---- help ------------------------------------------------------------------------------------ */

enum { COLUMNS = 80 };

/* One argument as the usage line has it. */
static void add_usage(const arg *a, text *out)
{
    if (a->kind == ARG_KIND_MAYBE)
        text_add(out, "[%s]", a->value);
    else if (arg_is_word(a))
        text_add(out, "%s%s", a->value, arg_repeats(a) ? "..." : "");
    else
        text_add(out, "[--%s%s%s]%s", a->name, a->value ? " " : "", a->value ? a->value : "",
                 arg_repeats(a) ? "..." : "");
}

/* Breaks the line where it would be too wide. */
static int print_usage(const parsing *p)
{
    int start = printf("usage: fans %s", p->command), at = start, rc = 0;
    for (size_t i = 0; rc == 0 && i < p->count; i++) {
        text t = {0};
        add_usage(&p->args[i], &t);
        if ((rc = text_done(&t)) == 0) {
            bool fits = at + 1 + (int)t.length <= COLUMNS;
            if (!fits) printf("\n%*s", start, "");
            at = (fits ? at : start) + printf(" %s", t.s);
        }
        text_free(&t);
    }
    printf("\n");
    return rc;
}

static const struct {
    const char *command, *help;
} helps[] = {
#define X(name, help) {#name, help},
#include "cli/commands.h"
#undef X
    {"help", "explain a command and its options"},
    {"model fit", "fit the model to data, by default of random actions"},
    {"model eval", "evaluate a fitted model on new data"},
};

static const char *command_help(const char *command)
{
    for (size_t i = 0; i < sizeof helps / sizeof *helps; i++)
        if (!strcmp(command, helps[i].command)) return helps[i].help;
    return "";
}

static void left_of(const arg *a, char *out, size_t size)
{
    if (arg_is_word(a))
        snprintf(out, size, "%s", a->value);
    else
        snprintf(out, size, "%s--%s %s", strcmp(a->name, "out") ? "" : "-o, ", a->name,
                 a->value ? a->value : "");
}

/* A row whose help is broken into lines of at most `width` bytes, at spaces. */
static void wrapped_row(table *lines, const char *left, const char *help, int width)
{
    char line[256];
    while (*help) {
        int n = (int)strlen(help), cut = n <= width ? n : width;
        while (cut > 0 && cut < n && help[cut] != ' ') cut--;
        if (cut == 0) cut = n;
        snprintf(line, sizeof line, "%.*s", cut, help);
        table_row(lines, left, line);
        left = "";
        help += cut + (help[cut] == ' ');
    }
}

static int print_help(const parsing *p)
{
    const char *help = command_help(p->command);
    table lines = {.indent = 2};
    char left[128];
    int widest = 0;
    printf("fans %s%s%s\n\n", p->command, *help ? " - " : "", help);
    int rc = print_usage(p);
    if (rc < 0) return rc;
    for (size_t i = 0; i < p->count; i++) {
        left_of(&p->args[i], left, sizeof left);
        if ((int)strlen(left) > widest) widest = (int)strlen(left);
    }
    for (size_t i = 0; i < p->count; i++) {
        left_of(&p->args[i], left, sizeof left);
        wrapped_row(&lines, left, p->args[i].help, COLUMNS - 4 - widest);
    }
    table_row(&lines, "-h, --help", "print this");
    printf("\n");
    rc = table_print(&lines);
    table_free(&lines);
    return rc < 0 ? rc : 1;
}

/* ---- values ---------------------------------------------------------------------------------- */

static int put_item(const arg *a, const char *value)
{
    text_list *list = a->to;
    if (list->count == TEXT_LIST_MOST)
        return fans_fail(CLI_USAGE, "more than %d times %s", TEXT_LIST_MOST, a->value);
    list->items[list->count++] = value;
    return 0;
}

static int put_number(const arg *a, const char *value)
{
    const option o = {.name = a->name,
                      .kind = a->kind == ARG_KIND_INT ? FANS_OPTION_INT : FANS_OPTION_REAL,
                      .low = a->low,
                      .high = a->high};
    const option_group one = {.options = &o, .count = 1};
    if (options_set(&one, a->to, a->name, value) == 0) return 0;
    text range = {0};
    option_print_range(&o, &range);
    fans_fail(CLI_USAGE, "--%s %.200s: not a %s from %s", a->name, value,
              o.kind == FANS_OPTION_INT ? "whole number" : "number",
              range.s ? range.s : "its range");
    text_free(&range);
    return CLI_USAGE;
}

static int put(const arg *a, const char *value)
{
    switch (a->kind) {
    case ARG_KIND_WORD:
    case ARG_KIND_MAYBE:
    case ARG_KIND_TEXT:
        *(const char **)a->to = value;
        return 0;
    case ARG_KIND_JSON:
        *(const char **)a->to = value;
        return strcmp(value, "-") ? 0 : cli_json_to_stdout();
    case ARG_KIND_PLUGIN:
        return plugin_trust(value) < 0 ? CLI_USAGE : 0;
    case ARG_KIND_WORDS:
    case ARG_KIND_MANY:
        return put_item(a, value);
    case ARG_KIND_INT:
    case ARG_KIND_REAL:
        return put_number(a, value);
    case ARG_KIND_FLAG:
        *(bool *)a->to = true;
        return 0;
    }
    return 0;
}

/* ---- the command line, argument by argument -------------------------------------------------- */

/* The option that `given` ("--name" or "--name=value") asks for. */
static const arg *find_option(const parsing *p, const char *given)
{
    size_t length = strcspn(given + 2, "=");
    char name[64];
    snprintf(name, sizeof name, "%.*s", (int)length, given + 2);
    nearest near = {.word = name, .prefix = "--"};
    for (size_t i = 0; i < p->count; i++) {
        const arg *a = &p->args[i];
        if (arg_is_word(a)) continue;
        if (!strcmp(a->name, name)) return a;
        nearest_offer(&near, a->name);
    }
    fans_fail(CLI_USAGE, "unknown option '--%s'%s", name, nearest_hint(&near));
    return NULL;
}

/* Takes argv[i], and its value where it has one; returns how many arguments were taken. -o is the
 * only short form. */
static int take_option(const parsing *p, int i, int argc, char **argv)
{
    bool brief = !strcmp(argv[i], "-o");
    if (argv[i][1] != '-' && !brief)
        return fans_fail(CLI_USAGE, "unknown option '%s'; options begin with two dashes", argv[i]);
    const arg *a = find_option(p, brief ? "--out" : argv[i]);
    if (!a) return CLI_USAGE;
    const char *equals = strchr(argv[i], '=');
    if (a->kind == ARG_KIND_FLAG) {
        if (equals) return fans_fail(CLI_USAGE, "--%s takes no value", a->name);
        return put(a, NULL) < 0 ? CLI_USAGE : 1;
    }
    if (!equals && i + 1 >= argc)
        return fans_fail(CLI_USAGE, "--%s needs a value: %s", a->name, a->help);
    const char *value = equals ? equals + 1 : argv[i + 1];
    int rc = put(a, value);
    return rc < 0 ? rc : equals ? 1 : 2;
}

/* The argument that the next bare word belongs to. */
static const arg *next_word(const parsing *p)
{
    int place = 0;
    for (size_t i = 0; i < p->count; i++) {
        const arg *a = &p->args[i];
        if (arg_is_word(a) && (place++ == p->words || a->kind == ARG_KIND_WORDS)) return a;
    }
    return NULL;
}

static int take_word(parsing *p, const char *word)
{
    const arg *a = next_word(p);
    if (!a) return fans_fail(CLI_USAGE, "'%s' is one argument too many", word);
    p->words++;
    return put(a, word) < 0 ? CLI_USAGE : 1;
}

static int check_words(const parsing *p)
{
    int place = 0;
    for (size_t i = 0; i < p->count; i++)
        if (arg_is_word(&p->args[i]) && place++ >= p->words && p->args[i].kind != ARG_KIND_MAYBE)
            return fans_fail(CLI_USAGE, "%s is missing: %s", p->args[i].value, p->args[i].help);
    return 0;
}

int args_parse(const char *command, const arg *args, size_t count, int argc, char **argv)
{
    parsing p = {.command = command, .args = args, .count = count};
    if (asked.reader) {
        asked.reader(asked.user, &(args_table){command, command_help(command), args, count});
        return 1;
    }
    for (int i = 0; i < argc && strcmp(argv[i], "--"); i++)
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) return print_help(&p);
    bool options = true;
    for (int i = 0; i < argc;) {
        int taken = 1;
        if (options && !strcmp(argv[i], "--"))
            options = false;
        else if (options && argv[i][0] == '-' && argv[i][1])
            taken = take_option(&p, i, argc, argv);
        else
            taken = take_word(&p, argv[i]);
        if (taken < 0) return fans_fail_within(taken, "%s", p.command);
        i += taken;
    }
    return check_words(&p) < 0 ? fans_fail_within(CLI_USAGE, "%s", p.command) : 0;
}
