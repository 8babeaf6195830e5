/* peer.h - runs a peer of a benchmark and reads what it prints, line by line. */
#ifndef BENCH_PEER_H
#define BENCH_PEER_H

#include <stdio.h>

#include "base/error.h"

typedef void peer_line_fn(void *user, const char *line);

static inline int peer_run(const char *command, peer_line_fn *take, void *user)
{
    FILE *f = popen(command, "r");
    char line[512];
    if (!f) return fans_fail(FANS_EIO, "cannot run '%s'", command);
    while (fgets(line, sizeof line, f)) {
        printf("PyTorch: %s", line);
        take(user, line);
    }
    return pclose(f) ? fans_fail(FANS_EIO, "'%s' failed", command) : 0;
}

#endif
