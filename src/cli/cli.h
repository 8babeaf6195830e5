/* cli.h - the commands of the tool. Each command is one file, cmd_NAME.c, and one line of
 * commands.h. Only this layer prints to standard output or ends the process. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"
#include "cli/args.h"

/* A command gets the arguments after its own name and hands them to args_parse. It returns 0, or a
 * negative error whose line main prints; a positive value means that it only printed help, that
 * work is left (CLI_LEFT) or, from CLI_SIGNAL on, that a signal stopped it: CLI_SIGNAL + the
 * signal, which is the exit status. It prints to standard output only once all that can fail is
 * done. */
typedef int command_fn(int argc, char **argv);

#define X(name, help) command_fn cmd_##name;
#include "cli/commands.h"
#undef X

typedef struct cli_command {
    const char *name, *help;
    command_fn *run;
} cli_command;

/* The list, ending with {0}; cmd_help is not among them. */
extern const cli_command COMMANDS[];

/* Errors name the nearest. */
const cli_command *command_find(const char *name);

/* The tables of all commands and their parts, in the order of the list. */
void commands_read(args_reader *reader, void *user);

/* `fans help ...`: the arguments after `help`. */
command_fn cmd_help;

/* An error of this layer: the command line itself is wrong. The exit status is 2 then, and where an
 * error of another layer begins with an option; 1 for every other failure. */
enum { CLI_USAGE = -100, CLI_SIGNAL = 128 };

/* A command that stopped before its work was done, and should be run again, returns this: the
 * status EX_TEMPFAIL of sysexits.h. */
enum { CLI_LEFT = 75 };

/* "1 episode", "2 episodes". */
static inline const char *plural(int n)
{
    return n == 1 ? "" : "s";
}

#endif
