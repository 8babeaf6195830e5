/* gl.c - contexts from EGL or OSMesa.
 *
 * MuJoCo finds GL by itself: mjr_makeContext looks for the platform library among those loaded into
 * the process and asks it for every function. So a library stays loaded once a context came from
 * it, and one process uses one of them.
 *
 * EGL's displays are tried in the order GPU devices, Mesa's surfaceless platform, default. No
 * surface is made: MuJoCo draws into framebuffers of its own. */
#include "env/gl.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/error.h"
#include "base/mem.h"

/* The few constants of EGL and OSMesa that are needed, from their public headers. */
enum {
    EGL_NONE = 0x3038,
    EGL_RENDERABLE_TYPE = 0x3040,
    EGL_SURFACE_TYPE = 0x3033,
    EGL_OPENGL_BIT = 0x0008,
    EGL_OPENGL_API = 0x30A2,
    EGL_PLATFORM_DEVICE = 0x313F,
    EGL_PLATFORM_SURFACELESS = 0x31DD,
    OSMESA_RGBA = 0x1908,
    GL_UNSIGNED_BYTE = 0x1401,
    GL_RENDERER = 0x1F01,
    MAX_DEVICES = 16,
    OSMESA_SIDE = 16 /* pixels of the buffer that OSMesa insists on */
};

typedef enum { NO_GL, BY_EGL, BY_OSMESA } platform;

/* The functions of the chosen library. Found once, then only read. */
static struct {
    platform kind;
    char why_not[256]; /* what was tried, when kind is NO_GL */
    void *display;     /* EGL */
    void *config;
    void *(*egl_create)(void *, void *, void *, const int *);
    unsigned (*egl_destroy)(void *, void *);
    unsigned (*egl_current)(void *, void *, void *, void *);
    unsigned (*egl_api)(unsigned);
    void *(*mesa_create)(unsigned, int, int, int, void *);
    void (*mesa_destroy)(void *);
    unsigned char (*mesa_current)(void *, void *, unsigned, int, int);
    void *(*function)(const char *);
} api;

struct gl {
    void *context;
    uint32_t pixels[OSMESA_SIDE * OSMESA_SIDE];
};

/* dlsym gives a data pointer; POSIX promises that this works for functions. */
static int find(void *library, void *slot, const char *name)
{
    void *f = dlsym(library, name);
    memcpy(slot, &f, sizeof f);
    return f ? 0 : -1;
}

static void tried(const char *what)
{
    size_t n = strlen(api.why_not);
    snprintf(api.why_not + n, sizeof api.why_not - n, "%s%s", n ? "; " : "", what);
}

/* ---- EGL ------------------------------------------------------------------------------------- */

typedef struct egl {
    void *(*get_display)(void *);
    void *(*get_platform_display)(unsigned, void *, const int *);
    unsigned (*query_devices)(int, void **, int *);
    unsigned (*initialize)(void *, int *, int *);
    unsigned (*choose)(void *, const int *, void **, int, int *);
    unsigned (*terminate)(void *);
} egl;

/* Is `display` one on which a context for desktop GL can be made current? */
static int works(const egl *e, void *display)
{
    static const int wanted[] = {EGL_SURFACE_TYPE, 0, EGL_RENDERABLE_TYPE, EGL_OPENGL_BIT,
                                 EGL_NONE};
    int count = 0, ok = 0;
    if (!display || !e->initialize(display, NULL, NULL)) return 0;
    if (api.egl_api(EGL_OPENGL_API) && e->choose(display, wanted, &api.config, 1, &count) &&
        count > 0) {
        void *context = api.egl_create(display, api.config, NULL, NULL);
        ok = context && api.egl_current(display, NULL, NULL, context);
        if (ok) api.egl_current(display, NULL, NULL, NULL);
        if (context) api.egl_destroy(display, context);
    }
    if (ok)
        api.display = display;
    else
        e->terminate(display);
    return ok;
}

static int find_display(const egl *e)
{
    void *devices[MAX_DEVICES];
    int count = 0;
    if (e->get_platform_display && e->query_devices &&
        e->query_devices(MAX_DEVICES, devices, &count))
        for (int i = 0; i < count; i++)
            if (works(e, e->get_platform_display(EGL_PLATFORM_DEVICE, devices[i], NULL))) return 0;
    if (e->get_platform_display &&
        works(e, e->get_platform_display(EGL_PLATFORM_SURFACELESS, NULL, NULL)))
        return 0;
    return works(e, e->get_display(NULL)) ? 0 : -1;
}

static int open_egl(void)
{
    egl e = {0};
    void *library = dlopen("libEGL.so.1", RTLD_NOW | RTLD_LOCAL), *f;
    if (!library) return tried("no libEGL.so.1"), -1;
    if (find(library, &api.function, "eglGetProcAddress") ||
        find(library, &e.get_display, "eglGetDisplay") ||
        find(library, &e.initialize, "eglInitialize") ||
        find(library, &e.choose, "eglChooseConfig") ||
        find(library, &e.terminate, "eglTerminate") ||
        find(library, &api.egl_create, "eglCreateContext") ||
        find(library, &api.egl_destroy, "eglDestroyContext") ||
        find(library, &api.egl_current, "eglMakeCurrent") ||
        find(library, &api.egl_api, "eglBindAPI")) {
        tried("libEGL.so.1 lacks a function");
        goto close;
    }
    f = api.function("eglGetPlatformDisplayEXT");
    memcpy(&e.get_platform_display, &f, sizeof f);
    f = api.function("eglQueryDevicesEXT");
    memcpy(&e.query_devices, &f, sizeof f);
    if (find_display(&e) == 0) return 0;
    tried("EGL has no display for desktop GL");
close:
    dlclose(library);
    return -1;
}

/* ---- OSMesa ---------------------------------------------------------------------------------- */

static int open_osmesa(void)
{
    static const char *const names[] = {"libOSMesa.so.8", "libOSMesa.so.6", "libOSMesa.so"};
    void *library = NULL;
    for (size_t i = 0; !library && i < sizeof names / sizeof *names; i++)
        library = dlopen(names[i], RTLD_NOW | RTLD_LOCAL);
    if (!library) return tried("no libOSMesa.so"), -1;
    if (find(library, &api.mesa_create, "OSMesaCreateContextExt") == 0 &&
        find(library, &api.mesa_destroy, "OSMesaDestroyContext") == 0 &&
        find(library, &api.mesa_current, "OSMesaMakeCurrent") == 0 &&
        find(library, &api.function, "OSMesaGetProcAddress") == 0)
        return 0;
    tried("libOSMesa.so lacks a function");
    dlclose(library);
    return -1;
}

/* ---- both ------------------------------------------------------------------------------------ */

/* Whether a GPU can draw. */
static bool has_gpu(void)
{
    static const char *const devices[] = {"/dev/nvidiactl", "/dev/dri/renderD128", "/dev/dxg"};
    for (size_t i = 0; i < sizeof devices / sizeof *devices; i++)
        if (access(devices[i], F_OK) == 0) return true;
    return false;
}

static void try_egl(void)
{
    if (api.kind == NO_GL && open_egl() == 0) api.kind = BY_EGL;
}

static void try_osmesa(void)
{
    if (api.kind == NO_GL && open_osmesa() == 0) api.kind = BY_OSMESA;
}

/* Without a GPU both draw by the same software, but EGL's driver makes all symbols of LLVM global:
 * a program that loads another LLVM later, such as PyTorch's, then crashes. */
static void choose(void)
{
    const char *wish = getenv("FANS_GL");
    bool any = !wish || !*wish, gpu = has_gpu();
    if (!any && strcmp(wish, "egl") && strcmp(wish, "osmesa")) {
        tried("FANS_GL is neither egl nor osmesa");
        return;
    }
    if (any ? gpu : !strcmp(wish, "egl")) try_egl();
    if (any || !strcmp(wish, "osmesa")) try_osmesa();
    if (any && !gpu) try_egl();
}

int gl_new(gl **out)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    pthread_once(&once, choose);
    if (api.kind == NO_GL)
        return fans_fail(FANS_ENOSUP, "no offscreen GL: %s; install libegl1 or libosmesa6",
                         api.why_not);
    gl *g = mem_alloc(sizeof *g);
    if (!g) return FANS_ENOMEM;
    if (api.kind == BY_EGL) {
        api.egl_api(EGL_OPENGL_API);
        g->context = api.egl_create(api.display, api.config, NULL, NULL);
    } else {
        g->context = api.mesa_create(OSMESA_RGBA, 24, 8, 0, NULL);
    }
    if (!g->context) {
        gl_free(g);
        return fans_fail(FANS_ENOSUP, "offscreen GL: no further context can be made");
    }
    *out = g;
    return 0;
}

void gl_free(gl *g)
{
    if (!g) return;
    if (g->context && api.kind == BY_EGL) api.egl_destroy(api.display, g->context);
    if (g->context && api.kind == BY_OSMESA) api.mesa_destroy(g->context);
    mem_free(g);
}

int gl_enter(gl *g)
{
    int ok =
        api.kind == BY_EGL
            ? api.egl_api(EGL_OPENGL_API) && api.egl_current(api.display, NULL, NULL, g->context)
            : api.mesa_current(g->context, g->pixels, GL_UNSIGNED_BYTE, OSMESA_SIDE, OSMESA_SIDE);
    return ok ? 0 : fans_fail(FANS_ENOSUP, "offscreen GL: the context cannot be entered");
}

void gl_leave(gl *g)
{
    (void)g;
    if (api.kind == BY_EGL)
        api.egl_current(api.display, NULL, NULL, NULL);
    else
        api.mesa_current(NULL, NULL, 0, 0, 0);
}

int gl_probe(char *out, size_t size)
{
    gl *g = NULL;
    int rc = gl_new(&g);
    if (g) rc = gl_enter(g);
    if (rc < 0) {
        snprintf(out, size, "%s", fans_error());
        gl_free(g);
        return rc;
    }
    const unsigned char *(*get_string)(unsigned) = NULL;
    void *f = api.function("glGetString");
    memcpy(&get_string, &f, sizeof f);
    const unsigned char *renderer = get_string ? get_string(GL_RENDERER) : NULL;
    snprintf(out, size, "%s, %s", api.kind == BY_EGL ? "EGL" : "OSMesa",
             renderer ? (const char *)renderer : "unknown renderer");
    gl_leave(g);
    gl_free(g);
    return 0;
}
