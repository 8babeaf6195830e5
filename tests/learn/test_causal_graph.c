/* test_causal_graph.c - compact representation, scores and exports of small graphs. */
#include <ctype.h>

#include "fnvae_rig.h"
#include "learn/causal_pair.h"

static const fnvae_dims SIZE = {.d = 5, .m = 2, .p = 3, .q = 2};

static void set(causal_graph *g, int mask, int effect, int cause, double probability)
{
    g->mask[mask][effect * g->causes[mask] + cause] = probability;
}

/* s0 -> s1 -> s2 -> r, s3 -> s4 without a way to r; theta_s0 -> s0, theta_s1 -> theta_s0,
 * theta_s2 -> s4. */
static causal_graph *chain(void)
{
    causal_graph *g;
    assert_ok(causal_graph_new(&g, SIZE));
    for (int i = 0; i < SIZE.d; i++) set(g, CAUSAL_C_ss, i, i, 1);
    set(g, CAUSAL_C_ss, 1, 0, 0.9);
    set(g, CAUSAL_C_ss, 2, 1, 0.6);
    set(g, CAUSAL_C_ss, 4, 3, 1);
    set(g, CAUSAL_c_sr, 0, 2, 0.8);
    set(g, CAUSAL_C_as, 3, 1, 1);
    set(g, CAUSAL_c_ar, 0, 0, 0.51);
    set(g, CAUSAL_C_ts, 0, 0, 1);
    set(g, CAUSAL_C_ts, 4, 2, 1);
    set(g, CAUSAL_C_tt_s, 0, 1, 1);
    causal_compact(g);
    return g;
}

static void only_what_reaches_the_reward_is_kept(void **state)
{
    (void)state;
    causal_graph *g = chain();
    const bool s_min[] = {true, true, true, false, false}, theta_min[] = {true, true, false};
    assert_memory_equal(g->s_min, s_min, sizeof s_min);
    assert_memory_equal(g->theta_s_min, theta_min, sizeof theta_min);
    assert_true(g->theta_r_min[0] && g->theta_r_min[1]);

    /* at the threshold there is no edge; without it the chain is cut */
    set(g, CAUSAL_C_ss, 2, 1, 0.5);
    causal_compact(g);
    assert_false(g->s_min[1] || g->s_min[0] || g->theta_s_min[0] || g->theta_s_min[1]);
    assert_true(g->s_min[2]);

    /* a cycle terminates, and all of it is kept */
    set(g, CAUSAL_C_ss, 2, 4, 1);
    set(g, CAUSAL_C_ss, 3, 4, 1);
    causal_compact(g);
    assert_true(g->s_min[4] && g->s_min[3] && g->theta_s_min[2]);
    causal_graph_free(g);
}

/* The closure against a brute-force search for paths, on random graphs. */
static bool reaches(const causal_graph *g, int state, int steps)
{
    if (causal_edge(g, CAUSAL_c_sr, 0, state)) return true;
    for (int i = 0; steps > 0 && i < g->z.d; i++)
        if (causal_edge(g, CAUSAL_C_ss, i, state) && reaches(g, i, steps - 1)) return true;
    return false;
}

static void closure_equals_a_search_for_paths(void **state)
{
    (void)state;
    causal_graph *g;
    assert_ok(causal_graph_new(&g, SIZE));
    for (uint32_t seed = 0; seed < 200; seed++) {
        rng r = rng_stream(1, "graphs", seed);
        for (int k = 0; k < CAUSAL_MASK_COUNT; k++)
            for (int i = 0; i < g->effects[k] * g->causes[k]; i++)
                g->mask[k][i] = rng_uniform(&r) * 0.65;
        causal_compact(g);
        for (int j = 0; j < SIZE.d; j++) assert_int_equal(g->s_min[j], reaches(g, j, SIZE.d));
    }
    causal_graph_free(g);
}

static void scores_count(void **state)
{
    (void)state;
    causal_graph *g = chain();
    uint8_t truth[25] = {0};
    for (int i = 0; i < 5; i++) truth[i * 6] = 1;
    truth[1 * 5 + 0] = truth[0 * 5 + 4] = 1; /* one found, one missed; two are extra */
    causal_score s = causal_compare(g, CAUSAL_C_ss, truth);
    assert_int_equal(s.hits, 6);
    assert_int_equal(s.extra, 2);
    assert_int_equal(s.missing, 1);
    assert_int_equal(s.shd, 3);
    assert_float_equal(s.precision, 0.75, 1e-9);
    assert_float_equal(s.recall, (6.0 / 7), 1e-9);
    assert_float_equal(s.f1, (12.0 / 15), 1e-9);

    /* nothing to find and nothing found is right */
    assert_float_equal(causal_count(0, 0, 0).f1, 1, 0);
    assert_float_equal(causal_count(0, 1, 0).f1, 0, 0);

    /* touched: s0 and s4 here; the truth has another number of factors */
    const uint8_t C_ts[5] = {1, 0, 0, 1, 0};
    s = causal_compare_touched(g, C_ts, 1);
    assert_int_equal(s.hits, 1);
    assert_int_equal(s.extra, 1);
    assert_int_equal(s.missing, 1);
    causal_graph_free(g);
}

/* ---- exports --------------------------------------------------------------------------------- */

static int occurrences(const char *in, const char *what)
{
    int n = 0;
    for (; (in = strstr(in, what)); in += strlen(what)) n++;
    return n;
}

/* Every line is the head, a setting, a node, an edge between existing nodes, or the end. */
static void check_dot(const char *dot)
{
    char from[32], to[32], declared[48];
    assert_int_equal(strncmp(dot, "digraph fans {\n", 15), 0);
    assert_string_equal(dot + strlen(dot) - 2, "}\n");
    for (const char *line = dot; *line; line = strchr(line, '\n') + 1) {
        const char *arrow = strstr(line, " -> ");
        if (!arrow || arrow > strchr(line, '\n')) continue;
        snprintf(from, sizeof from, "%.*s", (int)(arrow - line - 2), line + 2);
        snprintf(to, sizeof to, "%.*s", (int)strcspn(arrow + 4, " "), arrow + 4);
        snprintf(declared, sizeof declared, "\n  %s [label=", from);
        if (!strstr(dot, declared)) fail_msg("the edge's cause '%s' is no node", from);
        snprintf(declared, sizeof declared, "\n  %s [label=", to);
        if (!strstr(dot, declared)) fail_msg("the edge's effect '%s' is no node", to);
    }
}

static void dot_names_nodes_and_edges(void **state)
{
    (void)state;
    causal_graph *g = chain();
    text t = {0};
    causal_dot(g, &t);
    assert_ok(text_done(&t));
    check_dot(t.s);
    assert_int_equal(occurrences(t.s, " -> "), 5 + 3 + 1 + 1 + 1 + 2 + 1 + SIZE.q);
    assert_non_null(strstr(t.s, "s0_now -> s1_next [label=\"0.90\"]"));
    assert_non_null(strstr(t.s, "theta_s0_next -> s0_next"));
    assert_non_null(strstr(t.s, "theta_s1_now -> theta_s0_next"));
    text_free(&t);
    causal_graph_free(g);
}

/* Tags open and close in order; attributes are quoted. */
static void check_xml(const char *xml)
{
    char open[16][32];
    int depth = 0;
    for (const char *at = xml; (at = strchr(at, '<')); at++) {
        const char *end = strchr(at, '>');
        assert_non_null(end);
        char name[32];
        bool closes = at[1] == '/';
        snprintf(name, sizeof name, "%.*s", (int)strcspn(at + 1 + closes, " />"), at + 1 + closes);
        int quotes = 0;
        for (const char *c = at; c < end; c++) quotes += *c == '"';
        assert_int_equal(quotes % 2, 0);
        if (closes) {
            assert_true(depth > 0);
            assert_string_equal(open[--depth], name);
        } else if (end[-1] != '/') {
            assert_true(depth < 16);
            snprintf(open[depth++], sizeof open[0], "%s", name);
        }
    }
    assert_int_equal(depth, 0);
}

static void the_drawing_is_well_formed(void **state)
{
    (void)state;
    causal_graph *g = chain();
    text t = {0};
    causal_svg(g, &t);
    assert_ok(text_done(&t));
    check_xml(t.s);
    /* theta_s2 has no path to the reward: it is folded away, with its two edges */
    assert_int_equal(occurrences(t.s, "<rect class=\"node"), 2 * 5 + 2 + 1 + 2 * (2 + 2));
    assert_int_equal(occurrences(t.s, "<path"), 14 - 1 + SIZE.q);
    assert_int_equal(occurrences(t.s, "class=\"off\" stroke"), 4); /* into s3 and s4 */
    assert_non_null(strstr(t.s, "<title>s0 → s1′, 0.90</title>"));
    assert_non_null(strstr(t.s, "1 more without a path to r"));
    text_free(&t);
    causal_graph_free(g);
}

static void json_and_text_tell_the_same(void **state)
{
    (void)state;
    causal_graph *g = chain();
    json_t *j = causal_json(g);
    json_t *C = json_object_get(json_object_get(j, "masks"), "C_ss");
    assert_float_equal(json_real_value(json_array_get(json_array_get(C, 1), 0)), 0.9, 1e-9);
    assert_true(json_is_true(json_array_get(json_object_get(j, "s_min"), 2)));
    assert_true(json_is_false(json_array_get(json_object_get(j, "s_min"), 3)));
    json_decref(j);
    text t = {0};
    causal_text(g, &t);
    assert_ok(text_done(&t));
    assert_non_null(strstr(t.s, "s_min     s0 s1 s2\n"));
    assert_non_null(strstr(t.s, "theta_min theta_s0 theta_s1 theta_r0 theta_r1\n"));
    assert_non_null(strstr(t.s, "0.90* 1.00*"));
    text_free(&t);
    causal_graph_free(g);
}

/* ---- names ----------------------------------------------------------------------------------- */

static const char *const states[] = {"torso_z", "pitch", "vx", "arm.0", "arm.1"};
static const char *const actions[] = {"thigh", "shin"};

static void every_export_names_its_nodes(void **state)
{
    (void)state;
    causal_graph *g = chain();
    text t = {0};
    assert_ok(causal_graph_name(g, states, states)); /* names may be given again */
    assert_ok(causal_graph_name(g, states, actions));
    causal_text(g, &t);
    assert_non_null(strstr(t.s, "s_min     torso_z pitch vx\n"));
    assert_non_null(strstr(t.s, "C_as, causes: thigh shin\n  torso_z   0.00"));
    assert_non_null(strstr(t.s, "c_sr, causes: torso_z pitch vx arm.0 arm.1\n  r "));
    text_free(&t);
    causal_dot(g, &t);
    check_dot(t.s);
    assert_non_null(strstr(t.s, "  s0_now [label=\"torso_z\""));
    assert_non_null(strstr(t.s, "  a1_now [label=\"shin\""));
    text_free(&t);
    causal_svg(g, &t);
    check_xml(t.s);
    assert_non_null(strstr(t.s, "<title>torso_z → pitch′, 0.90</title>"));
    assert_null(strstr(t.s, ">s0<"));
    text_free(&t);
    causal_graph_free(g);
}

/* The text of a node fits into its box, and the boxes into the drawing. */
static void long_names_widen_the_drawing(void **state)
{
    (void)state;
    static const char *const wide[] = {"abcdefghijklmnopqrstuvwxyz01234", "b", "c", "d", "e"};
    causal_graph *g = chain();
    text plain = {0}, t = {0};
    int width[2];
    causal_svg(g, &plain);
    assert_ok(causal_graph_name(g, wide, actions));
    causal_svg(g, &t);
    assert_int_equal(sscanf(strstr(plain.s, "width=\""), "width=\"%d", &width[0]), 1);
    assert_int_equal(sscanf(strstr(t.s, "width=\""), "width=\"%d", &width[1]), 1);
    assert_int_equal(width[0], 960);
    assert_true(width[1] > 960 + 31 * 6);
    text_free(&plain);
    text_free(&t);
    causal_graph_free(g);
}

/* s1 -> s2 has 0.6; a third edge may be one. */
static void unsure_edges_are_drawn_as_unsure(void **state)
{
    (void)state;
    causal_graph *g = chain();
    text t[3] = {{0}};
    set(g, CAUSAL_C_ss, 2, 0, 0.3);
    assert_true(causal_unsure(g, CAUSAL_C_ss, 2, 1) && causal_unsure(g, CAUSAL_C_ss, 2, 0));
    assert_false(causal_unsure(g, CAUSAL_C_ss, 1, 0) || causal_unsure(g, CAUSAL_C_ss, 3, 0));
    causal_text(g, &t[0]);
    causal_dot(g, &t[1]);
    causal_svg(g, &t[2]);
    assert_non_null(strstr(t[0].s, "0.30? 0.60? 1.00* 0.00"));
    assert_non_null(strstr(t[1].s, "label=\"0.60\", style=dashed]"));
    assert_int_equal(occurrences(t[1].s, "dashed"), 3); /* a0 -> r has 0.51, s2 -> r 0.8 */
    assert_non_null(strstr(t[2].s, "class=\"s unsure\""));
    for (int i = 0; i < 3; i++) text_free(&t[i]);
    causal_graph_free(g);
}

static void json_keeps_names(void **state)
{
    (void)state;
    causal_graph *g = chain(), *back;
    char name[TEXT_NAME];
    json_t *j = causal_json(g);
    assert_null(json_object_get(j, "states")); /* as version 0.1 wrote it */
    assert_ok(causal_from_json(&back, j));
    assert_string_equal(causal_state(back, 3, name), "s3");
    assert_string_equal(causal_action(back, 1, name), "a1");
    causal_graph_free(back);
    json_decref(j);
    assert_ok(causal_graph_name(g, states, actions));
    j = causal_json(g);
    assert_ok(causal_from_json(&back, j));
    assert_string_equal(causal_state(back, 3, name), "arm.0");
    assert_string_equal(causal_action(back, 1, name), "shin");
    causal_graph_free(back);
    json_decref(j);
    causal_graph_free(g);
}

/* ---- and back -------------------------------------------------------------------------------- */

static void json_reads_back_to_the_same_graph(void **state)
{
    (void)state;
    causal_graph *g = chain(), *back;
    g->threshold = 0.4;
    json_t *j = causal_json(g), *again;
    assert_ok(json_write_file(in_test_folder("graph.json"), j));
    json_decref(j);
    assert_ok(json_read_file(&j, in_test_folder("graph.json")));
    assert_ok(causal_from_json(&back, j));
    again = causal_json(back);
    assert_true(json_equal(j, again));
    json_decref(again);
    json_decref(j);
    causal_graph_free(back);
    causal_graph_free(g);
}

static void refused(json_t *j, const char *part)
{
    causal_graph *g;
    assert_fails(causal_from_json(&g, j), FANS_EFORMAT, part);
    json_decref(j);
}

/* The JSON of chain(), with one key replaced. */
static json_t *with(const char *key, json_t *value)
{
    causal_graph *g = chain();
    json_t *j = causal_json(g);
    causal_graph_free(g);
    json_object_set_new(j, key, value);
    return j;
}

static void what_is_no_graph_is_refused(void **state)
{
    (void)state;
    refused(json_array(), "'d' is not a whole number from 1 to 1000");
    refused(with("d", json_integer(-1)), "'d' is not");
    refused(with("p", json_integer(100000)), "'p' is not");
    refused(with("d", json_integer(4)), "mask 'C_ss' does not have 4 rows");
    refused(with("m", json_integer(3)), "mask 'C_as': row 0 does not have 3 columns");
    refused(with("threshold", json_string("half")), "'threshold' is not a number");
    refused(with("masks", json_null()), "mask 'C_ss' does not have 5 rows");
    refused(with("s_min", json_array()), "'s_min' is not a list of 5 flags");
    json_t *j = with("threshold", json_real(0.5));
    json_t *C = json_object_get(json_object_get(j, "masks"), "C_ss");
    json_array_set_new(json_array_get(C, 2), 3, json_real(1.5));
    refused(j, "mask 'C_ss', row 2, column 3: not a probability");
    refused(with("states", json_pack("[s]", "a")), "'states' is not a list of 5 names");
    refused(with("states", json_pack("[sssss]", "a", "b", "c", "d", "<script>")), "'states'");
    refused(with("states", json_pack("[sssss]", "a", "b", "c", "d", "e")), "'actions' is not");
}

static void note_edge(void *user, const char *cause, const char *effect, bool extra)
{
    text_add(user, "%s%s>%s ", extra ? "+" : "-", cause, effect);
}

static void two_graphs_are_compared_edge_by_edge(void **state)
{
    (void)state;
    causal_graph *a = chain(), *b = chain(), *c;
    causal_pair p;
    text edges = {0};
    assert_ok(causal_pair_of(&p, a, b));
    assert_true(p.all.f1 == 1 && p.all.shd == 0);
    set(b, CAUSAL_C_ss, 1, 0, 0.2); /* gone */
    set(b, CAUSAL_c_ar, 0, 1, 0.7); /* new */
    set(b, CAUSAL_C_ts, 4, 2, 0);   /* theta_s touches s4 no more … */
    set(b, CAUSAL_C_ts, 0, 0, 0);   /* … and s0 by another of its factors */
    set(b, CAUSAL_C_ts, 0, 1, 1);
    set(b, CAUSAL_C_tt_s, 2, 2, 1); /* of factors nobody can tell */
    assert_ok(causal_pair_of(&p, a, b));
    causal_pair_edges(a, b, note_edge, &edges);
    assert_string_equal(edges.s, "-s0>s1 +a1>r -theta_s>s4 ");
    assert_int_equal(p.mask[CAUSAL_C_ss].hits, 7);
    assert_int_equal(p.mask[CAUSAL_C_ss].missing, 1);
    assert_int_equal(p.mask[CAUSAL_c_ar].extra, 1);
    assert_int_equal(p.touched.hits, 1);
    assert_int_equal(p.all.hits, 7 + 1 + 1 + 1 + 1);
    assert_float_equal(p.all.f1, 22.0 / (22 + 3), 1e-9);
    text_free(&edges);
    assert_ok(causal_graph_new(&c, (fnvae_dims){.d = 5, .m = 1, .p = 3, .q = 2}));
    assert_int_equal(causal_pair_of(&p, a, c), FANS_EINVAL);
    causal_graph_free(a);
    causal_graph_free(b);
    causal_graph_free(c);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(two_graphs_are_compared_edge_by_edge),
        cmocka_unit_test(only_what_reaches_the_reward_is_kept),
        cmocka_unit_test(closure_equals_a_search_for_paths),
        cmocka_unit_test(scores_count),
        cmocka_unit_test(dot_names_nodes_and_edges),
        cmocka_unit_test(the_drawing_is_well_formed),
        cmocka_unit_test(json_and_text_tell_the_same),
        cmocka_unit_test(every_export_names_its_nodes),
        cmocka_unit_test(long_names_widen_the_drawing),
        cmocka_unit_test(unsure_edges_are_drawn_as_unsure),
        cmocka_unit_test(json_keeps_names),
        cmocka_unit_test(json_reads_back_to_the_same_graph),
        cmocka_unit_test(what_is_no_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, make_test_folder, remove_test_folder);
}
