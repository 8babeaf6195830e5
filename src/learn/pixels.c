/* pixels.c - convolutions over the last frames, and the layers that read them. */
#include "learn/pixels.h"

#include <stdio.h>
#include <string.h>

#include "base/error.h"
#include "env/frames.h"

OPTIONS_GROUP(pixels_option_group, pixels_options, "pixels",
              "what networks see of cameras, with env.pixels", PIXELS_OPTIONS);

enum { LAYERS = 4, KERNEL = 3, STRIDE = 2, SMALLEST = 15, RGB = 3 };
enum { POLICY, CRITIC, TARGET, READERS };

static const char COLUMN[] = "pixels";
static const char *const readers[READERS] = {"policy_eye", "critic_eye", "target_eye"};

struct pixels {
    const pixels_options *o;
    const fans_env_info *info;
    int replicas, worlds, rows;
    size_t frame; /* bytes of what all cameras of a world see */
    const replay *replay;
    int column;
    nn_graph *g;
    nn_group *eye;             /* the convolutions */
    nn_group *reader[READERS]; /* the layers after them */
    staged at[2], shift[2];    /* of a batch's rows, and their successors */
    rng *shifting;             /* [replicas] */
    uint8_t *here;             /* (rows, frames, frame): a table of the last frames */
    uint8_t *fresh;            /* (rows): 1: an episode begins */
    nn_var table;              /* of `here` */
    staged all;                /* its rows, by world */
    nn_var seen;               /* (1, worlds, features) */
    nn_plan *look;
    arena *memory, *staging;
};

/* ---- making and freeing ---------------------------------------------------------------------- */

static int check_size(const fans_env_info *i)
{
    if (i->height >= SMALLEST && i->width >= SMALLEST) return 0;
    return fans_fail(FANS_ENOSUP, "a camera of %d x %d pixels is too small: networks need %d x %d",
                     i->height, i->width, SMALLEST, SMALLEST);
}

static int claim(pixels *p)
{
    size_t rows = (size_t)p->rows;
    int rc = 0;
    TRY(arena_new(&p->staging));
    TRY(arena_new(&p->memory));
    TRY(arena_declare(p->memory, &p->here, rows * (size_t)p->o->frames * p->frame));
    TRY(arena_declare(p->memory, &p->fresh, rows));
    TRY(arena_declare(p->memory, &p->shifting, (size_t)p->replicas * sizeof *p->shifting));
    TRY(arena_commit(p->memory));
out:
    return rc;
}

int pixels_new(pixels **out, const fans_algo_setup *s)
{
    const fans_env_info *i = s->info;
    int rc = check_size(i);
    pixels *p = rc == 0 ? mem_alloc(sizeof *p) : NULL;
    if (!p) return rc < 0 ? rc : FANS_ENOMEM;
    *p = (pixels){.o = fans_options(s, "pixels"),
                  .info = i,
                  .replicas = s->replicas,
                  .worlds = s->worlds,
                  .rows = s->replicas * s->worlds,
                  .frame = (size_t)i->views * (size_t)i->height * (size_t)i->width * RGB};
    TRY(claim(p));
    for (int r = 0; r < p->replicas; r++) p->shifting[r] = rng_stream(s->seeds[r], "shift", 0);
    pixels_start(p);
    *out = p;
    return 0;
out:
    pixels_free(p);
    return rc;
}

void pixels_free(pixels *p)
{
    if (!p) return;
    arena_free(p->memory);
    arena_free(p->staging);
    mem_free(p);
}

int pixels_features(const pixels *p)
{
    return p->o->features;
}

int pixels_frames(const pixels *p)
{
    return p->o->frames;
}

size_t pixels_film_bytes(const pixels *p)
{
    return (size_t)p->o->frames * p->frame;
}

const fans_env_info *pixels_info(const pixels *p)
{
    return p->info;
}

replay_column pixels_column(const pixels *p)
{
    return (replay_column){COLUMN, NN_U8, (int)p->frame};
}

/* ---- recording ------------------------------------------------------------------------------- */

nn_var pixels_film(const pixels *p, nn_var table, nn_var at, nn_var shift)
{
    const fans_env_info *i = p->info;
    return nn_frames(table, at, shift, (nn_film){i->views, i->height, i->width, p->o->shift});
}

static nn_var record_eye(const pixels *p, nn_var x)
{
    const fans_env_info *i = p->info;
    nn_conv c = {.channels = p->o->frames * i->views * RGB,
                 .height = i->height,
                 .width = i->width,
                 .filters = p->o->channels,
                 .kernel = KERNEL};
    for (int k = 0; k < LAYERS; k++) {
        char name[16];
        snprintf(name, sizeof name, "conv%d", k + 1);
        c.stride = k == 0 ? STRIDE : 1;
        x = nn_conv_layer(p->eye, name, x, c, false, NN_RELU);
        c.height = nn_conv_out(c, c.height, false);
        c.width = nn_conv_out(c, c.width, false);
        c.channels = c.filters;
    }
    return x;
}

static nn_var record_reader(const pixels *p, int which, nn_var x)
{
    return nn_norm_dense(p->reader[which], "features", NN_IN(x), 1, true, p->o->features, NN_TANH);
}

nn_var pixels_encode(const pixels *p, nn_var film)
{
    return record_reader(p, CRITIC, record_eye(p, film));
}

nn_var pixels_table(const pixels *p, nn_graph *g, const char *name, int rows, uint8_t *frames)
{
    return nn_table(g, name, rows, (int)p->frame, NN_U8, frames);
}

nn_var pixels_stored(const pixels *p)
{
    return replay_table(p->replay, p->column);
}

/* The last frames of every world, where an agent acts. */
static int record_here(pixels *p)
{
    int rc = 0, rows = p->worlds * p->o->frames;
    p->table = pixels_table(p, p->g, "frames here", rows, p->here);
    TRY(staged_rows(&p->all, p->staging, p->g, "all here", 1, p->worlds, p->o->frames));
    nn_var film = pixels_film(p, p->table, p->all.var, NN_NONE);
    p->seen = record_reader(p, POLICY, record_eye(p, film));
out:
    return rc;
}

int pixels_record(pixels *p, nn_graph *g, const replay *r, int column)
{
    p->g = g;
    p->replay = r;
    p->column = column;
    p->eye = nn_group_new(g, "eye");
    for (int k = 0; k < READERS; k++) p->reader[k] = nn_group_new(g, readers[k]);
    return record_here(p);
}

/* Critics of successors are the targets. */
context_numbers pixels_see(pixels *p, const context_batch *b, bool next)
{
    bool shifts = p->o->shift > 0;
    stage_rows(b->inputs, &p->at[next], "frames", b->T, b->B, p->o->frames);
    if (shifts) stage_rows(b->inputs, &p->shift[next], "shifts", b->T, b->B, 2);
    nn_var shift = shifts ? p->shift[next].var : NN_NONE;
    nn_var x = record_eye(p, pixels_film(p, pixels_stored(p), p->at[next].var, shift));
    return (context_numbers){record_reader(p, POLICY, nn_detach(x)),
                             record_reader(p, next ? TARGET : CRITIC, x)};
}

int pixels_plan(pixels *p, sac_also *also)
{
    also->with_critic[also->with_critic_count++] = p->eye;
    also->with_critic[also->with_critic_count++] = p->reader[CRITIC];
    also->with_actor[also->with_actor_count++] = p->reader[POLICY];
    also->targets[also->target_count] = p->reader[TARGET];
    also->sources[also->target_count++] = p->reader[CRITIC];
    return nn_plan_new(&p->look, p->g, &p->seen, 1, 0, NULL, 0);
}

int pixels_ready(pixels *p)
{
    int rc = arena_commit(p->staging), rows = p->worlds * p->o->frames;
    if (rc < 0) return rc;
    for (int r = 0; r < p->replicas; r++)
        for (int i = 0; i < rows; i++) rows_of(&p->all, r)[i] = i;
    staged_send(&p->all);
    nn_group_follow(p->reader[TARGET], p->reader[CRITIC], 1);
    return 0;
}

/* ---- living ---------------------------------------------------------------------------------- */

void pixels_start(pixels *p)
{
    memset(p->fresh, 1, (size_t)p->rows);
}

static uint8_t *film_of(const pixels *p, int row)
{
    return p->here + (size_t)row * (size_t)p->o->frames * p->frame;
}

void pixels_take(pixels *p, const fans_moment *now)
{
    for (int i = 0; i < p->rows; i++) {
        const uint8_t *frame = now->pixels + (size_t)i * p->frame;
        if (p->fresh[i])
            frames_fill(film_of(p, i), p->o->frames, p->frame, frame);
        else
            frames_push(film_of(p, i), p->o->frames, p->frame, frame);
        p->fresh[i] = 0;
    }
}

int pixels_look(pixels *p, float *seen)
{
    for (int r = 0; r < p->replicas; r++) nn_table_send(p->table, r, 0, p->worlds * p->o->frames);
    int rc = nn_plan_run(p->look);
    if (rc == 0) nn_read_all(p->seen, seen);
    return rc;
}

void pixels_show(const pixels *p, int row, const uint8_t *next, uint8_t *film)
{
    memcpy(film, film_of(p, row), pixels_film_bytes(p));
    if (next) frames_push(film, p->o->frames, p->frame, next + (size_t)row * p->frame);
}

void pixels_note(pixels *p, const fans_outcome *o)
{
    for (int i = 0; i < p->rows; i++) p->fresh[i] = o->terminated[i] || o->truncated[i];
}

static void draw_shifts(pixels *p, int replica, const staged *shift)
{
    int32_t *to = rows_of(shift, replica);
    for (size_t i = 0; i < shift->each; i++)
        to[i] = (int32_t)rng_below(&p->shifting[replica], 2 * (uint32_t)p->o->shift + 1);
}

void pixels_fill(pixels *p, int replica, const int32_t *at, const int32_t *next)
{
    const int32_t *of[2] = {at, next};
    for (int k = 0; k < 2; k++) {
        int frames = p->o->frames, n = (int)p->at[k].each / frames;
        replay_film(p->replay, replica, n, of[k], frames, rows_of(&p->at[k], replica));
        if (p->o->shift > 0) draw_shifts(p, replica, &p->shift[k]);
    }
}

/* ---- state ----------------------------------------------------------------------------------- */

void pixels_state(pixels *p, int replica, state_list *s)
{
    state_add_trained(s, p->eye, replica);
    for (int k = 0; k < READERS; k++) state_add_trained(s, p->reader[k], replica);
    state_add_number(s, "pixels/shifting", FANS_U64, &p->shifting[replica].drawn);
}

void pixels_carried(pixels *p, int replica, state_list *s)
{
    int first = replica * p->worlds;
    state_add(s, "pixels/here", FANS_U8, 3, (int64_t[]){p->worlds, p->o->frames, (int64_t)p->frame},
              film_of(p, first));
    state_add(s, "pixels/fresh", FANS_U8, 1, (int64_t[]){p->worlds}, p->fresh + first);
    state_range(s, 0, 1);
}
