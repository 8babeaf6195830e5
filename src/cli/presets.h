/* presets.h - sizes and schedules to begin with: a layer of every training's config, below its
 * file. */
#ifndef CLI_PRESETS_H
#define CLI_PRESETS_H

#include "base/config.h"

/* paper, standard or small. */
int preset_add(config *c, const char *name);

#endif
