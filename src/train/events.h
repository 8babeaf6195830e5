/* events.h - TensorBoard's event files: scalars by tag and step.
 *
 * Every record is written at once, so that a crash loses nothing that was reported. A file can be
 * cut back to a length that a checkpoint noted, so that curves stay whole over resumes. */
#ifndef TRAIN_EVENTS_H
#define TRAIN_EVENTS_H

#include <stdbool.h>
#include <stdint.h>

typedef struct events events;

/* Opens `path`; with `keep` >= 0 it must exist, and is cut to that many bytes. */
int events_open(events **out, const char *path, int64_t keep);

/* Scalars of one step, one by one, and then written together. */
void events_add(events *e, const char *tag, double value);
int events_write(events *e, int64_t step);

int events_sync(events *e);
int64_t events_length(const events *e);
void events_close(events *e);

#endif
