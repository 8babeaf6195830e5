/* sections.h - every section that a config file may have: those of tasks, trainings and models, and
 * those that algorithms declare. */
#ifndef TRAIN_SECTIONS_H
#define TRAIN_SECTIONS_H

#include "base/config.h"

const option_group *section_at(int i); /* NULL after the last */

/* A config may have sections that are not needed now, for training or for other algorithms. Marks
 * all known sections, so that only unknown ones are refused. */
int sections_skip(config *c);

/* Adds every algorithm's preset of this name as a layer. Errors list the presets. */
int preset_add(config *c, const char *name);
int preset_check(const char *name); /* is there one? */

#endif
