/* store.h - results as data: the finished runs of all files results/NAME.json, a line each.
 *
 * A run is known by its identity (see session_identity) and its seed, so that none is stored or
 * trained twice, whichever table asks for it. */
#ifndef REPORT_STORE_H
#define REPORT_STORE_H

#include "base/json.h"
#include "report/record.h"

typedef struct store {
    json_t *runs; /* an array of objects, of all files */
} store;

/* Reads every .json of a folder; one that does not exist is empty. */
int store_read(store *s, const char *folder);
int store_add(store *s, const char *path); /* one file more */
void store_free(store *s);

/* The stored run, or NULL. */
const json_t *store_find(const store *s, const char *id, long seed);

/* Run number i (from 0) of that identity, or NULL after the last. */
const json_t *store_nth(const store *s, const char *id, int i);

/* A stored run as a record: its curve in blocks of episodes, without a folder. Borrows from the
 * store. */
int store_record(const json_t *run, record *out);

/* What a run is called in the data. */
typedef struct store_name {
    const char *id, *config, *algo, *preset, *settings;
} store_name;

/* A finished run as data. */
json_t *store_pack(const store_name *name, const record *r);

/* A run's beliefs are stored beside the runs, a row for every episode: results/TABLE/CONFIG.csv.
 * `path` is FOLDERS_PATH long. */
int store_beliefs_path(const char *root, const char *table, const char *config, char *path);
int store_beliefs(const char *from, const char *path);

/* Adds runs to a file, after those it has. */
int store_append(const char *path, const json_t *runs);

#endif
