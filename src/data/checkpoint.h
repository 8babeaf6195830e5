/* checkpoint.h - a run's state as one safetensors file.
 *
 * The safetensors package can read it. Compressed arrays are stored as bytes, with their type and
 * shape in the metadata; a checksum there reveals a damaged file. Files are replaced as a whole, so
 * a crash at any moment leaves the last one intact. */
#ifndef DATA_CHECKPOINT_H
#define DATA_CHECKPOINT_H

#include "data/state.h"

typedef struct checkpoint checkpoint;

/* Allocates for lists of this size, so that writing allocates nothing. Call checkpoint_fit before
 * writing a list that may be larger. */
int checkpoint_new(checkpoint **out, const state_list *s);
int checkpoint_fit(checkpoint *c, const state_list *s);
void checkpoint_free(checkpoint *c);

/* Writing has two halves. The first copies what a backend holds, on the thread that uses the
 * backend; the second, which takes longer, packs the rest and writes `path`, on any thread. `kind`
 * says what the file is for ("sac on half_cheetah"); a reader that expects another kind refuses
 * it. */
void checkpoint_gather(checkpoint *c, const state_list *s);
int checkpoint_write(checkpoint *c, const state_list *s, const char *kind, const char *path);

/* Reads `path` into `s`; the file must have its names, types and shapes. Changes nothing unless the
 * whole file is intact. */
int checkpoint_read(const state_list *s, const char *kind, const char *path);

/* Reads one number of a checkpoint, such as its step; or only the length of an array. */
int checkpoint_peek(const char *path, const char *name, int64_t *value);
int checkpoint_length(const char *path, const char *name, int64_t *length);

#endif
