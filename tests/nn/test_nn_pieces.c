/* test_nn_pieces.c - whole training steps, run piece by piece in any order that the pieces' waits
 * allow: bit-identical to the order of recording. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

#include "nn/graph.h"
#include "nn_shuffled.h"
#include "nn_steps.h"

enum { ORDERS = 40 };

/* ---- the tests ------------------------------------------------------------------------------- */

typedef struct made {
    float values[1 << 16];
    size_t count;
} made;

static void take(made *m, nn_group *g, int replicas)
{
    size_t n = nn_group_size(g);
    for (int r = 0; r < replicas; r++) {
        assert_true(m->count + n <= sizeof m->values / sizeof *m->values);
        memcpy(m->values + m->count, nn_group_data(g, NN_VALUES, r), n * sizeof(float));
        m->count += n;
    }
}

static made expected, found;
static const sac_sizes SAC = {.obs = 5, .act = 2, .width = 16, .batch = 12, .norm = true};
static const fnvae_sizes FNVAE = {
    .d = 3, .m = 2, .p = 2, .q = 2, .encoder = 8, .bank = 6, .dense = 8, .T = 4, .B = 5};
static const uint64_t seeds[] = {3, 4};

static void sac_steps(made *m, nn_backend *b)
{
    sac_step s;
    assert_ok(sac_step_new(&s, b, SAC, 2, seeds));
    for (int i = 0; i < 4; i++) assert_ok(sac_step_run(&s));
    m->count = 0;
    take(m, s.actor, 2);
    take(m, s.critic, 2);
    take(m, s.target, 2);
    take(m, s.temp, 2);
    nn_graph_free(s.g);
}

static void fnvae_steps(made *m, nn_backend *b)
{
    fnvae_step s;
    assert_ok(fnvae_step_new(&s, b, FNVAE, 2, seeds));
    for (int i = 0; i < 4; i++) assert_ok(fnvae_step_run(&s));
    m->count = 0;
    for (size_t i = 0; i < s.g->group_count; i++) take(m, s.g->groups[i], 2);
    nn_graph_free(s.g);
}

typedef struct rig {
    pool *threads;
    nn_backend *plain, shuffled;
} rig;

static void set_up(rig *t)
{
    assert_ok(pool_new(&t->threads, 1));
    assert_ok(nn_cpu_new(&t->plain, t->threads));
    t->shuffled = shuffled_of(t->plain, 0);
}

static void tear_down(rig *t)
{
    nn_backend_free(t->plain);
    pool_free(t->threads);
}

static void any_order(void (*steps)(made *, nn_backend *))
{
    rig t;
    set_up(&t);
    steps(&expected, t.plain);
    for (int k = 0; k < ORDERS; k++) { /* consecutive orders from one stream */
        steps(&found, &t.shuffled);
        assert_int_equal(found.count, expected.count);
        assert_memory_equal(found.values, expected.values, expected.count * sizeof(float));
    }
    tear_down(&t);
}

static void sac_in_any_order(void **state)
{
    (void)state;
    any_order(sac_steps);
}

static void fnvae_in_any_order(void **state)
{
    (void)state;
    any_order(fnvae_steps);
}

static const nn_piece *piece_with(const nn_program *p, int op, bool backward)
{
    const nn_pieces *x = p->compiled;
    for (int i = 0; i < x->count; i++)
        for (int k = 0; k < x->list[i].count; k++) {
            const nn_step *s = &p->steps[x->list[i].steps[k]];
            if (s->op == op && s->backward == backward) return &x->list[i];
        }
    return NULL;
}

/* The critics' gradients start in the same kernel as the targets; the cost is computed in parallel.
 */
static void gradients_wait_for_no_cost(void **state)
{
    (void)state;
    rig t;
    sac_step s;
    set_up(&t);
    assert_ok(sac_step_new(&s, &t.shuffled, SAC, 2, seeds));
    const nn_program *p = shuffled_latest; /* the routine is prepared after its plans */
    const nn_piece *gradient = piece_with(p, NN_OP_mse, true);
    assert_ptr_equal(gradient, piece_with(p, NN_OP_td_target, false));
    assert_true(gradient->before < piece_with(p, NN_OP_mse, false)->before);
    nn_graph_free(s.g);
    tear_down(&t);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(sac_in_any_order),
                                       cmocka_unit_test(fnvae_in_any_order),
                                       cmocka_unit_test(gradients_wait_for_no_cost)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
