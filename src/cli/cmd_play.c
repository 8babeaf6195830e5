/* cmd_play.c - fans play: lets trained agents play in new worlds, and films them side by side. */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "cli/watch.h"
#include "env/png.h"
#include "env/video.h"
#include "film/film.h"
#include "train/players.h"

enum { SLOWLY = 6 }; /* frames of a step in which a change is being noticed */

/* The episodes of one agent. */
typedef struct tally {
    double gain, *returns;
    int played;
} tally;

typedef struct playing {
    text_list folders, settings;
    const char *video_path, *still_path, *json;
    int episodes, seed, size, fps, at; /* at: the step of the still; 0: the last */
    players *players;
    tally *tallies;
    int count;
    film *film;
    video *video;
    watch eye;
} playing;

/* ---- making ---------------------------------------------------------------------------------- */

static int make_tallies(playing *g)
{
    int rc = 0;
    g->count = players_count(g->players);
    TRY((g->tallies = mem_alloc((size_t)g->count * sizeof *g->tallies)) ? 0 : FANS_ENOMEM);
    for (int i = 0; i < g->count; i++) {
        tally *y = &g->tallies[i];
        TRY((y->returns = mem_alloc((size_t)g->episodes * sizeof *y->returns)) ? 0 : FANS_ENOMEM);
    }
out:
    return rc;
}

static int open_lane(playing *g, int i)
{
    text name = {0};
    int rc = 0;
    players_name(g->players, i, &name);
    TRY(text_done(&name));
    TRY(film_open(g->film, i, name.s, players_algo(g->players, i)->told,
                  players_folder(g->players, i)));
out:
    text_free(&name);
    return rc;
}

static int open_film(playing *g)
{
    const task *t = players_task(g->players);
    text title = {0};
    int rc = 0;
    players_title(g->players, &title);
    TRY(text_done(&title));
    TRY(film_new(&g->film, &(film_setup){.task = t,
                                         .title = title.s,
                                         .lanes = g->count,
                                         .width = g->size,
                                         .steps = (int64_t)g->episodes * t->info.horizon,
                                         .slows = g->video_path != NULL}));
    for (int i = 0; i < g->count; i++) TRY(open_lane(g, i));
    const canvas *page = film_page(g->film);
    if (g->video_path &&
        (rc = video_new(&g->video, g->video_path, page->width, page->height, g->fps)) < 0)
        TRY(fans_fail_within(rc, "--video"));
out:
    text_free(&title);
    return rc;
}

/* ---- playing --------------------------------------------------------------------------------- */

static bool is_done(const playing *g, int i)
{
    return g->tallies[i].played == g->episodes;
}

static int step_player(playing *g, int i)
{
    play *p = players_play(g->players, i);
    tally *y = &g->tallies[i];
    int rc = 0;
    if (is_done(g, i)) return 0;
    if (g->film) TRY(film_picture(g->film, i, play_look(p, 0).world));
    TRY(play_step(p));
    play_view view = play_look(p, 0);
    if (g->film) {
        film_note(g->film, i, &view);
        film_saw(g->film, i, view.pixels, view.pixels ? play_imagined(p, 0) : NULL);
    }
    y->gain += view.reward;
    if (view.ended) {
        y->returns[y->played++] = y->gain;
        y->gain = 0;
    }
out:
    return rc;
}

/* WebP is ffmpeg's work: a film of one frame. */
static int write_webp(const char *path, const canvas *page)
{
    video *v = NULL;
    int rc = video_new(&v, path, page->width, page->height, 1);
    if (rc == 0) rc = video_add(v, page->rgb);
    int closed = v ? video_close(v) : 0;
    return rc < 0 ? rc : closed;
}

static int write_still(const playing *g)
{
    film_draw(g->film);
    const canvas *page = film_page(g->film);
    const char *dot = strrchr(g->still_path, '.');
    if (dot && !strcmp(dot, ".webp")) return write_webp(g->still_path, page);
    return png_write(g->still_path, page->width, page->height, page->rgb);
}

static int shoot(playing *g, int64_t step)
{
    int rc = 0;
    if (g->video) {
        film_draw(g->film);
        for (int n = film_has_news(g->film) ? SLOWLY : 1; n > 0; n--)
            TRY(video_add(g->video, film_page(g->film)->rgb));
    }
    if (g->still_path && step == g->at) TRY(write_still(g));
out:
    return rc;
}

/* A signal ends the film; what was filmed until then is kept. */
static int play_all(playing *g)
{
    int rc = 0;
    int64_t step = 0;
    for (int done = 0; done < g->count && !watch_signalled(&g->eye);) {
        done = 0;
        for (int i = 0; i < g->count; i++) {
            TRY(step_player(g, i));
            done += is_done(g, i);
        }
        if (g->film) TRY(shoot(g, ++step));
    }
    if (g->still_path && (g->at == 0 || g->at > step)) TRY(write_still(g));
out:
    return rc;
}

/* ---- results --------------------------------------------------------------------------------- */

static json_t *noticed_json(follow_count n)
{
    return json_pack("{s:i, s:i, s:o}", "changes", n.changes, "noticed", n.noticed, "after_steps",
                     json_number(n.after));
}

static json_t *player_json(const playing *g, int i)
{
    const tally *y = &g->tallies[i];
    json_t *list = json_array();
    for (int k = 0; k < y->played; k++) json_array_append_new(list, json_number(y->returns[k]));
    json_t *all = json_pack("{s:s, s:s, s:o}", "run", players_folder(g->players, i), "algo",
                            players_algo(g->players, i)->name, "returns", list);
    if (g->film && film_reads(g->film, i))
        json_object_set_new(all, "noticing", noticed_json(film_noticed_of(g->film, i)));
    return all;
}

static void tell_noticing(const playing *g, int i)
{
    follow_count n = film_noticed_of(g->film, i);
    if (!film_reads(g->film, i) || !n.changes) return;
    printf(", noticed %d of %d change%s", n.noticed, n.changes, plural(n.changes));
    if (n.noticed) printf(" after %.1f steps on average", n.after);
}

static void tell(const playing *g)
{
    for (int i = 0; i < g->count; i++) {
        const char *name = players_algo(g->players, i)->name;
        const tally *y = &g->tallies[i];
        double sum = 0;
        for (int k = 0; k < y->played; k++) {
            printf("%s, episode %d: return %.2f\n", name, k, y->returns[k]);
            sum += y->returns[k];
        }
        if (!y->played) continue;
        printf("%s: mean return %.2f", name, sum / y->played);
        if (g->film) tell_noticing(g, i);
        printf("\n");
    }
}

static int report(playing *g)
{
    json_t *list = json_array();
    for (int i = 0; i < g->count; i++) json_array_append_new(list, player_json(g, i));
    int rc = cli_write_json(g->json, json_pack("{s:o}", "runs", list));
    if (rc < 0) return rc;
    tell(g);
    if (!g->film) printf("no film: --video FILE makes one\n");
    if (g->still_path) printf("still: %s\n", g->still_path);
    if (!g->video) return 0;
    printf("film: %s\n", video_path(g->video));
    rc = video_close(g->video);
    g->video = NULL;
    return rc;
}

static void close_all(playing *g)
{
    if (g->video) video_close(g->video);
    film_free(g->film);
    for (int i = 0; g->tallies && i < g->count; i++) mem_free(g->tallies[i].returns);
    mem_free(g->tallies);
    players_free(g->players);
}

int cmd_play(int argc, char **argv)
{
    playing g = {.episodes = 3, .seed = 1000000, .size = 480, .fps = 20};
    const arg args[] = {
        ARG_WORDS("RUN", &g.folders,
                  "folder of a trained run; several play side by side in the same world"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &g.settings,
                 "override a key of the task: env.KEY or change.FACTOR.KEY"),
        ARG_TEXT("video", "F", &g.video_path, "film to the file F: .mp4, .webm, .gif or .webp"),
        ARG_TEXT("still", "F", &g.still_path, "one frame of the film to the file F: .png or .webp"),
        ARG_INT("at", &g.at, 1, 2147483647, "step of the still (the last)"),
        ARG_INT("episodes", &g.episodes, 1, 10000, "number of episodes (3)"),
        ARG_INT("seed", &g.seed, 0, 2147483647, "seed of the new lifetime (1000000)"),
        ARG_INT("size", &g.size, 16, 4096, "width of a run's part of the film in pixels (480)"),
        ARG_INT("fps", &g.fps, 1, 240, "steps per second of film (20)"),
        ARG_PLUGIN,
        ARG_JSON(&g.json),
    };
    int rc = args_parse("play", ARGS(args), argc, argv);
    if (rc) return rc;
    watch_signals(&g.eye);
    TRY(players_new(&g.players, &g.folders, &g.settings, (uint64_t)g.seed, 0));
    TRY(make_tallies(&g));
    if (g.video_path || g.still_path) TRY(open_film(&g));
    TRY(play_all(&g));
    TRY(report(&g));
    if (g.eye.signal) rc = CLI_SIGNAL + g.eye.signal;
out:
    close_all(&g);
    return rc;
}
