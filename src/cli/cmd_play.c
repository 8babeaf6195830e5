/* cmd_play.c - fans play: lets a trained agent play, and films it. */
#include <stdio.h>

#include "base/mem.h"
#include "cli/args.h"
#include "cli/cli.h"
#include "cli/table.h"
#include "env/video.h"
#include "train/session.h"

typedef struct film {
    video *video;
    uint8_t *frame;
    int size;
} film;

static int shoot(void *user, world *w)
{
    film *f = user;
    int rc = world_picture(w, f->size, f->size, f->frame);
    return rc < 0 ? rc : video_add(f->video, f->frame);
}

int cmd_play(int argc, char **argv)
{
    const char *folder, *path = NULL, *json = NULL;
    int episodes = 3, seed = 1000000, fps = 20;
    film f = {.size = 480};
    text_list settings = {0};
    const arg args[] = {
        ARG_WORD("RUN", &folder, "folder of a trained run"),
        ARG_MANY("set", "SECTION.KEY=VALUE", &settings,
                 "override a key of the task: env.KEY or change.FACTOR.KEY"),
        ARG_TEXT("video", "F", &path, "film to the file F: .mp4, .webm, .gif or .webp"),
        ARG_INT("episodes", &episodes, 1, 10000, "number of episodes (3)"),
        ARG_INT("seed", &seed, 0, 2147483647, "seed of the new lifetime (1000000)"),
        ARG_INT("size", &f.size, 16, 4096, "width and height of the film in pixels (480)"),
        ARG_INT("fps", &fps, 1, 240, "steps per second of film (20)"),
        ARG_PLUGIN,
        ARG_JSON(&json),
    };
    session s = {0};
    double *returns = NULL;
    int rc = args_parse("play", ARGS(args), argc, argv);
    if (rc) return rc;
    TRY(session_look(&s, folder, &settings, 0));
    TRY((returns = mem_alloc((size_t)episodes * sizeof *returns)) ? 0 : FANS_ENOMEM);
    TRY((f.frame = mem_alloc((size_t)f.size * (size_t)f.size * 3)) ? 0 : FANS_ENOMEM);
    if (path && (rc = video_new(&f.video, path, f.size, f.size, fps)) < 0)
        TRY(fans_fail_within(rc, "--video"));
    TRY(training_eval(s.trainings[0], episodes, (uint64_t)seed, returns, path ? shoot : NULL, &f));
    json_t *list = json_array();
    for (int i = 0; i < episodes; i++) json_array_append_new(list, json_real(returns[i]));
    TRY(cli_write_json(json, json_pack("{s:o}", "returns", list)));
    for (int i = 0; i < episodes; i++) printf("episode %d: return %.2f\n", i, returns[i]);
    if (path) {
        printf("film: %s\n", video_path(f.video));
        rc = video_close(f.video);
        f.video = NULL;
    } else {
        printf("no film: --video FILE makes one\n");
    }
out:
    if (f.video) video_close(f.video);
    mem_free(f.frame);
    mem_free(returns);
    session_close(&s);
    return rc;
}
