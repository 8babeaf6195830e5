/* train_save.c - checkpoints of a training, and resuming from them. */
#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/folder.h"
#include "base/os.h"
#include "train/train_parts.h"

static const char CHECKPOINT[] = "checkpoint.safetensors", NEXT[] = "checkpoint.next.safetensors";

/* ---- saving ---------------------------------------------------------------------------------- */

int train_make_writers(training *t)
{
    int rc = 0, most = pool_threads(t->s.pool);
    if (most > TRAIN_WRITERS) most = TRAIN_WRITERS;
    if (most > t->count) most = t->count;
    for (; t->writer_count < most; t->writer_count++)
        TRY(checkpoint_new(&t->writers[t->writer_count], &t->replicas[0].state));
    for (int i = 0; i < t->writer_count; i++)
        for (int r = 1; r < t->count; r++)
            TRY(checkpoint_fit(t->writers[i], &t->replicas[r].state));
out:
    return rc;
}

/* Some runs, one per writer; with copies of messages, which belong to the thread that failed. */
typedef struct batch {
    training *t;
    int first, codes[TRAIN_WRITERS];
    char messages[TRAIN_WRITERS][512];
} batch;

static int gather(training *t, int r, checkpoint *writer)
{
    replica *p = &t->replicas[r];
    for (int w = 0; !t->s.outside && w < t->worlds_each; w++)
        world_save(worlds_at(t->scene.worlds, r * t->worlds_each + w), p->bytes[w]);
    int rc = state_refresh(&p->state);
    unsigned before = fans_error_count();
    if (rc == 0 && t->s.algo->leave)
        rc = error_settle("leave", t->s.algo->leave(t->agent, r, p->run.path), before);
    run_mark(&p->run);
    if (rc == 0) checkpoint_gather(writer, &p->state);
    return rc;
}

static int write_next(training *t, int r, checkpoint *writer)
{
    char next[RUN_PATH];
    replica *p = &t->replicas[r];
    int rc = 0;
    TRY(run_sync(&p->run));
    TRY(run_file(&p->run, NEXT, next));
    TRY(checkpoint_write(writer, &p->state, t->kind, next));
out:
    return rc;
}

static void write_item(void *arg, int i)
{
    batch *b = arg;
    b->codes[i] = write_next(b->t, b->first + i, b->t->writers[i]);
    if (b->codes[i] < 0) snprintf(b->messages[i], sizeof b->messages[i], "%s", fans_error());
}

static int write_batch(training *t, int first, int n)
{
    batch b = {.t = t, .first = first};
    for (int i = 0; i < n; i++) {
        int rc = gather(t, first + i, t->writers[i]);
        if (rc < 0) return rc;
    }
    pool_run(t->s.pool, n, write_item, &b);
    for (int i = 0; i < n; i++)
        if (b.codes[i] < 0) return fans_fail(b.codes[i], "%s", b.messages[i]);
    return 0;
}

/* Trainings of one process take turns, so its wall time says little about any of them. */
static double unshared(const training *t)
{
    const train_times *x = &t->times;
    double all = x->worlds + x->acting + x->updating + x->observing + x->saving;
    return (all - t->busy_saved) / t->count;
}

double train_busy(const training *t, const replica *p)
{
    return p->busy + unshared(t);
}

static void share_time(training *t)
{
    double each = unshared(t);
    for (int r = 0; r < t->count; r++) t->replicas[r].busy += each;
    t->busy_saved += each * t->count;
}

/* First all runs write their next checkpoint, then all rename it: a crash in between leaves a step
 * that every run has. */
int train_save(training *t)
{
    char path[RUN_PATH], next[RUN_PATH];
    int rc = 0;
    double now = os_now();
    if (!train_keeps(t, 0)) return 0; /* it has no folder */
    share_time(t);
    for (int r = 0; r < t->count; r++) t->replicas[r].wall += now - t->saved;
    t->saved = now;
    for (int r = 0; r < t->count; r += t->writer_count) {
        int left = t->count - r;
        TRY(write_batch(t, r, left < t->writer_count ? left : t->writer_count));
    }
    for (int r = 0; r < t->count; r++) {
        TRY(run_file(&t->replicas[r].run, NEXT, next));
        TRY(run_file(&t->replicas[r].run, CHECKPOINT, path));
        if (rename(next, path) < 0)
            TRY(fans_fail(FANS_EIO, "%s: cannot replace: %s", path, strerror(errno)));
    }
    t->save_took = os_now() - now;
    t->times.saving += t->save_took;
out:
    return rc;
}

/* ---- resuming -------------------------------------------------------------------------------- */

static int peek(const char *folder, const char *name, int64_t *tick)
{
    char path[RUN_PATH];
    *tick = -1;
    if (snprintf(path, sizeof path, "%s/%s", folder, name) >= RUN_PATH) return 0;
    int rc = os_exists(path);
    if (rc <= 0) return rc;
    rc = checkpoint_peek(path, "run/tick", tick);
    if (rc == 0 && *tick < 0)
        rc = fans_fail(FANS_EFORMAT, "%s: 'run/tick' is %lld, before the first step", path,
                       (long long)*tick);
    return rc;
}

int run_position_of(const char *folder, run_position *s)
{
    *s = (run_position){-1, -1};
    if (!folder) return 0;
    int rc = folder_check(folder);
    if (rc < 0) return rc;
    rc = peek(folder, NEXT, &s->next);
    if (rc == FANS_EFORMAT) s->next = -1; /* a crash may leave a partial file */
    return rc < 0 && rc != FANS_EFORMAT ? rc : peek(folder, CHECKPOINT, &s->tick);
}

static bool has_tick(const run_position *s, int64_t tick)
{
    return s->tick == tick || (tick >= 0 && s->next == tick);
}

/* The latest step that all runs have, or -1 if there is nothing to resume. A damaged checkpoint is
 * an error: starting over would destroy what might still be recovered. */
static int find_tick(const training *t, run_position *positions, int64_t *tick)
{
    int rc = 0;
    for (int r = 0; r < t->count; r++) TRY(run_position_of(t->replicas[r].run.path, &positions[r]));
    const run_position *s =
        &positions[0]; /* looking: another process may be about to rename `next` */
    bool next_first = s->next > s->tick && !t->s.look_only;
    for (int try = 0; try < 2; try++) {
        bool all = true;
        *tick = (try == 0) == next_first ? s->next : s->tick;
        for (int r = 0; r < t->count; r++) all = all && has_tick(&positions[r], *tick);
        if (all) return 0;
    }
    return fans_fail(FANS_EFORMAT, "%s and others: the checkpoints are at different steps",
                     t->replicas[0].run.path);
out:
    return rc;
}

/* The caller's bytes are as many as they were. */
static int resume_outside(training *t, const char *path)
{
    int64_t bytes;
    int rc = checkpoint_length(path, TRAIN_YOURS, &bytes);
    return rc < 0 ? rc : train_fit_yours(t, (size_t)bytes);
}

static int resume_replica(training *t, int r, const char *name)
{
    char path[RUN_PATH];
    replica *p = &t->replicas[r];
    int rc = 0;
    TRY(run_file(&p->run, name, path));
    if (t->s.outside) TRY(resume_outside(t, path));
    TRY(checkpoint_read(&p->state, t->kind, path));
    for (int w = 0; !t->s.look_only && !t->s.outside && w < t->worlds_each; w++) {
        int i = r * t->worlds_each + w;
        rc = world_restore(worlds_at(t->scene.worlds, i), p->bytes[w], &t->scene.now, i);
        if (rc < 0) TRY(fans_fail_within(rc, "%s", path));
    }
out:
    return rc;
}

/* Makes the file that was resumed from the checkpoint; removes a later one that not all runs had.
 */
static int choose_checkpoint(const run *r, bool use_next)
{
    char path[RUN_PATH], next[RUN_PATH];
    int rc = 0;
    TRY(run_file(r, NEXT, next));
    TRY(run_file(r, CHECKPOINT, path));
    if (use_next ? rename(next, path) < 0 : remove(next) < 0 && errno != ENOENT)
        TRY(fans_fail(FANS_EIO, "%s: cannot %s: %s", next, use_next ? "rename" : "remove",
                      strerror(errno)));
out:
    return rc;
}

int train_resume(training *t, bool *resumed)
{
    int rc = 0;
    int64_t tick;
    run_position *positions = mem_alloc((size_t)t->count * sizeof *positions);
    if (!positions) return FANS_ENOMEM;
    TRY(find_tick(t, positions, &tick));
    for (int r = 0; tick >= 0 && r < t->count; r++)
        TRY(resume_replica(t, r, positions[r].tick == tick ? CHECKPOINT : NEXT));
    for (int r = 0; !t->s.look_only && r < t->count; r++)
        TRY(choose_checkpoint(&t->replicas[r].run, positions[r].tick != tick));
    *resumed = tick >= 0;
out:
    mem_free(positions);
    return rc;
}
