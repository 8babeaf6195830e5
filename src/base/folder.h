/* folder.h - the folder of a run or a model, which may come from elsewhere.
 *
 * Whatever reads or writes the files of such a folder checks it first: a link would lead to a file
 * of the reader's own, a pipe would wait for ever, a device would fill the memory. */
#ifndef BASE_FOLDER_H
#define BASE_FOLDER_H

#include <stdbool.h>

/* Is it one of the files that are checked? Whoever names a file of a run asserts that. */
bool folder_has(const char *name);

/* Refuses a folder in which one of a run's files is not a plain file, or is too large to be one. A
 * folder or a file that does not exist is fine. */
int folder_check(const char *path);

/* Removes what writers that were killed have left: NAME.PID.tmp. Only for a locked folder. */
int folder_sweep(const char *path);

#endif
