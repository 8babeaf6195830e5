/* fnvae_options.c - the option table and the presets. */
#include "learn/fnvae_options.h"

#include <string.h>

#include "base/error.h"

OPTIONS_GROUP(fnvae_option_group, fnvae_options, "fnvae",
              "the model of hidden factors and their graph", FNVAE_OPTIONS);

static const struct {
    const char *name, *ini;
} presets[] = {{"paper", FNVAE_PRESET_PAPER},
               {"standard", FNVAE_PRESET_STANDARD},
               {"small", FNVAE_PRESET_SMALL}};

int fnvae_preset(const char *name, const char **ini)
{
    nearest near = {.word = name};
    for (size_t i = 0; i < sizeof presets / sizeof *presets; i++) {
        *ini = presets[i].ini;
        if (!strcmp(name, presets[i].name)) return 0;
        nearest_offer(&near, presets[i].name);
    }
    const char *hint = nearest_hint(&near);
    return fans_fail(FANS_EINVAL, "there is no preset '%s'%s", name,
                     *hint ? hint : "; choose paper, standard or small");
}
