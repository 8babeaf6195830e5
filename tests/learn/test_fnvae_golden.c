/* test_fnvae_golden.c - one step of algorithm A1, costs and all gradients, against PyTorch's
 * (golden/fnvae.json), which computes the costs of every group in a separate pass. */
#include "base/json.h"
#include "fnvae_rig.h"
#include "nn/op.h"

static json_t *golden;

static json_t *part(const char *what, const char *name)
{
    json_t *x = json_object_get(json_object_get(golden, what), name);
    if (!x) fail_msg("golden/fnvae.json has no %s '%s'", what, name);
    return x;
}

static fnvae_options options(void)
{
    fnvae_options o;
    const char *key;
    json_t *value;
    char number[32];
    options_default(fnvae_option_group(), &o);
    json_object_foreach(json_object_get(golden, "options"), key, value)
    {
        snprintf(number, sizeof number, "%.9g", json_number_value(value));
        assert_ok(options_set(fnvae_option_group(), &o, key, number));
    }
    o.masks_from = o.k3_until = 0;
    o.gate = NN_GATE_HARD_CONCRETE;
    return o;
}

static void load(json_t *numbers, float *to, size_t n, const char *what)
{
    if (json_array_size(numbers) != n) fail_msg("%s: %zu numbers expected", what, n);
    for (size_t i = 0; i < n; i++) to[i] = (float)json_number_value(json_array_get(numbers, i));
}

/* The file's random numbers are those of these operators. */
static void check_streams(const fnvae *f)
{
    const struct {
        const char *name;
        nn_var v;
    } nodes[] = {{"C_s", f->mask[MASK_S].gate},       {"c_r", f->mask[MASK_R].gate},
                 {"C_tt_s", f->mask[MASK_TT_S].gate}, {"C_tt_r", f->mask[MASK_TT_R].gate},
                 {"theta_s", f->theta_s.sample},      {"theta_r", f->theta_r.sample}};
    bool same = true;
    for (size_t i = 0; i < COUNT(nodes); i++) {
        const char *expected = json_string_value(part("streams", nodes[i].name));
        if (!strcmp(nn_stream_of(nodes[i].v), expected)) continue;
        print_message("%s=\"%s\" now, not %s\n", nodes[i].name, nn_stream_of(nodes[i].v), expected);
        same = false;
    }
    if (!same) fail_msg("correct STREAMS in golden/make_fnvae.py, and run it");
}

static void load_numbers(const staged *s, const char *name)
{
    load(part("inputs", name), numbers_of(s, 0), s->each, name);
}

/* The numbers of the k-th step of the windows. */
static void store_step(replay *r, fnvae_dims z, int k)
{
    static const char *const names[] = {"s", "a", "s1", "r"};
    const int widths[] = {z.d, z.m, z.d, 1};
    float x[4][8];
    int64_t segment = 0;
    uint8_t no = 0, yes = 1;
    for (int i = 0; i < 4; i++) {
        for (int j = 0; j < widths[i]; j++)
            x[i][j] = (float)json_number_value(
                json_array_get(part("inputs", names[i]), (size_t)(k * widths[i] + j)));
    }
    fans_moment now = {x[0], NULL, &segment, &no};
    fans_outcome o = {x[3], &no, &yes, x[2]};
    replay_add(r, &now, x[1], &o, NULL, NULL);
}

static void load_all(fnvae *f)
{
    static const char *const weights[] = {"w_rec",  "w_pred", "w_stay",
                                          "w_move", "w_next", "w_smooth"};
    for (int k = 0; k < (int)f->at.each; k++) { /* every step is an episode: two rows */
        rows_of(&f->at, 0)[k] = 2 * k;
        rows_of(&f->next, 0)[k] = 2 * k + 1;
        rows_of(&f->decoded, 0)[k] = (int32_t)json_integer_value(
            json_array_get(json_object_get(golden, "decoded"), (size_t)k));
    }
    load_numbers(&f->change, "change");
    for (int i = 0; i < FNVAE_W_COUNT; i++) load_numbers(&f->w[i], weights[i]);
    for (int k = 0; k < FNVAE_WEIGHTS; k++)
        for (int i = 0; i < nn_group_params(f->group[k]); i++) {
            nn_var v = nn_group_param(f->group[k], i);
            load(part("params", nn_name_of(v)), nn_data(v, 0), nn_size(nn_shape_of(v)),
                 nn_name_of(v));
        }
}

/* Within 2e-5 of the largest number of the tensor. */
static void compare(nn_var v)
{
    json_t *expected = part("grads", nn_name_of(v));
    double scale = 1e-3, worst = 0;
    for (size_t i = 0; i < nn_size(nn_shape_of(v)); i++) {
        double x = json_number_value(json_array_get(expected, i));
        scale = fmax(scale, fabs(x));
        worst = fmax(worst, fabs(x - (double)nn_grad(v, 0)[i]));
    }
    if (!(worst / scale <= 2e-5)) fail_msg("gradient of %s: off by %.2g", nn_name_of(v), worst);
}

static void a_step_equals_pytorch(void **state)
{
    (void)state;
    assert_ok(json_read_file(&golden, SOURCE_DIR "/tests/golden/fnvae.json"));
    rig t;
    fnvae_options o = options();
    const uint64_t seed = 1;
    fnvae_dims z = {.d = (int)json_integer_value(part("dims", "d")),
                    .m = (int)json_integer_value(part("dims", "m")),
                    .p = (int)json_integer_value(part("dims", "p")),
                    .q = (int)json_integer_value(part("dims", "q"))};
    int count = o.window * o.batch;
    replay *r;
    replay_shape shape = {
        .replicas = 1, .worlds = 1, .steps = 2 * count, .horizon = 1, .obs = z.d, .act = z.m};
    assert_ok(replay_new(&r, shape));
    t = (rig){0};
    assert_ok(pool_new(&t.pool, 2));
    assert_ok(nn_cpu_new(&t.cpu, t.pool));
    rig_record(&t, t.cpu, &o, z, &seed, r);
    for (int k = 0; k < count; k++) store_step(r, z, k);
    check_streams(t.f);
    load_all(t.f);
    assert_ok(fnvae_update(t.f));
    for (int i = 0; i < FNVAE_COST_COUNT; i++) {
        double expected = json_number_value(part("costs", fnvae_cost_names[i]));
        if (!(fabs(fnvae_cost(t.f, i, 0) - expected) <= 2e-5 * fmax(1, fabs(expected))))
            fail_msg("%s is %.7g, not %.7g", fnvae_cost_names[i], fnvae_cost(t.f, i, 0), expected);
    }
    for (int k = 0; k < FNVAE_WEIGHTS; k++)
        for (int i = 0; i < nn_group_params(t.f->group[k]); i++)
            compare(nn_group_param(t.f->group[k], i));
    rig_free(&t);
    replay_free(r);
    json_decref(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_equals_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
