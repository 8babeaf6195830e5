/* train_play.c - plays a training's agent in worlds of their own.
 *
 * What the agent carries along its lifetimes is set aside for the play and brought back after it.
 * Whoever holds a factor changes the world between the schedule's changes: an agent that is told of
 * changes is told of this one, too.
 */
#include <string.h>

#include "base/error.h"
#include "train/train_parts.h"

/* ---- what is carried along lifetimes, set aside ---------------------------------------------- */

typedef struct carried {
    state_list list;
    uint8_t *bytes;
} carried;

/* To or from where it lives, which may be a GPU. */
static void copy_item(const state_item *item, uint8_t *bytes, bool back)
{
    size_t n = state_item_bytes(item);
    void *to = back ? item->data : bytes;
    const void *from = back ? bytes : item->data;
    if (!item->graph)
        memcpy(to, from, n);
    else if (back)
        nn_copy_in(item->graph, to, from, n);
    else
        nn_copy_out(item->graph, to, from, n);
}

static int put_aside(training *t, int r, carried *c)
{
    size_t all = 0, at = 0;
    int rc = 0;
    if (t->s.algo->carried) t->s.algo->carried(t->agent, r, &c->list);
    TRY(state_done(&c->list));
    TRY(state_refresh(&c->list));
    for (size_t i = 0; i < c->list.count; i++) all += state_item_bytes(&c->list.items[i]);
    TRY((c->bytes = mem_alloc(all)) ? 0 : FANS_ENOMEM);
    for (size_t i = 0; i < c->list.count; i++) {
        size_t n = state_item_bytes(&c->list.items[i]);
        copy_item(&c->list.items[i], c->bytes + at, false);
        at += n;
    }
out:
    return rc;
}

static int bring_back(carried *c)
{
    size_t at = 0;
    int rc = state_refresh(&c->list); /* pending results must not arrive later */
    for (size_t i = 0; c->bytes && i < c->list.count; i++) {
        size_t n = state_item_bytes(&c->list.items[i]);
        copy_item(&c->list.items[i], c->bytes + at, true);
        at += n;
    }
    if (rc == 0 && c->bytes) rc = state_loaded(&c->list);
    state_free(&c->list);
    mem_free(c->bytes);
    return rc;
}

/* ---- playing --------------------------------------------------------------------------------- */

struct play {
    training *training;
    scene scene;
    uint64_t *seeds;  /* [runs] */
    carried *carried; /* [runs] */
    uint8_t *moved;   /* [rows] 1: a factor was moved by hand since the last step */
    int64_t *by_hand; /* [rows] segments that began so */
};

int play_new_each(play **out, training *t, const uint64_t *seeds)
{
    size_t n = (size_t)t->count;
    int rc = 0;
    play *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    p->training = t;
    TRY((p->seeds = mem_alloc(n * sizeof *p->seeds)) ? 0 : FANS_ENOMEM);
    TRY((p->carried = mem_alloc(n * sizeof *p->carried)) ? 0 : FANS_ENOMEM);
    TRY((p->moved = mem_alloc((size_t)t->rows)) ? 0 : FANS_ENOMEM);
    TRY((p->by_hand = mem_alloc((size_t)t->rows * sizeof *p->by_hand)) ? 0 : FANS_ENOMEM);
    memcpy(p->seeds, seeds, n * sizeof *seeds);
    TRY(scene_new(&p->scene, t->tasks, t->s.pool, p->seeds, t->count, t->worlds_each));
    p->scene.tells = t->scene.tells;
    TRY(scene_start(&p->scene));
    for (int r = 0; r < t->count; r++) TRY(put_aside(t, r, &p->carried[r]));
    if (t->s.algo->start) t->s.algo->start(t->agent);
    *out = p;
    return 0;
out:
    play_end(p);
    return rc;
}

int play_new(play **out, training *t, uint64_t seed)
{
    uint64_t *seeds = mem_alloc((size_t)t->count * sizeof *seeds);
    if (!seeds) return FANS_ENOMEM;
    for (int r = 0; r < t->count; r++) seeds[r] = seed + (uint64_t)r;
    int rc = play_new_each(out, t, seeds);
    mem_free(seeds);
    return rc;
}

int play_end(play *p)
{
    int rc = 0;
    if (!p) return 0;
    for (int r = 0; p->carried && r < p->training->count; r++) {
        int back = bring_back(&p->carried[r]);
        if (rc == 0) rc = back;
    }
    scene_free(&p->scene);
    mem_free(p->seeds);
    mem_free(p->carried);
    mem_free(p->moved);
    mem_free(p->by_hand);
    mem_free(p);
    return rc;
}

/* A change by hand begins a segment, unless one begins anyway. */
static void add_segments(play *p)
{
    world_buffers *now = &p->scene.now;
    for (int i = 0; i < p->scene.rows; i++) {
        p->by_hand[i] += p->moved[i] && !now->change[i];
        now->change[i] = now->change[i] || p->moved[i];
        now->segment[i] += p->by_hand[i];
        p->moved[i] = 0;
    }
}

int play_step(play *p)
{
    add_segments(p);
    return train_live(p->training, &p->scene, false);
}

int play_restart(play *p)
{
    const training *t = p->training;
    memset(p->moved, 0, (size_t)t->rows);
    memset(p->by_hand, 0, (size_t)t->rows * sizeof *p->by_hand);
    int rc = scene_start(&p->scene);
    if (rc == 0 && t->s.algo->start) t->s.algo->start(t->agent);
    return rc;
}

void play_tell(play *p, bool told)
{
    p->scene.tells = told ? p->training->scene.tells : FANS_TELLS_NOTHING;
}

const double *play_factors(const play *p, int r)
{
    size_t row = (size_t)r * (size_t)p->training->worlds_each;
    return p->scene.now.factors + row * (size_t)p->scene.info->factor_count;
}

int play_hold(play *p, int r, int factor, double value)
{
    scene *s = &p->scene;
    size_t factors = (size_t)s->info->factor_count;
    int rc = 0, each = p->training->worlds_each;
    for (int i = r * each; i < (r + 1) * each; i++) {
        const double *is = s->now.factors + (size_t)i * factors + factor;
        double was = *is;
        TRY(world_hold(worlds_at(s->worlds, i), factor, value, &s->now, i));
        p->moved[i] = p->moved[i] || *is != was;
    }
out:
    return rc;
}

/* Of several worlds only the first counts: short episodes would finish first and bias a mean. */
play_view play_look(const play *p, int r)
{
    const training *t = p->training;
    const scene *s = &p->scene;
    int row = r * t->worlds_each;
    play_view v = {.world = worlds_at(s->worlds, row),
                   .factors = s->before.factors + (size_t)row * (size_t)s->info->factor_count,
                   .change = s->told.change[row],
                   .reward = (double)s->now.reward[row],
                   .success = (double)s->now.success[row],
                   .ended = scene_ended(s, row)};
    if (s->told.pixels) v.pixels = s->told.pixels + (size_t)row * s->pixels;
    if (t->s.algo->belief) v.belief = t->s.algo->belief(t->agent, row, &v.belief_width);
    return v;
}

const uint8_t *play_imagined(const play *p, int r)
{
    const training *t = p->training;
    return t->s.algo->imagine ? t->s.algo->imagine(t->agent, r * t->worlds_each) : NULL;
}

/* ---- evaluation ------------------------------------------------------------------------------ */

/* The episodes of one run so far. */
typedef struct tally {
    int played;
    double gain; /* of the episode that is going on */
} tally;

/* True when the last of its episodes has just ended. */
static bool count_step(tally *y, const play_view *v, int episodes, double *returns)
{
    y->gain += v->reward;
    if (!v->ended) return false;
    bool wanted = y->played < episodes;
    if (wanted) returns[y->played++] = y->gain;
    y->gain = 0;
    return wanted && y->played == episodes;
}

int training_eval(training *t, int episodes, uint64_t seed, double *returns)
{
    play *p = NULL;
    int rc = 0;
    tally *tallies = mem_alloc((size_t)t->count * sizeof *tallies);
    if (!tallies) return FANS_ENOMEM;
    TRY(play_new(&p, t, seed));
    for (int done = 0; done < t->count;) {
        TRY(play_step(p));
        for (int r = 0; r < t->count; r++) {
            play_view v = play_look(p, r);
            done += count_step(&tallies[r], &v, episodes, returns + r * episodes);
        }
    }
out:
    mem_free(tallies);
    int ended = play_end(p);
    return rc < 0 ? rc : ended;
}
