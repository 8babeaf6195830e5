/* text.c - growing strings and spelling hints. */
#define _GNU_SOURCE
#include "base/text.h"

#include <locale.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/mem.h"

void text_add_n(text *t, const char *bytes, size_t n)
{
    if (t->failed) return;
    if (mem_grow(&t->s, &t->capacity, t->length + n + 1, 1) < 0) {
        t->failed = true;
        return;
    }
    memcpy(t->s + t->length, bytes, n);
    t->length += n;
    t->s[t->length] = 0;
}

/* Numbers are written and read with a point, whatever the locale of the program. */
static locale_t plain;

__attribute__((constructor)) static void find_locale(void)
{
    plain = newlocale(LC_ALL_MASK, "C", (locale_t)0);
}

double text_number(const char *s, char **end)
{
    return strtod_l(s, end, plain);
}

void text_write_number(char *s, size_t size, int digits, double x)
{
    locale_t own = uselocale(plain);
    snprintf(s, size, "%.*g", digits, x);
    uselocale(own);
}

static void add(text *t, const char *format, va_list args)
{
    va_list again;
    va_copy(again, args);
    int n = vsnprintf(NULL, 0, format, args);
    if (n >= 0 && !t->failed && mem_grow(&t->s, &t->capacity, t->length + (size_t)n + 1, 1) < 0)
        t->failed = true;
    if (n >= 0 && !t->failed) {
        vsnprintf(t->s + t->length, (size_t)n + 1, format, again);
        t->length += (size_t)n;
    }
    va_end(again);
}

void text_add(text *t, const char *format, ...)
{
    va_list args;
    locale_t own = uselocale(plain);
    va_start(args, format);
    add(t, format, args);
    va_end(args);
    uselocale(own);
}

void text_plain(char *s)
{
    for (unsigned char *c = (unsigned char *)s; *c; c++) {
        if (*c < 32 || *c == 127) *c = '?';
        if (c[0] == 0xC2 && c[1] >= 0x80 && c[1] < 0xA0) c[0] = c[1] = '?';
    }
}

int text_done(const text *t)
{
    return t->failed ? FANS_ENOMEM : 0;
}

void text_free(text *t)
{
    mem_free(t->s);
    *t = (text){0};
}

/* Levenshtein distance over the first 63 characters. */
static size_t edit_distance(const char *a, const char *b)
{
    enum { MOST = 63 };
    size_t n = strnlen(a, MOST), m = strnlen(b, MOST), row[MOST + 1];
    for (size_t j = 0; j <= m; j++) row[j] = j;
    for (size_t i = 1; i <= n; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= m; j++) {
            size_t up = row[j], best = diagonal + (a[i - 1] != b[j - 1]);
            if (up + 1 < best) best = up + 1;
            if (row[j - 1] + 1 < best) best = row[j - 1] + 1;
            diagonal = up;
            row[j] = best;
        }
    }
    return row[m];
}

void nearest_offer(nearest *n, const char *name)
{
    size_t d = edit_distance(n->word, name);
    if (!n->best || d < n->distance) {
        n->best = name;
        n->distance = d;
    }
}

const char *nearest_hint(const nearest *n)
{
    static _Thread_local char hint[128];
    hint[0] = 0;
    size_t length = strlen(n->word);
    if (n->best && n->distance <= (length < 4 ? 1 : length / 3 + 1))
        snprintf(hint, sizeof hint, "; did you mean '%s%s'?", n->prefix ? n->prefix : "", n->best);
    return hint;
}

bool text_is_name(const char *s)
{
    size_t n = strspn(s, "abcdefghijklmnopqrstuvwxyz0123456789_.");
    return n > 0 && n < TEXT_NAME && !s[n];
}

static text_line take_line(const char **at)
{
    text_line x = {*at, (int)strcspn(*at, "\n")};
    *at += x.n + (x.s[x.n] == '\n');
    return x;
}

bool text_differ(const char **a, const char **b, text_line out[2])
{
    while (**a || **b) {
        out[0] = take_line(a);
        out[1] = take_line(b);
        if (out[0].n != out[1].n || memcmp(out[0].s, out[1].s, (size_t)out[0].n)) return true;
    }
    return false;
}
