/* presets.c - what differs from the options' defaults in a training. The model's sizes are
 * model/fnvae_options.c's own. */
#include "train/presets.h"

#include <string.h>

#include "learn/fnvae_options.h"

/* A model that is fitted to data once may take its time; one that lives on starts with less, and
 * goes on learning at a rate that keeps up with what the policy brings. */
static const struct {
    const char *name, *ini;
} presets[] = {
    {"paper", "[fnvae]\np = 20\nq = 20\nupdates = 3000\nlr_end = 3e-4\n"},
    {"standard", "[fnvae]\nupdates = 3000\nlr_end = 3e-4\n"},
    {"small", "[fnvae]\np = 4\nq = 4\nupdates = 1500\nlr_end = 3e-4\n"
              "[fans]\nmodel_every = 50\nrefresh = 1000\n"
              "[sac]\nupdate_every = 5\n"},
};

int preset_add(config *c, const char *name)
{
    const char *ini;
    int rc = fnvae_preset(name, &ini);
    if (rc == 0) rc = config_add_text(c, "preset", ini);
    for (size_t i = 0; rc == 0 && i < sizeof presets / sizeof *presets; i++)
        if (!strcmp(presets[i].name, name)) rc = config_add_text(c, "preset", presets[i].ini);
    return rc;
}
