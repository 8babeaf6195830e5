/* recording.c - an agent and its world, and what passes between them as a program's inputs. */
#include "deploy/recording.h"

#include <string.h>

#include "base/error.h"
#include "base/mem.h"
#include "learn/agent.h"
#include "train/scene.h"

/* Of the first world. */
typedef struct life {
    recording *r;
    const program_shape *z;
    const fans_algo_def *algo;
    void *agent;
    scene scene;
    bool seen; /* the last step belongs to this episode */
    float reward;
} life;

static void set(const life *l, float *in, int which, const float *from)
{
    program_field f = l->z->in[which];
    memcpy(in + f.at, from, (size_t)f.width * sizeof *in);
}

static int grow(recording *r, size_t inputs)
{
    size_t n = (size_t)r->count + 1;
    int rc = 0;
    TRY(mem_grow(&r->in, &r->room[0], n * inputs, sizeof *r->in));
    TRY(mem_grow(&r->action, &r->room[1], n * (size_t)r->act, sizeof *r->action));
    TRY(mem_grow(&r->belief, &r->room[2], n * (size_t)r->theta + 1, sizeof *r->belief));
    TRY(mem_grow(&r->last, &r->room[3], n, sizeof *r->last));
out:
    return rc;
}

/* Adds a tick at an observation: acted there, or where the episode has ended. */
static int add_tick(life *l, const float *obs, bool last)
{
    recording *r = l->r;
    size_t inputs = (size_t)l->z->inputs, m = (size_t)r->act, i = (size_t)r->count;
    int n = 0, rc = grow(r, inputs);
    if (rc < 0) return rc;
    float *in = r->in + i * inputs, *action = r->action + i * m;
    float seen = l->seen, change = !last && l->scene.told.change[0];
    float terminated = last && l->scene.now.terminated[0];
    memcpy(action, l->scene.action, m * sizeof *action);
    set(l, in, TICK_obs, obs);
    set(l, in, TICK_last_action, l->seen ? action - (last ? 0 : m) : action);
    set(l, in, TICK_reward, &l->reward);
    set(l, in, TICK_terminated, &terminated);
    set(l, in, TICK_change, &change);
    set(l, in, TICK_seen, &seen);
    if (l->z->in[TICK_factors].width) set(l, in, TICK_factors, agent_numbers(l->agent, 0));
    if (r->theta)
        memcpy(r->belief + i * (size_t)r->theta, l->algo->belief(l->agent, 0, &n),
               (size_t)r->theta * sizeof *r->belief);
    r->last[i] = last;
    r->count++;
    return 0;
}

static int live(life *l, bool *ended)
{
    const fans_moment *now = scene_moment(&l->scene);
    int rc = 0;
    TRY(l->algo->act(l->agent, now, false, l->scene.action));
    TRY(add_tick(l, now->obs, false));
    TRY(scene_step(&l->scene));
    fans_outcome o = scene_outcome(&l->scene);
    if (l->algo->observe) TRY(l->algo->observe(l->agent, now, l->scene.action, &o, false));
    *ended = scene_ended(&l->scene, 0);
    l->seen = true;
    l->reward = o.reward[0];
    if (*ended) TRY(add_tick(l, o.next_obs, true));
    l->seen = !*ended;
out:
    return rc;
}

int recording_live(recording *r, const program *p, const session *s, int episodes, uint64_t seed)
{
    const training *t = s->trainings[0];
    const source *from = s->entries[0].from;
    const task *lived = training_runs(t)[0].task;
    life l = {
        .r = r, .z = program_shape_of(p), .algo = s->entries[0].algo, .agent = training_agent(t)};
    int rc = 0;
    r->act = l.z->out[TICK_actions].width;
    r->theta = l.z->out[TICK_belief].width / 2;
    TRY(scene_new(&l.scene, &lived, s->pool, &seed, 1, from->options.worlds));
    l.scene.tells = (fans_tells)from->options.told;
    TRY(scene_start(&l.scene));
    if (l.algo->start) l.algo->start(l.agent);
    for (int done = 0; done < episodes;) {
        bool ended = false;
        TRY(live(&l, &ended));
        done += ended;
    }
out:
    scene_free(&l.scene);
    return rc;
}

void recording_free(recording *r)
{
    mem_free(r->in);
    mem_free(r->action);
    mem_free(r->belief);
    mem_free(r->last);
    *r = (recording){0};
}
