/* test_video.c - films as ffprobe sees them, pictures as ffmpeg reads them, and what happens when
 * things go wrong. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/error.h"
#include "base/mem.h"
#include "base/os.h"
#include "env/png.h"
#include "env/video.h"

enum { W = 65, H = 50, FRAMES = 12, BYTES = W * H * 3 }; /* an odd side on purpose */

static void need_ffmpeg(void)
{
    if (video_has_ffmpeg()) return;
    print_message("skipped: there is no ffmpeg on this machine\n");
    skip();
}

/* A disc that moves to the right. */
static void paint(uint8_t *rgb, int frame)
{
    for (int i = 0; i < W * H; i++) {
        int dx = i % W - 5 * frame, dy = i / W - H / 2;
        memcpy(rgb + 3 * i, dx * dx + dy * dy < 100 ? "\xc0\x40\x20" : "\x20\x60\x90", 3);
    }
}

/* The first line that a command prints. */
static void ask(const char *command, char *line, int size)
{
    FILE *f = popen(command, "r");
    assert_non_null(f);
    line[0] = 0;
    if (fgets(line, size, f)) line[strcspn(line, "\r\n")] = 0;
    assert_int_equal(pclose(f), 0);
}

static void film(const char *path)
{
    static uint8_t rgb[BYTES];
    video *v;
    assert_int_equal(video_new(&v, path, W, H, 20), 0);
    for (int i = 0; i < FRAMES; i++) {
        paint(rgb, i);
        assert_int_equal(video_add(v, rgb), 0);
    }
    if (video_close(v) < 0) fail_msg("%s", fans_error());
}

static void films_are_readable(void **state)
{
    (void)state;
    static const struct {
        const char *path, *expected;
    } films[] = {
        {"film.mp4", "h264,66,50,yuv420p,20/1,12"},
        {"film.mkv", "h264,66,50,yuv420p,20/1,12"},
        {"film.gif", "gif,65,50,bgra,20/1,12"},
    };
    need_ffmpeg();
    for (size_t i = 0; i < sizeof films / sizeof *films; i++) {
        char command[300], line[200];
        film(films[i].path);
        snprintf(command, sizeof command,
                 "ffprobe -v error -count_frames -show_entries "
                 "stream=codec_name,width,height,pix_fmt,r_frame_rate,nb_read_frames "
                 "-of csv=p=0 %s",
                 films[i].path);
        ask(command, line, sizeof line);
        assert_string_equal(line, films[i].expected);
        remove(films[i].path);
    }
}

/* ffprobe of this age does not read animated WebP; its container says enough. */
static void webp_is_animated(void **state)
{
    (void)state;
    need_ffmpeg();
    film("film.webp");
    char *bytes;
    size_t n;
    int frames = 0;
    assert_int_equal(os_read_file((void **)&bytes, &n, "film.webp"), 0);
    assert_memory_equal(bytes, "RIFF", 4);
    assert_memory_equal(bytes + 8, "WEBPVP8X", 8);
    for (size_t i = 0; i + 4 <= n; i++) frames += !memcmp(bytes + i, "ANMF", 4);
    assert_true(frames > 1 && frames <= FRAMES);
    mem_free(bytes);
    remove("film.webp");
}

static void failures_are_explained(void **state)
{
    (void)state;
    static uint8_t rgb[BYTES];
    video *v;
    assert_int_equal(video_new(&v, "film.txt", W, H, 20), FANS_EINVAL);
    assert_non_null(strstr(fans_error(), "film.txt"));
    need_ffmpeg();
    assert_int_equal(video_new(&v, "no/such/folder/film.mp4", W, H, 20), 0);
    int rc = 0;
    for (int i = 0; i < 1000 && rc == 0; i++) rc = video_add(v, rgb);
    assert_int_equal(rc, FANS_EIO); /* and no signal has ended us */
    assert_non_null(strstr(fans_error(), "No such file or directory"));
    assert_int_equal(video_close(v), FANS_EIO);
}

static void without_ffmpeg_frames_are_written(void **state)
{
    (void)state;
    char *path = strdup(getenv("PATH"));
    setenv("PATH", "", 1);
    assert_false(video_has_ffmpeg());
    film("film.mp4");
    setenv("PATH", path, 1);
    free(path);
    for (int i = 0; i < FRAMES; i++) {
        char file[100];
        snprintf(file, sizeof file, "film.mp4.frames/%06d.png", i);
        assert_true(os_exists(file));
        remove(file);
    }
    assert_int_equal(rmdir("film.mp4.frames"), 0);
}

static void pngs_hold_the_same_pixels(void **state)
{
    (void)state;
    static uint8_t rgb[BYTES];
    need_ffmpeg();
    paint(rgb, 3);
    assert_int_equal(png_write("still.png", W, H, rgb), 0);
    char line[10];
    ask("ffmpeg -v error -y -i still.png -f rawvideo -pix_fmt rgb24 still.raw", line, sizeof line);
    uint8_t *back;
    size_t n;
    assert_int_equal(os_read_file((void **)&back, &n, "still.raw"), 0);
    assert_int_equal(n, BYTES);
    assert_memory_equal(back, rgb, BYTES);
    mem_free(back);
    remove("still.png");
    remove("still.raw");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(films_are_readable),
        cmocka_unit_test(webp_is_animated),
        cmocka_unit_test(failures_are_explained),
        cmocka_unit_test(without_ffmpeg_frames_are_written),
        cmocka_unit_test(pngs_hold_the_same_pixels),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
