/* call.c - calls into an environment: every failure has a code of ours and a message. */
#include "env/call.h"

#include "base/error.h"

int call_open(const fans_env_def *d, void **env, fans_env_info *info, const double *options,
              uint64_t seed)
{
    unsigned before = fans_error_count();
    return error_settle("open", d->open(env, info, options, seed), before);
}

int call_reset(const fans_env_def *d, void *env, fans_rng *r, float *obs)
{
    unsigned before = fans_error_count();
    return error_settle("reset", d->reset(env, r, obs), before);
}

int call_step(const fans_env_def *d, void *env, fans_rng *r, const float *action, float *obs,
              fans_env_result *result)
{
    unsigned before = fans_error_count();
    return error_settle("step", d->step(env, r, action, obs, result), before);
}

int call_set_factor(const fans_env_def *d, void *env, int factor, double value)
{
    unsigned before = fans_error_count();
    return error_settle("set_factor", d->set_factor(env, factor, value), before);
}

/* It returns nothing: a message is what tells that it refuses the bytes. */
int call_restore(const fans_env_def *d, void *env, const void *bytes)
{
    unsigned before = fans_error_count();
    d->restore(env, bytes);
    return fans_error_count() == before ? 0 : FANS_EFORMAT;
}

int call_draw(const fans_env_def *d, void *env, uint8_t *pixels)
{
    unsigned before = fans_error_count();
    return error_settle("draw", d->draw(env, pixels), before);
}

int call_picture(const fans_env_def *d, void *env, int width, int height, uint8_t *rgb)
{
    unsigned before = fans_error_count();
    return error_settle("picture", d->picture(env, width, height, rgb), before);
}

int call_truth(const fans_env_def *d, const void *env, uint8_t *C_ss, uint8_t *C_as, uint8_t *C_ts,
               uint8_t *c_sr, uint8_t *c_ar, uint8_t *C_tt_s, uint8_t *C_tt_r)
{
    unsigned before = fans_error_count();
    return error_settle("truth", d->truth(env, C_ss, C_as, C_ts, c_sr, c_ar, C_tt_s, C_tt_r),
                        before);
}
