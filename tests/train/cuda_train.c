/* cuda_train.c - whole trainings on a GPU, where queued updates run while worlds step:
 * bit-identical every time, alone and in turn with others, stopped or not. */
#include "train_rig.h"

static const char *const TASKS[] = {
    "[train]\nepisodes = 6\ncheckpoint_every = 70\n[env]\nname = half_cheetah\nhorizon = 30\n"
    "[change.speed]\nclock = block\nlength = 7\nfunction = walk\noffset = 1\nlow = 0\nhigh = 3\n"
    "step = 0.5\n",
    "[train]\nepisodes = 6\ncheckpoint_every = 70\n[env]\nname = half_cheetah\nhorizon = 30\n"
    "[change.wind]\nclock = episode\nfunction = sine\noffset = 10\namplitude = 10\nfrequency = "
    "0.5\n",
};

static void open_rig(rig *t, const char *algo, const char *folder)
{
    if (rig_open_tasks(t, TASKS, 2, algo, folder, 1, 4, 2) < 0) fail_msg("%s", fans_error());
}

static void alone(const char *algo, const char *folder, rig *t)
{
    open_rig(t, algo, folder);
    if (training_run(t->training, NULL, NULL) < 0) fail_msg("%s", fans_error());
}

static void compare(const rig *a, const rig *b)
{
    for (int r = 0; r < 8; r++) {
        rig_same_state(a->training, r, b->training, r);
        rig_same_file(a->folders[r], b->folders[r], "metrics.csv");
    }
}

enum { MOST = 16 }; /* algorithms; all that are in the list are held to this */

/* All algorithms at once, each on its own backend, stopped at step `at` on the way. */
static void at_once(char folders[MOST][64], bool apart, int64_t at, rig *x)
{
    for (int k = 0; k < 2; k++) {
        training *list[MOST];
        rig_stop stop = {at};
        for (int i = 0; i < algo_count(); i++) {
            open_rig(&x[i], algo_at(i)->name, folders[i]);
            list[i] = x[i].training;
        }
        int rc = trainings_run(list, algo_count(), apart, k == 0 ? rig_stops : NULL, &stop);
        if (rc < 0 && rc != FANS_ESTOP) fail_msg("%s", fans_error());
        for (int i = 0; k == 0 && i < algo_count(); i++) rig_close(&x[i]);
    }
}

static void overlap_changes_no_bytes(void **state)
{
    (void)state;
    char folders[4][MOST][64];
    assert_true(algo_count() <= MOST);
    static rig x[4][MOST];
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < algo_count(); i++) rig_folder(folders[k][i], sizeof folders[k][i]);
    for (int k = 0; k < 2; k++) /* the same again */
        for (int i = 0; i < algo_count(); i++) alone(algo_at(i)->name, folders[k][i], &x[k][i]);
    at_once(folders[2], false, 60, x[2]);
    at_once(folders[3], true, 101, x[3]);
    for (int k = 1; k < 4; k++)
        for (int i = 0; i < algo_count(); i++) compare(&x[0][i], &x[k][i]);
    for (int k = 0; k < 4; k++)
        for (int i = 0; i < algo_count(); i++) {
            rig_close(&x[k][i]);
            rig_remove(folders[k][i]);
        }
}

/* More than the slots hold, while the GPU is busy: reads return what was written. */
static void large_arrays_arrive_whole(void **state)
{
    (void)state;
    enum { COLUMNS = 1000, ROWS = 12000 }; /* 48 MB */
    pool *threads;
    nn_backend *b;
    nn_graph *g;
    uint64_t seed = 1;
    size_t n = (size_t)COLUMNS * ROWS;
    assert_int_equal(pool_new(&threads, 1), 0);
    if (nn_device_new(&b, rig_device, NN_FP32, threads, NULL, 0) < 0) fail_msg("%s", fans_error());
    assert_int_equal(nn_graph_new(&g, b, 1, &seed), 0);
    nn_var v = nn_input(g, "v", 1, ROWS, COLUMNS), y = nn_affine(v, 2, 1);
    nn_plan *plan;
    assert_int_equal(nn_plan_new(&plan, g, &y, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(g), 0);
    float *from = mem_alloc(n * sizeof *from), *to = mem_alloc(n * sizeof *to);
    assert_true(from && to);
    for (int k = 0; k < 5; k++) {
        for (size_t i = 0; i < n; i++) from[i] = (float)((i * 7 + (size_t)k) % 1021);
        nn_write_all(v, from);
        assert_int_equal(nn_plan_run(plan), 0);
        memset(from, 0xff, n * sizeof *from); /* already copied */
    }
    nn_read_all(y, to);
    for (size_t i = 0; i < n; i++)
        if (to[i] != 2 * (float)((i * 7 + 4) % 1021) + 1)
            fail_msg("number %zu is %g", i, (double)to[i]);
    mem_free(from);
    mem_free(to);
    nn_graph_free(g);
    nn_backend_free(b);
    pool_free(threads);
}

enum { REPLICAS = 3 };

/* The caller's rows, of either type. */
typedef struct caller {
    nn_type type;
    float *floats;
    uint8_t *bytes;
} caller;

static void put(caller *c, int i, unsigned x)
{
    if (c->type == NN_F32)
        c->floats[i] = (float)x;
    else
        c->bytes[i] = (uint8_t)x;
}

static float get(const caller *c, int i)
{
    return c->type == NN_F32 ? c->floats[i] : (float)c->bytes[i];
}

/* Writes some rows of every replica's first half, and sends them; and all of replica 0's second. */
static void change_table(nn_var table, caller *rows, nn_place *places, int k, rng *r)
{
    int n = nn_shape_of(table).B, width = nn_shape_of(table).D;
    int count = k % 2 ? REPLICAS * n / 2 : 5; /* more than a slot; a few */
    for (int i = 0; i < count; i++) {
        places[i] = (nn_place){i % REPLICAS, (int)rng_below(r, (uint32_t)n / 2)};
        int row = (places[i].replica * n + places[i].row) * width;
        for (int j = 0; j < width; j++) put(rows, row + j, rng_below(r, 256));
    }
    nn_table_send_rows(table, places, count);
    for (int i = n / 2 * width; i < n * width; i++) put(rows, i, (unsigned)(i % 251 + k));
    nn_table_send(table, 0, n / 2, n / 2);
}

/* Requested rows: one in eight is none. */
static void ask(int32_t *at, int count, int n, rng *r)
{
    for (int i = 0; i < count; i++) at[i] = i % 8 ? (int32_t)rng_below(r, (uint32_t)n) : -1;
}

/* Rows sent one by one and as a block, while gathers of earlier ones are still queued. */
static void follow_table(int n, int width, int asked, int joined, nn_type type)
{
    pool *threads;
    nn_backend *b;
    nn_graph *g;
    nn_plan *plan;
    const uint64_t seeds[REPLICAS] = {1, 2, 3};
    size_t size = (size_t)(REPLICAS * n * width);
    caller rows = {type, mem_alloc(size * sizeof(float)), mem_alloc(size)};
    int32_t *at = mem_alloc(sizeof *at * (size_t)(REPLICAS * asked));
    float *y = mem_alloc(sizeof *y * (size_t)(REPLICAS * asked * width));
    nn_place *places = mem_alloc(sizeof *places * (size_t)(REPLICAS * n));
    rng r = rng_stream(1, "test", 0);
    assert_true(rows.floats && rows.bytes && at && y && places);
    assert_int_equal(pool_new(&threads, 1), 0);
    if (nn_device_new(&b, rig_device, NN_FP32, threads, NULL, 0) < 0) fail_msg("%s", fans_error());
    assert_int_equal(nn_graph_new(&g, b, REPLICAS, seeds), 0);
    void *memory = type == NN_F32 ? (void *)rows.floats : rows.bytes;
    nn_var table = nn_table(g, "table", n, width, type, memory);
    nn_var input = nn_index(g, "at", 1, asked / joined, joined);
    nn_var out = nn_gather(table, input);
    assert_int_equal(nn_plan_new(&plan, g, &out, 1, 0, NULL, 0), 0);
    assert_int_equal(nn_graph_commit(g), 0);
    for (int k = 0; k < 6; k++) {
        change_table(table, &rows, places, k, &r);
        ask(at, REPLICAS * asked, n, &r);
        nn_write_index_all(input, at);
        assert_int_equal(nn_plan_run(plan), 0);
    }
    nn_read_all(out, y);
    for (int i = 0; i < REPLICAS * asked * width; i++) {
        int row = i / width, replica = row / asked;
        if (y[i] != (at[row] < 0 ? 0 : get(&rows, (replica * n + at[row]) * width + i % width)))
            fail_msg("number %d is %g", i, (double)y[i]);
    }
    nn_graph_free(g);
    nn_backend_free(b);
    pool_free(threads);
    mem_free(rows.floats);
    mem_free(rows.bytes);
    mem_free(at);
    mem_free(y);
    mem_free(places);
}

static void tables_follow_the_callers_memory(void **state)
{
    (void)state;
    follow_table(40000, 9, 500, 1, NN_F32);
    follow_table(40000, 9, 500, 5, NN_F32); /* five rows joined in one */
    follow_table(4, 300000, 8, 1, NN_F32);  /* a row is more than a slot */
    follow_table(40000, 9, 500, 1, NN_U8);
    follow_table(20000, 12, 500, 1, NN_U8); /* words of four */
    follow_table(4, 1200001, 8, 1, NN_U8);
}

int main(int argc, char **argv)
{
    nn_backend *gpu;
    nn_cuda_options o = {0};
    if (nn_cuda_new(&gpu, &o) < 0) {
        printf("skipped: %s\n", fans_error());
        return 77;
    }
    nn_backend_free(gpu);
    rig_device = "cuda";
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(large_arrays_arrive_whole),
        cmocka_unit_test(tables_follow_the_callers_memory),
        cmocka_unit_test(overlap_changes_no_bytes),
    };
    if (argc > 1) cmocka_set_test_filter(argv[1]);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
