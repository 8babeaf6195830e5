/* cli.h - the commands of the tool. Each command is one file, cmd_NAME.c, and one line of
 * commands.h. Only this layer prints to standard output or ends the process. */
#ifndef CLI_CLI_H
#define CLI_CLI_H

#include "base/error.h"

/* A command gets the arguments behind its own name and returns 0 or a negative error; main prints
 * the error's line and turns it into the exit status. */
typedef int command_fn(int argc, char **argv);

typedef struct command {
    const char *name, *usage, *help;
    command_fn *run;
} command;

#endif
