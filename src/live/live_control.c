/* live_control.c - what a viewer may ask for: one thing at a time, as {"name": value}.
 *
 *     {"hold": {"factor": "wind", "value": 3}}    null lets it go
 *     {"pause": true}  {"steps": 1}  {"restart": true}  {"speed": 30}  {"told": false}
 *     {"newest": true}    the agents of the newest checkpoints */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "live/live_parts.h"

static int find_factor(const live *l, const char *name, int *out)
{
    for (int k = 0; k < l->info->factor_count; k++)
        if (!strcmp(l->info->factors[k].name, name)) return *out = k, 0;
    return fans_fail(FANS_EINVAL, "hold: the world has no such factor");
}

static int hold(live *l, const json_t *value)
{
    const json_t *where = json_object_get(value, "value");
    const char *name = json_string_value(json_object_get(value, "factor"));
    int rc = 0, k = 0;
    if (!name || !(json_is_number(where) || json_is_null(where)))
        return fans_fail(FANS_EINVAL, "hold: takes a factor and a value, a number or null");
    TRY(find_factor(l, name, &k));
    double to = json_is_null(where) ? NAN : json_number_value(where);
    for (int i = 0; i < l->count; i++) TRY(play_hold(players_play(l->players, i), 0, k, to));
    l->held[k] = to;
    l->gripped[k] = os_now();
    l->moved[k] = true;
out:
    return rc;
}

static int set_pause(live *l, const json_t *value)
{
    if (!json_is_boolean(value)) return fans_fail(FANS_EINVAL, "pause: takes true or false");
    if (!json_is_true(value) && *l->fault)
        return fans_fail(FANS_EINVAL, "pause: nothing moves until it is started again");
    l->paused = json_is_true(value);
    l->wanted = 0;
    return 0;
}

static int set_steps(live *l, const json_t *value)
{
    enum { MOST = 100000000 };
    json_int_t n = json_integer_value(value);
    if (!json_is_integer(value) || n < 1 || n > MOST)
        return fans_fail(FANS_EINVAL, "steps: takes a whole number from 1 to %d", MOST);
    l->paused = true;
    l->wanted = n;
    return 0;
}

static int restart(live *l, const json_t *value)
{
    if (!json_is_true(value)) return fans_fail(FANS_EINVAL, "restart: takes true");
    if (*l->fault) l->paused = false;
    return live_fault(l, live_restart(l));
}

static int set_speed(live *l, const json_t *value)
{
    double speed = json_number_value(value);
    if (!json_is_number(value) || !(speed >= 0 && speed <= 1000) || (speed > 0 && speed < 0.1))
        return fans_fail(FANS_EINVAL, "speed: takes a number from 0.1 to 1000, or 0: no limit");
    l->speed = speed;
    l->due = os_now();
    return 0;
}

static int set_told(live *l, const json_t *value)
{
    if (!json_is_boolean(value)) return fans_fail(FANS_EINVAL, "told: takes true or false");
    l->told = json_is_true(value);
    for (int i = 0; i < l->count; i++) play_tell(players_play(l->players, i), l->told);
    return 0;
}

static int newest(live *l, const json_t *value)
{
    if (!json_is_true(value)) return fans_fail(FANS_EINVAL, "newest: takes true");
    int rc = live_open(l);
    if (rc == 0) rc = live_fault(l, live_restart(l));
    l->curves_at = -INFINITY;
    return rc;
}

static const struct {
    const char *name;
    int (*do_it)(live *l, const json_t *value);
} CONTROLS[] = {{"hold", hold},       {"pause", set_pause}, {"steps", set_steps},
                {"restart", restart}, {"speed", set_speed}, {"told", set_told},
                {"newest", newest}};

static int obey(live *l, json_t *asked)
{
    const char *name;
    json_t *value;
    if (!json_is_object(asked) || json_object_size(asked) != 1)
        return fans_fail(FANS_EINVAL, "not an object with one name and its value");
    json_object_foreach(asked, name,
                        value) for (size_t i = 0; i < sizeof CONTROLS / sizeof *CONTROLS;
                                    i++) if (!strcmp(CONTROLS[i].name, name)) return CONTROLS[i]
        .do_it(l, value);
    return fans_fail(FANS_EINVAL, "there is no such control");
}

int live_control(live *l, const char *body, size_t bytes)
{
    json_error_t why = {0};
    json_t *asked;
    int rc = json_parse(&asked, body, bytes, &why);
    if (rc == 0)
        rc = obey(l, asked);
    else if (rc == FANS_EFORMAT)
        rc = fans_fail(FANS_EINVAL, "not valid JSON");
    json_decref(asked);
    l->news++;
    return rc;
}
