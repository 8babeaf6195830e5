/* retina.c - encoder, decoder and their costs. */
#include "learn/retina.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/error.h"

OPTIONS_GROUP(retina_option_group, retina_options, "retina",
              "the state that the model of fans reads from pixels, with env.pixels",
              RETINA_OPTIONS);

enum { LAYERS = 4, REDUCED = 1 << LAYERS, WIDTH = 128, RGB = 3, CLIP = 100 };
enum { EYE, SLOW, MODELS, GROUPS };
enum { DRAW, REWARD, FORESEE, COSTS };

static const char *const names[GROUPS] = {"retina", "retina_slow", "retina_models"};
static const char *const curves[COSTS] = {"model/draw", "model/tell_reward", "model/foresee"};

struct retina {
    const retina_options *o;
    const fans_env_info *info;
    int replicas, worlds, frames;
    const replay *replay;
    nn_graph *g;
    nn_group *group[GROUPS];
    staged at, next;     /* steps of a batch and their successors, … */
    staged films, after; /* … and their last frames */
    nn_var cost[COSTS];
    nn_plan *learn;
    staged here; /* (1, worlds, state): what to draw */
    nn_var drawn;
    nn_plan *draw;
    float *planes;  /* (worlds, films) of `drawn` */
    uint8_t *frame; /* what retina_draw returns */
    int64_t update;
    rng *drawing; /* [replicas] */
    float *shown; /* (COSTS, replicas): of the last update */
    bool stale;   /* not read since */
    arena *memory, *staging;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int check_size(const fans_env_info *i)
{
    if (i->height % REDUCED == 0 && i->width % REDUCED == 0) return 0;
    return fans_fail(FANS_ENOSUP,
                     "a camera of %d x %d pixels: fans needs multiples of %d to draw them again",
                     i->height, i->width, REDUCED);
}

/* Numbers of a frame of all cameras. */
static size_t frame_size(const retina *x)
{
    const fans_env_info *i = x->info;
    return (size_t)i->views * (size_t)i->height * (size_t)i->width * RGB;
}

static int claim(retina *x)
{
    size_t R = (size_t)x->replicas, films = (size_t)(x->worlds * x->frames) * frame_size(x);
    int rc = 0;
    TRY(arena_new(&x->staging));
    TRY(arena_new(&x->memory));
    TRY(arena_declare(x->memory, &x->drawing, R * sizeof *x->drawing));
    TRY(arena_declare(x->memory, &x->shown, COSTS * R * sizeof *x->shown));
    TRY(arena_declare(x->memory, &x->planes, films * sizeof *x->planes));
    TRY(arena_declare(x->memory, &x->frame, frame_size(x)));
    TRY(arena_commit(x->memory));
out:
    return rc;
}

int retina_new(retina **out, const fans_algo_setup *s)
{
    int rc = check_size(s->info);
    retina *x = rc == 0 ? mem_alloc(sizeof *x) : NULL;
    if (!x) return rc < 0 ? rc : FANS_ENOMEM;
    *x = (retina){.o = fans_options(s, "retina"),
                  .info = s->info,
                  .replicas = s->replicas,
                  .worlds = s->worlds,
                  .frames = ((const pixels_options *)fans_options(s, "pixels"))->frames};
    TRY(claim(x));
    for (int r = 0; r < x->replicas; r++) x->drawing[r] = rng_stream(s->seeds[r], "retina", 0);
    *out = x;
    return 0;
out:
    retina_free(x);
    return rc;
}

void retina_free(retina *x)
{
    if (!x) return;
    arena_free(x->memory);
    arena_free(x->staging);
    mem_free(x);
}

const retina_options *retina_options_of(const retina *x)
{
    return x->o;
}

/* ---- recording ------------------------------------------------------------------------------- */

static nn_var record_encoder(const retina *x, nn_group *g, nn_var film)
{
    char name[16];
    nn_conv c = {.channels = x->frames * x->info->views * RGB,
                 .height = x->info->height,
                 .width = x->info->width,
                 .stride = 2};
    for (int k = 0; k < LAYERS; k++) {
        snprintf(name, sizeof name, "conv%d", k + 1);
        c.kernel = k == 0 ? 5 : 3;
        c.pad = c.kernel / 2;
        c.filters = x->o->channels << k;
        film = nn_conv_layer(g, name, film, c, false, NN_LEAKY_RELU);
        c.channels = c.filters;
        c.height /= 2;
        c.width /= 2;
    }
    nn_var h = nn_dense(g, "dense", NN_IN(film), 1, true, c.channels, NN_LEAKY_RELU);
    return nn_norm_dense(g, "state", NN_IN(h), 1, true, x->o->state, NN_LINEAR);
}

/* The encoder in a mirror. */
static nn_var record_decoder(const retina *x, nn_var s)
{
    char name[16];
    nn_group *g = x->group[MODELS];
    nn_conv c = {.channels = x->o->channels << (LAYERS - 1),
                 .height = x->info->height / REDUCED,
                 .width = x->info->width / REDUCED,
                 .stride = 2,
                 .extra = 1};
    nn_var h = nn_dense(g, "dense1", NN_IN(s), 1, true, c.channels, NN_LEAKY_RELU);
    h = nn_dense(g, "dense2", NN_IN(h), 1, true, c.channels * c.height * c.width, NN_LEAKY_RELU);
    for (int k = LAYERS - 1; k >= 0; k--) {
        snprintf(name, sizeof name, "paint%d", k + 1);
        c.kernel = k == 0 ? 5 : 3;
        c.pad = c.kernel / 2;
        c.filters = k == 0 ? x->frames * x->info->views * RGB : x->o->channels << (k - 1);
        h = nn_conv_layer(g, name, h, c, true, k == 0 ? NN_LINEAR : NN_LEAKY_RELU);
        c.channels = c.filters;
        c.height *= 2;
        c.width *= 2;
    }
    return h;
}

static nn_var encode_slowly(void *self, const pixels *eyes, nn_var film)
{
    const retina *x = self;
    (void)eyes;
    return record_encoder(x, x->group[SLOW], film);
}

sight_encoder retina_sight(retina *x)
{
    return (sight_encoder){x, x->o->state, encode_slowly};
}

static nn_var film_at(const retina *x, nn_var at)
{
    const fans_env_info *i = x->info;
    int last = replay_shape_of(x->replay)->column_count - 1;
    return nn_frames(replay_table(x->replay, last), at, NN_NONE,
                     (nn_film){i->views, i->height, i->width, 0});
}

/* The costs of a batch. Held, the next state cannot be drawn to what is easy to foresee. */
static void record_costs(retina *x, const fnvae *f)
{
    nn_group *g = x->group[MODELS];
    nn_var now = replay_gather(x->replay, x->at.var), next = replay_gather(x->replay, x->next.var);
    nn_var action = replay_action(x->replay, now),
           theta = replay_gather_column(x->replay, 0, x->at.var);
    fnvae_lived lived = {replay_obs(x->replay, now), action, replay_reward(x->replay, now),
                         replay_obs(x->replay, next)};
    nn_var film = film_at(x, x->films.var), s = record_encoder(x, x->group[EYE], film);
    nn_var s1 = record_encoder(x, x->group[EYE], film_at(x, x->after.var));
    nn_var reward = nn_mlp(g, "reward", NN_IN(s, action, s1, theta), 1, 2, WIDTH, NN_RELU, 1);
    nn_var coming = nn_mlp(g, "next", NN_IN(s, action), 1, 2, WIDTH, NN_RELU, x->o->state);
    nn_var r = fnvae_record_seen(f, lived, NN_NONE).r;
    x->cost[DRAW] = nn_mse(record_decoder(x, s), film, NN_NONE);
    x->cost[REWARD] = nn_affine(nn_mse(reward, r, NN_NONE), x->o->reward, 0);
    x->cost[FORESEE] = nn_affine(nn_mse(coming, nn_detach(s1), NN_NONE), x->o->foresee, 0);
}

int retina_record(retina *x, nn_graph *g, const fnvae *f)
{
    int rc = 0, B = x->o->batch;
    x->replay = f->replay;
    x->g = g;
    for (int k = 0; k < GROUPS; k++) x->group[k] = nn_group_new(g, names[k]);
    TRY(staged_rows(&x->at, x->staging, g, "drawn", 1, B, 1));
    TRY(staged_rows(&x->next, x->staging, g, "drawn next", 1, B, 1));
    TRY(staged_rows(&x->films, x->staging, g, "drawn frames", 1, B, x->frames));
    TRY(staged_rows(&x->after, x->staging, g, "drawn next frames", 1, B, x->frames));
    record_costs(x, f);
    TRY(staged_numbers(&x->here, x->staging, g, "states to draw", 1, x->worlds, x->o->state));
    x->drawn = record_decoder(x, x->here.var);
out:
    return rc;
}

int retina_plan(retina *x)
{
    nn_group *learned[] = {x->group[EYE], x->group[MODELS]};
    int rc = nn_plan_new(&x->draw, x->g, &x->drawn, 1, 0, NULL, 0);
    return rc < 0 ? rc : nn_plan_new(&x->learn, x->g, x->cost, COSTS, COSTS, learned, 2);
}

int retina_ready(retina *x)
{
    int rc = arena_commit(x->staging);
    if (rc == 0) retina_settle(x);
    return rc;
}

/* ---- learning -------------------------------------------------------------------------------- */

void retina_settle(retina *x)
{
    nn_group_follow(x->group[SLOW], x->group[EYE], 1);
}

static void fill(void *arg, int r)
{
    const retina *x = arg;
    int32_t *at = rows_of(&x->at, r), *next = rows_of(&x->next, r);
    replay_draw(x->replay, r, &x->drawing[r], x->o->batch, at, next);
    replay_film(x->replay, r, x->o->batch, at, x->frames, rows_of(&x->films, r));
    replay_film(x->replay, r, x->o->batch, next, x->frames, rows_of(&x->after, r));
}

static int learn_once(retina *x, pool *p)
{
    const staged *inputs[] = {&x->at, &x->next, &x->films, &x->after};
    nn_adam adam = NN_ADAM_DEFAULT;
    int rc = 0;
    adam.clip = CLIP;
    adam.lr = x->o->lr * pow(x->o->lr_end / x->o->lr, fmin((double)x->update / x->o->updates, 1));
    pool_run(p, x->replicas, fill, x);
    for (int i = 0; i < 4; i++) staged_send(inputs[i]);
    TRY(nn_plan_run(x->learn));
    TRY(nn_group_adam(x->group[EYE], &adam));
    TRY(nn_group_adam(x->group[MODELS], &adam));
    nn_group_follow(x->group[SLOW], x->group[EYE], x->o->tau);
    x->update++;
    x->stale = true;
out:
    return rc;
}

int retina_learn(retina *x, int64_t updates, pool *p)
{
    int rc = 0;
    for (int64_t i = 0; rc == 0 && i < updates; i++) rc = learn_once(x, p);
    return rc;
}

/* ---- for people ------------------------------------------------------------------------------ */

/* From planes of numbers around 0 to pixels: nn_frames, backwards. */
static void take_picture(const retina *x, const float *planes, uint8_t *to)
{
    size_t area = (size_t)x->info->height * (size_t)x->info->width;
    for (int v = 0; v < x->info->views; v++, planes += RGB * area, to += RGB * area)
        for (size_t i = 0; i < area; i++)
            for (size_t k = 0; k < RGB; k++) {
                double shade = ((double)planes[k * area + i] + 0.5) * 255;
                to[i * RGB + k] = (uint8_t)fmin(fmax(shade + 0.5, 0), 255);
            }
}

const uint8_t *retina_draw(retina *x, const float *states, int row)
{
    size_t film = (size_t)x->frames * frame_size(x);
    memcpy(x->here.host, states, (size_t)x->replicas * x->here.each * sizeof *states);
    staged_send(&x->here);
    if (nn_plan_run(x->draw) < 0) return NULL;
    nn_read(x->drawn, row / x->worlds, x->planes);
    take_picture(x, x->planes + (size_t)(row % x->worlds + 1) * film - frame_size(x), x->frame);
    return x->frame;
}

/* ---- state and curves ------------------------------------------------------------------------ */

static int read_costs(void *arg)
{
    retina *x = arg;
    for (int k = 0; x->stale && k < COSTS; k++) nn_read_all(x->cost[k], x->shown + k * x->replicas);
    x->stale = false;
    return 0;
}

void retina_state(retina *x, int r, state_list *s)
{
    state_on_save(s, read_costs, x);
    for (int k = 0; k < GROUPS; k++) state_add_trained(s, x->group[k], r);
    state_add_number(s, "retina/drawing", FANS_U64, &x->drawing[r].drawn);
    state_add_number(s, "retina/update", FANS_I64, &x->update);
    state_range(s, 0, STATE_COUNT);
    for (int k = 0; k < COSTS; k++)
        state_add_number(s, curves[k], FANS_F32, x->shown + k * x->replicas + r);
}

void retina_scalars(retina *x, int r, fans_scalar_fn *emit, void *user)
{
    read_costs(x);
    for (int k = 0; k < COSTS; k++) emit(user, curves[k], (double)x->shown[k * x->replicas + r]);
}
