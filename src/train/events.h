/* events.h - TensorBoard's event files: scalars by tag and step.
 *
 * Every record is written at once, so a crash loses nothing. A resume cuts the file back to the
 * length in the checkpoint, so curves have no gaps or duplicates. */
#ifndef TRAIN_EVENTS_H
#define TRAIN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct events events;

/* Opens `path`. With `keep` >= 0 it must exist, and is cut to `keep` bytes. */
int events_open(events **out, const char *path, int64_t keep);

/* Add the scalars of one step, then write them together. */
void events_add(events *e, const char *tag, double value);
int events_write(events *e, int64_t step);

int events_sync(events *e);
int64_t events_length(const events *e);
void events_close(events *e);

#endif
