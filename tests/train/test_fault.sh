#!/usr/bin/env bash
# test_fault.sh FANS BUILD - a run that fails stops alone: a message names task, seed and step, and the
# others of its training end as if it had never been there.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
cd "$folder" || exit 1

# a world that fails in its 150th step in some lifetimes, by the first number that it draws
cat >brittle.c <<'C'
#include <fans/env.h>
#include <stdlib.h>
#include <string.h>
typedef struct brittle { double place, luck; long steps; } brittle;
static int start(void **env, fans_env_info *info, const double *options, uint64_t seed)
{
    (void)options, (void)seed;
    brittle *b = calloc(1, sizeof *b);
    *info = (fans_env_info){.obs_dim = 1, .act_dim = 1, .horizon = 20};
    *env = b;
    return 0;
}
static int reset(void *env, fans_rng *r, float *obs)
{
    brittle *b = env;
    double x = fans_rng_uniform(r, 0, 1);
    if (b->steps == 0) b->luck = x;
    b->place = 0;
    *obs = 0;
    return 0;
}
static int step(void *env, fans_rng *r, const float *action, float *obs, fans_env_result *result)
{
    brittle *b = env;
    (void)r;
    if (++b->steps == 150 && b->luck > 0.6) return fans_fail(FANS_EIO, "it broke");
    b->place += 0.1 * (double)*action;
    *obs = (float)b->place;
    *result = (fans_env_result){.reward = -b->place * b->place, .success = 0};
    return 0;
}
static int set_factor(void *env, int f, double x) { (void)env, (void)f, (void)x; return 0; }
static size_t bytes(const void *env) { (void)env; return sizeof(brittle); }
static void save(const void *env, void *to) { memcpy(to, env, sizeof(brittle)); }
static void restore(void *env, const void *from) { memcpy(env, from, sizeof(brittle)); }
FANS_API const fans_env_def fans_env = {.abi = FANS_ENV_ABI, .name = "brittle", .help = "breaks",
    .open = start, .close = free, .reset = reset, .step = step, .set_factor = set_factor,
    .state_bytes = bytes, .save = save, .restore = restore};
C
cc -shared -fPIC -I "$root/include" brittle.c -o brittle.so || complain "the world does not compile"
printf '[env]\nname = ./brittle.so\n[train]\nepisodes = 15\ncheckpoint_every = 40\n' >task.ini
small="--set sac.width=8 --set sac.batch=8 --set sac.random_steps=20 --threads 1 --quiet"

# shellcheck disable=SC2086 # options
"$fans" train task.ini --algo sac,null --seeds 6 --out all $small >out 2>err
[ $? = 1 ] || complain "the exit status is not 1"
failed=$(grep -c 'task.ini, seed [0-9]*, step 149: .*it broke' err)
[ "$failed" = "$(wc -l <err)" ] || complain "not a line for each run: $(cat err)"
{ [ "$failed" -gt 0 ] && [ "$failed" -lt 12 ]; } || complain "$failed of 12 runs failed: the test shows nothing"
for algo in sac null; do
    for seed in 0 1 2 3 4 5; do
        # shellcheck disable=SC2086
        if "$fans" train task.ini --algo $algo --seed $seed --out alone-$algo-$seed $small >/dev/null 2>&1; then
            cmp all/task-$algo/seed-$seed/metrics.csv alone-$algo-$seed/seed-$seed/metrics.csv ||
                complain "$algo, seed $seed differs from a run alone"
            [ -f all/task-$algo/seed-$seed/result.json ] || complain "$algo, seed $seed did not finish"
        else
            grep -q "seed $seed, step 149" err || complain "$algo, seed $seed failed alone only"
            [ ! -f all/task-$algo/seed-$seed/result.json ] || complain "$algo, seed $seed has a result"
            grep -q "\"seed\": $seed," all/result.json || complain "$algo, seed $seed is not in result.json"
        fi
    done
done
grep -q '"status": "failed"' all/result.json || complain "result.json does not tell of failures"

exit $bad
