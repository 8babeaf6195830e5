/* source.h - a config file with its preset and settings, and the task it describes. */
#ifndef TRAIN_SOURCE_H
#define TRAIN_SOURCE_H

#include "train/train.h"

typedef struct source {
    const char *path, *preset, *settings; /* borrowed; each may be NULL */
    char name[96];                        /* of the file, without folder and .ini */
    config *config;
    task *task;
    train_options options;
} source;

/* The layers of a config: preset, file, settings, any of them NULL. */
int source_layers(config **out, const char *path, const char *preset, const char *settings);

/* Reads it. `settings` are lines of "section.key=value"; NULL is none. Algorithms in
 * libraries must be loaded before: they add sections and presets. */
int source_read(source *s, const char *path, const char *preset, const char *settings);
void source_free(source *s);

/* Loads the algorithm that a config file and settings name: its own `train.algo`. */
int source_load_algo(const char *path, const char *settings);

/* Refuses keys that no section has. Call it once all that need the config have taken theirs. */
int source_check(source *s);

/* Reads the options of each of an algorithm's groups; the list ends with a NULL group. */
int source_take(const fans_algo_def *a, config *c, fans_taken **out);
void source_give_back(fans_taken *taken);

/* What a run is, whoever trains it and wherever: a number of every option as asked for, before an
 * agent completes them, and of the agent's revision; not of the seed. out[SOURCE_IDENTITY] */
enum { SOURCE_IDENTITY = 17 };
int source_identity(const fans_algo_def *a, config *c, const train_options *o, const task *t,
                    char *out);

/* Appends a run's config: every option with its value, and its identity. */
void source_dump(const train_options *o, const task *t, const fans_taken *taken, const char *id,
                 text *out);

#endif
