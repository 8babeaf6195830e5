/* video.c - raw frames into ffmpeg's standard input.
 *
 * The pipe is a socket pair: writing to a dead ffmpeg is then an error (MSG_NOSIGNAL) instead of a
 * signal that would end the program. ffmpeg's own messages go to an unlinked file; its last line
 * becomes part of our error. Rejected: libavcodec (a heavy dependency whose ABI changes each year),
 * libwebp for the case without ffmpeg (PNG frames need only zlib and can be assembled anywhere). */
#define _GNU_SOURCE
#include "env/video.h"

#include <errno.h>
#include <limits.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/error.h"
#include "base/log.h"
#include "base/mem.h"
#include "base/os.h"
#include "env/png.h"

extern char **environ;

struct video {
    char path[PATH_MAX];
    int width, height;
    int frames;
    pid_t ffmpeg;  /* 0: frames go to a folder */
    int pipe, log; /* our end of the socket; what ffmpeg says */
};

/* ---- formats --------------------------------------------------------------------------------- */

/* What ffmpeg is told about each ending. yuv420p wants even sides: odd ones are padded. */
#define EVEN "pad=ceil(iw/2)*2:ceil(ih/2)*2"
static const struct {
    const char *ending;
    const char *args[10];
} formats[] = {
    {"mp4", {"-vf", EVEN, "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p"}},
    {"mkv", {"-vf", EVEN, "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p"}},
    {"mov", {"-vf", EVEN, "-c:v", "libx264", "-crf", "20", "-pix_fmt", "yuv420p"}},
    {"webm", {"-vf", EVEN, "-c:v", "libvpx-vp9", "-crf", "30", "-b:v", "0", "-pix_fmt", "yuv420p"}},
    {"gif", {"-vf", "split[a][b];[a]palettegen[p];[b][p]paletteuse", "-loop", "0"}},
    {"webp", {"-c:v", "libwebp_anim", "-loop", "0", "-quality", "80"}},
};

/* The row of `formats` for a path, or -1. */
static int format_of(const char *path)
{
    const char *dot = strrchr(path, '.');
    for (int i = 0; dot && i < (int)(sizeof formats / sizeof *formats); i++)
        if (!strcmp(dot + 1, formats[i].ending)) return i;
    return -1;
}

bool video_has_ffmpeg(void)
{
    const char *list = getenv("PATH");
    while (list && *list) {
        char candidate[PATH_MAX];
        size_t n = strcspn(list, ":");
        snprintf(candidate, sizeof candidate, "%.*s/ffmpeg", (int)n, list);
        if (access(candidate, X_OK) == 0) return true;
        list += n + (list[n] == ':');
    }
    return false;
}

/* ---- ffmpeg ---------------------------------------------------------------------------------- */

static int spawn(video *v, int format, double rate, int their_end)
{
    char size[32], fps[32];
    snprintf(size, sizeof size, "%dx%d", v->width, v->height);
    snprintf(fps, sizeof fps, "%.6g", rate);
    const char *args[40] = {"ffmpeg", "-y",       "-nostdin", "-loglevel", "error",
                            "-f",     "rawvideo", "-pix_fmt", "rgb24",     "-s",
                            size,     "-r",       fps,        "-i",        "pipe:0"};
    size_t n = 15;
    for (const char *const *a = formats[format].args; *a; a++) args[n++] = *a;
    char target[PATH_MAX + 8]; /* never an option, nor another protocol */
    snprintf(target, sizeof target, "file:%s", v->path);
    args[n++] = target;
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    posix_spawnattr_init(&attributes); /* Ctrl-C is not for it: it ends the film where we stop */
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, their_end, STDIN_FILENO);
    posix_spawn_file_actions_adddup2(&actions, v->log, STDOUT_FILENO);
    posix_spawn_file_actions_adddup2(&actions, v->log, STDERR_FILENO);
    int bad =
        posix_spawnp(&v->ffmpeg, "ffmpeg", &actions, &attributes, (char *const *)args, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    if (bad) {
        v->ffmpeg = 0;
        return fans_fail(FANS_EIO, "%s: cannot start ffmpeg: %s", v->path, strerror(bad));
    }
    return 0;
}

static int start_ffmpeg(video *v, int format, double rate)
{
    int ends[2];
    v->log = memfd_create("ffmpeg", MFD_CLOEXEC);
    if (v->log < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, ends))
        return fans_fail(FANS_EIO, "%s: no pipe to ffmpeg: %s", v->path, strerror(errno));
    v->pipe = ends[0];
    int rc = spawn(v, format, rate, ends[1]);
    close(ends[1]);
    return rc;
}

/* Ends ffmpeg's input, waits for it, and turns its failure into an error of ours. */
static int finish_ffmpeg(video *v)
{
    char said[512] = "";
    int status = 0;
    close(v->pipe);
    v->pipe = -1;
    while (waitpid(v->ffmpeg, &status, 0) < 0 && errno == EINTR) {}
    v->ffmpeg = 0;
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0) return 0;
    /* the last line that it wrote */
    off_t end = lseek(v->log, 0, SEEK_END), from = end > 511 ? end - 511 : 0;
    ssize_t n = pread(v->log, said, sizeof said - 1, from);
    while (n > 0 && said[n - 1] == '\n') n--;
    said[n > 0 ? n : 0] = 0;
    const char *line = strrchr(said, '\n');
    return fans_fail(FANS_EIO, "%s: ffmpeg failed: %s", v->path,
                     line    ? line + 1
                     : *said ? said
                             : "it said nothing");
}

static int send_frame(video *v, const uint8_t *rgb)
{
    size_t left = 3 * (size_t)v->width * (size_t)v->height;
    while (left > 0) {
        ssize_t n = send(v->pipe, rgb, left, MSG_NOSIGNAL);
        if (n < 0 && errno == EINTR) continue;
        if (n < 0) {
            int rc = finish_ffmpeg(v); /* it has ended: its message says why */
            return rc < 0 ? rc : fans_fail(FANS_EIO, "%s: ffmpeg stopped early", v->path);
        }
        rgb += n;
        left -= (size_t)n;
    }
    return 0;
}

/* ---- films ----------------------------------------------------------------------------------- */

int video_new(video **out, const char *path, int width, int height, double frames_per_second)
{
    int rc = 0, format = format_of(path);
    if (format < 0)
        return fans_fail(FANS_EINVAL, "%s: not one of .mp4 .mkv .mov .webm .gif .webp", path);
    if (width < 1 || height < 1 || !(frames_per_second > 0))
        return fans_fail(FANS_EINVAL, "%s: cannot film %d×%d pixels at %g frames a second", path,
                         width, height, frames_per_second);
    video *v = mem_alloc(sizeof *v);
    if (!v) return FANS_ENOMEM;
    *v = (video){.width = width, .height = height, .pipe = -1, .log = -1};
    bool has = video_has_ffmpeg();
    if (snprintf(v->path, sizeof v->path, "%s%s", path, has ? "" : ".frames") >= PATH_MAX) {
        rc = fans_fail(FANS_EINVAL, "%s: the path is too long", path);
        goto out;
    }
    if (has) {
        TRY(start_ffmpeg(v, format, frames_per_second));
    } else {
        log_warning("no ffmpeg in PATH: PNG frames go to %s", v->path);
        TRY(os_make_folders(v->path));
    }
    *out = v;
    return 0;
out:
    video_close(v);
    return rc;
}

int video_add(video *v, const uint8_t *rgb)
{
    v->frames++;
    if (v->pipe >= 0) return send_frame(v, rgb);
    if (v->log >= 0) return FANS_EIO; /* as in video_close */
    char file[PATH_MAX + 16];
    snprintf(file, sizeof file, "%s/%06d.png", v->path, v->frames - 1);
    return png_write(file, v->width, v->height, rgb);
}

const char *video_path(const video *v)
{
    return v->path;
}

int video_close(video *v)
{
    int rc = 0;
    if (!v) return 0;
    if (v->ffmpeg)
        rc = finish_ffmpeg(v);
    else if (v->log >= 0)
        rc = FANS_EIO; /* it failed before; the message is still there */
    if (v->log >= 0) close(v->log);
    mem_free(v);
    return rc;
}
