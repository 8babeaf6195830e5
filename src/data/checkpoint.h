/* checkpoint.h - a run's state as one safetensors file.
 *
 * Readable by the safetensors package; what is compressed stands there as bytes, with its type and
 * shape in the metadata. A checksum over the whole file, in the metadata too, tells a damaged file
 * from a good one. Files are replaced as a whole, so a crash at any moment leaves the last one. */
#ifndef DATA_CHECKPOINT_H
#define DATA_CHECKPOINT_H

#include "data/state.h"

typedef struct checkpoint checkpoint;

/* Prepares to write lists of this one's size: writing then allocates nothing of ours. A list that
 * may be larger must be fitted before. */
int checkpoint_new(checkpoint **out, const state_list *s);
int checkpoint_fit(checkpoint *c, const state_list *s);
void checkpoint_free(checkpoint *c);

/* Writing has two halves: the first fetches what a backend holds, on the thread that the backend
 * works for; the second, which takes longer, packs the rest and writes `path`, on any thread.
 * `kind` says what the file is for ("sac on half_cheetah"); a reader that expects another refuses
 * it. */
void checkpoint_gather(checkpoint *c, const state_list *s);
int checkpoint_write(checkpoint *c, const state_list *s, const char *kind, const char *path);

/* Reads `path` into `s`, whose names, types and shapes the file must have. Nothing is changed
 * unless the whole file is sound. */
int checkpoint_read(const state_list *s, const char *kind, const char *path);

/* One number of a checkpoint, without the rest: which step it stands at, say. */
int checkpoint_peek(const char *path, const char *name, int64_t *value);

#endif
