/* gl.h - an offscreen OpenGL context without a window system: EGL, else OSMesa.
 *
 * Both libraries are opened at run time, so that nothing is linked and a machine without GL runs
 * everything else. FANS_GL=egl|osmesa|none in the environment overrides the choice. */
#ifndef ENV_GL_H
#define ENV_GL_H

#include <stddef.h>

typedef struct gl gl;

/* A private context; FANS_ENOSUP, with what was tried, where there is none. */
int gl_new(gl **out);
void gl_free(gl *g);

/* GL calls of this thread go to `g` from here on. A context serves one thread at a time; leave it
 * before another thread enters it. */
int gl_enter(gl *g);
void gl_leave(gl *g);

/* One line for people: "EGL, llvmpipe (LLVM 15.0.6, 256 bits)", or what is missing. Returns 0 where
 * pictures can be drawn by GL. */
int gl_probe(char *out, size_t size);

#endif
