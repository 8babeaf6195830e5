/* pieces.c - what of a program may run beside what.
 *
 * Consecutive row steps become one piece, and so do those that follow each other on the longest
 * way; every other step is a piece by itself. A step waits for those before it that write what it
 * reads or writes, or read what it writes (uses.c), and a piece for those that its steps wait for.
 */
#include "nn/pieces.h"

#include <string.h>

#include "nn/uses.h"

/* ---- while they are found -------------------------------------------------------------------- */

typedef struct cutter {
    const nn_program *p;
    int steps, count, room; /* of pieces */
    nn_piece *list;
    bool *follows;   /* [steps][steps]: by later, earlier step */
    bool *waits;     /* [room][room]: by piece, directly; */
    bool *after;     /* … or through others */
    step_uses *uses; /* by step */
} cutter;

static bool *cell(const cutter *x, bool *table, int later, int earlier)
{
    return &table[(size_t)later * (size_t)x->room + (size_t)earlier];
}

static bool follows(const cutter *x, int later, int earlier)
{
    return x->follows[(size_t)later * (size_t)x->steps + (size_t)earlier];
}

static void find_follows(cutter *x)
{
    const nn_step *s = x->p->steps;
    for (int i = 0; i < x->steps; i++) {
        x->uses[i] = uses_of(&s[i]);
        for (int j = 0; j < i; j++)
            x->follows[(size_t)i * (size_t)x->steps + (size_t)j] =
                must_follow(&s[j], &x->uses[j], &s[i], &x->uses[i]);
    }
}

/* The index by which a step finds its rows, or NULL. */
static const void *index_of(const nn_step *s)
{
    for (int k = 0; k < s->call.in_count; k++)
        if (s->call.in[k].type == NN_I32) return s->call.in[k].v;
    return NULL;
}

/* Rows of another batch than those gathered so far: they may come at the same time. */
static bool gathers_others(const cutter *x, const nn_piece *q, const nn_step *s)
{
    const void *mine = index_of(s);
    for (int i = 0; mine && i < q->count; i++) {
        const void *other = index_of(&x->p->steps[q->steps[i]]);
        if (other && other != mine) return true;
    }
    return false;
}

static bool joins(const cutter *x, const nn_piece *q, const nn_step *s)
{
    const nn_step *first = &x->p->steps[q->steps[0]];
    return q->rows > 0 && q->count < PIECE_STEPS && step_rows(s) == q->rows &&
           s->backward == first->backward && !gathers_others(x, q, s);
}

static void cut(cutter *x)
{
    x->count = 1; /* the start */
    for (int i = 0; i < x->steps; i++) {
        nn_piece *q = &x->list[x->count - 1];
        if (q->count == 0 || !joins(x, q, &x->p->steps[i])) {
            q = &x->list[x->count++];
            q->rows = step_rows(&x->p->steps[i]);
        }
        q->steps[q->count++] = i;
    }
    x->count++; /* the end */
}

/* ---- waits ----------------------------------------------------------------------------------- */

static bool needs_start(const cutter *x, const nn_piece *q)
{
    for (int i = 0; i < q->count; i++) {
        const nn_step *s = &x->p->steps[q->steps[i]];
        if (s->backward || s->op == NN_STEP_ADAM) return true;
    }
    return false;
}

static bool is_random(const cutter *x, const nn_piece *q)
{
    for (int i = 0; i < q->count; i++)
        if (x->p->steps[q->steps[i]].call.counter && !x->p->steps[q->steps[i]].backward)
            return true;
    return false;
}

/* Whether piece i needs something of j, which comes before it. */
static bool needs(const cutter *x, int i, int j)
{
    const nn_piece *q = &x->list[i], *r = &x->list[j];
    if (j == 0) return needs_start(x, q);
    if (i == x->count - 1) return is_random(x, r); /* counts them on */
    for (int k = 0; k < q->count; k++)
        for (int l = 0; l < r->count; l++)
            if (follows(x, q->steps[k], r->steps[l])) return true;
    return false;
}

static int length_of(const cutter *x, const nn_piece *q)
{
    return q->count == 1 && step_is_product(&x->p->steps[q->steps[0]]) ? 2 : 1;
}

/* Those that no other wait implies; the longest ways from the start. */
static void find_waits(cutter *x)
{
    memset(x->waits, 0, (size_t)x->room * (size_t)x->room);
    memset(x->after, 0, (size_t)x->room * (size_t)x->room);
    for (int i = 0; i < x->count; i++) {
        x->list[i].before = 0;
        for (int j = i - 1; j >= 0; j--) {
            if (*cell(x, x->after, i, j) || !needs(x, i, j)) continue;
            *cell(x, x->waits, i, j) = *cell(x, x->after, i, j) = true;
            for (int k = 0; k < j; k++)
                *cell(x, x->after, i, k) = *cell(x, x->after, i, k) || *cell(x, x->after, j, k);
            int there = x->list[j].before + length_of(x, &x->list[j]);
            if (there > x->list[i].before) x->list[i].before = there;
        }
    }
}

static void find_ways(cutter *x)
{
    for (int i = 0; i < x->count; i++) x->list[i].heir = -1;
    for (int i = x->count - 1; i >= 0; i--) {
        nn_piece *q = &x->list[i];
        q->way = length_of(x, q) + (q->heir < 0 ? 0 : x->list[q->heir].way);
        for (int j = 0; j < i; j++) {
            nn_piece *r = &x->list[j];
            if (*cell(x, x->waits, i, j) && (r->heir < 0 || q->way >= x->list[r->heir].way))
                r->heir = i;
        }
    }
}

/* ---- joining row steps that lie apart -------------------------------------------------------- */

/* Whether b can be done in one kernel with a, which it waits for: with the rest of what it waits
 * for done before a even begins, and only where b is what most waits for. */
static bool may_join(const cutter *x, int a, int b)
{
    const nn_piece *q = &x->list[a], *r = &x->list[b];
    if (q->rows == 0 || q->rows != r->rows || q->count + r->count > PIECE_STEPS) return false;
    if (q->heir != b || !*cell(x, x->waits, b, a)) return false;
    for (int j = 0; j < b; j++)
        if (j != a && *cell(x, x->waits, b, j) &&
            (*cell(x, x->after, j, a) || x->list[j].before + length_of(x, &x->list[j]) > q->before))
            return false;
    return true;
}

/* In the order of the longest ways, which keeps all waits; the end stays the end. */
static void sort(cutter *x)
{
    for (int i = 2; i < x->count - 1; i++) {
        nn_piece q = x->list[i];
        int j = i;
        for (; j > 1 && x->list[j - 1].before > q.before; j--) x->list[j] = x->list[j - 1];
        x->list[j] = q;
    }
}

/* Puts b's steps behind a's. */
static void join(cutter *x, int a, int b)
{
    nn_piece *q = &x->list[a], *r = &x->list[b];
    memcpy(q->steps + q->count, r->steps, (size_t)r->count * sizeof *r->steps);
    q->count += r->count;
    memmove(r, r + 1, (size_t)(--x->count - b) * sizeof *r);
}

static bool join_one(cutter *x)
{
    for (int b = 2; b < x->count - 1; b++)
        for (int a = 1; a < b; a++)
            if (may_join(x, a, b)) {
                join(x, a, b);
                return true;
            }
    return false;
}

/* ---- queues ---------------------------------------------------------------------------------- */

/* A piece that inherits a queue may be started while its predecessor still runs: the one with the
 * longest way before it does, and after the predecessor that comes last. Others take a queue that
 * nobody will inherit and that is done by then, else the one that was used least lately. */
static int choose_queue(const cutter *x, int i, const int *last, int queues)
{
    const nn_piece *list = x->list;
    int best = -1, oldest = 0;
    for (int l = 0; l < queues; l++)
        if (last[l] >= 0 && list[last[l]].heir == i &&
            (best < 0 || list[last[l]].before > list[last[best]].before))
            best = l;
    for (int l = 0; best < 0 && l < queues; l++)
        if (last[l] < 0 || (*cell(x, x->after, i, last[l]) && list[last[l]].heir < i)) best = l;
    for (int l = 1; l < queues; l++)
        if (last[l] < last[oldest]) oldest = l;
    return best < 0 ? oldest : best;
}

static void choose_queues(cutter *x, int *last, int queues)
{
    for (int l = 0; l < queues; l++) last[l] = -1;
    for (int i = 0; i < x->count; i++) {
        x->list[i].queue = choose_queue(x, i, last, queues);
        last[x->list[i].queue] = i;
    }
}

/* ---- all of it ------------------------------------------------------------------------------- */

static void find(cutter *x, int *last, int queues)
{
    find_follows(x);
    cut(x);
    do {
        find_waits(x);
        sort(x);
        find_waits(x);
        find_ways(x);
    } while (join_one(x));
    choose_queues(x, last, queues);
}

bool pieces_new(nn_pieces *out, const nn_program *p, int queues, const nn_host *m)
{
    size_t steps = p->step_count, room = steps + 2;
    cutter x = {.p = p, .steps = (int)steps, .room = (int)room};
    int *last = m->alloc((size_t)queues * sizeof *last);
    x.list = m->alloc(room * sizeof *x.list);
    x.follows = m->alloc(room * room);
    x.waits = m->alloc(room * room);
    x.after = m->alloc(room * room);
    x.uses = m->alloc(room * sizeof *x.uses);
    bool enough = last && x.list && x.follows && x.waits && x.after && x.uses;
    if (enough) {
        find(&x, last, queues);
        *out = (nn_pieces){x.list, x.count, x.waits};
        for (int i = 0; i < x.count; i++) /* rows as long as there are pieces */
            memmove(x.waits + (size_t)i * (size_t)x.count, cell(&x, x.waits, i, 0),
                    (size_t)x.count);
    } else {
        m->free(x.list);
        m->free(x.waits);
    }
    m->free(last);
    m->free(x.follows);
    m->free(x.after);
    m->free(x.uses);
    return enough;
}

void pieces_free(nn_pieces *x, const nn_host *m)
{
    m->free(x->list);
    m->free(x->waits);
    *x = (nn_pieces){0};
}
