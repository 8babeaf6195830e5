/* html.h - pieces of a page. What it writes is well-formed XML too. */
#ifndef REPORT_HTML_H
#define REPORT_HTML_H

#include "base/text.h"

/* Text from outside (names of folders, commands): nothing in it is markup, and what is not UTF-8 or
 * a control character becomes U+FFFD. */
void html_text(text *out, const char *s);

/* A number for people: a true minus, "–" for NaN. html_number takes about four digits, html_like as
 * many decimals as that would give `model`: a deviation as fine as its mean. */
void html_number(text *out, double x);
void html_like(text *out, double x, double model);
void html_fixed(text *out, double x, int decimals);
void html_duration(text *out, double seconds);

/* Everything up to <main>, and everything after it. */
void html_begin(text *out, const char *title);
void html_end(text *out);

#endif
