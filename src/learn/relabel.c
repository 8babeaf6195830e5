/* relabel.c - draws other factors on the host; records what they change. */
#include "learn/relabel.h"

#include <math.h>
#include <stdio.h>

#include "base/error.h"
#include "base/text.h"
#include "learn/relabel_gate.h"

OPTIONS_GROUP(relabel_option_group, relabel_options, "relabel",
              "experience under other factors, for methods that know what a factor touches",
              RELABEL_OPTIONS);

enum { LIVED, BETWEEN, BEYOND }; /* the option `factors` */
enum { SETTLED = 8 };            /* steps of a segment after which its numbers are no guess */
enum { NEWEST = 64 };            /* steps that a look compares, at most */
static const double WHOLE = 0.9; /* part of all changes of state that the model must know */

enum { HIDDEN = 2, UNITS = 64 }; /* layers of a model that learns with the critics */

enum { OWN, ONE, TWO, ROWS }; /* row numbers: of the segment itself, and of two others */
enum {
    PLACE,
    CHOSEN,
    UNIT,
    LEARN,
    HOWS
}; /* between the two; 1 if relabelled; the reward's unit, or
      0; 1 if the model may learn from the step */

/* Transitions as they were, and under other factors. */
typedef struct as_if {
    staged rows, how;                        /* (1, B, ROWS), (1, B, HOWS) */
    staged which;                            /* (1, 1, width): 1 for numbers that are replaced */
    nn_var other;                            /* (1, B, width) */
    nn_var observed, expected, other_reward; /* (1, B, 1), in the model's units */
    nn_var expected_step, other_step;        /* with dynamics: (1, B, states), likewise */
} as_if;

struct relabel {
    relabel_options o;
    double share;
    relabel_model m;
    const replay *replay;
    nn_graph *graph;
    nn_group *learned; /* a model that learns with the critics, if there is one */
    int replicas, batch, width;
    int states; /* that may be moved: all, or none */
    as_if batch_if, look_if;
    staged reach;    /* (1, 1, states): units of states that are moved; 0: they stay */
    staged at, next; /* (1, NEWEST, 1): the steps of a look */
    nn_var miss, change, miss_step, change_step;
    nn_plan *look;
    gate *gates;           /* [replicas][1 + states]: of the reward, then of each state */
    float *rewarding;      /* [replicas][width]: 1 for factors that touch the reward alone */
    rng *draws;            /* [replicas] */
    int *looked;           /* [replicas]: steps in this look */
    int32_t *scratch;      /* [replicas][5][most] */
    float *missed, *moved; /* [replicas][NEWEST] */
    float *missed_step, *moved_step; /* [replicas][NEWEST][states] */
    int64_t last;                    /* steps at the last look, … */
    int64_t *written;                /* [lanes] … and rows */
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

void relabel_free(relabel *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x->draws);
    mem_free(x);
}

/* A sum of rewards would need the model at every step of the sum. */
static bool is_wanted(const fans_algo_setup *s, double *share, const char *name)
{
    const sac_options *so = fans_options(s, "sac");
    if (*share > 0 && so->n_step > 1) {
        text_add(s->warning,
                 "%s = %g: only single rewards can be relabelled, so with sac.n_step = %d none are",
                 name, *share, so->n_step);
        *share = 0;
    }
    return *share > 0;
}

int relabel_new(relabel **out, const fans_algo_setup *s, double *share, const char *name,
                relabel_model m)
{
    size_t R = (size_t)s->replicas;
    int rc = 0;
    if (!is_wanted(s, share, name)) return 0;
    relabel *x = mem_alloc(sizeof *x);
    if (!x) return FANS_ENOMEM;
    *x = (relabel){.share = *share, .m = m, .replicas = s->replicas};
    x->o = *(const relabel_options *)fans_options(s, "relabel");
    TRY(arena_new(&x->memory));
    TRY((x->draws = mem_alloc(R * sizeof *x->draws)) ? 0 : FANS_ENOMEM);
    for (size_t r = 0; r < R; r++) x->draws[r] = rng_stream(s->seeds[r], "relabel", 0);
    *out = x;
    return 0;
out:
    relabel_free(x);
    return rc;
}

static int most(const relabel *x)
{
    return x->batch > NEWEST ? x->batch : NEWEST;
}

static int lanes_each(const relabel *x)
{
    return replay_shape_of(x->replay)->worlds;
}

static gate *reward_gate(const relabel *x, int replica)
{
    return x->gates + (size_t)replica * (size_t)(1 + x->states);
}

static gate *step_gate(const relabel *x, int replica, int state)
{
    return reward_gate(x, replica) + 1 + state;
}

/* ---- recording ------------------------------------------------------------------------------- */

static nn_var column(nn_var x, int i)
{
    return nn_slice(x, i, 1);
}

/* `numbers`, with those of `which` replaced. */
static nn_var replace(nn_var numbers, nn_var other, nn_var which)
{
    return nn_add(numbers, nn_mul(nn_sub(other, numbers), which));
}

/* The other factors are on the line through those of two rows. */
static nn_var record_other(const relabel *x, const as_if *a, nn_var one, nn_var two)
{
    if (x->o.factors == LIVED) return one;
    return nn_add(one, nn_mul(nn_sub(two, one), column(a->how.var, PLACE)));
}

static void record_step(relabel *x, as_if *a, nn_var now, nn_var next, nn_var own, nn_var theirs)
{
    if (x->states == 0) return;
    a->expected_step = x->m.expect_step(x->m.self, now, next, own);
    a->other_step = x->m.expect_step(x->m.self, now, next, theirs);
}

/* The successor's observation, moved as other factors of the dynamics would have moved it. */
static nn_var record_moved(const relabel *x, const as_if *a, nn_var next)
{
    nn_var more = nn_mul(nn_sub(a->other_step, a->expected_step), x->reach.var);
    return nn_add(replay_obs(x->replay, next), nn_mul(more, column(a->how.var, CHOSEN)));
}

/* Returns the successors; with `move`, as they are under the other factors. */
static nn_var record_as_if(relabel *x, as_if *a, nn_var now, nn_var next, bool move)
{
    int w = x->width;
    nn_var all = replay_gather_column(x->replay, 0, a->rows.var);
    nn_var own = nn_slice(all, OWN * w, w);
    a->other = record_other(x, a, nn_slice(all, ONE * w, w), nn_slice(all, TWO * w, w));
    nn_var theirs = replace(own, a->other, a->which.var);
    record_step(x, a, now, next, own, theirs);
    a->observed = x->m.observed(x->m.self, now);
    a->expected = x->m.expect(x->m.self, now, next, own);
    if (move && x->states > 0) next = record_moved(x, a, next);
    a->other_reward = x->m.expect(x->m.self, now, next, theirs);
    return next;
}

static int record_look(relabel *x, stage *t)
{
    int rc = 0;
    as_if *a = &x->look_if;
    TRY(staged_rows(&x->at, t->memory, t->graph, "look at", 1, NEWEST, 1));
    TRY(staged_rows(&x->next, t->memory, t->graph, "look next", 1, NEWEST, 1));
    TRY(staged_rows(&a->rows, t->memory, t->graph, "look others", 1, NEWEST, ROWS));
    TRY(staged_numbers(&a->how, t->memory, t->graph, "look how", 1, NEWEST, HOWS));
    TRY(staged_numbers(&a->which, t->memory, t->graph, "look which", 1, 1, x->width));
    nn_var now = replay_gather(x->replay, x->at.var), next = replay_gather(x->replay, x->next.var);
    record_as_if(x, a, now, next, false);
    x->miss = nn_sub(a->observed, a->expected);
    x->change = nn_sub(a->other_reward, a->expected);
    if (x->states == 0) return 0;
    x->miss_step = nn_sub(x->m.observed_step(x->m.self, now, next), a->expected_step);
    x->change_step = nn_sub(a->other_step, a->expected_step);
out:
    return rc;
}

int relabel_record(relabel *x, stage *t, const replay *r, int batch, nn_var now, nn_var *next)
{
    int rc = 0;
    as_if *a = &x->batch_if;
    const replay_shape *z = replay_shape_of(r);
    x->replay = r;
    x->graph = t->graph;
    x->batch = batch;
    x->width = z->columns[0].width;
    x->states = x->o.dynamics && x->m.expect_step ? z->obs : 0;
    stage_rows(t, &a->rows, "others", 1, batch, ROWS);
    stage_numbers(t, &a->how, "how", 1, batch, HOWS);
    stage_numbers(t, &a->which, "which", 1, 1, x->width);
    if (x->states > 0) stage_numbers(t, &x->reach, "reach", 1, 1, x->states);
    *next = record_as_if(x, a, now, *next, true);
    TRY(record_look(x, t));
out:
    return rc;
}

nn_var relabel_numbers(const relabel *x, nn_var numbers)
{
    const as_if *a = &x->batch_if;
    nn_var more = nn_mul(nn_sub(a->other, numbers), a->which.var);
    return nn_add(numbers, nn_mul(more, column(a->how.var, CHOSEN)));
}

nn_var relabel_reward(const relabel *x, nn_var reward)
{
    const as_if *a = &x->batch_if;
    nn_var from = x->o.residual ? a->expected : a->observed;
    nn_var more = nn_mul(nn_sub(a->other_reward, from), column(a->how.var, UNIT));
    return nn_add(reward, nn_detach(more));
}

nn_var relabel_learned(relabel *x, nn_list in)
{
    if (!x->learned) x->learned = nn_group_new(x->graph, "reward model");
    return nn_norm_mlp(x->learned, "reward", in, 1, HIDDEN, UNITS, NN_RELU, 1);
}

int relabel_plan(relabel *x, sac_also *also)
{
    nn_var wanted[] = {x->miss, x->change, x->miss_step, x->change_step};
    const as_if *a = &x->batch_if;
    if (x->learned) {
        also->with_critic[also->with_critic_count++] = x->learned;
        also->costs[also->cost_count++] =
            nn_mse(a->expected, a->observed, column(a->how.var, LEARN));
    }
    return nn_plan_new(&x->look, x->graph, wanted, x->states > 0 ? 4 : 2, 0, NULL, 0);
}

/* Which numbers a look replaces: all that relabelling may ever replace. */
static void set_which(const relabel *x, int r)
{
    float *rewarding = x->rewarding + (size_t)r * (size_t)x->width;
    float *which = numbers_of(&x->look_if.which, r);
    for (int k = 0; k < x->width; k++) rewarding[k] = 1;
    if (!x->o.all) x->m.which(x->m.self, r, rewarding);
    for (int k = 0; k < x->width; k++) which[k] = x->states > 0 ? 1 : rewarding[k];
}

int relabel_ready(relabel *x)
{
    size_t R = (size_t)x->replicas, n = (size_t)most(x), d = (size_t)x->states;
    size_t each = R * NEWEST * sizeof(float), lanes = R * (size_t)lanes_each(x);
    int rc = 0;
    TRY(arena_declare(x->memory, &x->gates, R * (1 + d) * sizeof *x->gates));
    TRY(arena_declare(x->memory, &x->rewarding, R * (size_t)x->width * sizeof *x->rewarding));
    TRY(arena_declare(x->memory, &x->looked, R * sizeof *x->looked));
    TRY(arena_declare(x->memory, &x->scratch, R * 5 * n * sizeof *x->scratch));
    TRY(arena_declare(x->memory, &x->written, lanes * sizeof *x->written));
    TRY(arena_declare(x->memory, &x->missed, each));
    TRY(arena_declare(x->memory, &x->moved, each));
    TRY(arena_declare(x->memory, &x->missed_step, each * d));
    TRY(arena_declare(x->memory, &x->moved_step, each * d));
    TRY(arena_commit(x->memory));
    for (int r = 0; r < x->replicas; r++) set_which(x, r);
    staged_send(&x->look_if.which);
out:
    return rc;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static float unit_of(const relabel *x, int r)
{
    return x->m.unit ? x->m.unit(x->m.self, r) : 1;
}

static double draw_place(const relabel *x, rng *draw)
{
    double u = rng_uniform(draw);
    return x->o.factors == LIVED ? 0 : x->o.factors == BETWEEN ? u : 2 * u - 0.5;
}

/* Steps since the last look are for the next one: a model that learns with the critics must not
 * know them. */
static bool may_learn(const relabel *x, int r, int32_t at)
{
    int lane = r * lanes_each(x) + at / replay_capacity(x->replay);
    return x->written[lane] == 0 || replay_when(x->replay, r, at) < x->written[lane];
}

/* Draws other rows for n steps, and which of the steps are relabelled. A segment's first rows hold
 * guesses: later ones stand in. */
static void draw_others(relabel *x, as_if *a, int r, const int32_t *at, int n, double share)
{
    size_t each = (size_t)most(x);
    int32_t *drawn = x->scratch + (size_t)r * 5 * each, *rows = rows_of(&a->rows, r);
    int32_t *unused = drawn + 2 * each, *own = unused, *others = own + each;
    float *how = numbers_of(&a->how, r), unit = unit_of(x, r);
    replay_draw(x->replay, r, &x->draws[r], 2 * n, drawn, unused);
    replay_hindsight(x->replay, r, n, at, SETTLED, own);
    replay_hindsight(x->replay, r, 2 * n, drawn, SETTLED, others);
    for (int k = 0; k < n; k++, rows += ROWS, how += HOWS) {
        rows[OWN] = own[k];
        rows[ONE] = others[2 * k];
        rows[TWO] = others[2 * k + 1];
        how[PLACE] = (float)draw_place(x, &x->draws[r]);
        how[CHOSEN] = rng_uniform(&x->draws[r]) < share;
        how[UNIT] = unit * how[CHOSEN];
        how[LEARN] = may_learn(x, r, at[k]);
    }
}

/* Fills in the units of states that the model may move. Returns whether it may relabel factors of
 * the dynamics: it must know nearly all that they change, and what that is worth. */
static bool open_steps(const relabel *x, int r)
{
    float *reach = x->states > 0 ? numbers_of(&x->reach, r) : NULL;
    double all = 0, known = 0;
    if (x->states > 0) x->m.reach(x->m.self, r, reach);
    for (int i = 0; i < x->states; i++) {
        const gate *g = step_gate(x, r, i);
        bool open = g->open > 0;
        if (reach[i] > 0) all += g->change;
        if (reach[i] > 0 && open) known += g->change;
        reach[i] = open ? reach[i] : 0;
    }
    return all > 0 && known >= WHOLE * all && reward_gate(x, r)->error < x->o.error;
}

void relabel_draw(relabel *x, int r, const int32_t *at)
{
    bool steps = open_steps(x, r);
    double rewards = reward_gate(x, r)->open;
    const float *rewarding = x->rewarding + (size_t)r * (size_t)x->width;
    float *which = numbers_of(&x->batch_if.which, r);
    for (int k = 0; k < x->width; k++) which[k] = rewarding[k] > 0 ? rewards > 0 : steps;
    draw_others(x, &x->batch_if, r, at, x->batch, x->share * (steps ? 1 : rewards));
}

/* ---- the gates ------------------------------------------------------------------------------- */

/* Lists the newest steps of a replica that have a successor, at most `each` of a world. */
static int list_newest(const relabel *x, int replica, int64_t each, int32_t *at, int32_t *next)
{
    int W = lanes_each(x), count = 0;
    for (int lane = replica * W; lane < (replica + 1) * W; lane++) {
        int64_t got = 0;
        for (int i = replay_rows(x->replay, lane) - 2; i >= 0 && got < each; i--) {
            replay_row row = replay_at(x->replay, lane, i);
            if (row.last || count == NEWEST) continue;
            at[count] = row.number;
            next[count++] = replay_at(x->replay, lane, i + 1).number;
            got++;
        }
    }
    return count;
}

static void move_gates(const relabel *x, int r)
{
    int n = x->looked[r], d = x->states;
    size_t at = (size_t)r * NEWEST;
    double limit = x->o.error;
    gate_move(reward_gate(x, r), x->missed + at, x->moved + at, 1, n, limit);
    at *= (size_t)d;
    for (int i = 0; i < d; i++, at++)
        gate_move(step_gate(x, r, i), x->missed_step + at, x->moved_step + at, d, n, limit);
}

static void send_look(const relabel *x)
{
    staged_send(&x->at);
    staged_send(&x->next);
    staged_send(&x->look_if.rows);
    staged_send(&x->look_if.how);
}

static void read_look(relabel *x)
{
    nn_read_all(x->miss, x->missed);
    nn_read_all(x->change, x->moved);
    if (x->states == 0) return;
    nn_read_all(x->miss_step, x->missed_step);
    nn_read_all(x->change_step, x->moved_step);
}

int relabel_look(relabel *x, int64_t steps)
{
    int W = lanes_each(x);
    int64_t lived = (steps - x->last) / W, fit = (NEWEST + W - 1) / W;
    x->last = steps;
    for (int r = 0; r < x->replicas; r++) {
        int32_t *at = rows_of(&x->at, r), *next = rows_of(&x->next, r);
        x->looked[r] = list_newest(x, r, lived < fit ? lived : fit, at, next);
        draw_others(x, &x->look_if, r, at, x->looked[r], 1);
    }
    for (int i = 0; i < x->replicas * W; i++) x->written[i] = replay_written(x->replay, i);
    send_look(x);
    int rc = nn_plan_run(x->look);
    if (rc < 0) return rc;
    read_look(x);
    for (int r = 0; r < x->replicas; r++) move_gates(x, r);
    return 0;
}

/* ---- state and curves ------------------------------------------------------------------------ */

void relabel_state(relabel *x, int replica, state_list *s)
{
    char name[64];
    state_add_number(s, "relabel/draws", FANS_U64, &x->draws[replica].drawn);
    if (x->learned) state_add_group(s, "relabel", x->learned, replica);
    if (x->learned) state_add_number(s, "relabel/steps", FANS_U64, nn_group_steps(x->learned));
    state_add_number(s, "relabel/last", FANS_I64, &x->last);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "relabel/written", FANS_I64, 1, (int64_t[]){lanes_each(x)},
              x->written + (size_t)replica * (size_t)lanes_each(x));
    state_range(s, 0, STATE_COUNT);
    gate_state(reward_gate(x, replica), "relabel/reward", s);
    for (int i = 0; i < x->states; i++) {
        snprintf(name, sizeof name, "relabel/state%d", i);
        gate_state(step_gate(x, replica, i), name, s);
    }
}

static double open_states(const relabel *x, int replica)
{
    int open = 0;
    for (int i = 0; i < x->states; i++) open += step_gate(x, replica, i)->open > 0;
    return (double)open / x->states;
}

void relabel_scalars(const relabel *x, int replica, fans_scalar_fn *emit, void *user)
{
    const gate *g = reward_gate(x, replica);
    double unit = (double)unit_of(x, replica);
    bool steps = x->states > 0 && open_steps(x, replica);
    emit(user, "train/relabel_share", x->share * (steps ? 1 : g->open));
    emit(user, "train/relabel_gate", g->open);
    emit(user, "train/relabel_error", unit * sqrt(g->error)); /* both in units of the reward */
    emit(user, "train/relabel_change", unit * sqrt(g->change));
    emit(user, "train/relabel_slope", gate_slope(g));
    if (x->states > 0) emit(user, "train/relabel_states", open_states(x, replica));
}
