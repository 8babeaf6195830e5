/* video.h - films for people: a pipe to ffmpeg, or PNG frames where ffmpeg is missing. */
#ifndef ENV_VIDEO_H
#define ENV_VIDEO_H

#include <stdbool.h>
#include <stdint.h>

typedef struct video video;

/* Is there an ffmpeg in PATH? */
bool video_has_ffmpeg(void);

/* The ending of `path` chooses the format: .mp4 .mkv .mov (h264, yuv420p), .webm, .gif, .webp.
 * Without ffmpeg, frames go to the folder "PATH.frames" as 000000.png and so on, with a warning in
 * the log.
 * */
int video_new(video **out, const char *path, int width, int height, double frames_per_second);

/* Adds a frame: height × width × 3 bytes, top row first. */
int video_add(video *v, const uint8_t *rgb);

/* The file, or the folder of frames, that is being written. */
const char *video_path(const video *v);

/* Finishes the file; the result says whether it is whole. Frees `v` in any case. */
int video_close(video *v);

#endif
