/* fnvae_options.c - the option table, and the presets as texts of options. */
#include "learn/fnvae_options.h"

#include <string.h>

#include "base/error.h"

OPTIONS_GROUP(fnvae_option_group, fnvae_options, "fnvae", "the model of what changes",
              FNVAE_OPTIONS)

/* What differs from the defaults, which are those of `standard`. */
static const struct {
    const char *name, *ini;
} presets[] = {
    {"paper", "[fnvae]\n"
              "window = 200\nbatch = 64\nencoder = 256\nlstm = 256\n"
              "prior = 512\nbank = 512\ndense = 512\nmoves = 20\n"},
    {"standard", ""},
    {"small", "[fnvae]\n"
              "batch = 2\nencoder = 32\nlstm = 32\nprior = 16\nbank = 16\ndense = 32\n"},
};

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
                     *hint ? hint : "; there are paper, standard and small");
}
