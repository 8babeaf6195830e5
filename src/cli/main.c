/* main.c - finds the command, runs it, reports its error. */
#include <stdio.h>
#include <string.h>

#include "base/text.h"
#include "cli/cli.h"

int main(int argc, char **argv)
{
    if (argc == 2 && !strcmp(argv[1], "--version")) {
        printf("fans %s\n", fans_version());
        return 0;
    }
    fprintf(stderr, "fans: no such command\n");
    return 2;
}
