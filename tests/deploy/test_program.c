/* test_program.c - programs do what their agents do, over whole lives whose state is never
 * corrected; and exported C does it bit for bit. */
#include "base/os.h"
#include "deploy/c_export.h"
#include "export_rig.h"

enum { EPISODES = 20 };

static float largest(const float *a, const float *b, int n)
{
    float most = 0;
    for (int i = 0; i < n; i++) most = fmaxf(most, fabsf(a[i] - b[i]));
    return most;
}

/* What a program answers to a recording: (count, outputs). The caller frees it. */
static float *answer(const program *p, const recording *r)
{
    const program_shape *z = program_shape_of(p);
    float *state = mem_alloc((size_t)z->state * sizeof *state);
    float *work = mem_alloc((size_t)z->work * sizeof *work);
    float *out = mem_alloc((size_t)(r->count * z->outputs) * sizeof *out);
    uint64_t allocations = mem_count();
    for (int i = 0; i < r->count; i++)
        program_step(p, 1, r->in + i * z->inputs, state, out + i * z->outputs, work);
    assert_int_equal(mem_count(), allocations);
    mem_free(state);
    mem_free(work);
    return out;
}

static float spread_of(const float *x, int count, int width)
{
    float low = INFINITY, high = -INFINITY;
    for (int i = 0; i < count; i++) {
        low = fminf(low, x[i * width]);
        high = fmaxf(high, x[i * width]);
    }
    return high - low;
}

/* The agent's own answers, within the bounds; and that it does something at all. */
static void compare_with_agent(const char *name, const program *p, const recording *r,
                               const float *out)
{
    const program_shape *z = program_shape_of(p);
    float actions = 0, beliefs = 0;
    for (int i = 0; i < r->count; i++, out += z->outputs) {
        if (r->last[i]) continue;
        actions =
            fmaxf(actions, largest(out + z->out[TICK_actions].at, r->action + i * r->act, r->act));
        beliefs = fmaxf(beliefs,
                        largest(out + z->out[TICK_belief].at, r->belief + i * r->theta, r->theta));
    }
    print_message("%s: %d ticks, actions %.1e, beliefs %.1e\n", name, r->count, (double)actions,
                  (double)beliefs);
    assert_true(actions <= 1e-5f && beliefs <= 1e-4f);
    assert_true(spread_of(r->action, r->count, r->act) > 1e-3f);
    if (r->theta) assert_true(spread_of(r->belief, r->count, r->theta) > 1e-3f);
}

/* ---- exported C ------------------------------------------------------------------------------ */

static void write_file(const char *folder, const char *name, const void *bytes, size_t n)
{
    char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    assert_int_equal(os_write_file(path, bytes, n), 0);
}

/* Answers ticks until there are none. */
static const char MAIN[] =
    "#include <stdio.h>\n#include \"policy.h\"\n"
    "int main(void)\n{\n    policy_state life;\n    policy_tick in;\n    policy_answer out;\n"
    "    policy_begin(&life);\n"
    "    while (fread(&in, sizeof in, 1, stdin) == 1) {\n"
    "        policy_step(&life, &in, &out);\n        fwrite(&out, sizeof out, 1, stdout);\n    }\n"
    "    return policy_selftest() == 0 ? 0 : 1;\n}\n";

static void compare_with_c(const char *folder, const program *p, const recording *r,
                           const float *out)
{
    const program_shape *z = program_shape_of(p);
    text header = {0}, code = {0};
    char command[512];
    size_t n;
    c_export_header(p, "policy", &header);
    assert_int_equal(c_export_source(p, "policy", r, &code), 0);
    write_file(folder, "policy.h", header.s, header.length);
    write_file(folder, "policy.c", code.s, code.length);
    write_file(folder, "main.c", MAIN, sizeof MAIN - 1);
    write_file(folder, "ticks", r->in, (size_t)(r->count * z->inputs) * sizeof *r->in);
    snprintf(command, sizeof command,
             "cd '%s' && cc -std=c99 -Wall -Wextra -pedantic -Werror -O1 main.c policy.c -lm -o "
             "policy && ./policy <ticks >answers",
             folder);
    assert_int_equal(system(command), 0);
    float *answers = rig_read(folder, "answers", &n);
    assert_int_equal(n, (size_t)(r->count * z->outputs) * sizeof *answers);
    assert_memory_equal(answers, out, n);
    mem_free(answers);
    text_free(&header);
    text_free(&code);
}

/* With all outputs, then as it is exported, then with weights of half the size. */
static void check_case(const export_case *c)
{
    static const program_options forms[] = {{.sampling = true}, {0}, {.f16 = true}};
    char folder[64];
    session s = {0};
    recording r = {0};
    rig_folder(folder, sizeof folder);
    export_train(c, folder, &s);
    for (size_t k = 0; k < COUNT(forms); k++) {
        program *p;
        if (program_load(&p, folder, forms[k]) < 0 ||
            (k == 0 && recording_live(&r, p, &s, EPISODES, 77) < 0))
            fail_msg("%s: %s", c->name, fans_error());
        float *out = answer(p, &r);
        if (!forms[k].f16) compare_with_agent(c->name, p, &r, out);
        if (!forms[k].sampling) compare_with_c(folder, p, &r, out);
        mem_free(out);
        program_free(p);
    }
    recording_free(&r);
    session_close(&s);
    rig_remove(folder);
}

static void programs_and_exported_code_act_as_their_agents(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(EXPORT_CASES); k++) check_case(&EXPORT_CASES[k]);
}

/* ---- episodes that end by themselves --------------------------------------------------------- */

typedef struct made_up {
    float obs[3], next[3], action[1], reward[1];
    double factors[8];
    int64_t segment[1];
    uint8_t change[1], terminated[1], truncated[1];
} made_up;

static void draw(float *to, int n, rng *r)
{
    for (int i = 0; i < n; i++) to[i] = (float)rng_normal(r);
}

static float tick_of(const program *p, const made_up *x, const float *obs, bool seen, bool last,
                     float *state, float *work)
{
    const program_shape *z = program_shape_of(p);
    float in[32] = {0}, out[32];
    memcpy(in + z->in[TICK_obs].at, obs, sizeof x->obs);
    if (z->in[TICK_last_action].width) in[z->in[TICK_last_action].at] = x->action[0];
    if (z->in[TICK_reward].width) in[z->in[TICK_reward].at] = x->reward[0];
    if (z->in[TICK_terminated].width) in[z->in[TICK_terminated].at] = last && x->terminated[0];
    if (z->in[TICK_change].width) in[z->in[TICK_change].at] = !last && x->change[0];
    if (z->in[TICK_seen].width) in[z->in[TICK_seen].at] = seen;
    program_step(p, 1, in, state, out, work);
    return out[z->out[TICK_actions].at];
}

/* Falls, or runs out of time, or a segment begins, at any step. */
static void live_made_up(const program *p, const session *s)
{
    const fans_algo_def *algo = s->entries[0].algo;
    void *who = training_agent(s->trainings[0]);
    made_up x = {.change = {1}};
    fans_moment now = {x.obs, x.factors, x.segment, x.change};
    fans_outcome o = {x.reward, x.terminated, x.truncated, x.next};
    float *state = mem_alloc((size_t)program_shape_of(p)->state * sizeof *state);
    float *work = mem_alloc((size_t)program_shape_of(p)->work * sizeof *work);
    rng r = rng_stream(3, "made up", 0);
    bool seen = false;
    draw(x.obs, 3, &r);
    algo->start(who);
    for (int i = 0; i < 500; i++) {
        float mine = tick_of(p, &x, x.obs, seen, false, state, work);
        assert_int_equal(algo->act(who, &now, false, x.action), 0);
        assert_float_equal(mine, x.action[0], 1e-5f);
        draw(x.next, 3, &r);
        draw(x.reward, 1, &r);
        x.terminated[0] = rng_below(&r, 7) == 0;
        x.truncated[0] = rng_below(&r, 11) == 0;
        assert_int_equal(algo->observe(who, &now, x.action, &o, false), 0);
        seen = !x.terminated[0] && !x.truncated[0];
        if (!seen) tick_of(p, &x, x.next, true, true, state, work);
        memcpy(x.obs, x.next, sizeof x.obs);
        if (!seen) draw(x.obs, 3, &r);
        x.change[0] = rng_below(&r, 5) == 0;
    }
    mem_free(state);
    mem_free(work);
}

static void episodes_may_end_at_any_step(void **state)
{
    (void)state;
    for (size_t k = 0; k < COUNT(EXPORT_CASES); k++) {
        char folder[64];
        session s = {0};
        program *p;
        if (!strcmp(EXPORT_CASES[k].algo, "oracle")) continue; /* there is no world to be told of */
        rig_folder(folder, sizeof folder);
        export_train(&EXPORT_CASES[k], folder, &s);
        assert_int_equal(program_load(&p, folder, (program_options){0}), 0);
        live_made_up(p, &s);
        program_free(p);
        session_close(&s);
        rig_remove(folder);
    }
}

/* ---- what cannot be exported ----------------------------------------------------------------- */

static void others_are_refused_in_a_line(void **state)
{
    static const struct {
        const char *algo, *ini, *why;
    } cases[] = {
        {"trio", "", "trio cannot be exported"},
        {"random", "", "random cannot be exported"},
        {"oracle", "[oracle]\ndelay = 3\n", "oracle.delay = 3"},
        {"fans", "[fans]\ninitial = 100000\n", "fans.initial = 100000"},
    };
    (void)state;
    for (size_t k = 0; k < COUNT(cases); k++) {
        export_case c = {cases[k].algo, cases[k].algo, cases[k].ini};
        char folder[64];
        session s = {0};
        program *p;
        rig_folder(folder, sizeof folder);
        export_train(&c, folder, &s);
        assert_true(program_load(&p, folder, (program_options){0}) < 0);
        if (!strstr(fans_error(), cases[k].why)) fail_msg("'%s'", fans_error());
        session_close(&s);
        rig_remove(folder);
    }
}

/* ---- rewards that were not measured ---------------------------------------------------------- */

/* Without its reward, a step changes the belief about the dynamics alone. */
static void a_reward_may_be_missing(void **state)
{
    export_case c = {"fans", "fans", ""};
    char folder[64];
    session s = {0};
    recording r = {0};
    program *p;
    (void)state;
    rig_folder(folder, sizeof folder);
    export_train(&c, folder, &s);
    assert_int_equal(program_load(&p, folder, (program_options){0}), 0);
    assert_int_equal(recording_live(&r, p, &s, 1, 5), 0);
    const program_shape *z = program_shape_of(p);
    for (int i = 0; i < r.count; i++) {
        r.in[i * z->inputs + z->in[TICK_reward].at] = NAN;
        r.in[i * z->inputs + z->in[TICK_change].at] = 0;
    }
    float *out = answer(p, &r), *belief = out + z->out[TICK_belief].at;
    assert_true(spread_of(belief, r.count, z->outputs) > 1e-3f);            /* theta_s */
    assert_true(spread_of(belief + r.theta - 1, r.count, z->outputs) == 0); /* theta_r */
    mem_free(out);
    recording_free(&r);
    program_free(p);
    session_close(&s);
    rig_remove(folder);
}

/* ---- failures -------------------------------------------------------------------------------- */

static const session *looked_at;

static int make_program(void)
{
    program *p;
    int rc = program_new(&p, looked_at->entries[0].algo, training_agent(looked_at->trainings[0]), 0,
                         (program_options){0});
    if (rc == 0) program_free(p);
    return rc;
}

/* The first success records the tick, which the agent then holds. */
static void failing_allocations_leave_nothing_behind(void **state)
{
    export_case c = {"fans", "fans", ""};
    char folder[64];
    session s = {0};
    (void)state;
    rig_folder(folder, sizeof folder);
    export_train(&c, folder, &s);
    looked_at = &s;
    for (uint64_t n = 1, failed = 1; failed; n++) {
        mem_fail_at(n);
        int rc = make_program();
        mem_fail_at(0);
        failed = rc != 0;
        if (failed) assert_int_equal(rc, FANS_ENOMEM);
    }
    fail_every_allocation(make_program);
    session_close(&s);
    rig_remove(folder);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(programs_and_exported_code_act_as_their_agents),
        cmocka_unit_test(episodes_may_end_at_any_step),
        cmocka_unit_test(others_are_refused_in_a_line),
        cmocka_unit_test(a_reward_may_be_missing),
        cmocka_unit_test(failing_allocations_leave_nothing_behind),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
