/* train_noticed.c - judges by the truth what an agent that is told nothing finds out: when it
 * notices a change of its first world, and how often it believes in one that was none. */
#include <math.h>
#include <string.h>

#include "base/error.h"
#include "base/noticed.h"
#include "train/train_parts.h"

bool train_finds(const training *t)
{
    return t->s.algo->changed && t->scene.tells == FANS_TELLS_NOTHING;
}

int train_claim_noticed(training *t, replica *p)
{
    int rc = 0;
    TRY(arena_declare(t->memory, &p->noticed.factors,
                      (size_t)t->tasks[0]->info.factor_count * sizeof *p->noticed.factors));
out:
    return rc;
}

void train_list_noticed(training *t, replica *p)
{
    state_list *s = &p->state;
    noticed *n = &p->noticed;
    state_add_number(s, "run/noticed", FANS_I64, &n->after);
    state_range(s, -1, STATE_COUNT);
    state_add_number(s, "run/alarms", FANS_I64, &n->alarms);
    state_range(s, 0, STATE_COUNT);
    state_add_number(s, "run/alarmed", FANS_I64, &n->alarmed);
    state_range(s, 0, 1);
    state_add_number(s, "run/moved", FANS_I64, &n->moved);
    state_range(s, 0, 1);
    state_add(s, "run/factors", FANS_F64, 1, (int64_t[]){t->tasks[0]->info.factor_count},
              n->factors);
}

static double changed(const training *t, int r, int64_t steps)
{
    return t->s.algo->changed(t->agent, r * t->worlds_each, steps);
}

double train_changed(const training *t, int r)
{
    return changed(t, r, NOTICED_RECENT);
}

/* The factors that move are those of the segment before? */
static bool has_moved(const training *t, int r)
{
    const replica *p = &t->replicas[r];
    size_t count = (size_t)t->tasks[r]->info.factor_count;
    const double *now = t->scene.before.factors + (size_t)(r * t->worlds_each) * count;
    bool moved = false;
    for (int k = 0; k < t->moving[r].count; k++) {
        int factor = t->moving[r].list[k].factor;
        moved = moved || now[factor] != p->noticed.factors[factor];
    }
    memcpy(p->noticed.factors, now, count * sizeof *now);
    return moved && p->tick > 0;
}

void train_notice(training *t, int r, bool begins)
{
    replica *p = &t->replicas[r];
    noticed *n = &p->noticed;
    if (begins) {
        n->moved = has_moved(t, r);
        n->after = -1;
        n->alarms = 0;
    }
    if (n->moved && n->after < 0 && changed(t, r, p->since + NOTICED_EARLY) > 0.5)
        n->after = p->since;
    bool alarmed = changed(t, r, NOTICED_WITHIN) > 0.5;
    n->alarms += alarmed && !n->alarmed && p->since > NOTICED_WITHIN;
    n->alarmed = alarmed;
}

void train_write_noticed_head(text *row)
{
    text_add(row, ",moved,noticed,alarms");
}

/* Empty where a change was not noticed, or there was none. */
void train_write_noticed(const replica *p, text *row)
{
    const noticed *n = &p->noticed;
    text_add(row, ",%lld,", (long long)n->moved);
    if (n->after >= 0) text_add(row, "%lld", (long long)n->after);
    text_add(row, ",%lld", (long long)n->alarms);
}
