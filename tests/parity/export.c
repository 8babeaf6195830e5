/* export.c RUN EPISODES - ticks of a run's agent as JSON: inputs by name, what it did and believed,
 * and what its program answers. */
#include <stdio.h>
#include <stdlib.h>

#include "base/error.h"
#include "base/mem.h"
#include "deploy/recording.h"
#include "nn/graph.h"

#include "json_numbers.h"

static json_t *rows_of(const float *x, int count, int stride, int width)
{
    json_t *all = json_array();
    for (int i = 0; i < count; i++)
        json_array_append_new(all, json_numbers(x + i * stride, (size_t)width));
    return all;
}

static json_t *inputs_of(const recording *r, const program_shape *z)
{
    json_t *all = json_object();
    for (int i = 0; i < TICK_IN; i++)
        if (z->in[i].width)
            json_object_set_new(all, tick_inputs[i].name,
                                rows_of(r->in + z->in[i].at, r->count, z->inputs, z->in[i].width));
    return all;
}

/* The program's answers, from a new life on. */
static int answer(const program *p, const recording *r, json_t *all)
{
    const program_shape *z = program_shape_of(p);
    float *room = mem_alloc((size_t)(z->state + z->work + z->outputs) * sizeof *room);
    if (!room) return FANS_ENOMEM;
    for (int i = 0; i < r->count; i++) {
        float *out = room + z->state + z->work;
        program_step(p, 1, r->in + i * z->inputs, room, out, room + z->state);
        json_array_append_new(all, json_numbers(out, (size_t)z->outputs));
    }
    mem_free(room);
    return 0;
}

int main(int argc, char **argv)
{
    session s = {0};
    program *p = NULL;
    recording r = {0};
    json_t *last = json_array(), *answers = json_array();
    int rc = argc == 3 ? 0 : fans_fail(FANS_EINVAL, "usage: export RUN EPISODES");
    TRY(rc);
    TRY(session_look(&s, argv[1], &(text_list){0}, 1));
    TRY(program_load(&p, argv[1], (program_options){0}));
    TRY(recording_live(&r, p, &s, (int)strtol(argv[2], NULL, 10), 77));
    for (int i = 0; i < r.count; i++) json_array_append_new(last, json_integer(r.last[i]));
    TRY(answer(p, &r, answers));
    json_t *all =
        json_pack("{s:o, s:o, s:o, s:O, s:O}", "inputs", inputs_of(&r, program_shape_of(p)),
                  "actions", rows_of(r.action, r.count, r.act, r.act), "belief",
                  rows_of(r.belief, r.count, r.theta, r.theta), "last", last, "answers", answers);
    json_dumpf(all, stdout, JSON_REAL_PRECISION(9));
    json_decref(all);
out:
    if (rc < 0) fprintf(stderr, "%s\n", fans_error());
    json_decref(last);
    json_decref(answers);
    recording_free(&r);
    program_free(p);
    session_close(&s);
    return rc < 0;
}
