/* robot.c - act on time, learn on the side: one thread drives 200 times a second by a copy of the
 * policy, another learns from what was driven and hands over newer copies.
 *
 *     cc examples/robot.c -o robot $(pkg-config --cflags --libs fans) -pthread
 *     ./robot configs/pendulum_flip.ini 60     (seconds; the pendulum stands for the robot) */
#include <fans/fans.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { OBS = 3, RING = 4096, RATE = 200 };
static struct step {
    float obs[OBS], action, reward, next[OBS];
    uint8_t ended;
} ring[RING]; /* what was driven */
static atomic_long driven, learned;
static _Atomic(fans_life *) newest; /* for the driver to take */
static atomic_bool stop;

static bool hand_over(fans_trainer *t)
{
    fans_policy *copy = NULL;
    fans_life *l = NULL;
    bool ok = fans_trainer_policy(&copy, t) == 0 && fans_life_new(&l, copy, 1, 0) == 0;
    fans_policy_free(copy); /* the life keeps it */
    fans_life_free(atomic_exchange(&newest, l));
    return ok;
}

static void *learn(void *t)
{
    float as_if; /* what it would do now */
    for (bool ok = hand_over(t); ok && !stop;) {
        const struct step *k = &ring[learned % RING];
        nanosleep(&(struct timespec){.tv_nsec = 100000}, NULL);
        if (learned == driven) continue;
        ok = fans_trainer_act(t, k->obs, NULL, NULL, &as_if) == 0 && fans_trainer_update(t) == 0 &&
             fans_trainer_observe(t, &k->action, &k->reward, NULL, &k->ended, k->next) == 0;
        if (++learned % RATE == 0) ok = ok && hand_over(t);
        if (!ok) fprintf(stderr, "robot: it learns no more: %s\n", fans_error());
    }
    return NULL;
}

int main(int argc, char **argv)
{
    fans_config *c = NULL;
    fans_trainer *t = NULL;
    fans_worlds *robot = NULL;
    fans_life *l = NULL, *fresh;
    fans_view v = {.size = sizeof v};
    pthread_t learner;
    bool ok = argc > 2 && fans_config_new(&c, argv[1], "small") == 0 &&
              fans_trainer_new(&t, NULL, c, NULL) == 0 && fans_worlds_open(&robot, c, 1, 1) == 0 &&
              fans_worlds_view(robot, &v) == 0 && pthread_create(&learner, NULL, learn, t) == 0;
    for (long n = ok ? RATE * atol(argv[2]) : 0; ok && driven < n; driven++) {
        struct step *k = &ring[driven % RING];
        nanosleep(&(struct timespec){.tv_nsec = 1000000000 / RATE}, NULL);
        if ((fresh = atomic_exchange(&newest, NULL))) fans_life_free(l), l = fresh;
        memcpy(k->obs, v.obs, sizeof k->obs);
        ok = (!l || fans_life_act(l, v.obs, v.change, true, v.action) == 0) &&
             fans_worlds_step(robot) == 0 &&
             (!l || fans_life_observe(l, NULL, v.reward, NULL, v.final_obs) == 0);
        memcpy(k->next, v.final_obs, sizeof k->next);
        k->action = *v.action, k->reward = *v.reward, k->ended = *v.truncated;
    }
    if (!ok) return fprintf(stderr, "robot: %s\n", fans_error()), 1;
    stop = true;
    pthread_join(learner, NULL);
    printf("%ld steps driven, %ld learned from\n", driven, learned);
    fans_life_free(l), fans_life_free(newest);
    fans_trainer_free(t), fans_worlds_free(robot), fans_config_free(c);
    return 0;
}
