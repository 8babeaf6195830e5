/* gemm.c - matrix products: oneDNN's, called with one thread per tile.
 *
 * Measured on one Zen 4 core over the shapes of our networks: oneDNN 105-113 GFLOP/s, OpenBLAS
 * 75-102. Products with one column, one row or inner extent 1 are memory-bound, and plain loops
 * beat a library call. In double precision, for the tests, everything is plain loops. */
#include "nn/gemm.h"

#include <assert.h>
#include <omp.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdatomic.h>

#include "base/error.h"
#include "base/os.h"
#include "base/pool.h"

#ifndef NN_DOUBLE
#    include <oneapi/dnnl/dnnl.h>
#endif

/* y = A x (+ y): one dot product per row. */
static void dots(int m, int k, const real *A, int lda, const real *x, int step, real beta, real *y,
                 int ldy)
{
    for (int i = 0; i < m; i++) {
        const real *a = A + (size_t)i * (size_t)lda;
        real s = 0;
        if (step == 1) {
#pragma omp simd reduction(+ : s)
            for (int j = 0; j < k; j++) s += a[j] * x[j];
        } else {
            for (int j = 0; j < k; j++) s += a[j] * x[(size_t)j * (size_t)step];
        }
        real *to = y + (size_t)i * (size_t)ldy;
        *to = beta != 0 ? *to + s : s;
    }
}

/* C = a b^T (+ C) for two vectors. */
static void outer(int m, int n, const real *a, int step_a, const real *b, int step_b, real beta,
                  real *C, int ldc)
{
    for (int i = 0; i < m; i++) {
        real s = a[(size_t)i * (size_t)step_a], *c = C + (size_t)i * (size_t)ldc;
        for (int j = 0; j < n; j++) {
            real v = s * b[(size_t)j * (size_t)step_b];
            c[j] = beta != 0 ? c[j] + v : v;
        }
    }
}

/* y = A^T x (+ y) into a column: the rows of A, weighted and summed. `m` is small enough for y to
 * be gathered in a buffer first when it does not lie contiguously. */
static void weighted_rows(int m, int k, const real *A, int lda, const real *x, int step, real beta,
                          real *y, int ldy)
{
    enum { PIECE = 256 };
    real sum[PIECE];
    for (int at = 0; at < m; at += PIECE) {
        int count = m - at < PIECE ? m - at : PIECE;
        for (int i = 0; i < count; i++) sum[i] = 0;
        for (int j = 0; j < k; j++) {
            const real *a = A + (size_t)j * (size_t)lda + at;
            real s = x[(size_t)j * (size_t)step];
            for (int i = 0; i < count; i++) sum[i] += s * a[i];
        }
        for (int i = 0; i < count; i++) {
            real *to = y + (size_t)(at + i) * (size_t)ldy;
            *to = beta != 0 ? *to + sum[i] : sum[i];
        }
    }
}

/* Products that failed, on any thread. */
static atomic_uint faults;

#ifdef NN_DOUBLE

static void product(bool ta, bool tb, int m, int n, int k, const real *A, int lda, const real *B,
                    int ldb, real beta, real *C, int ldc)
{
    for (int i = 0; i < m; i++) {
        for (int j = 0; j < n; j++) {
            real s = 0;
            for (int l = 0; l < k; l++)
                s +=
                    (ta ? A[l * lda + i] : A[i * lda + l]) * (tb ? B[j * ldb + l] : B[l * ldb + j]);
            C[i * ldc + j] = beta != 0 ? C[i * ldc + j] + s : s;
        }
    }
}

#else

/* The first product makes oneDNN write its code, and it crashes where it finds no room for that. */
static bool has_room(void)
{
    enum { ROOM = 32 << 20 };
    static atomic_bool had;
    if (!atomic_load(&had) && os_has_room(ROOM)) atomic_store(&had, true);
    return atomic_load(&had);
}

/* Where memory runs out while it writes its code, oneDNN throws, which C cannot catch: the handler
 * of what nobody catches jumps back into multiply. oneDNN's locks stay held then, so that no
 * further product is tried. Exceptions of others go on to the handler that was there. */
static os_uncaught *others;
static _Thread_local jmp_buf *thrown;
static atomic_bool broken;

static void jump_back(void)
{
    if (thrown) {
        atomic_store(&broken, true);
        longjmp(*thrown, 1);
    }
    if (others) others(); /* where this returns, C++ ends the process */
}

static void catch_throws(void)
{
    others = os_on_uncaught(jump_back);
}

static bool multiply(char ta, char tb, int m, int n, int k, const real *A, int lda, const real *B,
                     int ldb, real beta, real *C, int ldc)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    jmp_buf here;
    pthread_once(&once, catch_throws);
    if (atomic_load(&broken)) return false;
    if (_setjmp(here)) {
        thrown = NULL;
        return false;
    }
    thrown = &here;
    dnnl_status_t status = dnnl_sgemm(ta, tb, m, n, k, 1, A, lda, B, ldb, beta, C, ldc);
    thrown = NULL;
    return status == dnnl_success;
}

static void product(bool ta, bool tb, int m, int n, int k, const real *A, int lda, const real *B,
                    int ldb, real beta, real *C, int ldc)
{
    /* threads of the pool come here without gemm_enter: each sets itself once */
    static _Thread_local bool single;
    if (!single) {
        omp_set_num_threads(1);
        single = true;
    }
    if (!has_room() ||
        !multiply(ta ? 'T' : 'N', tb ? 'T' : 'N', m, n, k, A, lda, B, ldb, beta, C, ldc))
        atomic_fetch_add(&faults, 1); /* it found no memory to pack a matrix */
}

#endif

void gemm(bool ta, bool tb, int m, int n, int k, const real *A, int lda, const real *B, int ldb,
          real beta, real *C, int ldc)
{
    if (k == 1)
        outer(m, n, A, ta ? 1 : lda, B, tb ? ldb : 1, beta, C, ldc);
    else if (n == 1 && !ta)
        dots(m, k, A, lda, B, tb ? 1 : ldb, beta, C, ldc);
    else if (n == 1)
        weighted_rows(m, k, A, lda, B, tb ? 1 : ldb, beta, C, ldc);
    else
        product(ta, tb, m, n, k, A, lda, B, ldb, beta, C, ldc);
}

/* ---- batches --------------------------------------------------------------------------------- */

typedef struct tiling {
    int rows, columns;           /* of a tile */
    int row_tiles, column_tiles; /* how many */
    int items;                   /* tiles of all replicas and members */
} tiling;

/* Tiles of at least 64 rows keep 96 % of the speed of a whole product (oneDNN packs the right-hand
 * matrix anew for every call), and four of them are enough work to share for one network. */
static int tile_extent(int extent)
{
    int tile = ((extent + 3) / 4 + 15) / 16 * 16;
    if (tile < 64) tile = 64;
    if (tile > 512) tile = 512;
    return tile < extent ? tile : extent;
}

enum { CACHED = 128 * 1024 }; /* numbers: half of a second-level cache of 1 MiB */

static tiling tile(const gemm_batch *b, int replicas)
{
    tiling t = {b->m, b->n, 1, 1, 0};
    if (b->m > 96) {
        t.rows = tile_extent(b->m);
        if ((size_t)t.rows * (size_t)b->n > CACHED) { /* what is done to a tile finds it cached */
            t.rows = CACHED / b->n / 16 * 16;
            if (t.rows < 64) t.rows = 64;
        }
        t.row_tiles = (b->m + t.rows - 1) / t.rows;
    } else if (b->n > 256 || (b->n > 96 && b->k > 512)) {
        t.columns = tile_extent(b->n);
        t.column_tiles = (b->n + t.columns - 1) / t.columns;
    }
    t.items = replicas * b->members * t.row_tiles * t.column_tiles;
    return t;
}

enum { MOST_BATCHES = NN_MOST_INPUTS + 1 };

typedef struct batches {
    const gemm_batch *list;
    tiling tiling[MOST_BATCHES];
} batches;

static void run_tile(void *arg, int item)
{
    const batches *all = arg;
    int i = 0;
    while (item >= all->tiling[i].items) item -= all->tiling[i++].items;
    const gemm_batch *b = &all->list[i];
    const tiling *t = &all->tiling[i];

    /* item = ((replica · members + member) · row_tiles + row) · column_tiles + column */
    int column = item % t->column_tiles * t->columns;
    int row = item / t->column_tiles % t->row_tiles * t->rows;
    int which = item / t->column_tiles / t->row_tiles;
    size_t member = (size_t)(which % b->members), replica = (size_t)(which / b->members);
    int rows = b->m - row < t->rows ? b->m - row : t->rows;
    int columns = b->n - column < t->columns ? b->n - column : t->columns;

    const real *A = b->A + replica * b->A_replica + member * b->A_member;
    const real *B = b->B + replica * b->B_replica + member * b->B_member;
    real *C = b->C + replica * b->C_replica + member * b->C_member;
    gemm(b->ta, b->tb, rows, columns, b->k, A + (size_t)row * (b->ta ? 1 : (size_t)b->lda), b->lda,
         B + (size_t)column * (b->tb ? (size_t)b->ldb : 1), b->ldb, b->beta,
         C + (size_t)row * (size_t)b->ldc + column, b->ldc);
    if (b->done) b->done(b->arg, (int)replica, (int)member, row, rows, column, columns);
}

void gemm_run(pool *p, int replicas, const gemm_batch *list, int count)
{
    assert(count <= MOST_BATCHES);
    batches all = {.list = list};
    int items = 0;
    for (int i = 0; i < count; i++) {
        all.tiling[i] = tile(&list[i], replicas);
        items += all.tiling[i].items;
    }
    pool_run(p, items, run_tile, &all);
}

/* ---- around a plan -----------------------------------------------------------------------------
 */

gemm_guard gemm_enter(void)
{
    gemm_guard g = {.threads = omp_get_max_threads(), .faults = atomic_load(&faults)};
    os_hold_signals(&g.signals);
    omp_set_num_threads(1);
    return g;
}

int gemm_leave(const gemm_guard *g)
{
    omp_set_num_threads(g->threads);
    os_release_signals(&g->signals);
    if (atomic_load(&faults) == g->faults) return 0;
    return fans_fail(FANS_ENOMEM, "out of memory in a matrix product");
}
