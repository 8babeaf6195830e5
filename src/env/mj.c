/* mj.c - guarded calls into MuJoCo, asset lookup, exact states.
 *
 * Works with MuJoCo 2.2.2, 3.x and 4.0. The handlers are MuJoCo's process-wide callbacks, installed
 * once; what they note is per thread. The error handler leaves by longjmp to the guarded call:
 * MuJoCo's C code holds no resources while it computes, and the data's stack is emptied by the next
 * reset.
 *
 * Rejected: saving by mj_getState (3.x only); saving model fields (mj_setConst touches a dozen,
 * while the factors that cause them are a few numbers). */
#define _GNU_SOURCE
#include "env/mj.h"

#include <assert.h>
#include <dlfcn.h>
#include <limits.h>
#include <math.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"

/* ---- handlers -------------------------------------------------------------------------------- */

/* The guarded call this thread is in, and what MuJoCo said last. */
static _Thread_local struct {
    jmp_buf *jump;
    char text[256];
} fault;

static void note(const char *text)
{
    snprintf(fault.text, sizeof fault.text, "%s", text);
    fault.text[strcspn(fault.text, "\n")] = 0;
}

/* MuJoCo cannot continue after this, so an unguarded call is a bug. */
static void on_error(const char *text)
{
    note(text);
    assert(fault.jump);
    longjmp(*fault.jump, 1);
}

static void on_warning(const char *text)
{
    note(text);
    log_debug("MuJoCo: %s", fault.text);
}

static void install_handlers(void)
{
    mju_user_error = on_error;
    mju_user_warning = on_warning;
}

int sim_guard(const sim *s, void (*body)(void *arg), void *arg)
{
    jmp_buf here, *const outer = fault.jump;
    if (setjmp(here)) {
        fault.jump = outer;
        return fans_fail(FANS_ENUMERIC, "%s: MuJoCo: %s", s->name, fault.text);
    }
    fault.jump = &here;
    body(arg);
    fault.jump = outer;
    return 0;
}

/* ---- assets ---------------------------------------------------------------------------------- */

static int try_folder(char *path, size_t size, const char *folder, const char *below,
                      const char *asset)
{
    int n = snprintf(path, size, "%s%s/%s", folder, below, asset);
    return n > 0 && (size_t)n < size && os_exists(path) > 0;
}

/* The folder of the shared library or the program that holds this code. */
static int own_folder(char *out, size_t size)
{
    Dl_info info;
    const char *slash;
    if (!dladdr((void *)(size_t)sim_asset, &info) || !(slash = strrchr(info.dli_fname, '/')))
        return os_program_folder(out, size);
    int n = snprintf(out, size, "%.*s", (int)(slash - info.dli_fname), info.dli_fname);
    return n < 0 || (size_t)n >= size ? FANS_EIO : 0;
}

int sim_asset(char *path, size_t size, const char *asset)
{
    static const char *const below[] = {"/../share/fans/assets", "/../../share/fans/assets",
                                        "/assets", "/../assets"};
    char folder[PATH_MAX];
    if (asset[0] == '/' && try_folder(path, size, "", "", asset + 1)) return 0;
    const char *chosen = getenv("FANS_ASSETS");
    if (chosen && *chosen) {
        if (try_folder(path, size, chosen, "", asset)) return 0;
        return fans_fail(FANS_EIO, "%s: no %s in this folder (FANS_ASSETS)", chosen, asset);
    }
    for (int which = 0; which < 2; which++) {
        if ((which ? os_program_folder : own_folder)(folder, sizeof folder) < 0) continue;
        for (size_t i = 0; i < sizeof below / sizeof *below; i++)
            if (try_folder(path, size, folder, below[i], asset)) return 0;
    }
#ifdef FANS_ASSETS_SOURCE
    if (try_folder(path, size, FANS_ASSETS_SOURCE, "", asset)) return 0;
#endif
    return fans_fail(FANS_EIO, "%s: not found; set FANS_ASSETS to the folder of assets", asset);
}

/* ---- life ------------------------------------------------------------------------------------ */

/* Compiling a model swaps process-wide handlers in older versions: one thread at a time. */
typedef struct loading {
    sim *s;
    const char *path;
    char said[512];
} loading;

static void load_guarded(void *arg)
{
    loading *l = arg;
    l->s->m = mj_loadXML(l->path, NULL, l->said, sizeof l->said);
    if (l->s->m) l->s->d = mj_makeData(l->s->m);
}

static int load(sim *s, const char *path)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    static pthread_mutex_t one = PTHREAD_MUTEX_INITIALIZER;
    loading l = {.s = s, .path = path};
    pthread_once(&once, install_handlers);
    pthread_mutex_lock(&one);
    int rc = sim_guard(s, load_guarded, &l);
    pthread_mutex_unlock(&one);
    if (rc == 0 && !s->d) {
        size_t end = strlen(l.said);
        while (end > 0 && strchr(" \n", l.said[end - 1])) l.said[--end] = 0;
        for (char *c = l.said; *c; c++)
            if (*c == '\n') *c = ' ';
        rc = fans_fail(FANS_EFORMAT, "%s: %s: %s", s->name, path, l.said);
    }
    return rc;
}

static int keep_compiled(sim *s)
{
    size_t n = (size_t)s->m->nbody;
    s->body_mass = mem_alloc(n * sizeof(double));
    s->body_inertia = mem_alloc(3 * n * sizeof(double));
    s->kept = mem_alloc(sim_state_bytes(s));
    if (!s->body_mass || !s->body_inertia || !s->kept) return FANS_ENOMEM;
    memcpy(s->body_mass, s->m->body_mass, n * sizeof(double));
    memcpy(s->body_inertia, s->m->body_inertia, 3 * n * sizeof(double));
    return 0;
}

static int new_from_file(sim **out, const char *name, const char *path)
{
    int rc = 0;
    sim *s = mem_alloc(sizeof *s);
    if (!s) return FANS_ENOMEM;
    s->name = name;
    TRY(load(s, path));
    TRY(keep_compiled(s));
    /* from now on the model is a function of the factors alone: the same code makes its constants
     * before the first change and after the last */
    TRY(sim_scale_mass(s, 0, 0, 1));
    *out = s;
    return 0;
out:
    sim_free(s);
    return rc;
}

int sim_new(sim **out, const char *name, const char *asset)
{
    char path[PATH_MAX];
    int rc = sim_asset(path, sizeof path, asset);
    if (rc < 0) return fans_fail_within(rc, "%s", name);
    return new_from_file(out, name, path);
}

void sim_free(sim *s)
{
    if (!s) return;
    if (s->d) mj_deleteData(s->d);
    if (s->m) mj_deleteModel(s->m);
    mem_free(s->body_mass);
    mem_free(s->body_inertia);
    mem_free(s->kept);
    mem_free(s);
}

int sim_find(const sim *s, int type, const char *name)
{
    int id = mj_name2id(s->m, type, name);
    if (id < 0) return fans_fail(FANS_EFORMAT, "%s: the model has no '%s'", s->name, name);
    return id;
}

/* ---- running --------------------------------------------------------------------------------- */

static void reset_guarded(void *arg)
{
    sim *s = arg;
    mj_resetData(s->m, s->d);
}

int sim_reset(sim *s)
{
    return sim_guard(s, reset_guarded, s);
}

/* The first entry of x[n] that is NaN or too large for MuJoCo, or -1. */
static int first_bad(const mjtNum *x, long n)
{
    for (int i = 0; i < n; i++)
        if (!(fabs(x[i]) <= mjMAXVAL)) return i;
    return -1;
}

/* A NaN that MuJoCo met is in the warning counts (the state was reset since); one made by the last
 * sub-step is still in the state. */
static int check_state(const sim *s)
{
    /* in our own words: MuJoCo keeps its text in one buffer for all threads */
    static const struct {
        int kind;
        const char *text;
    } wrong[] = {
        {mjWARN_INERTIA, "inertia matrix is too close to singular at DOF"},
        {mjWARN_CONTACTFULL, "too many contacts, room for"},
        {mjWARN_CNSTRFULL, "too many constraints, room for"},
        {mjWARN_BADQPOS, "NaN or too large a number in QPOS at"},
        {mjWARN_BADQVEL, "NaN or too large a number in QVEL at"},
        {mjWARN_BADQACC, "NaN or too large a number in QACC at"},
        {mjWARN_BADCTRL, "NaN or too large a number in CTRL at"},
    };
    for (size_t w = 0; w < sizeof wrong / sizeof *wrong; w++) {
        const mjWarningStat *seen = &s->d->warning[wrong[w].kind];
        if (seen->number)
            return fans_fail(FANS_ENUMERIC, "%s: the simulation broke: %s %d", s->name,
                             wrong[w].text, seen->lastinfo);
    }
    int i = first_bad(s->d->qpos, s->m->nq);
    if (i >= 0) return fans_fail(FANS_ENUMERIC, "%s: qpos[%d] is not finite", s->name, i);
    i = first_bad(s->d->qvel, s->m->nv);
    if (i >= 0) return fans_fail(FANS_ENUMERIC, "%s: qvel[%d] is not finite", s->name, i);
    return 0;
}

typedef struct stepping {
    sim *s;
    int n;
} stepping;

static void step_guarded(void *arg)
{
    const stepping *c = arg;
    for (int i = 0; i < c->n; i++) mj_step(c->s->m, c->s->d);
}

int sim_step(sim *s, int n)
{
    stepping c = {s, n};
    int rc = sim_guard(s, step_guarded, &c);
    return rc < 0 ? rc : check_state(s);
}

/* Older versions normalise quaternions in place while they compute poses; hence the copy. */
static void pose_guarded(void *arg)
{
    sim *s = arg;
    sim_save(s, s->kept);
    mj_kinematics(s->m, s->d);
    mj_comPos(s->m, s->d);
    mj_camlight(s->m, s->d);
    sim_restore(s, s->kept);
}

int sim_pose(sim *s)
{
    return sim_guard(s, pose_guarded, s);
}

/* ---- changing the model ---------------------------------------------------------------------- */

/* The means that scale the solver's tolerance; mj_setConst leaves them alone since 3.x. */
static void set_means(mjModel *m)
{
    double mass = 0, inertia = 0;
    for (int b = 1; b < m->nbody; b++) mass += m->body_mass[b];
    for (int i = 0; i < m->nv; i++) inertia += m->dof_M0[i];
    m->stat.meanmass = mass / fmax(1, (double)m->nbody - 1);
    m->stat.meaninertia = inertia / fmax(1, (double)m->nv);
}

/* mj_setConst computes at qpos0, in place of the state. */
static void set_const_guarded(void *arg)
{
    sim *s = arg;
    sim_save(s, s->kept);
    mj_setConst(s->m, s->d);
    set_means(s->m);
    sim_restore(s, s->kept);
}

int sim_scale_mass(sim *s, int first, int count, double scale)
{
    for (int b = first; b < first + count; b++) {
        s->m->body_mass[b] = scale * s->body_mass[b];
        for (int k = 3 * b; k < 3 * b + 3; k++) s->m->body_inertia[k] = scale * s->body_inertia[k];
    }
    return sim_guard(s, set_const_guarded, s);
}

/* ---- states ---------------------------------------------------------------------------------- */

/* A place in a buffer, and what to do with each field that is met there. */
typedef struct cursor {
    char *at;
    size_t total;
    enum { COUNT, SAVE, RESTORE } mode;
} cursor;

static void visit(cursor *c, void *field, size_t bytes)
{
    if (bytes && c->mode == SAVE) memcpy(c->at + c->total, field, bytes);
    if (bytes && c->mode == RESTORE) memcpy(field, c->at + c->total, bytes);
    c->total += bytes;
}

static size_t visit_state(const sim *s, cursor c)
{
    const mjModel *m = s->m;
    mjData *d = s->d;
    const size_t real = sizeof(mjtNum);
    visit(&c, &d->time, real);
    visit(&c, d->qpos, real * (size_t)m->nq);
    visit(&c, d->qvel, real * (size_t)m->nv);
    visit(&c, d->act, real * (size_t)m->na);
    visit(&c, d->qacc_warmstart, real * (size_t)m->nv);
    visit(&c, d->ctrl, real * (size_t)m->nu);
    visit(&c, d->qfrc_applied, real * (size_t)m->nv);
    visit(&c, d->xfrc_applied, real * 6 * (size_t)m->nbody);
    visit(&c, d->mocap_pos, real * 3 * (size_t)m->nmocap);
    visit(&c, d->mocap_quat, real * 4 * (size_t)m->nmocap);
    visit(&c, d->userdata, real * (size_t)m->nuserdata);
    visit(&c, d->warning, sizeof d->warning);
#if mjVERSION_HEADER >= 300
    visit(&c, d->eq_active, sizeof *d->eq_active * (size_t)m->neq);
#else
    visit(&c, m->eq_active, sizeof *m->eq_active * (size_t)m->neq);
#endif
    return c.total;
}

size_t sim_state_bytes(const sim *s)
{
    return visit_state(s, (cursor){.mode = COUNT});
}

void sim_save(const sim *s, void *bytes)
{
    visit_state(s, (cursor){.at = bytes, .mode = SAVE});
}

static bool all_finite(const mjtNum *x, int n)
{
    for (int i = 0; i < n; i++)
        if (!isfinite(x[i])) return false;
    return true;
}

void sim_restore(sim *s, const void *bytes)
{
    const mjModel *m = s->m;
    const mjData *d = s->d;
    visit_state(s, (cursor){.at = (void *)(size_t)bytes, .mode = RESTORE});
    if (!all_finite(&d->time, 1) || !all_finite(d->qpos, m->nq) || !all_finite(d->qvel, m->nv) ||
        !all_finite(d->act, m->na) || !all_finite(d->qacc_warmstart, m->nv) ||
        !all_finite(d->ctrl, m->nu) || !all_finite(d->qfrc_applied, m->nv) ||
        !all_finite(d->xfrc_applied, 6 * m->nbody) || !all_finite(d->mocap_pos, 3 * m->nmocap) ||
        !all_finite(d->mocap_quat, 4 * m->nmocap) || !all_finite(d->userdata, m->nuserdata))
        fans_fail(FANS_EFORMAT, "the simulation's state is not finite");
}
