/* sheet.c - writes a table of words in the forms that people paste elsewhere. */
#include "report/sheet.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "report/html.h"

text *sheet_begin(sheet *s)
{
    return &s->words;
}

void sheet_end(sheet *s)
{
    text_add_n(&s->words, "", 1);
    s->count++;
}

void sheet_word(sheet *s, const char *word)
{
    text_add(&s->words, "%s", word);
    sheet_end(s);
}

void sheet_free(sheet *s)
{
    text_free(&s->words);
    *s = (sheet){0};
}

/* Words up to the end of a line; `at` moves past it. */
static int read_line(sheet *s, const char **at)
{
    int n = 0;
    do {
        size_t length = strcspn(*at, ",\n");
        text_add(sheet_begin(s), "%.*s", (int)length, *at);
        sheet_end(s);
        n++;
        *at += length;
    } while (*(*at)++ == ',');
    return n;
}

int sheet_read(sheet *s, const char *path)
{
    void *file = NULL;
    size_t size;
    int rc = 0, line = 0;
    TRY(os_read_file(&file, &size, path)); /* ends with a zero byte */
    for (const char *at = file, *end = at + size; at < end;) {
        int n = read_line(s, &at);
        if (line++ == 0) s->columns = n;
        if (n != s->columns || n > SHEET_MOST)
            TRY(fans_fail(FANS_EFORMAT,
                          "%s:%d: has %d cells, the first line %d; at most %d are allowed", path,
                          line, n, s->columns, SHEET_MOST));
    }
    if (line < 2) TRY(fans_fail(FANS_EFORMAT, "%s: has no rows", path));
    TRY(text_done(&s->words));
out:
    mem_free(file);
    return rc;
}

/* How a form writes a table. */
typedef struct form {
    void (*word)(text *out, const char *s);
    const char *row, *between, *end; /* before a row's first word, between words, after the last */
    const char *head, *between_head, *end_head;
} form;

/* An allocation that failed shows in what is written. */
static void write_rows(const sheet *s, const form *f, text *out)
{
    const char *at = s->words.s;
    out->failed = out->failed || s->words.failed;
    for (int i = 0; !out->failed && i < s->count; i++, at += strlen(at) + 1) {
        bool head = i < s->columns;
        const char *between = head ? f->between_head : f->between;
        text_add(out, "%s", i % s->columns ? between : head ? f->head : f->row);
        f->word(out, at);
        if (i % s->columns == s->columns - 1) text_add(out, "%s", head ? f->end_head : f->end);
    }
}

/* ---- Markdown -------------------------------------------------------------------------------- */

static void markdown_word(text *out, const char *s)
{
    for (; *s; s++) text_add(out, *s == '|' || *s == '_' ? "\\%c" : "%c", *s);
}

void sheet_markdown(const sheet *s, text *out)
{
    text rule = {0};
    text_add(&rule, " |\n|---");
    for (int i = 1; i < s->columns; i++) text_add(&rule, "|---");
    text_add(&rule, "|\n");
    out->failed = out->failed || rule.failed;
    write_rows(s, &(form){markdown_word, "| ", " | ", " |\n", "| ", " | ", rule.s}, out);
    text_free(&rule);
}

/* ---- LaTeX ----------------------------------------------------------------------------------- */

/* What TeX reads differently, or a font may lack. */
static const char *const tex[][2] = {
    {"−", "$-$"},
    {"±", "$\\pm$"},
    {"×", "$\\times$"},
    {"–", "--"},
    {"…", "\\dots{}"},
    {"≈", "$\\approx$"},
    {"θ", "$\\theta$"},
    {"²", "$^2$"},
    {"•", "$\\bullet$"},
    {"\\", "\\textbackslash{}"},
    {"_", "\\_"},
    {"%", "\\%"},
    {"&", "\\&"},
    {"#", "\\#"},
    {"$", "\\$"},
    {"{", "\\{"},
    {"}", "\\}"},
    {"~", "\\textasciitilde{}"},
    {"^", "\\textasciicircum{}"},
};

static void latex_word(text *out, const char *s)
{
    while (*s) {
        size_t i = 0, n = 1, all = sizeof tex / sizeof *tex;
        while (i < all && strncmp(s, tex[i][0], strlen(tex[i][0])) != 0) i++;
        if (i < all) {
            n = strlen(tex[i][0]);
            text_add(out, "%s", tex[i][1]);
        } else {
            text_add_n(out, s, n);
        }
        s += n;
    }
}

void sheet_latex(const sheet *s, text *out)
{
    text_add(out, "\\begin{tabular}{l");
    for (int i = 1; i < s->columns; i++) text_add(out, "r");
    text_add(out, "}\n\\hline\n");
    write_rows(s, &(form){latex_word, "", " & ", " \\\\\n", "", " & ", " \\\\ \\hline\n"}, out);
    text_add(out, "\\hline\n\\end{tabular}\n");
}

/* ---- HTML ------------------------------------------------------------------------------------ */

void sheet_html(const sheet *s, text *out)
{
    text_add(out, "<div class=\"wide\"><table>\n");
    write_rows(s,
               &(form){html_text, "<tr><td>", "</td><td>", "</td></tr>\n", "<tr><th>", "</th><th>",
                       "</th></tr>\n"},
               out);
    text_add(out, "</table></div>\n");
}
