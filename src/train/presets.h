/* presets.h - sizes and schedules to begin with: a layer of every training's config, below its
 * file. */
#ifndef TRAIN_PRESETS_H
#define TRAIN_PRESETS_H

#include "base/config.h"

/* paper, standard or small. */
int preset_add(config *c, const char *name);

#endif
