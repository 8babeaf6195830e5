/* config.h - a public config: where its layers come from. They are read anew by whatever uses it,
 * so a config can change or go away while worlds and trainers made from it live on. */
#ifndef API_CONFIG_H
#define API_CONFIG_H

#include "api/handle.h"
#include "base/text.h"
#include "fans/fans.h"
#include "train/source.h"

struct fans_config {
    handle handle;
    char *path, *preset; /* NULL: none */
    text settings;       /* lines of "section.key=value" */
};

/* A copy that belongs to a handle made from it. */
int config_keep(fans_config **out, const fans_config *c, const char *function);

/* Reads it, with its task. The source borrows from the config. */
int config_read(const fans_config *c, source *out);

#endif
