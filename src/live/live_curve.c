/* live_curve.c - learning curves, from metrics.csv as it grows. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "live/live_parts.h"
#include "report/curve.h"
#include "report/record.h"

static const double CURVES_SECONDS = 2; /* files are read again after so long */

static json_t *points(const record *r, const double *returns)
{
    double last = r->episodes ? r->step[r->episodes - 1] : 0;
    json_t *list = json_array();
    for (int i = 0; i < CURVE_POINTS; i++)
        json_array_append_new(
            list, json_number(curve_at(r, returns, last * (i + 1) / (double)CURVE_POINTS)));
    return list;
}

static json_t *curve_json(live *l, int i)
{
    record r = {0};
    int64_t newest = -1;
    if (record_read(&r, players_folder(l->players, i)) < 0 ||
        players_newest(l->players, i, &newest) < 0) {
        record_free(&r);
        return json_pack("{s:o}", "error", live_words(fans_error()));
    }
    double last = r.episodes ? r.step[r.episodes - 1] : 0;
    json_t *out =
        json_pack("{s:o, s:o, s:o, s:i, s:I, s:b, s:I, s:I, s:o}", "steps", json_number(last),
                  "smooth", points(&r, r.smooth), "raw", points(&r, r.gain), "episodes", r.episodes,
                  "planned", (json_int_t)r.planned, "done", r.done, "acts_by",
                  (json_int_t)players_position(l->players, i), "newest", (json_int_t)newest,
                  "final", json_number(r.final));
    record_free(&r);
    return out;
}

int live_curves(live *l)
{
    if (os_now() - l->curves_at > CURVES_SECONDS) {
        json_t *list = json_array();
        for (int i = 0; i < l->count; i++) json_array_append_new(list, curve_json(l, i));
        json_decref(l->curves);
        l->curves = json_pack("{s:o}", "lanes", list);
        l->curves_at = os_now();
    }
    return json_add_line(&l->out, l->curves);
}
