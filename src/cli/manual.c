/* manual.c - fans(1) in the language of mdoc(7). The sections on commands come from their tables,
 * so that the page says what `--help` says; the rest is written here. */
#include "cli/manual.h"

#include <ctype.h>
#include <stdio.h>

#include "cli/cli.h"

static const char HEAD[] =
    ".Dd November 18, 2026\n"
    ".Dt FANS 1\n"
    ".Os\n"
    ".Sh NAME\n"
    ".Nm fans\n"
    ".Nd reinforcement learning in worlds that change\n"
    ".Sh SYNOPSIS\n"
    ".Nm\n"
    ".Ar command\n"
    ".Op Ar argument ...\n"
    ".Nm\n"
    ".Fl -version\n"
    ".Sh DESCRIPTION\n"
    "Agents that find out by themselves what has changed in their world,\n"
    "and act on it.\n"
    "A task is a config file: an environment, and how its factors change.\n"
    ".Nm\n"
    "trains agents on it, compares them, films them, and writes them as code\n"
    "for other programs.\n"
    ".Pp\n"
    "Options come in any order, as\n"
    ".Fl -name Ar value\n"
    "or\n"
    ".Fl -name Ns = Ns Ar value ;\n"
    ".Fl -\n"
    "ends them.\n"
    ".Fl h\n"
    "and\n"
    ".Fl -help\n"
    "explain any command.\n"
    ".Sh COMMANDS\n";

static const char TAIL[] =
    ".Sh ENVIRONMENT\n"
    ".Bl -tag -width FANS_SHADOWS\n"
    ".It Ev FANS_ASSETS\n"
    "Folder of the robots' models, instead of the one that was installed.\n"
    ".It Ev FANS_GL\n"
    "How robots are drawn: egl or osmesa; by default the first that works,\n"
    "egl before osmesa where there is a GPU.\n"
    ".It Ev FANS_SHADOWS\n"
    "1: pictures have shadows.\n"
    ".El\n"
    ".Sh FILES\n"
    ".Bl -tag -width Ds\n"
    ".It Pa runs/CONFIG-ALGO/seed-N\n"
    "A run: config.ini, checkpoint.safetensors, metrics.csv, result.json and others.\n"
    ".El\n"
    ".Sh EXIT STATUS\n"
    ".Bl -tag -width 128+N -compact\n"
    ".It 0\n"
    "Success.\n"
    ".It 1\n"
    "Failure; one line on the standard error says which.\n"
    ".It 2\n"
    "Wrong usage.\n"
    ".It 75\n"
    "The time was up, and work is left: run the command again.\n"
    ".It 128+N\n"
    "Signal N stopped it; a training left a checkpoint.\n"
    ".El\n"
    ".Sh EXAMPLES\n"
    "Train two methods on a task, then compare them on a page:\n"
    ".Bd -literal -offset indent\n"
    "fans train pendulum.ini \\-\\-algo fans,sac \\-\\-steps 20000\n"
    "fans report runs\n"
    ".Ed\n";

/* ---- text ------------------------------------------------------------------------------------ */

/* One character beyond ASCII, as UTF-8 has it; returns its last byte. */
static const char *add_wide(text *out, const char *s)
{
    unsigned char lead = (unsigned char)*s;
    unsigned code = lead & (lead >= 0xf0 ? 0x7u : lead >= 0xe0 ? 0xfu : 0x1fu);
    for (; (s[1] & 0xc0) == 0x80; s++) code = code << 6 | (s[1] & 0x3fu);
    text_add(out, "\\[u%04X]", code);
    return s;
}

enum { WIDTH = 60 }; /* the line is broken after so many bytes */

/* Help in plain words: `code` becomes bold, dashes of options stay dashes. A line that began with a
 * dot would be a command. */
static void add_prose(text *out, const char *s)
{
    bool code = false;
    size_t start = out->length;
    for (char before = ' '; *s; before = *s++) {
        if (*s == ' ' && out->length - start > WIDTH && isalnum((unsigned char)s[1])) {
            text_add(out, "\n");
            start = out->length;
        } else if (*s == '`')
            text_add(out, "%s", (code = !code) ? "\\fB" : "\\fR");
        else if (*s == '\\')
            text_add(out, "\\e");
        else if (*s == '-' && !isalnum((unsigned char)before))
            text_add(out, "\\-");
        else if ((unsigned char)*s >= 0x80)
            s = add_wide(out, s);
        else
            text_add(out, "%c", *s);
    }
}

static void add_sentence(text *out, const char *s)
{
    char line[512];
    bool name = s[0] && s[1] == ':'; /* "c: a .c and a .h" */
    snprintf(line, sizeof line, "%s", s);
    if (!name) line[0] = (char)toupper((unsigned char)line[0]);
    if (*s == '.' || *s == '\'') text_add(out, "\\&");
    add_prose(out, line);
    text_add(out, ".\n");
}

/* ---- commands -------------------------------------------------------------------------------- */

static void add_usage(text *out, const arg *a)
{
    const char *more = arg_repeats(a) ? " ..." : "";
    if (a->kind == ARG_KIND_MAYBE)
        text_add(out, ".Op Ar %s\n", a->value);
    else if (arg_is_word(a))
        text_add(out, ".Ar %s%s\n", a->value, more);
    else if (a->value)
        text_add(out, ".Op Fl -%s Ar %s%s\n", a->name, a->value, more);
    else
        text_add(out, ".Op Fl -%s\n", a->name);
}

static void add_item(text *out, const arg *a)
{
    if (arg_is_word(a))
        text_add(out, ".It Ar %s\n", a->value);
    else
        text_add(out, ".It Fl -%s%s%s\n", a->name, a->value ? " Ar " : "",
                 a->value ? a->value : "");
    add_sentence(out, a->help);
}

static void add_command(void *user, const args_table *t)
{
    text *out = user;
    text_add(out, ".Ss fans %s\n", t->command);
    add_sentence(out, t->help);
    text_add(out, ".Pp\n.Nm\n.Cm %s\n", t->command);
    for (size_t i = 0; i < t->count; i++) add_usage(out, &t->args[i]);
    text_add(out, ".Bl -tag -width Ds\n");
    for (size_t i = 0; i < t->count; i++) add_item(out, &t->args[i]);
    text_add(out, ".El\n");
}

int manual_print(void)
{
    text out = {0};
    text_add(&out, "%s", HEAD);
    commands_read(add_command, &out);
    text_add(&out, "%s", TAIL);
    int rc = text_done(&out);
    if (rc == 0) fputs(out.s, stdout);
    text_free(&out);
    return rc;
}
