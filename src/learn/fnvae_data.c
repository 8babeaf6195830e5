/* fnvae_data.c - from steps to the FN-VAE's inputs: running statistics and windows. */
#include "learn/fnvae.h"

/* ---- running statistics ---------------------------------------------------------------------- */

void fnvae_observe(fnvae *f, int replica, const float *obs, float reward, const float *next_obs)
{
    scales_add(&f->scales, replica, SCALE_S, obs, NULL);
    scales_add(&f->scales, replica, SCALE_DS, next_obs, obs);
    scales_add(&f->scales, replica, SCALE_R, &reward, NULL);
}

void fnvae_observe_factors(fnvae *f, int replica, const float *theta_s, const float *theta_r)
{
    scales_add(&f->scales, replica, SCALE_THETA_S, theta_s, NULL);
    scales_add(&f->scales, replica, SCALE_THETA_R, theta_r, NULL);
}

static void observe_lane(fnvae *f, int lane)
{
    for (int i = 0; i + 1 < replay_rows(f->replay, lane); i++) {
        replay_row row = replay_at(f->replay, lane, i);
        if (row.last) continue;
        fnvae_observe(f, lane / f->worlds, row.obs, row.reward,
                      replay_at(f->replay, lane, i + 1).obs);
    }
}

void fnvae_observe_again(fnvae *f)
{
    for (int r = 0; r < f->replicas; r++) scales_clear(&f->scales, r);
    for (int lane = 0; lane < f->replicas * f->worlds; lane++) observe_lane(f, lane);
    fnvae_set_units(f);
}

void fnvae_set_units(fnvae *f)
{
    scales_settle(&f->scales);
}

float fnvae_unit(const fnvae *f, int replica, int scale, int i)
{
    return scales_unit(&f->scales, replica, scale, i);
}

double fnvae_to(const fnvae *f, int replica, int scale, int i, double x)
{
    return scales_to(&f->scales, replica, scale, i, x);
}

/* ---- windows --------------------------------------------------------------------------------- */

/* Tensors are (T, B) per replica. */
static size_t place(const fnvae *f, int t, int b)
{
    return (size_t)t * (size_t)f->o.batch + (size_t)b;
}

/* What the encoder reads in row t, and what is decoded from its posterior. */
static void put_step(const fnvae *f, int replica, size_t at, const replay_step *s, int decoded)
{
    rows_of(&f->at, replica)[at] = s->at;
    rows_of(&f->next, replica)[at] = s->next;
    rows_of(&f->decoded, replica)[at] = decoded;
    numbers_of(&f->change, replica)[at] = s->change;
}

/* Decides whether to splice a window, and where to cut it: at the first episode that starts after a
 * row of the middle half. If episodes are as long as windows there may be none; then the window
 * stays whole. Splices teach q_phi to trust what it sees over what it carries, for worlds that
 * change more than ever before. */
static int find_cut(const fnvae *f, const replay_step *rows, rng *draw)
{
    int T = f->o.window;
    if (f->o.jumps == 0 || rng_uniform(draw) >= f->o.jumps) return T;
    int t = T / 4 + (int)rng_below(draw, (uint32_t)(T / 2 + 1));
    while (t < T && !rows[t].first) t++;
    return t;
}

/* Prediction from row t-1 counts within an episode, but not across a change point. Two changes in a
 * row are one continuous movement, as when theta moves at every step: these count. */
static bool predicted(const replay_step *rows, int t)
{
    if (t == 0 || rows[t].first || rows[t].jump) return false;
    return !rows[t].change || rows[t - 1].change;
}

/* While theta is unknown, states give hints of it, which masks would take for edges. So
 * reconstruction counts only after `evidence` rows, or half of the segment. */
static bool evident(const fnvae *f, int seen, int length)
{
    int half = length / 2;
    return seen >= (f->o.evidence < half ? f->o.evidence : half);
}

/* Whether a segment says too little about which rows share theta: it is short, as when theta moves
 * at every step, or theta may change within it. */
static bool is_brief(const fnvae *f, int from, int to)
{
    return f->unsure || to - from < f->o.near;
}

/* Rows [from, to) of a window that share theta with row t: its segment; or, if that is brief, the
 * next rows, since theta moves little. (Not the rows just seen: theta could encode their noise.) */
typedef struct neighbours {
    int from, to;
} neighbours;

static neighbours near_to(const fnvae *f, int t, int from, int to, int end)
{
    int near = f->o.near;
    if (!is_brief(f, from, to) || t == end - 1) return (neighbours){from, to};
    return (neighbours){t + 1, t + near < end ? t + near + 1 : end};
}

/* Whether p_gamma predicts the segment of rows [from, to), which is number k of those in its window
 * with enough segments before them (-1: not one of them). At most o.moves are; notes their starts.
 */
static bool foretell(const fnvae *f, int replica, int b, int k, int from, int to)
{
    int B = f->o.batch;
    bool is = k >= 0 && k < f->o.moves;
    if (f->o.moves == 0) return k >= 0;
    int32_t *begins = rows_of(&f->begins, replica) + b, *of = rows_of(&f->of, replica) + b;
    if (is) begins[k * B] = from;
    for (int t = from; t < to; t++) of[t * B] = is ? k : -1;
    return is;
}

/* Rows [begin, end) of a window that are contiguous in time, and where they go. */
typedef struct piece {
    const fnvae *f;
    int replica, b;
    const replay_step *rows;
    int begin, end;
    rng *pick;
} piece;

static void put_weight(const piece *x, int weight, int t, bool counts)
{
    numbers_of(&x->f->w[weight], x->replica)[place(x->f, t, x->b)] = counts;
}

static void put_segment(const piece *x, int from, int to, bool foretold)
{
    const fnvae *f = x->f;
    bool brief = is_brief(f, from, to);
    for (int t = from; t < to; t++) {
        bool follows = t > x->begin, begins = follows && x->rows[t].change;
        bool known = brief ? t + 1 < x->end && evident(f, t - x->begin, x->end - x->begin)
                           : evident(f, t - from, to - from);
        neighbours k = near_to(f, t, from, to, x->end);
        int decoded = k.from + (int)rng_below(x->pick, (uint32_t)(k.to - k.from));
        put_step(f, x->replica, place(f, t, x->b), &x->rows[t], decoded);
        put_weight(x, FNVAE_W_rec, t, known);
        put_weight(x, FNVAE_W_pred, t, predicted(x->rows, t));
        put_weight(x, FNVAE_W_move, t, begins && foretold);
        put_weight(x, FNVAE_W_next, t, known && foretold);
        put_weight(x, FNVAE_W_stay, t, t == 0 || (follows && !begins));
        put_weight(x, FNVAE_W_smooth, t, follows);
    }
}

/* Segment by segment. `moved` counts the window's segments with enough others before them. */
static void put_piece(const piece *x, int *moved)
{
    int segment = 0;
    for (int from = x->begin, to; from < x->end; from = to, segment++) {
        for (to = from + 1; to < x->end && !x->rows[to].change;) to++;
        int k = segment < x->f->o.order ? -1 : (*moved)++;
        put_segment(x, from, to, foretell(x->f, x->replica, x->b, k, from, to));
    }
}

void fnvae_window(fnvae *f, int replica, int b, const replay_step *rows, rng *pick)
{
    int T = f->o.window, moved = 0;
    piece x = {.f = f, .replica = replica, .b = b, .rows = rows, .pick = pick};
    for (int k = 0; k < f->o.moves; k++) rows_of(&f->begins, replica)[k * f->o.batch + b] = -1;
    for (; x.begin < T; x.begin = x.end) {
        for (x.end = x.begin + 1; x.end < T && !rows[x.end].jump;) x.end++;
        put_piece(&x, &moved);
    }
    if (f->o.moves > 0)
        f->left_out[replica * f->o.batch + b] = moved > f->o.moves ? moved - f->o.moves : 0;
}

/* ---- windows of the replay ------------------------------------------------------------------- */

int fnvae_least_rows(const fnvae_options *o)
{
    return 4 * o->window;
}

bool fnvae_can_fill(const fnvae *f)
{
    bool can = true;
    for (int lane = 0; lane < f->replicas * f->worlds; lane++)
        can = can && replay_rows(f->replay, lane) >= fnvae_least_rows(&f->o);
    return can;
}

/* `count` steps from the start of a random episode that has as many after it. */
static void jump_elsewhere(const fnvae *f, int lane, int count, replay_step *rows, rng *draw)
{
    int n = replay_rows(f->replay, lane), i;
    do {
        i = 1 + (int)rng_below(draw, (uint32_t)(n - 1));
        while (i < n && !replay_at(f->replay, lane, i - 1).last) i++;
    } while (!replay_window(f->replay, lane, i, count, rows));
    rows->jump = rows->change = true;
}

typedef struct filling {
    fnvae *f;
    rng *draws;
} filling;

static void fill_replica(void *arg, int r)
{
    filling *x = arg;
    fnvae *f = x->f;
    rng *draw = &x->draws[r];
    int T = f->o.window;
    replay_step *rows = f->window + (size_t)r * (size_t)T;
    for (int b = 0; b < f->o.batch; b++) {
        int lane = r * f->worlds + (f->worlds > 1 ? (int)rng_below(draw, (uint32_t)f->worlds) : 0);
        uint32_t n = (uint32_t)replay_rows(f->replay, lane);
        while (!replay_window(f->replay, lane, (int)rng_below(draw, n), T, rows)) {}
        int cut = find_cut(f, rows, draw);
        if (cut < T) jump_elsewhere(f, lane, T - cut, rows + cut, draw);
        fnvae_window(f, r, b, rows, draw);
    }
}

void fnvae_fill(fnvae *f, rng *draws, pool *p)
{
    pool_run(p, f->replicas, fill_replica, &(filling){f, draws});
}
