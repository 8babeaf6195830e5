/* points.c - beliefs that began at different times, of every world. */
#include "learn/points.h"

#include <math.h>
#include <string.h>

#include "base/error.h"
#include "learn/belief.h"
#include "learn/evidence.h"
#include "learn/sweep.h"

/* Beliefs that are closer than this share of their spread over all times say the same. */
static const double SAME = 0.4;

/* Beliefs about a factor that moves are spread over all times by this much at least (the prior is
 * N(0, 1)), and by several of their own standard deviations; those about nothing are not. */
static const double LEAST_SPREAD = 0.4, LEAST_RATIO = 2.5;
static const float FORGET = 0.01F; /* of the running variance of beliefs, in a step */

struct points {
    fnvae *f;
    replay *replay;
    int column;
    points_options o;
    int rows, n;  /* worlds of all replicas; p + q */
    online lanes; /* carries the beliefs: RUN_MOST for each row */
    evidence judge;
    run_lengths *runs; /* [row] */
    float *since;      /* [row][kind]: steps since the segment began */
    float *odd;        /* [row][kind]: 1 in every other segment */
    int64_t *segment;  /* [row]: of the coming step; and whether it is the first one */
    uint8_t *change;
    float *next_obs;    /* [row][d]: after the last step */
    float *shown;       /* [row][2 n] */
    float *any;         /* [replica][EVIDENCE_SAMPLES][n]: thetas of all times */
    float *spread;      /* [replica][kind]: of theta over all times */
    float *variance;    /* [row][kind]: of the likeliest belief, on a running average */
    int64_t *finds;     /* [replica]: 1 once points are looked for */
    uint64_t *counters; /* of the graph, while the replay is looked through */
    int *at, *steps;    /* [row]: the row of the replay that is looked at; how many steps it has */
    fans_moment moment;
    arena *memory;
    bool pending;
};

static float *lane_of(const points *p, int row, int j)
{
    return online_of(&p->lanes, row * RUN_MOST + j);
}

static int replica_of(const points *p, int row)
{
    return row / p->f->worlds;
}

static bool finds(const points *p)
{
    return p->finds[0] != 0; /* all replicas at once */
}

/* ---- making and freeing ---------------------------------------------------------------------- */

static int declare(points *p)
{
    size_t rows = (size_t)p->rows, n = (size_t)p->n, R = (size_t)p->f->replicas;
    size_t any = R * EVIDENCE_SAMPLES * n;
    int rc = 0;
    TRY(arena_declare(p->memory, &p->runs, rows * sizeof *p->runs));
    TRY(arena_declare(p->memory, &p->since, rows * RUN_KINDS * sizeof *p->since));
    TRY(arena_declare(p->memory, &p->odd, rows * RUN_KINDS * sizeof *p->odd));
    TRY(arena_declare(p->memory, &p->segment, rows * sizeof *p->segment));
    TRY(arena_declare(p->memory, &p->change, rows));
    TRY(arena_declare(p->memory, &p->next_obs, rows * (size_t)p->f->z.d * sizeof *p->next_obs));
    TRY(arena_declare(p->memory, &p->shown, rows * 2 * n * sizeof *p->shown));
    TRY(arena_declare(p->memory, &p->any, any * sizeof *p->any));
    TRY(arena_declare(p->memory, &p->spread, R * RUN_KINDS * sizeof *p->spread));
    TRY(arena_declare(p->memory, &p->variance, rows * RUN_KINDS * sizeof *p->variance));
    TRY(arena_declare(p->memory, &p->finds, R * sizeof *p->finds));
    TRY(arena_declare(p->memory, &p->at, rows * sizeof *p->at));
    TRY(arena_declare(p->memory, &p->steps, rows * sizeof *p->steps));
out:
    return rc;
}

int points_new(points **out, fnvae *f, replay *r, int column, points_options o)
{
    int rc = 0, state = 4 * f->o.lstm;
    online_step step;
    points *p = mem_alloc(sizeof *p);
    if (!p) return FANS_ENOMEM;
    *p = (points){.f = f, .replay = r, .column = column, .o = o};
    p->rows = f->replicas * f->worlds;
    p->n = f->z.p + f->z.q;
    TRY(arena_new(&p->memory));
    TRY(evidence_record(&p->judge, p->memory, f, RUN_MOST));
    TRY(online_record(&p->lanes, p->memory, f->g, r, RUN_MOST, state, &step));
    TRY(online_give(&p->lanes, p->memory, belief_record_step(f, step), 2 * p->n + state));
    *out = p;
out:
    if (rc < 0) points_free(p);
    return rc;
}

int points_plan(points *p)
{
    int rc = evidence_plan(&p->judge);
    return rc < 0 ? rc : online_plan(&p->lanes);
}

int points_ready(points *p)
{
    int rc = 0, counters;
    nn_graph_counters(p->f->g, &counters);
    TRY(declare(p));
    TRY(arena_declare(p->memory, &p->counters, (size_t)counters * sizeof *p->counters));
    TRY(arena_commit(p->memory));
    evidence_start(&p->judge);
    for (int i = 0; i < p->rows; i++) points_reset(p, i);
out:
    return rc;
}

void points_free(points *p)
{
    if (!p) return;
    arena_free(p->memory);
    mem_free(p);
}

void points_reset(points *p, int row)
{
    points_finish(p);
    for (int j = 0; j < RUN_MOST; j++) online_reset(&p->lanes, row * RUN_MOST + j);
    run_lengths_start(&p->runs[row]);
    for (int k = 0; k < RUN_KINDS; k++) {
        p->since[row * RUN_KINDS + k] = p->odd[row * RUN_KINDS + k] = 0;
        p->variance[row * RUN_KINDS + k] = 1; /* until it has settled, little is judged */
    }
    p->segment[row] = 0;
    p->change[row] = 0;
}

/* ---- a step ---------------------------------------------------------------------------------- */

/* Something may change with the step. */
static void add_belief(points *p, int row)
{
    run_lengths *x = &p->runs[row];
    int j = p->o.rule == POINTS_CUSUM ? run_lengths_add_cusum(x, p->o.hazard)
                                      : run_lengths_add(x, p->o.hazard);
    if (j >= 0) online_reset(&p->lanes, row * RUN_MOST + j);
}

void points_note(points *p, int row, const float *obs, const float *action, float reward,
                 const float *next_obs)
{
    const run_lengths *x = &p->runs[row];
    size_t d = (size_t)p->f->z.d;
    points_finish(p);
    if (finds(p)) add_belief(p, row);
    memcpy(p->next_obs + (size_t)row * d, next_obs, d * sizeof *next_obs);
    for (int j = 0; j < RUN_MOST; j++) /* a lifetime does not begin with a change */
        online_note(&p->lanes, row * RUN_MOST + j, obs, action, reward, next_obs,
                    finds(p) ? x->age[j] == 0 : j == 0 && p->change[row]);
}

/* What each belief expects of the noted step. */
static void guess(points *p, int row)
{
    const float *step = online_seen(&p->lanes, row * RUN_MOST);
    size_t any = EVIDENCE_SAMPLES * (size_t)p->n, replica = (size_t)replica_of(p, row);
    for (int j = 0; j < RUN_MOST; j++)
        if (p->runs[row].age[j] == 0)
            evidence_guess_any(&p->judge, row, j, step, p->any + replica * any);
        else
            evidence_guess(&p->judge, row, j, step, lane_of(p, row, j));
}

int points_begin(points *p)
{
    int rc = 0;
    for (int i = 0; finds(p) && i < p->rows; i++) guess(p, i);
    if (finds(p)) TRY(evidence_run(&p->judge));
    TRY(online_begin(&p->lanes));
    p->pending = true;
out:
    return rc;
}

/* ---- which beliefs count --------------------------------------------------------------------- */

static double spread_of(const points *p, int row, int kind)
{
    return (double)p->spread[replica_of(p, row) * RUN_KINDS + kind];
}

static bool may_change(const points *p, int row, int kind)
{
    double own = sqrt((double)p->variance[row * RUN_KINDS + kind]);
    return spread_of(p, row, kind) >= fmax(LEAST_SPREAD, LEAST_RATIO * own);
}

static void weigh(points *p, int row, int kind)
{
    double l[RUN_MOST];
    if (!may_change(p, row, kind)) return;
    for (int j = 0; j < RUN_MOST; j++)
        l[j] = p->runs[row].age[j] < 0 ? 0 : evidence_of(&p->judge, row, j, kind);
    run_lengths_weigh(&p->runs[row], kind, l);
}

static int first_of(const points *p, int kind)
{
    return kind ? p->f->z.p : 0;
}

static int end_of(const points *p, int kind)
{
    return kind ? p->n : p->f->z.p;
}

static void note_variance(points *p, int row, int kind)
{
    const float *log_std = lane_of(p, row, run_lengths_best(&p->runs[row], kind)) + p->n;
    float *mean = p->variance + row * RUN_KINDS + kind, sum = 0;
    for (int k = first_of(p, kind); k < end_of(p, kind); k++) sum += expf(2 * log_std[k]);
    *mean += FORGET * (sum - *mean);
}

/* The distance of two beliefs about that kind of theta. */
static double distance(const points *p, int row, int i, int j, int kind)
{
    const float *a = lane_of(p, row, i), *b = lane_of(p, row, j);
    double square = 0;
    for (int k = first_of(p, kind); k < end_of(p, kind); k++)
        square += (double)((a[k] - b[k]) * (a[k] - b[k]));
    return sqrt(square);
}

/* Whether belief j leaves its probability to belief i. */
static bool is_idle(const points *p, int row, int i, int j, int kind)
{
    const run_lengths *x = &p->runs[row];
    if (x->age[i] <= x->age[j] || x->log_w[kind][i] <= x->log_w[kind][j]) return false;
    return !may_change(p, row, kind) ||
           distance(p, row, i, j, kind) < SAME * spread_of(p, row, kind);
}

static void join_idle(points *p, int row, int kind)
{
    for (int j = 0; j < RUN_MOST; j++)
        for (int i = 0; p->runs[row].age[j] >= 0 && i < RUN_MOST; i++)
            if (is_idle(p, row, i, j, kind)) {
                run_lengths_join(&p->runs[row], kind, i, j);
                break;
            }
}

/* ---- after a step ---------------------------------------------------------------------------- */

/* CUSUM: a rival that is the likelier one is accepted. */
static void accept(points *p, int row)
{
    run_lengths *x = &p->runs[row];
    int best = run_lengths_best(x, 0) > 0 ? 1 : run_lengths_best(x, 1);
    if (best == 0) return;
    memcpy(lane_of(p, row, 0), lane_of(p, row, 1), (size_t)p->lanes.width * sizeof(float));
    x->age[0] = x->age[1];
    x->age[1] = -1;
}

void points_finish(points *p)
{
    if (!p->pending) return;
    p->pending = false;
    if (finds(p)) evidence_read(&p->judge);
    online_finish(&p->lanes);
    for (int i = 0; i < p->rows; i++) {
        for (int k = 0; finds(p) && k < RUN_KINDS; k++) {
            weigh(p, i, k);
            join_idle(p, i, k);
        }
        run_lengths_grow(&p->runs[i]);
        for (int k = 0; k < RUN_KINDS; k++) note_variance(p, i, k);
        if (finds(p) && p->o.rule == POINTS_CUSUM) accept(p, i);
        for (int k = 0; k < RUN_KINDS; k++) p->since[i * RUN_KINDS + k]++;
    }
}

void points_ended(points *p, const fans_outcome *o)
{
    for (int i = 0; i < p->rows; i++) {
        p->change[i] = !finds(p) && (o->terminated[i] || o->truncated[i]);
        p->segment[i] += p->change[i];
    }
}

const fans_moment *points_moment(points *p, const fans_moment *told)
{
    p->moment = (fans_moment){told->obs, told->factors, p->segment, p->change, told->pixels};
    return &p->moment;
}

/* ---- what it believes ------------------------------------------------------------------------ */

const float *points_shown(points *p, int row)
{
    size_t n = (size_t)p->n, np = (size_t)p->f->z.p, nq = (size_t)p->f->z.q;
    float *to = p->shown + (size_t)row * 2 * n;
    const float *s = lane_of(p, row, run_lengths_best(&p->runs[row], 0));
    const float *r = lane_of(p, row, run_lengths_best(&p->runs[row], 1));
    for (size_t at = 0; at <= n; at += n) {
        memcpy(to + at, s + at, np * sizeof *to);
        memcpy(to + at + np, r + at + np, nq * sizeof *to);
    }
    return to;
}

double points_changed(const points *p, int row, int64_t steps)
{
    double most = 0;
    for (int k = 0; finds(p) && k < RUN_KINDS; k++)
        most = fmax(most, run_lengths_recent(&p->runs[row], k, (double)steps));
    return most;
}

static float best_age(const points *p, int row, int kind)
{
    return p->runs[row].age[run_lengths_best(&p->runs[row], kind)];
}

static void keep(const points *p, int row, float *to)
{
    for (int k = 0; k < RUN_KINDS; k++) {
        bool late = best_age(p, row, k) > p->since[row * RUN_KINDS + k];
        to[k] = p->odd[row * RUN_KINDS + k] * POINTS_ODD + (late ? POINTS_LATE : 0);
    }
}

void points_keep(const points *p, float *to)
{
    for (int i = 0; i < p->rows; i++) keep(p, i, to + i * RUN_KINDS);
}

/* ---- segments in the replay ------------------------------------------------------------------ */

/* A segment of that kind of theta began `steps` steps before row `end` of the replay: the rows
 * since then were lived with the belief of the segment before. */
static void begin_segment(points *p, int row, int kind, int64_t steps, int end)
{
    float odd = p->odd[row * RUN_KINDS + kind] = 1 - p->odd[row * RUN_KINDS + kind];
    p->since[row * RUN_KINDS + kind] = (float)steps;
    p->segment[row]++;
    for (int i = end - 1; i >= 0 && steps > 0; i--) {
        replay_row at = replay_at(p->replay, row, i);
        float *kept = (float *)replay_beside(p->replay, row, i, p->column) + kind;
        steps -= !at.last;
        *kept = odd * POINTS_ODD + POINTS_LATE + (steps == 0 ? POINTS_STARTS : 0);
        replay_set_segment(p->replay, row, i, at.segment + 1);
    }
}

static void split(points *p, int row, int end)
{
    for (int k = 0; k < RUN_KINDS; k++) {
        float age = best_age(p, row, k);
        if (age < p->since[row * RUN_KINDS + k]) begin_segment(p, row, k, (int64_t)age, end);
    }
}

void points_split(points *p)
{
    points_finish(p);
    for (int i = 0; finds(p) && i < p->rows; i++) split(p, i, replay_rows(p->replay, i));
}

/* ---- the whole replay again ------------------------------------------------------------------ */

/* Thetas of all times: the stored beliefs of rows at equal distances. */
static void take_any(const points *p, int replica)
{
    int worlds = p->f->worlds;
    size_t n = (size_t)p->n;
    float *to = p->any + (size_t)replica * EVIDENCE_SAMPLES * n;
    for (int j = 0; j < EVIDENCE_SAMPLES; j++, to += n) {
        int lane = replica * worlds + j % worlds, rows = replay_rows(p->replay, lane);
        int at = (int)((2 * j + 1) * (int64_t)rows / (2 * EVIDENCE_SAMPLES));
        memcpy(to, replay_beside(p->replay, lane, at, p->column - 1), n * sizeof *to);
    }
}

/* How far the stored beliefs are spread. */
static void measure(const points *p, int replica)
{
    float mean[FNVAE_MOST], spread[FNVAE_MOST];
    double square[RUN_KINDS] = {0};
    sweep_measure(p->replay, p->column - 1, replica, p->n, mean, spread);
    for (int i = 0; i < p->n; i++) square[i >= p->f->z.p] += (double)(spread[i] * spread[i]);
    for (int k = 0; k < RUN_KINDS; k++) p->spread[replica * RUN_KINDS + k] = (float)sqrt(square[k]);
}

static void look_back(void *arg, int replica)
{
    const points *p = arg;
    take_any(p, replica);
    measure(p, replica);
}

static int count_steps(const replay *r, int lane)
{
    int n = 0;
    for (int i = 0; i < replay_rows(r, lane); i++) n += !replay_at(r, lane, i).last;
    return n;
}

/* The next row of a lane: as it would be lived now. */
static void visit(points *p, int lane)
{
    replay_set_segment(p->replay, lane, p->at[lane], p->segment[lane]);
    keep(p, lane, replay_beside(p->replay, lane, p->at[lane], p->column));
    p->at[lane]++;
}

/* The next step of a lane. The newest one's successor is not stored yet. */
static void live(points *p, int lane)
{
    int i = p->at[lane], d = p->f->z.d;
    replay_row now = replay_at(p->replay, lane, i);
    bool newest = i + 1 == replay_rows(p->replay, lane);
    const float *next = newest ? p->next_obs + lane * d : replay_at(p->replay, lane, i + 1).obs;
    visit(p, lane);
    points_note(p, lane, now.obs, now.action, now.reward, next);
}

/* Ends of episodes are no steps. */
static void pass_ends(points *p, int lane)
{
    int rows = replay_rows(p->replay, lane);
    while (p->at[lane] < rows && replay_at(p->replay, lane, p->at[lane]).last) visit(p, lane);
}

/* One step of all lanes; those with fewer steps begin later, so that all end now. */
static int live_all(points *p, int left)
{
    int rc = 0;
    for (int i = 0; i < p->rows; i++) {
        if (p->steps[i] < left) continue;
        if (p->at[i] == 0) {
            points_reset(p, i);
            pass_ends(p, i); /* the oldest row may be one */
        }
        live(p, i);
    }
    TRY(points_begin(p));
    points_finish(p);
    for (int i = 0; i < p->rows; i++) {
        if (p->at[i] == 0) continue;
        pass_ends(p, i);
        split(p, i, p->at[i]);
    }
out:
    return rc;
}

/* The networks run as often as the longest lane asks for, but what a replica draws later must not
 * depend on others: counters are restored. */
int points_find(points *p, pool *threads)
{
    int rc = 0, most = 0, n;
    uint64_t *counters = nn_graph_counters(p->f->g, &n);
    if (p->o.hazard == 0) return 0;
    points_finish(p);
    pool_run(threads, p->f->replicas, look_back, p);
    for (int r = 0; r < p->f->replicas; r++) p->finds[r] = 1;
    memcpy(p->counters, counters, (size_t)n * sizeof *counters);
    memset(p->at, 0, (size_t)p->rows * sizeof *p->at);
    for (int i = 0; i < p->rows; i++) {
        p->steps[i] = count_steps(p->replay, i);
        if (p->steps[i] > most) most = p->steps[i];
    }
    for (int left = most; left > 0; left--) TRY(live_all(p, left));
    memcpy(counters, p->counters, (size_t)n * sizeof *counters);
out:
    return rc;
}

bool points_found(const points *p)
{
    return finds(p);
}

/* ---- state ----------------------------------------------------------------------------------- */

void points_state(points *p, int replica, state_list *s)
{
    size_t any = EVIDENCE_SAMPLES * (size_t)p->n;
    state_add(s, "points/any", FANS_F32, 2, (int64_t[]){EVIDENCE_SAMPLES, p->n},
              p->any + (size_t)replica * any);
    state_add(s, "points/spread", FANS_F32, 1, (int64_t[]){RUN_KINDS},
              p->spread + replica * RUN_KINDS);
    state_range(s, 0, STATE_COUNT);
    state_add_number(s, "points/finds", FANS_I64, &p->finds[replica]);
    state_range(s, 0, 1);
}

static int finish(void *p)
{
    points_finish(p);
    return 0;
}

void points_carried(points *p, int replica, state_list *s)
{
    int N = p->f->worlds, d = p->f->z.d, first = replica * N;
    int64_t kinds[] = {N, RUN_KINDS};
    state_on_save(s, finish, p);
    online_carried(&p->lanes, replica, "points/lanes", s);
    state_add(s, "points/runs", FANS_F32, 2,
              (int64_t[]){N, (int64_t)(sizeof *p->runs / sizeof(float))}, p->runs + first);
    state_range(s, -1000, STATE_COUNT);
    state_add(s, "points/since", FANS_F32, 2, kinds, p->since + first * RUN_KINDS);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "points/variance", FANS_F32, 2, kinds, p->variance + first * RUN_KINDS);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "points/odd", FANS_F32, 2, kinds, p->odd + first * RUN_KINDS);
    state_range(s, 0, 1);
    state_add(s, "points/next_obs", FANS_F32, 2, (int64_t[]){N, d}, p->next_obs + first * d);
    state_add(s, "points/segment", FANS_I64, 1, (int64_t[]){N}, p->segment + first);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "points/change", FANS_U8, 1, (int64_t[]){N}, p->change + first);
    state_range(s, 0, 1);
}
