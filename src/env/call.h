/* call.h - calls into an environment, which may be a user's.
 *
 * An environment should explain a failure by fans_fail. Where it does not, these calls set a
 * message in its place, so that no older one is shown. A return value that is neither 0 nor a
 * FANS_E code is an error too. */
#ifndef ENV_CALL_H
#define ENV_CALL_H

#include "fans/env.h"

int call_open(const fans_env_def *d, void **env, fans_env_info *info, const double *options,
              uint64_t seed);
int call_reset(const fans_env_def *d, void *env, fans_rng *r, float *obs);
int call_step(const fans_env_def *d, void *env, fans_rng *r, const float *action, float *obs,
              fans_env_result *result);
int call_set_factor(const fans_env_def *d, void *env, int factor, double value);
int call_restore(const fans_env_def *d, void *env, const void *bytes);
int call_draw(const fans_env_def *d, void *env, uint8_t *pixels);
int call_picture(const fans_env_def *d, void *env, int width, int height, uint8_t *rgb);
int call_truth(const fans_env_def *d, const void *env, uint8_t *C_ss, uint8_t *C_as, uint8_t *C_ts,
               uint8_t *c_sr, uint8_t *c_ar, uint8_t *C_tt_s, uint8_t *C_tt_r);

#endif
