/* train_many.c - several trainings side by side.
 *
 * In turn, a step each: on a CPU, where every step uses all threads. Or threaded, each on its own
 * thread: with a GPU a step is mostly waiting, and while one training waits for its actions, the
 * worlds of another can step. */
#include <pthread.h>
#include <stdio.h>

#include "base/error.h"
#include "train/train_parts.h"

/* Saves all that are not done, except the one that failed with `rc`, if any; reports the first
 * failure. They may be at different steps: runs do not depend on each other. */
static int stop_all(training *const *list, int count, const training *failed, int rc)
{
    char why[1024] = "";
    bool left = false;
    if (rc < 0) snprintf(why, sizeof why, "%s", fans_error());
    for (int i = 0; i < count; i++) {
        if (train_is_done(list[i]) || list[i] == failed || list[i]->fault.code) continue;
        int saved = train_save(list[i]);
        left = true;
        if (saved == 0 || rc < 0) continue;
        rc = saved;
        snprintf(why, sizeof why, "%s", fans_error());
    }
    if (rc < 0) return fans_fail(rc, "%s", why);
    return left ? FANS_ESTOP : 0;
}

static int run_in_turn(training *const *list, int count, train_watch_fn *watch, void *user)
{
    for (bool any = true; any;) {
        any = false;
        for (int i = 0; i < count; i++) {
            if (train_is_done(list[i]) || list[i]->fault.code) continue;
            any = true;
            int rc = train_step(list[i], count);
            if (list[i]->fault.code) continue; /* the others continue */
            if (rc < 0) return stop_all(list, count, list[i], rc);
            if (watch && watch(user, list[i])) return stop_all(list, count, NULL, 0);
        }
    }
    return 0;
}

/* ---- threaded -------------------------------------------------------------------------------- */

/* What the drivers share. The lock is held while `watch` runs, and while a training changes its
 * progress and returns. */
typedef struct crew {
    pthread_mutex_t lock;
    bool stop;
    train_watch_fn *watch;
    void *user;
} crew;

typedef struct driver {
    training *t;
    crew *crew;
    pthread_t thread;
    int rc;
    char why[1024]; /* a copy: messages belong to the thread that failed */
} driver;

/* Whether to stop after this step. */
static bool look_around(const driver *d, int rc)
{
    crew *c = d->crew;
    pthread_mutex_lock(&c->lock);
    bool failed = rc < 0 && !d->t->fault.code; /* not because of a single run */
    if (failed || (rc == 0 && c->watch && c->watch(c->user, d->t))) c->stop = true;
    bool stop = c->stop;
    pthread_mutex_unlock(&c->lock);
    return stop;
}

static void *drive(void *arg)
{
    driver *d = arg;
    bool stop = false;
    while (d->rc == 0 && !stop && !train_is_done(d->t)) {
        d->rc = train_step(d->t, 1);
        stop = look_around(d, d->rc);
    }
    if (d->rc == 0 && !train_is_done(d->t)) {
        d->rc = train_save(d->t);
        if (d->rc == 0) d->rc = FANS_ESTOP;
    }
    if (d->rc < 0) snprintf(d->why, sizeof d->why, "%s", fans_error());
    return NULL;
}

/* The first failure; else FANS_ESTOP if any was stopped. */
static int result_of(const driver *d, int count)
{
    bool stopped = false;
    for (int i = 0; i < count; i++) {
        if (d[i].t->fault.code) continue;
        if (d[i].rc < 0 && d[i].rc != FANS_ESTOP) return fans_fail(d[i].rc, "%s", d[i].why);
        stopped = stopped || d[i].rc == FANS_ESTOP;
    }
    return stopped ? FANS_ESTOP : 0;
}

static int run_threaded(training *const *list, int count, train_watch_fn *watch, void *user)
{
    crew c = {.watch = watch, .user = user};
    int started = 0, rc = 0;
    driver *all = mem_alloc((size_t)count * sizeof *all);
    if (!all) return FANS_ENOMEM;
    pthread_mutex_init(&c.lock, NULL);
    for (; started < count && rc == 0; started++) {
        all[started] = (driver){.t = list[started], .crew = &c};
        list[started]->progress_lock = &c.lock;
        rc = pthread_create(&all[started].thread, NULL, drive, &all[started]);
    }
    if (rc != 0) { /* the last one has no thread: stop the others */
        started--;
        pthread_mutex_lock(&c.lock);
        c.stop = true;
        pthread_mutex_unlock(&c.lock);
    }
    for (int i = 0; i < started; i++) pthread_join(all[i].thread, NULL);
    for (int i = 0; i < count; i++) list[i]->progress_lock = NULL;
    if (rc != 0)
        rc = fans_fail(FANS_ENOMEM, "cannot start thread %d of %d; run fewer trainings at once",
                       started + 1, count);
    else
        rc = result_of(all, count);
    pthread_mutex_destroy(&c.lock);
    mem_free(all);
    return rc;
}

/* ---- both ------------------------------------------------------------------------------------ */

int trainings_run(training *const *list, int count, bool threaded, train_watch_fn *watch,
                  void *user)
{
    int rc = 0;
    for (int i = 0; i < count; i++) /* an earlier process may have been stopped just before this */
        if (train_is_done(list[i])) TRY(train_write_results(list[i]));
    return (threaded && count > 1 ? run_threaded : run_in_turn)(list, count, watch, user);
out:
    return rc;
}

int training_run(training *t, train_watch_fn *watch, void *user)
{
    int rc = trainings_run(&t, 1, false, watch, user);
    return rc == 0 && t->fault.code ? fans_fail(t->fault.code, "%s", t->fault.why) : rc;
}
