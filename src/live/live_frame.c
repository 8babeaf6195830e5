/* live_frame.c - what the page shows.
 *
 * A frame is one answer, so that pictures and numbers belong to the same step: four bytes with the
 * length of the JSON that follows, little end first; the JSON; then the PNGs, whose lengths the
 * JSON has. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "base/os.h"
#include "env/png.h"
#include "live/live_parts.h"

extern const char embedded_watch_page[], embedded_watch_style[], embedded_watch_script[];
const server_page live_pages[] = {
    {"/", "text/html; charset=utf-8", embedded_watch_page},
    {"/style.css", "text/css; charset=utf-8", embedded_watch_style},
    {"/script.js", "text/javascript; charset=utf-8", embedded_watch_script},
    {0},
};

/* Text from outside, where JSON takes UTF-8 only. */
json_t *live_words(const char *s)
{
    json_t *out = json_string(s);
    return out ? out : json_string("?");
}

/* ---- what never changes ---------------------------------------------------------------------- */

/* Where a factor was in training: its values, or an interval. */
static json_t *trained(const live *l, int factor)
{
    const follow *f = &l->lanes[0].follow;
    for (int k = 0; k < f->factors; k++) {
        const fans_moving *m = &f->moving[k];
        if (m->factor != factor) continue;
        json_t *values = json_array();
        for (int i = 0; i < m->choices; i++)
            json_array_append_new(values, json_number(m->values[i] * m->scale));
        return json_pack("{s:o, s:o, s:o, s:i}", "low", json_number(m->low), "high",
                         json_number(m->high), "values", values, "track", k);
    }
    return json_null();
}

static json_t *factor_about(const live *l, int k)
{
    const fans_factor *f = &l->info->factors[k];
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:o}", "name", live_words(f->name), "help",
                     live_words(f->help ? f->help : ""), "low", json_number(f->low), "high",
                     json_number(f->high), "initial", json_number(f->initial), "trained",
                     trained(l, k));
}

static json_t *lane_about(const live *l, int i)
{
    const follow *f = &l->lanes[i].follow;
    return json_pack("{s:o, s:o, s:o, s:b}", "name", live_words(l->lanes[i].name), "folder",
                     live_words(players_folder(l->players, i)), "without",
                     f->without ? live_words(f->without) : json_null(), "oracle", f->told);
}

int live_about(live *l)
{
    text title = {0};
    json_t *lanes = json_array(), *factors = json_array();
    for (int i = 0; i < l->count; i++) json_array_append_new(lanes, lane_about(l, i));
    for (int k = 0; k < l->info->factor_count; k++)
        json_array_append_new(factors, factor_about(l, k));
    players_title(l->players, &title);
    int rc = text_done(&title);
    json_t *all = json_pack("{s:o, s:o, s:o, s:i, s:i, s:i, s:i}", "title",
                            live_words(rc == 0 ? title.s : ""), "lanes", lanes, "factors", factors,
                            "width", l->s.width, "height", l->height, "kept", (int)LIVE_STEPS,
                            "horizon", l->info->horizon);
    if (rc == 0) rc = json_add_line(&l->out, all);
    json_decref(all);
    text_free(&title);
    return rc;
}

/* ---- a frame --------------------------------------------------------------------------------- */

static json_t *column(const live *l, const live_lane *a, int k, int64_t from, char what)
{
    json_t *list = json_array();
    for (int64_t t = from; t < l->step; t++) {
        const live_moment *m = &a->moments[(t % LIVE_STEPS) * a->follow.factors + k];
        double x = what == 't'   ? (double)m->seen.truth
                   : what == 'g' ? (double)m->seen.guess
                   : what == 's' ? (double)m->seen.spread
                                 : m->seen.noticed;
        if (what == 'c')
            json_array_append_new(list, json_integer(m->seen.changed + m->by_hand));
        else
            json_array_append_new(list, json_number(x));
    }
    return list;
}

static json_t *track_json(const live *l, const live_lane *a, int k, int64_t from)
{
    follow_verdict v = follow_judge(&a->follow, k);
    return json_pack("{s:o, s:o, s:o, s:o, s:o, s:s, s:i}", "truth", column(l, a, k, from, 't'),
                     "guess", column(l, a, k, from, 'g'), "spread", column(l, a, k, from, 's'),
                     "changed", column(l, a, k, from, 'c'), "noticed", column(l, a, k, from, 'n'),
                     "verdict", v.text, "tone", (int)v.tone);
}

static json_t *rewards(const live *l, const live_lane *a, int64_t from)
{
    json_t *list = json_array();
    for (int64_t t = from; t < l->step; t++)
        json_array_append_new(list, json_number((double)a->reward[t % LIVE_STEPS]));
    return list;
}

static json_t *beginnings(const live *l, const live_lane *a, int64_t from)
{
    json_t *list = json_array();
    for (int64_t t = from; t < l->step; t++)
        if (a->fresh[t % LIVE_STEPS]) json_array_append_new(list, json_integer(t));
    return list;
}

static json_t *lane_json(const live *l, const live_lane *a, int64_t from)
{
    follow_verdict v = follow_judge(&a->follow, -1);
    follow_count n = follow_total(&a->follow);
    json_t *tracks = json_array();
    for (int k = 0; k < a->follow.factors; k++)
        json_array_append_new(tracks, track_json(l, a, k, from));
    double mean = a->episode > 0 ? a->sum / a->episode : NAN;
    return json_pack("{s:i, s:i, s:o, s:o, s:s, s:i, s:i, s:i, s:o, s:o, s:o, s:o, s:I}", "episode",
                     a->episode + 1, "tau", l->step ? a->tau + 1 : 0, "return",
                     json_number(a->gain), "mean", json_number(mean), "verdict", v.text, "tone",
                     (int)v.tone, "changes", n.changes, "noticed", n.noticed, "after",
                     json_number(n.after), "reward", rewards(l, a, from), "fresh",
                     beginnings(l, a, from), "tracks", tracks, "picture", (json_int_t)a->png_bytes);
}

static json_t *factor_json(const live *l, int k)
{
    double now = play_factors(players_play(l->players, 0), 0)[k];
    return json_pack("{s:o, s:b}", "now", json_number(now), "held", !isnan(l->held[k]));
}

/* Pictures are drawn when somebody asks for them, and once for all who do. */
static int draw(live *l, live_lane *a, int i)
{
    world *w = play_look(players_play(l->players, i), 0).world;
    if (a->drawn == l->news) return 0;
    a->png_bytes = 0;
    int rc = world_picture(w, l->s.width, l->height, a->rgb);
    if (rc == 0) rc = png_pack(a->png, &a->png_bytes, l->s.width, l->height, a->rgb, true);
    if (rc < 0) a->png_bytes = 0;
    a->drawn = l->news;
    return rc == FANS_ENOSUP ? 0 : rc;
}

/* A page that fell behind, or is new, gets all that is kept. */
static int64_t first_of(const live *l, int64_t step)
{
    int64_t oldest = l->step > LIVE_STEPS ? l->step - LIVE_STEPS : 0;
    return step < oldest || step > l->step ? oldest : step;
}

static int frame_json(live *l, int64_t step)
{
    int64_t from = first_of(l, step);
    json_t *lanes = json_array(), *factors = json_array();
    for (int i = 0; i < l->count; i++)
        json_array_append_new(lanes, lane_json(l, &l->lanes[i], from));
    for (int k = 0; k < l->info->factor_count; k++)
        json_array_append_new(factors, factor_json(l, k));
    json_t *all =
        json_pack("{s:I, s:I, s:I, s:b, s:b, s:f, s:o, s:o, s:o}", "step", (json_int_t)l->step,
                  "from", (json_int_t)from, "news", (json_int_t)l->news, "paused",
                  l->paused && !l->wanted, "told", l->told, "speed", l->speed, "fault",
                  live_words(l->fault), "lanes", lanes, "factors", factors);
    int rc = json_add_line(&l->out, all);
    json_decref(all);
    return rc;
}

int live_frame(live *l, int64_t step)
{
    int rc = 0;
    for (int i = 0; i < l->count; i++) live_fault(l, draw(l, &l->lanes[i], i));
    text_add_n(&l->out, "\0\0\0\0", 4);
    TRY(frame_json(l, step));
    TRY(text_done(&l->out));
    for (int k = 0; k < 4; k++) l->out.s[k] = (char)((l->out.length - 4) >> (8 * k));
    for (int i = 0; i < l->count; i++)
        text_add_n(&l->out, (const char *)l->lanes[i].png, l->lanes[i].png_bytes);
    TRY(text_done(&l->out));
out:
    return rc;
}

/* ---- answers --------------------------------------------------------------------------------- */

static int no_page(server_answer *a)
{
    a->status = 404;
    return fans_fail(FANS_EINVAL, "there is no such page");
}

/* What is asked for, into `out`; nothing where there is no news. */
static int look(live *l, const server_request *q, server_answer *a)
{
    l->asked = os_now();
    if (!strcmp(q->path, "/about")) return live_about(l);
    if (!strcmp(q->path, "/curves")) return live_curves(l);
    if (strcmp(q->path, "/frame")) return no_page(a);
    if (server_number(q, "news", -1) == (int64_t)l->news) return 0;
    a->type = "application/octet-stream";
    return live_frame(l, server_number(q, "step", -1));
}

static int obey(live *l, const server_request *q, server_answer *a)
{
    if (strcmp(q->path, "/control")) return no_page(a);
    return live_control(l, q->body, q->bytes);
}

static void tell_fault(live *l, server_answer *a)
{
    json_t *why = json_pack("{s:o}", "error", live_words(fans_error()));
    l->out.length = 0;
    if (a->status == 200) a->status = 400;
    a->type = "application/json";
    if (json_add_line(&l->out, why) < 0) a->status = 500;
    json_decref(why);
}

void live_answer(void *user, const server_request *q, server_answer *a)
{
    live *l = user;
    l->out.length = 0;
    l->out.failed = false;
    int rc = q->body ? obey(l, q, a) : look(l, q, a);
    if (rc == 0 && text_done(&l->out) < 0) rc = FANS_ENOMEM;
    if (rc < 0) tell_fault(l, a);
    a->content = l->out.s ? l->out.s : "";
    a->bytes = l->out.length;
}
