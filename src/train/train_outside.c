/* train_outside.c - a training whose worlds belong to the caller: a robot, a simulator, another
 * language. The agent's half of a step, the folder and the curves are those of any training. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "train/train_parts.h"

/* ---- what it remembers ----------------------------------------------------------------------- */

int train_claim_outside(training *t)
{
    size_t n = (size_t)t->worlds_each;
    int rc = 0;
    TRY(arena_declare(t->memory, &t->out.segment, n * sizeof *t->out.segment));
    TRY(arena_declare(t->memory, &t->out.ended, n));
    TRY((t->out.yours = mem_alloc(0)) ? 0 : FANS_ENOMEM);
out:
    return rc;
}

void train_list_outside(training *t, state_list *s)
{
    const int64_t each[] = {t->worlds_each};
    state_add(s, "run/segment", FANS_I64, 1, each, t->out.segment);
    state_range(s, 0, STATE_COUNT);
    state_add(s, "run/ended", FANS_U8, 1, each, t->out.ended);
    state_range(s, 0, 1);
    state_add_bytes(s, TRAIN_YOURS, t->out.yours, t->out.bytes);
}

int train_fit_yours(training *t, size_t bytes)
{
    state_list *s = &t->replicas[0].state;
    if (bytes == t->out.bytes) return 0;
    uint8_t *room = mem_alloc(bytes);
    if (!room) return FANS_ENOMEM;
    mem_free(t->out.yours);
    t->out.yours = room;
    t->out.bytes = bytes;
    for (size_t i = 0; i < s->count; i++)
        if (!strcmp(s->items[i].name, TRAIN_YOURS)) {
            s->items[i].data = room;
            s->items[i].shape[0] = (int64_t)bytes;
        }
    return t->writer_count ? checkpoint_fit(t->writers[0], s) : 0;
}

int training_save(training *t, const void *yours, size_t bytes)
{
    int rc = train_fit_yours(t, bytes);
    if (rc < 0) return rc;
    if (bytes) memcpy(t->out.yours, yours, bytes);
    return train_save(t);
}

const void *training_yours(const training *t, size_t *bytes)
{
    *bytes = t->out.bytes;
    return t->out.yours;
}

bool training_is_done(const training *t)
{
    return train_is_done(t);
}

/* ---- a step ---------------------------------------------------------------------------------- */

static void copy(void *to, const void *from, int rows, int width, size_t size)
{
    if (from) memcpy(to, from, (size_t)rows * (size_t)width * size);
}

/* Segments are counted here: the caller only says where one begins. */
static void begin_segments(training *t, const uint8_t *change)
{
    world_buffers *b = &t->scene.now;
    if (t->scene.tells == FANS_TELLS_EPISODES) change = NULL;
    for (int i = 0; i < t->rows; i++) {
        b->change[i] = change ? change[i] != 0 : t->out.ended[i];
        t->out.segment[i] += b->change[i];
        b->segment[i] = t->out.segment[i];
    }
}

int training_act(training *t, const float *obs, const uint8_t *change, const double *factors,
                 float *action)
{
    const fans_env_info *info = t->scene.info;
    world_buffers *b = &t->scene.now;
    copy(b->obs, obs, t->rows, info->obs_dim, sizeof *obs);
    copy(b->factors, factors, t->rows, info->factor_count, sizeof *factors);
    begin_segments(t, change);
    int rc = train_act(t, &t->scene, true);
    if (rc == 0) copy(action, t->scene.action, t->rows, info->act_dim, sizeof *action);
    return train_blame(t, rc);
}

int training_update(training *t)
{
    return train_blame(t, train_update(t));
}

int training_observe(training *t, const float *did, const fans_outcome *o)
{
    const fans_env_info *info = t->scene.info;
    world_buffers *b = &t->scene.now;
    copy(t->scene.action, did, t->rows, info->act_dim, sizeof *did);
    copy(b->final_obs, o->next_obs, t->rows, info->obs_dim, sizeof *b->final_obs);
    for (int i = 0; i < t->rows; i++) {
        bool full = t->replicas[0].length[i] + 1 >= info->horizon; /* a robot may never stop */
        b->reward[i] = o->reward[i];
        b->terminated[i] = o->terminated[i] != 0;
        b->truncated[i] = (o->truncated[i] || full) && !b->terminated[i];
        b->success[i] = NAN;
        t->out.ended[i] = scene_ended(&t->scene, i);
    }
    int rc = train_observe(t, &t->scene, true);
    if (rc == 0) rc = train_finish(t, 1);
    return train_blame(t, rc);
}
