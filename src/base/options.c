/* options.c - parsing, printing and checking of option tables. */
#include "base/options.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"

static void *field(const option *o, void *options)
{
    return (char *)options + o->offset;
}

static const void *field_const(const option *o, const void *options)
{
    return (const char *)options + o->offset;
}

/* Of a text's or a list's field. */
static size_t room(const option *o)
{
    return o->kind == FANS_OPTION_NUMBERS ? OPTION_LIST : OPTION_TEXT;
}

static void put_text(const option *o, void *to, const char *from)
{
    snprintf(to, room(o), "%s", from);
}

void options_default(const option_group *g, void *options)
{
    for (size_t i = 0; i < g->count; i++) {
        const option *o = &g->options[i];
        void *at = field(o, options);
        switch (o->kind) {
        case FANS_OPTION_REAL:
            *(double *)at = o->initial;
            break;
        case FANS_OPTION_INT:
        case FANS_OPTION_CHOICE:
            *(int *)at = (int)o->initial;
            break;
        case FANS_OPTION_FLAG:
            *(bool *)at = o->initial != 0;
            break;
        case FANS_OPTION_STRING:
        case FANS_OPTION_NUMBERS:
            put_text(o, at, o->words);
            break;
        }
    }
}

const char *option_word(const char *words, int index, char *word, size_t size)
{
    for (; index > 0 && words; index--)
        if ((words = strchr(words, '|'))) words++;
    if (!words) return NULL;
    snprintf(word, size, "%.*s", (int)strcspn(words, "|"), words);
    return word;
}

void option_print_range(const option *o, text *out)
{
    switch (o->kind) {
    case FANS_OPTION_REAL:
    case FANS_OPTION_INT:
        text_add(out, "%.9g to %.9g", o->low, o->high);
        break;
    case FANS_OPTION_FLAG:
        text_add(out, "true or false");
        break;
    case FANS_OPTION_CHOICE:
        text_add(out, "one of %s", o->words);
        break;
    case FANS_OPTION_STRING:
        text_add(out, "a line of at most %d characters without ' ;', and no comma at its end",
                 OPTION_TEXT - 1);
        break;
    case FANS_OPTION_NUMBERS:
        text_add(
            out,
            "numbers with commas between them, at most %d characters; they may continue on the "
            "next line after a comma",
            OPTION_LIST - 1);
        break;
    }
}

const char *option_kind(const option *o)
{
    static const char *const kinds[] = {
        [FANS_OPTION_REAL] = "number",        [FANS_OPTION_INT] = "whole number",
        [FANS_OPTION_FLAG] = "true or false", [FANS_OPTION_CHOICE] = "choice",
        [FANS_OPTION_STRING] = "text",        [FANS_OPTION_NUMBERS] = "list"};
    return kinds[o->kind];
}

static int refuse(const option *o, const char *value)
{
    text range = {0};
    option_print_range(o, &range);
    fans_fail(FANS_EINVAL, "%s = %.200s: not %s%s", o->name, value,
              o->kind == FANS_OPTION_INT    ? "a whole number from "
              : o->kind == FANS_OPTION_REAL ? "a number from "
                                            : "",
              range.s ? range.s : "allowed");
    text_free(&range);
    return FANS_EINVAL;
}

static int parse_flag(const char *value, bool *out)
{
    static const char *const yes[] = {"true", "yes", "on", "1"};
    static const char *const no[] = {"false", "no", "off", "0"};
    for (int i = 0; i < 4; i++) {
        if (!strcmp(value, yes[i]) || !strcmp(value, no[i])) {
            *out = !strcmp(value, yes[i]);
            return 0;
        }
    }
    return -1;
}

/* Can a list be cut into lines? */
static bool has_commas(const char *list)
{
    enum { MOST = 150 };
    while (strcspn(list, ",") <= MOST && strchr(list, ',')) list = strchr(list, ',') + 1;
    return strlen(list) <= MOST;
}

/* Does a text survive being written as "key = text" and read back? */
static bool reads_back(const option *o, const char *value)
{
    size_t n = strlen(value);
    if (o->kind == FANS_OPTION_NUMBERS && (!has_commas(value) || strchr(value, '='))) return false;
    if (n >= room(o) || (n > 0 && (value[0] == ' ' || strchr(" ,", value[n - 1])))) return false;
    for (size_t i = 0; i < n; i++) {
        if ((unsigned char)value[i] < 32 || value[i] == 127) return false;
        if (value[i] == ';' && (i == 0 || value[i - 1] == ' ')) return false; /* a comment */
    }
    return true;
}

/* 20000 or 2e4; false where it is not a whole number. */
static bool parse_whole(const char *value, double *out)
{
    char *end;
    errno = 0;
    *out = (double)strtoll(value, &end, 10);
    if (end != value && strchr("eE.", *end) && strpbrk(end, "eE")) *out = text_number(value, &end);
    return end != value && !*end && !errno && *out == floor(*out);
}

static int parse(const option *o, void *at, const char *value)
{
    char *end, word[OPTION_TEXT];
    errno = 0;
    switch (o->kind) {
    case FANS_OPTION_REAL: {
        double x = text_number(value, &end);
        if (end == value || *end || errno || !isfinite(x) || x < o->low || x > o->high) return -1;
        *(double *)at = x;
        return 0;
    }
    case FANS_OPTION_INT: {
        double x;
        if (!parse_whole(value, &x) || x < o->low || x > o->high) return -1;
        *(int *)at = (int)x;
        return 0;
    }
    case FANS_OPTION_FLAG:
        return parse_flag(value, at);
    case FANS_OPTION_CHOICE:
        for (int i = 0; option_word(o->words, i, word, sizeof word); i++) {
            if (!strcmp(word, value)) {
                *(int *)at = i;
                return 0;
            }
        }
        return -1;
    case FANS_OPTION_STRING:
    case FANS_OPTION_NUMBERS:
        if (!reads_back(o, value)) return -1;
        put_text(o, at, value);
        return 0;
    }
    return -1;
}

int options_set(const option_group *g, void *options, const char *key, const char *value)
{
    nearest near = {.word = key};
    for (size_t i = 0; i < g->count; i++) {
        const option *o = &g->options[i];
        if (!strcmp(o->name, key))
            return parse(o, field(o, options), value) < 0 ? refuse(o, value) : 0;
        nearest_offer(&near, o->name);
    }
    return fans_fail(FANS_EINVAL, "unknown key '%s'%s", key, nearest_hint(&near));
}

/* The shortest decimal that reads back to the same double. */
static void print_real(double x, text *out)
{
    char s[40];
    for (int digits = 6; digits <= 17; digits++) {
        text_write_number(s, sizeof s, digits, x);
        if (text_number(s, NULL) == x) break;
    }
    text_add(out, "%s", s);
}

static void print_value(const option *o, const void *options, text *out)
{
    const void *at = field_const(o, options);
    char word[OPTION_TEXT];
    switch (o->kind) {
    case FANS_OPTION_REAL:
        print_real(*(const double *)at, out);
        break;
    case FANS_OPTION_INT:
        text_add(out, "%d", *(const int *)at);
        break;
    case FANS_OPTION_FLAG:
        text_add(out, "%s", *(const bool *)at ? "true" : "false");
        break;
    case FANS_OPTION_CHOICE:
        text_add(out, "%s", option_word(o->words, *(const int *)at, word, sizeof word));
        break;
    case FANS_OPTION_STRING:
    case FANS_OPTION_NUMBERS:
        text_add(out, "%s", (const char *)at);
        break;
    }
}

void option_print_initial(const option *o, text *out)
{
    union {
        double real;
        int integer;
        bool flag;
        char string[OPTION_LIST];
    } at;
    option alone = *o;
    alone.offset = 0;
    options_default(&(option_group){.options = &alone, .count = 1}, &at);
    print_value(&alone, &at, out);
}

void options_dump(const option_group *g, const char *section, const void *options, text *out)
{
    text_add(out, "[%s]\n", section);
    for (size_t i = 0; i < g->count; i++) {
        text_add(out, "%s = ", g->options[i].name);
        print_value(&g->options[i], options, out);
        text_add(out, "\n");
    }
}
