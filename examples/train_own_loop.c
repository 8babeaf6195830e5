/* train_own_loop.c - learning in a world that FANS has never seen, in your own loop: keep a room at
 * 20 degrees while the weather outside changes from day to day.
 *
 *     cc examples/train_own_loop.c -o train_own_loop $(pkg-config --cflags --libs fans) -lm
 *     ./train_own_loop runs/room 4000
 *
 * Run it again to resume: the folder holds the learner and the room. `fans report runs/room` reads
 * it like any run. */
#include <fans/fans.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DAY = 48 }; /* steps */

typedef struct room {
    double inside, weather; /* degrees */
    int hour, day;
} room;

static void look(const room *r, float obs[2])
{
    obs[0] = (float)(r->inside - 20) / 10;
    obs[1] = (float)sin(2 * M_PI * r->hour / DAY);
}

static float live(room *r, float heating)
{
    r->inside += 0.1 * (r->weather - r->inside) + 2 * (double)heating;
    r->hour++;
    return -(float)fabs(r->inside - 20) / 10;
}

/* A new day with another weather, which the agent is not shown. */
static void wake_up(room *r)
{
    int day = r->day + 1;
    *r = (room){.inside = r->inside, .weather = 10 + 15 * sin(0.7 * day), .day = day};
}

static int make_trainer(fans_trainer **out, const char *run, const char *steps)
{
    fans_task task = {.size = sizeof task, .obs = 2, .act = 1, .horizon = DAY, .worlds = 1};
    char days[16];
    fans_config *c = NULL;
    snprintf(days, sizeof days, "%d", (atoi(steps) + DAY - 1) / DAY);
    int rc = fans_config_new(&c, NULL, "small");
    if (rc == 0) rc = fans_config_set(c, "train.algo", "stack"); /* or fans, and its [fnvae] */
    if (rc == 0) rc = fans_config_set(c, "train.episodes", days);
    if (rc == 0) rc = fans_config_set(c, "sac.random_steps", "500");
    if (rc == 0) rc = fans_trainer_new(out, &task, c, run);
    fans_config_free(c);
    return rc;
}

int main(int argc, char **argv)
{
    fans_trainer *t = NULL;
    room r = {.inside = 20};
    float obs[2], heating, reward;
    size_t bytes;
    if (argc < 2) return fprintf(stderr, "usage: train_own_loop RUN [STEPS]\n"), 2;
    int rc = make_trainer(&t, argv[1], argc > 2 ? argv[2] : "4000");
    const room *saved = rc == 0 ? fans_trainer_yours(t, &bytes) : NULL;
    if (saved && bytes == sizeof r) r = *saved;
    for (look(&r, obs); rc == 0; look(&r, obs)) {
        if ((rc = fans_trainer_act(t, obs, NULL, NULL, &heating)) < 0) break;
        rc = fans_trainer_update(t);
        reward = live(&r, heating);
        const uint8_t over = r.hour == DAY;
        look(&r, obs);
        if (rc == 0) rc = fans_trainer_observe(t, NULL, &reward, NULL, &over, obs);
        if (over) wake_up(&r);
        if (over && rc == 0) rc = fans_trainer_save(t, &r, sizeof r);
    }
    if (rc != FANS_ESTOP) fprintf(stderr, "train_own_loop: %s\n", fans_error());
    fans_trainer_free(t);
    return rc != FANS_ESTOP;
}
