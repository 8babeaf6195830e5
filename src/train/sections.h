/* sections.h - every section that a config file may hold: those of tasks, trainings and models, and
 * what the algorithms declare. */
#ifndef TRAIN_SECTIONS_H
#define TRAIN_SECTIONS_H

#include "base/config.h"

const option_group *section_at(int i); /* NULL past the last */

/* A config may say more than is needed now: what concerns training, or other algorithms. Marks all
 * sections as known; only those that nobody knows are left to be refused. */
int sections_skip(config *c);

/* Adds what a preset means to every algorithm as a layer. Errors tell which presets there are. */
int preset_add(config *c, const char *name);

#endif
