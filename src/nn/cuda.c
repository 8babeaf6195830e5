/* cuda.c - finds the CUDA backend, which is a library of its own: the tool needs no CUDA, and
 * starts everywhere. The library is never closed again: drivers do not all survive it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "nn/cuda_abi.h"

#define LIBRARY "libfans_cuda.so"

/* Keeps only the first line, and in it what matters. */
static void first_line(char *out, size_t size, const char *text)
{
    snprintf(out, size, "%.*s", (int)strcspn(text, "\n"), text);
}

/* Beside the program, in lib and ../lib, then wherever the loader looks: a test says where by
 * itself. */
static void *open_library(char *why, size_t size)
{
    static const char *const places[] = {"/", "/lib/", "/../lib/"};
    char folder[1024], path[1100];
    snprintf(why, size, "this build has no CUDA backend (no %s)", LIBRARY);
    for (int i = 0; i < 3 && os_program_folder(folder, sizeof folder) == 0; i++) {
        snprintf(path, sizeof path, "%s%s%s", folder, places[i], LIBRARY);
        if (os_exists(path) <= 0) continue;
        void *library = dlopen(path, RTLD_NOW | RTLD_LOCAL);
        if (!library) first_line(why, size, dlerror());
        return library;
    }
    return dlopen(LIBRARY, RTLD_NOW | RTLD_LOCAL);
}

static int open_backend(nn_backend *b, const nn_cuda_options *o, char *why, size_t size)
{
    const nn_cuda_abi abi = nn_cuda_abi_here();
    const nn_host host = {mem_alloc, mem_free};
    nn_cuda_open_fn *open_it = NULL;
    void *library = open_library(why, size);
    if (!library) return FANS_EIO;
    *(void **)&open_it = dlsym(library, NN_CUDA_OPEN);
    if (!open_it) {
        snprintf(why, size, "%s is not FANS's", LIBRARY);
        return FANS_EIO;
    }
    return open_it(&abi, &host, b, o, why, size) < 0 ? FANS_EIO : 0;
}

int nn_cuda_new(nn_backend **out, const nn_cuda_options *o)
{
    char why[256];
    nn_backend *b = mem_alloc(sizeof *b);
    if (!b) return FANS_ENOMEM;
    int rc = open_backend(b, o, why, sizeof why);
    if (rc < 0) {
        mem_free(b);
        return fans_fail(rc, "no GPU: %s", why);
    }
    *out = b;
    return 0;
}

int nn_cuda_probe(char *out, size_t size)
{
    nn_cuda_options o = {0};
    return open_backend(NULL, &o, out, size);
}
