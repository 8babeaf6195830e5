/* sheet.h - a table of words, and its forms: Markdown, LaTeX, HTML. Words are plain UTF-8; every
 * form escapes them as it must. */
#ifndef REPORT_SHEET_H
#define REPORT_SHEET_H

#include "base/text.h"

/* Start from {.columns = n}. The first n words are the head. A failed allocation is reported by
 * text_done of what it is written to. */
typedef struct sheet {
    int columns;
    text words; /* each ends with a zero byte */
    int count;
} sheet;

/* Begin a word; text_add to what this returns; end it. */
text *sheet_begin(sheet *s);
void sheet_end(sheet *s);
void sheet_word(sheet *s, const char *word);
void sheet_free(sheet *s);

/* Reads a CSV without quotes. Start from {0}. */
enum { SHEET_MOST = 9 }; /* columns, at most */
int sheet_read(sheet *s, const char *path);

void sheet_markdown(const sheet *s, text *out);
void sheet_latex(const sheet *s, text *out);
void sheet_html(const sheet *s, text *out);

#endif
