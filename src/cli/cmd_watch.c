/* cmd_watch.c - fans watch: trained agents on a live page, in a world that the viewer changes. */
#include <stdio.h>

#include "cli/args.h"
#include "cli/cli.h"
#include "cli/watch.h"
#include "live/live.h"

/* The address is printed, and no browser is started: arguments of programs are everybody's to read,
 * and it has the token. */
static int serve(live *l, server *s)
{
    watch eye = {0};
    int rc = 0;
    watch_signals(&eye);
    printf("%s\nopen it in a browser on this machine; Ctrl-C ends it\n", server_url(s));
    fflush(stdout);
    while (!watch_signalled(&eye)) TRY(server_wait(s, live_advance(l)));
    rc = CLI_SIGNAL + eye.signal;
out:
    return rc;
}

int cmd_watch(int argc, char **argv)
{
    text_list folders = {0}, settings = {0};
    int seed = 1000000, size = 480, port = 0;
    live *l = NULL;
    server *s = NULL;
    const arg args[] = {
        ARG_WORDS("RUN", &folders,
                  "folder of a trained run, or of one in training; several live side by side in "
                  "the same world"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &settings,
                 "override a key of the task: env.KEY or change.FACTOR.KEY"),
        ARG_INT("port", &port, 0, 65535, "where to listen on this machine; 0: any free port (0)"),
        ARG_INT("seed", &seed, 0, 2147483647, "seed of the new lifetime (1000000)"),
        ARG_INT("size", &size, 16, 2048, "width of a picture in pixels (480)"),
        ARG_PLUGIN,
    };
    int rc = args_parse("watch", ARGS(args), argc, argv);
    if (rc) return rc;
    TRY(live_new(&l, &(live_setup){&folders, &settings, (uint64_t)seed, size}));
    TRY(server_new(&s, port, live_pages, live_answer, l));
    TRY(serve(l, s));
out:
    server_free(s);
    live_free(l);
    return rc;
}
