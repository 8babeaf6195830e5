/* sections.h - every section that a config file may hold: the list of train/option_groups.h. */
#ifndef TRAIN_SECTIONS_H
#define TRAIN_SECTIONS_H

#include "base/config.h"

const option_group *section_at(int i); /* NULL past the last */

/* A config may say more than is needed now: what concerns training, or other algorithms. Marks all
 * sections as known; only those that nobody knows are left to be refused. */
int sections_skip(config *c);

#endif
