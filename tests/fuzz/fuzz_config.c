/* fuzz_config.c - a config file: all sections of all algorithms are taken, and the rest is printed.
 */
#include "base/config.h"
#include "env/task.h"
#include "fuzz.h"
#include "train/sections.h"

/* All of them, found once: section_at counts anew each time. */
static const option_group *const *sections(void)
{
    static const option_group *all[64];
    if (all[0]) return all;
    for (int i = 0; (all[i] = section_at(i)); i++) fuzz_demand(i < 62, "sections are many");
    return all;
}

static int take_all(config *c)
{
    _Alignas(16) static char options[1 << 18];
    text rest = {0};
    int rc = 0;
    for (const option_group *const *g = sections(); *g; g++) {
        fuzz_demand((*g)->size <= sizeof options, "options are large");
        TRY(config_take(c, *g, (*g)->section, options));
    }
    for (int i = 0; config_section(c, "change.", i); i++)
        TRY(config_take(c, change_option_group(), config_section(c, "change.", i), options));
    TRY(config_rest(c, &rest));
    TRY(config_check_taken(c));
out:
    text_free(&rest);
    return rc;
}

static void read_config(const uint8_t *data, size_t size)
{
    config *c = NULL;
    fuzz_put("task.ini", data, size);
    fuzz_demand(config_new(&c) == 0, "no config");
    unsigned before = fuzz_begin();
    int rc = config_add_file(c, FUZZ_FOLDER "/task.ini");
    if (rc == 0) rc = take_all(c);
    fuzz_result(rc, before);
    config_free(c);
}

FUZZ_TARGET(read_config);
