/* live_parts.h - what the files of the live page share: live.c makes steps, live_control.c does
 * what the viewer asks, live_frame.c and live_curve.c tell the page what to show. */
#ifndef LIVE_LIVE_PARTS_H
#define LIVE_LIVE_PARTS_H

#include "base/json.h"
#include "film/follow.h"
#include "live/live.h"

enum { LIVE_STEPS = 600 }; /* steps that a page shows, and that are kept for one that comes new */

/* A step of a lane as one factor saw it. */
typedef struct live_moment {
    follow_moment seen;
    bool by_hand; /* it was changed by the viewer */
} live_moment;

typedef struct live_lane {
    char name[128];
    follow follow;
    live_moment *moments; /* [LIVE_STEPS][factors]: step t is at t % LIVE_STEPS */
    float reward[LIVE_STEPS];
    bool fresh[LIVE_STEPS]; /* the step was the first of an episode */
    int episode, tau;       /* of the last step */
    bool ended;             /* by the last step */
    double gain, sum;       /* return of this episode so far; of those that have ended */
    uint8_t *rgb, *png;
    size_t png_bytes; /* 0: the environment draws none */
    uint64_t drawn;   /* the news that the picture shows */
} live_lane;

struct live {
    live_setup s;
    players *players;
    live_lane *lanes;
    int count, height;
    const fans_env_info *info;
    double *held, *gripped; /* [factor_count]: NaN, or where; when it was last moved */
    bool *moved;            /* [factor_count]: by hand, since the last step */
    int64_t step;           /* steps so far, of all lanes */
    uint64_t news;          /* grows with everything that a page shows */
    bool paused, told;
    double speed;      /* steps per second; 0: as many as can be */
    int64_t wanted;    /* steps to make in spite of a pause */
    double due, asked; /* when the next step is due; when a frame was last asked for */
    char fault[512];   /* why nothing moves; else "" */
    json_t *curves;    /* as of … */
    double curves_at;
    text out; /* the last answer */
};

/* live.c */
int live_open(live *l);    /* the newest agents */
int live_restart(live *l); /* new lifetimes */
int live_fault(live *l, int rc);

/* live_control.c: does what a POST asks. */
int live_control(live *l, const char *body, size_t bytes);

/* live_frame.c: into `out`. What never changes; and, since `step`, the rest with pictures. */
int live_about(live *l);
int live_frame(live *l, int64_t step);
json_t *live_words(const char *s);

/* live_curve.c: learning curves of the runs, which may still be trained. */
int live_curves(live *l);

#endif
