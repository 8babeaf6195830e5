/* commands.c - the commands as a table: found by name, and read one after the other. */
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

const cli_command COMMANDS[] = {
#define X(name, help) {#name, help, cmd_##name},
#include "cli/commands.h"
#undef X
    {0},
};

const cli_command *command_find(const char *name)
{
    nearest near = {.word = name};
    for (const cli_command *c = COMMANDS; c->name; c++) {
        if (!strcmp(name, c->name)) return c;
        nearest_offer(&near, c->name);
    }
    nearest_offer(&near, "help");
    const char *hint = nearest_hint(&near);
    fans_fail(CLI_USAGE, "unknown command '%s'%s", name, *hint ? hint : "; `fans help` lists them");
    return NULL;
}

void commands_read(args_reader *reader, void *user)
{
    args_read(reader, user);
    for (const cli_command *c = COMMANDS; c->name; c++) {
        char fit[] = "fit", eval[] = "eval", *parts[] = {fit, eval};
        if (c->run != cmd_model)
            c->run(0, NULL);
        else
            for (int i = 0; i < 2; i++) c->run(1, &parts[i]);
    }
    cmd_help(0, NULL);
    args_read(NULL, NULL);
}
