/* folders.h - finds the runs below a folder: whatever holds a config.ini and a metrics.csv. */
#ifndef REPORT_FOLDERS_H
#define REPORT_FOLDERS_H

/* Calls fn for every run at or below `path`, in order of names; fn returns 0 or an error, which
 * ends the search. Hidden folders and those deeper than FOLDERS_DEPTH are left out. */
enum { FOLDERS_DEPTH = 6, FOLDERS_PATH = 4096 };
typedef int folders_fn(void *user, const char *path);
int folders_find(const char *path, folders_fn *fn, void *user);

#endif
