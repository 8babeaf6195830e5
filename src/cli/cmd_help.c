/* cmd_help.c - fans help: the list of commands, one command, the manual, completion for shells. */
#include <stdio.h>
#include <string.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/completion.h"
#include "cli/manual.h"
#include "cli/table.h"

static int print_commands(void)
{
    printf("fans - reinforcement learning in worlds that change\n\n"
           "usage: fans COMMAND [arguments]\n"
           "       fans help COMMAND\n\n");
    table lines = {.indent = 2};
    for (const cli_command *c = COMMANDS; c->name; c++) table_row(&lines, c->name, c->help);
    table_row(&lines, "help", "explain a command and its options");
    table_row(&lines, "--version", "print the version");
    int rc = table_print(&lines);
    table_free(&lines);
    return rc;
}

/* `fans help model fit` is `fans model fit --help`. */
static int print_one(const char *name, const char *part)
{
    char ask[] = "--help", which[16], *words[] = {part ? which : ask, ask};
    snprintf(which, sizeof which, "%s", part ? part : "");
    if (!strcmp(name, "help")) return cmd_help(1, words + 1);
    const cli_command *c = command_find(name);
    return c ? c->run(part ? 2 : 1, words) : CLI_USAGE;
}

int cmd_help(int argc, char **argv)
{
    const char *name = NULL, *part = NULL, *shell = NULL;
    bool man = false;
    const arg args[] = {
        ARG_MAYBE("COMMAND", &name, "the command; without it, there is a list of them"),
        ARG_MAYBE("PART", &part, "of `fans model`: fit or eval"),
        ARG_FLAG("man", &man, "print the manual page, for man"),
        ARG_TEXT("completion", "SHELL", &shell,
                 "print what completes command lines in bash, zsh or fish"),
    };
    int rc = args_parse("help", ARGS(args), argc, argv);
    if (rc) return rc;
    if (man) return manual_print();
    if (shell) return completion_print(shell);
    return name ? print_one(name, part) : print_commands();
}
