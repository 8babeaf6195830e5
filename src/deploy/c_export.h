/* c_export.h - writes a program as C99: one .c and one .h that need nothing but C's own library.
 *
 * The code allocates nothing and has no other memory than what its caller gives it. It contains the
 * kernels that program_step runs, in the same order, so on x86 it gives the same bits. */
#ifndef DEPLOY_C_EXPORT_H
#define DEPLOY_C_EXPORT_H

#include "base/text.h"
#include "deploy/recording.h"

/* `name` begins every name in the code. The self-test repeats the first ticks of `r`. */
enum { C_EXPORT_TICKS = 8 };
void c_export_header(const program *p, const char *name, text *out);
int c_export_source(const program *p, const char *name, const recording *r, text *out);

/* Bytes of constants, of a life's state, and of the step's stack, as far as the code determines it.
 */
typedef struct c_export_sizes {
    size_t flash, state, stack;
} c_export_sizes;
c_export_sizes c_export_sizes_of(const program *p);

#endif
