/* relabel.c - draws other factors on the host; records what they change. */
#include "learn/relabel.h"

#include <math.h>

#include "base/error.h"
#include "base/text.h"
#include "learn/sac.h"

OPTIONS_GROUP(relabel_option_group, relabel_options, "relabel",
              "experience under other factors, for methods that know what a factor touches",
              RELABEL_OPTIONS);

enum { LIVED, BETWEEN, BEYOND };    /* the option `factors` */
enum { SETTLED = 8 };               /* steps of a segment after which its numbers are no guess */
enum { NEWEST = 64 };               /* steps that a look compares, at most */
enum { LEAST = 100 };               /* held-out steps before the gate may open */
static const double HORIZON = 1000; /* held-out steps that the gate remembers */

enum { OWN, ONE, TWO, ROWS };       /* row numbers: of the segment itself, and of two others */
enum { PLACE, CHOSEN, UNIT, HOWS }; /* between the two; 1 if relabelled; the reward's unit, or 0 */

/* Transitions as they were, and under other factors. */
typedef struct as_if {
    staged rows, how;                        /* (1, B, ROWS), (1, B, HOWS) */
    nn_var other;                            /* (1, B, width) */
    nn_var observed, expected, other_reward; /* (1, B, 1), in the model's units */
} as_if;

/* Held-out steps of one replica: means of the model's squared error, of the square of what
 * relabelling changes, and of their product. */
typedef struct gate {
    double error, change, both, open;
    int64_t seen; /* steps */
} gate;

struct relabel {
    relabel_options o;
    double share;
    relabel_model m;
    const replay *replay;
    nn_graph *graph;
    int replicas, batch, width;
    staged which; /* (1, 1, width): numbers that may be replaced */
    as_if batch_if, look_if;
    staged at, next; /* (1, NEWEST, 1): the steps of a look */
    nn_var miss, change;
    nn_plan *look;
    gate *gates;           /* [replicas] */
    rng *draws;            /* [replicas] */
    int *looked;           /* [replicas]: steps in this look */
    int32_t *scratch;      /* [replicas][5][most] */
    float *missed, *moved; /* [replicas][NEWEST] */
    int64_t last;          /* steps at the last look */
    arena *memory;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

void relabel_free(relabel *x)
{
    if (!x) return;
    arena_free(x->memory);
    mem_free(x->draws);
    mem_free(x->gates);
    mem_free(x);
}

/* A sum of rewards would need the model at every step of the sum. */
static bool is_wanted(const fans_algo_setup *s, double *share, const char *name)
{
    const sac_options *so = fans_options(s, "sac");
    if (*share > 0 && so->n_step > 1) {
        text_add(s->warning,
                 "%s = %g: only single rewards can be relabelled, so with "
                 "sac.n_step = %d none are",
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
    TRY((x->gates = mem_alloc(R * sizeof *x->gates)) ? 0 : FANS_ENOMEM);
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

/* ---- recording ------------------------------------------------------------------------------- */

static nn_var column(nn_var x, int i)
{
    return nn_slice(x, i, 1);
}

/* `from`, with the numbers that may be replaced moved towards `to` by `by` (1, B, 1). */
static nn_var move(const relabel *x, nn_var from, nn_var to, nn_var by)
{
    return nn_add(from, nn_mul(nn_mul(nn_sub(to, from), x->which.var), by));
}

/* The other factors are on the line through those of two rows; all else is as in the own row. */
static void record_as_if(relabel *x, as_if *a, nn_var now, nn_var next)
{
    int w = x->width;
    nn_var all = replay_gather_column(x->replay, 0, a->rows.var);
    nn_var own = nn_slice(all, OWN * w, w);
    nn_var one = nn_slice(all, ONE * w, w), two = nn_slice(all, TWO * w, w);
    a->other = one;
    if (x->o.factors != LIVED) a->other = move(x, one, two, column(a->how.var, PLACE));
    nn_var theirs = nn_add(own, nn_mul(nn_sub(a->other, own), x->which.var));
    a->observed = x->m.observed(x->m.self, now);
    a->expected = x->m.expect(x->m.self, now, next, own);
    a->other_reward = x->m.expect(x->m.self, now, next, theirs);
}

static int record_look(relabel *x, stage *t)
{
    int rc = 0;
    as_if *a = &x->look_if;
    TRY(staged_rows(&x->at, t->memory, t->graph, "look at", 1, NEWEST, 1));
    TRY(staged_rows(&x->next, t->memory, t->graph, "look next", 1, NEWEST, 1));
    TRY(staged_rows(&a->rows, t->memory, t->graph, "look others", 1, NEWEST, ROWS));
    TRY(staged_numbers(&a->how, t->memory, t->graph, "look how", 1, NEWEST, HOWS));
    nn_var now = replay_gather(x->replay, x->at.var), next = replay_gather(x->replay, x->next.var);
    record_as_if(x, a, now, next);
    x->miss = nn_sub(a->observed, a->expected);
    x->change = nn_sub(a->other_reward, a->expected);
out:
    return rc;
}

int relabel_record(relabel *x, stage *t, const replay *r, int batch, nn_var now, nn_var next)
{
    int rc = 0;
    x->replay = r;
    x->batch = batch;
    x->graph = t->graph;
    x->width = replay_shape_of(r)->columns[0].width;
    TRY(staged_numbers(&x->which, t->memory, t->graph, "relabelled", 1, 1, x->width));
    stage_rows(t, &x->batch_if.rows, "others", 1, x->batch, ROWS);
    stage_numbers(t, &x->batch_if.how, "how", 1, x->batch, HOWS);
    record_as_if(x, &x->batch_if, now, next);
    TRY(record_look(x, t));
out:
    return rc;
}

nn_var relabel_numbers(const relabel *x, nn_var numbers)
{
    const as_if *a = &x->batch_if;
    return move(x, numbers, a->other, column(a->how.var, CHOSEN));
}

nn_var relabel_reward(const relabel *x, nn_var reward)
{
    const as_if *a = &x->batch_if;
    nn_var from = x->o.residual ? a->expected : a->observed;
    nn_var more = nn_mul(nn_sub(a->other_reward, from), column(a->how.var, UNIT));
    return nn_add(reward, nn_detach(more));
}

nn_var relabel_cost(const relabel *x)
{
    return nn_mse(x->batch_if.expected, x->batch_if.observed, NN_NONE);
}

int relabel_plan(relabel *x)
{
    nn_var wanted[] = {x->miss, x->change};
    return nn_plan_new(&x->look, x->graph, wanted, 2, 0, NULL, 0);
}

int relabel_ready(relabel *x)
{
    size_t R = (size_t)x->replicas, n = (size_t)most(x);
    int rc = 0;
    TRY(arena_declare(x->memory, &x->looked, R * sizeof *x->looked));
    TRY(arena_declare(x->memory, &x->scratch, R * 5 * n * sizeof *x->scratch));
    TRY(arena_declare(x->memory, &x->missed, R * NEWEST * sizeof *x->missed));
    TRY(arena_declare(x->memory, &x->moved, R * NEWEST * sizeof *x->moved));
    TRY(arena_commit(x->memory));
    for (int r = 0; r < x->replicas; r++) {
        float *which = numbers_of(&x->which, r);
        for (int k = 0; k < x->width; k++) which[k] = 1;
        if (!x->o.all) x->m.which(x->m.self, r, which);
    }
    staged_send(&x->which);
out:
    return rc;
}

/* ---- drawing --------------------------------------------------------------------------------- */

static double draw_place(const relabel *x, rng *draw)
{
    double u = rng_uniform(draw);
    return x->o.factors == LIVED ? 0 : x->o.factors == BETWEEN ? u : 2 * u - 0.5;
}

/* Draws other rows for n steps. A segment's first rows hold guesses: later ones stand in. */
static void draw_others(relabel *x, as_if *a, int r, const int32_t *at, int n)
{
    size_t each = (size_t)most(x);
    int32_t *drawn = x->scratch + (size_t)r * 5 * each, *rows = rows_of(&a->rows, r);
    int32_t *unused = drawn + 2 * each, *own = unused, *others = own + each;
    float *how = numbers_of(&a->how, r);
    float unit = x->m.unit ? x->m.unit(x->m.self, r) : 1;
    replay_draw(x->replay, r, &x->draws[r], 2 * n, drawn, unused);
    replay_hindsight(x->replay, r, n, at, SETTLED, own);
    replay_hindsight(x->replay, r, 2 * n, drawn, SETTLED, others);
    for (int k = 0; k < n; k++, rows += ROWS, how += HOWS) {
        rows[OWN] = own[k];
        rows[ONE] = others[2 * k];
        rows[TWO] = others[2 * k + 1];
        how[PLACE] = (float)draw_place(x, &x->draws[r]);
        how[CHOSEN] = rng_uniform(&x->draws[r]) < x->share * x->gates[r].open;
        how[UNIT] = unit * how[CHOSEN];
    }
}

void relabel_draw(relabel *x, int replica, const int32_t *at)
{
    draw_others(x, &x->batch_if, replica, at, x->batch);
}

/* ---- the gate -------------------------------------------------------------------------------- */

/* Lists the newest steps of a replica that have a successor, at most `each` of a world. */
static int list_newest(const relabel *x, int replica, int each, int32_t *at, int32_t *next)
{
    int worlds = replay_shape_of(x->replay)->worlds, count = 0;
    for (int lane = replica * worlds; lane < (replica + 1) * worlds; lane++) {
        int got = 0;
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

/* How much of a change the rewards bear out. With other factors in place of the right ones a model
 * must err more, by the square of the change: then this is 1. Where factors have no effect they are
 * as good as the right ones: 0. */
static double slope(const gate *g)
{
    return g->change > 0 ? 1 - 2 * g->both / g->change : 0;
}

/* Open while both faults are below half the limit, closed when one is above it. */
static double open_by(const relabel *x, const gate *g)
{
    double fault = fmax(g->error / g->change, 1 - slope(g)), room = 2 - 2 * fault / x->o.error;
    if (g->seen < LEAST || !(room > 0)) return 0; /* also where nothing changes */
    return room < 1 ? room : 1;
}

/* The mean of products. */
static double mean_of(const float *x, const float *y, int n)
{
    double sum = 0;
    for (int i = 0; i < n; i++) sum += (double)x[i] * (double)y[i];
    return sum / n;
}

static void move_gate(const relabel *x, int r)
{
    int n = x->looked[r];
    gate *g = &x->gates[r];
    const float *missed = x->missed + (size_t)r * NEWEST, *moved = x->moved + (size_t)r * NEWEST;
    if (n == 0) return;
    g->seen += n;
    double weight = n / fmin((double)g->seen, HORIZON);
    g->error += weight * (mean_of(missed, missed, n) - g->error);
    g->change += weight * (mean_of(moved, moved, n) - g->change);
    g->both += weight * (mean_of(missed, moved, n) - g->both);
    g->open = open_by(x, g);
}

int relabel_look(relabel *x, int64_t steps)
{
    int rc = 0, worlds = replay_shape_of(x->replay)->worlds;
    int64_t each = (steps - x->last) / worlds, fit = (NEWEST + worlds - 1) / worlds;
    x->last = steps;
    for (int r = 0; r < x->replicas; r++) {
        int32_t *at = rows_of(&x->at, r);
        x->looked[r] = list_newest(x, r, (int)(each < fit ? each : fit), at, rows_of(&x->next, r));
        draw_others(x, &x->look_if, r, at, x->looked[r]);
    }
    staged_send(&x->at);
    staged_send(&x->next);
    staged_send(&x->look_if.rows);
    staged_send(&x->look_if.how);
    TRY(nn_plan_run(x->look));
    nn_read_all(x->miss, x->missed);
    nn_read_all(x->change, x->moved);
    for (int r = 0; r < x->replicas; r++) move_gate(x, r);
out:
    return rc;
}

/* ---- state and curves ------------------------------------------------------------------------ */

void relabel_state(relabel *x, int replica, state_list *s)
{
    gate *g = &x->gates[replica];
    state_add_number(s, "relabel/draws", FANS_U64, &x->draws[replica].drawn);
    state_add_number(s, "relabel/last", FANS_I64, &x->last);
    state_add_number(s, "relabel/seen", FANS_I64, &g->seen);
    state_add_number(s, "relabel/error", FANS_F64, &g->error);
    state_add_number(s, "relabel/change", FANS_F64, &g->change);
    state_add_number(s, "relabel/both", FANS_F64, &g->both);
    state_add_number(s, "relabel/open", FANS_F64, &g->open);
}

void relabel_scalars(const relabel *x, int replica, fans_scalar_fn *emit, void *user)
{
    const gate *g = &x->gates[replica];
    double unit = x->m.unit ? (double)x->m.unit(x->m.self, replica) : 1;
    emit(user, "train/relabel_share", x->share * g->open);
    emit(user, "train/relabel_gate", g->open);
    emit(user, "train/relabel_error", unit * sqrt(g->error)); /* both in units of the reward */
    emit(user, "train/relabel_change", unit * sqrt(g->change));
    emit(user, "train/relabel_slope", slope(g));
}
