/* fnvae_options.c - the option table and the presets. */
#include "learn/fnvae_options.h"

#include <math.h>
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

/* ---- the window ------------------------------------------------------------------------------ */

enum {
    SEGMENTS = 4,
    LEAST_WINDOW = 200,
    MOST_WINDOW = 2000
}; /* a longer one costs more than it shows */

/* Steps of the longest segments; 0 if nothing changes. */
static double slowest_of(const fans_moving *moving, int count, bool with_drawn)
{
    double slowest = 0;
    for (int k = 0; k < count; k++)
        if (isfinite(moving[k].every) && (with_drawn || !moving[k].drawn))
            slowest = fmax(slowest, moving[k].every);
    return slowest;
}

int fnvae_find_window(fnvae_options *o, const fans_moving *moving, int count, int most,
                      int *too_short)
{
    double slowest = slowest_of(moving, count, true);
    double followed = slowest_of(moving, count, false); /* what is drawn follows from nothing */
    int right = (int)fmin(fmax(ceil(SEGMENTS * slowest), LEAST_WINDOW), MOST_WINDOW);
    if (o->window == 1)
        return fans_fail(FANS_EINVAL, "fnvae.window = 1: a window has at least two steps");
    if (o->window == 0) o->window = right < most ? right : most < 2 ? 2 : most;
    *too_short = o->window < (o->order + 2) * followed && o->window < right ? right : 0;
    return 0;
}
