/* worker.c - a worker's share of a plan: claim, train, note what became of it. */
#include "cli/worker.h"

#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/mem.h"
#include "cli/cli.h"

/* ---- training -------------------------------------------------------------------------------- */

/* Takes a run into the batch, unless it is done, or another process trains it. It may have been
 * finished by another one until it was locked. */
static int claim(worker *w, int i)
{
    const plan_run *r = &w->plan.runs[w->first + i];
    bool done;
    int held, rc = run_lock(r->folder, &held);
    if (rc == RUN_BUSY) w->fates[i] = FATE_ELSEWHERE;
    if (rc != 0) return rc < 0 ? rc : 0;
    rc = session_is_done(&w->list, i, &done);
    if (rc < 0 || done) {
        if (held >= 0) close(held);
        w->fates[i] = FATE_DONE_BEFORE;
        return rc;
    }
    w->which[w->batch_count] = i;
    w->held[w->batch_count] = held;
    w->batch[w->batch_count] = *r;
    w->batch[w->batch_count++].claimed = true;
    return 0;
}

static void release(worker *w)
{
    for (int i = 0; i < w->batch_count; i++)
        if (w->held[i] >= 0) close(w->held[i]);
    w->batch_count = 0;
}

/* A run's lines on stderr say why it failed. */
static void note_fates(worker *w, const session *s, bool ended)
{
    for (int i = 0; i < s->run_count; i++) {
        if (*s->runs[i].fault) fprintf(stderr, "fans: %s\n", s->runs[i].fault);
        if (*s->runs[i].fault || ended)
            w->fates[w->which[i]] = *s->runs[i].fault ? FATE_FAILED : FATE_DONE;
    }
}

static int train_batch(worker *w, watch *eye)
{
    session s = {0};
    int rc = 0;
    w->how.runs = w->batch;
    w->how.count = w->batch_count;
    TRY(session_open(&s, &w->how));
    rc = watch_train(eye, &s);
    if (rc >= 0) note_fates(w, &s, rc == 0);
out:
    session_close(&s);
    return rc;
}

int worker_train(worker *w, watch *eye, int together)
{
    int rc = 0;
    for (int i = 0; rc == 0 && i < w->n;) {
        for (; i < w->n && w->batch_count < together; i++) TRY(claim(w, i));
        if (w->batch_count) rc = train_batch(w, eye);
        release(w);
    }
out:
    release(w);
    return rc;
}

/* ---- life ------------------------------------------------------------------------------------ */

int worker_open(worker *w, int k, int shards)
{
    int rc = 0;
    w->first = run_plan_cut(w->plan.count, k, shards);
    w->n = run_plan_cut(w->plan.count, k + 1, shards) - w->first;
    size_t n = (size_t)w->n + 1;
    TRY((w->fates = mem_alloc(n * sizeof *w->fates)) ? 0 : FANS_ENOMEM);
    TRY((w->batch = mem_alloc(n * sizeof *w->batch)) ? 0 : FANS_ENOMEM);
    TRY((w->which = mem_alloc(n * sizeof *w->which)) ? 0 : FANS_ENOMEM);
    TRY((w->held = mem_alloc(n * sizeof *w->held)) ? 0 : FANS_ENOMEM);
    session_wish all = w->how;
    all.runs = w->plan.runs + w->first;
    all.count = w->n;
    if (w->n) TRY(session_list(&w->list, &all));
out:
    return rc;
}

void worker_close(worker *w)
{
    session_close(&w->list);
    mem_free(w->fates);
    mem_free(w->batch);
    mem_free(w->which);
    mem_free(w->held);
    run_plan_free(&w->plan);
}

int worker_count(const worker *w, fate f)
{
    int n = 0;
    for (int i = 0; i < w->n; i++) n += w->fates[i] == f;
    return n;
}

json_t *worker_figures(const worker *w)
{
    return json_pack("{s:i, s:i, s:i, s:i, s:i, s:i}", "runs", w->n, "done_before",
                     worker_count(w, FATE_DONE_BEFORE), "done", worker_count(w, FATE_DONE),
                     "failed", worker_count(w, FATE_FAILED), "elsewhere",
                     worker_count(w, FATE_ELSEWHERE), "left", worker_count(w, FATE_WAITING));
}

int worker_sum_up(const worker *w, const watch *eye)
{
    int left = worker_count(w, FATE_WAITING) + worker_count(w, FATE_ELSEWHERE),
        failed = worker_count(w, FATE_FAILED);
    printf("%d run%s: %d done before, %d done now, %d failed, %d with another worker, %d left\n",
           w->n, plural(w->n), worker_count(w, FATE_DONE_BEFORE), worker_count(w, FATE_DONE),
           failed, worker_count(w, FATE_ELSEWHERE), worker_count(w, FATE_WAITING));
    fflush(stdout);
    if (eye->signal == SIGINT) return CLI_SIGNAL + SIGINT;
    if (left) return CLI_LEFT;
    return failed ? fans_fail(FANS_ENUMERIC, "%d of %d runs failed", failed, w->n) : 0;
}

int read_time(const char *name, const char *s, double *seconds)
{
    char *end;
    *seconds = 0;
    for (const char *at = s; *at >= '0' && *at <= '9'; at = end + 1) {
        *seconds = 60 * *seconds + (double)strtol(at, &end, 10);
        if (!*end && *seconds > 0) return 0;
        if (*end != ':') break;
    }
    return fans_fail(CLI_USAGE, "%s %s: must be a time such as 3:50:00 or 90", name, s);
}
