/* live.h - trained agents side by side in one world that the viewer can change: what `fans watch`
 * shows on its page.
 *
 * The page asks for each frame, so a slow browser never lags behind; while nobody asks, the worlds
 * wait. All browsers look at the same worlds, and everything is done by one thread. */
#ifndef LIVE_LIVE_H
#define LIVE_LIVE_H

#include "live/server.h"
#include "train/players.h"

typedef struct live live;

typedef struct live_setup {
    const text_list *folders, *settings; /* of players_new; they must outlive it */
    uint64_t seed;
    int width; /* of a picture */
} live_setup;

int live_new(live **out, const live_setup *s);
void live_free(live *l);

/* The fixed pages, and answers to everything else; `user` is the live. */
extern const server_page live_pages[];
server_fn live_answer;

/* Makes the steps that are due, and says in how many seconds the next one is. */
double live_advance(live *l);

#endif
