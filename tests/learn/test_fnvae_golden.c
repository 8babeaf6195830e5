/* test_fnvae_golden.c - one step of algorithm A1, costs and all gradients, against PyTorch's
 * (golden/fnvae.json), which gives every group its own costs in a pass of its own. */
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

/* The file's random numbers are those of these nodes. */
static void check_nodes(const fnvae *f)
{
    const struct {
        const char *name;
        nn_var v;
    } nodes[] = {{"C_s", f->mask[MASK_S].gate},       {"c_r", f->mask[MASK_R].gate},
                 {"C_tt_s", f->mask[MASK_TT_S].gate}, {"C_tt_r", f->mask[MASK_TT_R].gate},
                 {"theta_s", f->theta_s.sample},      {"theta_r", f->theta_r.sample}};
    for (size_t i = 0; i < COUNT(nodes); i++) {
        const char *expected = json_string_value(part("nodes", nodes[i].name));
        if (strcmp(nn_name_of(nodes[i].v), expected))
            fail_msg("%s is the node %s now, not %s: correct golden/make_fnvae.py", nodes[i].name,
                     nn_name_of(nodes[i].v), expected);
    }
}

static void load_all(fnvae *f)
{
    for (int i = 0; i < FNVAE_INPUT_COUNT; i++)
        load(part("inputs", nn_name_of(f->in[i])), f->host[i], nn_size(nn_shape_of(f->in[i])),
             nn_name_of(f->in[i]));
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
    rig_new(&t, &o, z, 2, 1, &seed, 1);
    check_nodes(t.f);
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
    json_decref(golden);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(a_step_equals_pytorch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
