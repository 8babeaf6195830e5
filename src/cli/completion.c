/* completion.c - completion for bash, zsh and fish, from the tables of all commands. The scripts
 * are complete in themselves: nothing is run while one types. */
#include "cli/completion.h"

#include <stdio.h>
#include <string.h>

#include "algo/registry.h"
#include "cli/cli.h"
#include "env/registry.h"
#include "train/sections.h"

/* ---- words that stand for values ------------------------------------------------------------- */

/* Of an option or a word of the command line; offered are those that its help names. */
static const struct {
    const char *name, *words[6];
} CHOICES[] = {
    {"device", {"auto", "cpu", "cuda"}},
    {"precision", {"fp32", "tf32", "bf16"}},
    {"preset", {"paper", "standard", "small", "classic"}},
    {"emit", {"slurm", "mpi", "parallel", "make", "kubernetes"}},
    {"to", {"c", "onnx"}},
    {"weights", {"f32", "f16"}},
    {"policy", {"random", "zero"}},
    {"completion", {"bash", "zsh", "fish"}},
    {"LIST", {"algos", "envs", "ops", "options"}},
    {"PART", {"fit", "eval"}},
};

static void add_choices(text *out, const arg *a)
{
    const char *name = arg_is_word(a) ? a->value : a->name;
    for (size_t i = 0; i < sizeof CHOICES / sizeof *CHOICES; i++) {
        if (strcmp(name, CHOICES[i].name)) continue;
        for (int k = 0; k < 6 && CHOICES[i].words[k]; k++)
            if (strstr(a->help, CHOICES[i].words[k])) text_add(out, " %s", CHOICES[i].words[k]);
    }
}

static void add_algorithms(text *out)
{
    for (int i = 0; i < algo_count(); i++) text_add(out, " %s", algo_at(i)->name);
}

static void add_environments(text *out)
{
    const fans_env_def *def;
    for (int i = 0; (def = env_builtin(i)); i++) text_add(out, " %s", def->name);
}

/* "section.key=" of every option; families of sections, such as [change.*], have no fixed names. */
static void add_keys(text *out, const char *section)
{
    const option_group *g;
    for (int i = 0; (g = section_at(i)); i++)
        for (size_t k = 0; k < g->count && !strchr(g->section, '*'); k++)
            if (!section || !strcmp(g->section, section))
                text_add(out, " %s.%s=", g->section, g->options[k].name);
}

/* Some commands take keys of the task only. */
static bool is_all_keys(const arg *a)
{
    return a->value && strstr(a->value, "SECTION.KEY") && !strstr(a->help, "env.KEY");
}

/* " one two ..."; nothing where files are asked for. */
static void add_values(text *out, const arg *a)
{
    if (!a->value) return;
    if (!strncmp(a->value, "A[", 2))
        add_algorithms(out);
    else if (!strcmp(a->value, "ENV"))
        add_environments(out);
    else if (!strcmp(a->value, "COMMAND"))
        for (const cli_command *c = COMMANDS; c->name; c++) text_add(out, " %s", c->name);
    else if (strstr(a->value, ".KEY"))
        add_keys(out, is_all_keys(a) ? NULL : "env");
    else
        add_choices(out, a);
}

/* ---- bash ------------------------------------------------------------------------------------ */

/* The values of an option, where there is a list of such; of all keys, the variable. */
static void bash_value(text *out, const char *command, const arg *a)
{
    text values = {0};
    add_values(&values, a);
    if (is_all_keys(a))
        text_add(out, "    '%s --%s') words=$_fans_keys ;;\n", command, a->name);
    else if (values.length)
        text_add(out, "    '%s --%s') words='%s' ;;\n", command, a->name, values.s + 1);
    out->failed |= values.failed;
    text_free(&values);
}

/* Cases of COMMAND for its words, "COMMAND -" for its options, and "COMMAND OPTION". */
static void bash_command(void *user, const args_table *t)
{
    text *out = user;
    text_add(out, "    '%s') words='", t->command);
    for (size_t i = 0; i < t->count; i++)
        if (arg_is_word(&t->args[i])) add_values(out, &t->args[i]);
    text_add(out, "' ;;\n    '%s -') words='", t->command);
    for (size_t i = 0; i < t->count; i++)
        if (!arg_is_word(&t->args[i])) text_add(out, "--%s ", t->args[i].name);
    text_add(out, "--help' ;;\n");
    for (size_t i = 0; i < t->count; i++)
        if (!arg_is_word(&t->args[i])) bash_value(out, t->command, &t->args[i]);
    text_add(out, "    '%s --help'", t->command);
    for (size_t i = 0; i < t->count; i++)
        if (!arg_is_word(&t->args[i]) && !t->args[i].value)
            text_add(out, " | '%s --%s'", t->command, t->args[i].name);
    text_add(out, ") return 1 ;;\n");
}

/* Words where there are some, options after a dash; else bash offers files. */
static const char BASH[] =
    "    esac\n"
    "}\n"
    "_fans() {\n"
    "    local current=${COMP_WORDS[COMP_CWORD]} before=${COMP_WORDS[COMP_CWORD-1]}\n"
    "    local command=${COMP_WORDS[1]} words='' listed=''\n"
    "    if [ \"$command\" = model ] && [ \"$COMP_CWORD\" -gt 2 ]; then command+=\" "
    "${COMP_WORDS[2]}\"; fi\n"
    "    if [ \"$COMP_CWORD\" = 1 ]; then\n"
    "        words=\"$_fans_commands --help --version\"\n"
    "    elif [[ $before != --* ]] || ! _fans_words \"$command $before\"; then\n"
    "        if [[ $current == -* ]]; then before=' -'; else before=''; fi\n"
    "        _fans_words \"$command$before\"\n"
    "    fi\n"
    "    if [[ $before == --algo && $current == *,* ]]; then listed=${current%,*},; fi\n"
    "    mapfile -t COMPREPLY < <(compgen -P \"$listed\" -W \"$words\" -- "
    "\"${current#\"$listed\"}\")\n"
    "    if [[ ${COMPREPLY[0]} == *= ]]; then compopt -o nospace; fi\n"
    "}\n"
    "complete -o default -F _fans fans\n";

static void print_bash(text *out)
{
    text_add(out, "# Completion of fans for bash; `fans help --completion bash` prints it.\n"
                  "# shellcheck shell=bash\n"
                  "_fans_commands='");
    for (const cli_command *c = COMMANDS; c->name; c++) text_add(out, "%s ", c->name);
    text_add(out, "help'\n_fans_keys='");
    add_keys(out, NULL);
    text_add(out, "'\n_fans_words() {\n    case $1 in\n    model) words='fit eval' ;;\n");
    commands_read(bash_command, out);
    text_add(out, "%s", BASH);
}

/* ---- zsh ------------------------------------------------------------------------------------- */

/* What _arguments takes for text, inside single quotes. */
static void zsh_text(text *out, const char *s)
{
    for (; *s; s++)
        if (*s == '\'')
            text_add(out, "'\\''");
        else
            text_add(out, strchr("[]:\\", *s) ? "\\%c" : "%c", *s);
}

static void zsh_argument(text *out, const arg *a)
{
    text values = {0};
    add_values(&values, a);
    text_add(out, "            ");
    if (arg_is_word(a)) {
        text_add(out, "'%s", arg_repeats(a) ? "*:" : a->kind == ARG_KIND_MAYBE ? "::" : ":");
    } else {
        text_add(out, "'%s--%s[", arg_repeats(a) ? "*" : "", a->name);
        zsh_text(out, a->help);
        text_add(out, a->value ? "]:" : "]'");
    }
    if (a->value) {
        zsh_text(out, a->value);
        if (!values.length)
            text_add(out, ":_files'");
        else if (strstr(a->value, ".KEY"))
            text_add(out, ":compadd -S \"\" --%s'", values.s);
        else
            text_add(out, ":compadd%s --%s'", strncmp(a->value, "A[", 2) ? "" : " -q -S ,",
                     values.s);
    }
    text_add(out, " \\\n");
    out->failed |= values.failed;
    text_free(&values);
}

static void zsh_command(void *user, const args_table *t)
{
    text *out = user;
    text_add(out, "    '%s') _arguments \\\n", t->command);
    for (size_t i = 0; i < t->count; i++) zsh_argument(out, &t->args[i]);
    text_add(out, "            '--help[print the options]' ;;\n");
}

static void print_zsh(text *out)
{
    text_add(out, "#compdef fans\n"
                  "# Completion of fans for zsh; `fans help --completion zsh` prints it.\n"
                  "local command\n"
                  "local -a commands=(\n");
    for (const cli_command *c = COMMANDS; c->name; c++) {
        text_add(out, "    '%s:", c->name);
        zsh_text(out, c->help);
        text_add(out, "'\n");
    }
    text_add(out, "    'help:explain a command and its options'\n"
                  ")\n"
                  "if (( CURRENT == 2 )); then\n"
                  "    _describe command commands\n"
                  "    return\n"
                  "fi\n"
                  "command=$words[2]\n"
                  "shift words\n"
                  "(( CURRENT-- ))\n"
                  "if [[ $command == model ]]; then\n"
                  "    if (( CURRENT == 2 )); then\n"
                  "        compadd fit eval\n"
                  "        return\n"
                  "    fi\n"
                  "    command=\"model $words[2]\"\n"
                  "    shift words\n"
                  "    (( CURRENT-- ))\n"
                  "fi\n"
                  "case $command in\n");
    commands_read(zsh_command, out);
    text_add(out, "esac\n");
}

/* ---- fish ------------------------------------------------------------------------------------ */

static void fish_text(text *out, const char *s)
{
    for (; *s; s++) text_add(out, strchr("'\\", *s) ? "\\%c" : "%c", *s);
}

/* "complete -c fans" for what follows the words of the command. `fans model eval` is no eval. */
static void fish_begin(text *out, const char *command)
{
    const char *part = strchr(command, ' ');
    text_add(out, "complete -c fans -n '%s__fish_seen_subcommand_from model; and ",
             part ? "" : "not ");
    text_add(out, "__fish_seen_subcommand_from %s'", part ? part + 1 : command);
}

static void fish_command(void *user, const args_table *t)
{
    text *out = user;
    for (size_t i = 0; i < t->count; i++) {
        const arg *a = &t->args[i];
        text values = {0};
        add_values(&values, a);
        out->failed |= values.failed;
        if (!arg_is_word(a) || values.length) {
            fish_begin(out, t->command);
            if (!arg_is_word(a)) text_add(out, " -l %s%s", a->name, a->value ? " -r" : "");
            if (values.length) text_add(out, " -f -a '%s'", values.s + 1);
            text_add(out, " -d '");
            fish_text(out, a->help);
            text_add(out, "'\n");
        }
        text_free(&values);
    }
}

static void print_fish(text *out)
{
    text_add(out, "# Completion of fans for fish; `fans help --completion fish` prints it.\n");
    for (const cli_command *c = COMMANDS; c->name; c++) {
        text_add(out, "complete -c fans -n __fish_use_subcommand -f -a %s -d '", c->name);
        fish_text(out, c->help);
        text_add(out, "'\n");
    }
    text_add(out, "complete -c fans -n __fish_use_subcommand -f -a help -d 'explain a command'\n"
                  "complete -c fans -n '__fish_seen_subcommand_from model' -f -a 'fit eval'\n");
    commands_read(fish_command, out);
}

/* ---- which ----------------------------------------------------------------------------------- */

int completion_print(const char *shell)
{
    static const struct {
        const char *name;
        void (*print)(text *out);
    } shells[] = {{"bash", print_bash}, {"zsh", print_zsh}, {"fish", print_fish}};
    text out = {0};
    nearest near = {.word = shell};
    int rc = 1;
    for (size_t i = 0; i < sizeof shells / sizeof *shells; i++) {
        nearest_offer(&near, shells[i].name);
        if (strcmp(shell, shells[i].name)) continue;
        shells[i].print(&out);
        rc = text_done(&out);
        if (rc == 0) fputs(out.s, stdout);
    }
    text_free(&out);
    if (rc <= 0) return rc;
    const char *hint = nearest_hint(&near);
    return fans_fail(CLI_USAGE, "help: --completion %s: no such shell%s", shell,
                     *hint ? hint : "; there are bash, zsh and fish");
}
