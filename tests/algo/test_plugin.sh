#!/usr/bin/env bash
# test_plugin.sh FANS BUILD - algorithms from shared libraries: the example learns, resumes and is
# evaluated like a built-in one; one line says what is wrong with a library.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
root=$(cd "$(dirname "$0")/../.." && pwd)
search=$2/plugins/custom_algo.so
task=$root/configs/pendulum.ini
cd "$folder" || exit 1

# it needs only the public headers
cc -shared -fPIC -Wall -Wextra -Werror -I "$root/include" "$root/examples/custom_algo.c" -o mine.so -lm ||
    complain "the example does not compile by itself"

train() { "$fans" train "$task" --algo "$search" --seeds 2 --quiet "$@" >/dev/null; }

train --steps 6000 --out whole || complain "the example does not train"
train --steps 2000 --out parts || complain "the example does not train in parts"
train --steps 6000 --out parts || complain "the example does not resume"
for seed in 0 1; do
    cmp whole/seed-$seed/metrics.csv parts/seed-$seed/metrics.csv || complain "resumed, seed $seed differs"
done
cmp -s whole/seed-0/metrics.csv whole/seed-1/metrics.csv && complain "seeds do not differ"
grep -q ',best,better$' whole/seed-0/metrics.csv || complain "its curves are missing"
grep -q '^noise = 0.5$' whole/seed-0/config.ini || complain "its options are not in config.ini"
accepts "over 2 episodes" eval whole/seed-0 --episodes 2 --plugin "$search"
refuses 1 "whole/seed-0/config.ini, line 5: names the library $search" eval whole/seed-0
refuses 2 "eval: --plugin ./none.so: No such file" eval whole/seed-0 --plugin ./none.so
accepts "custom_algo" runs whole
accepts "" train "$task" --algo ./mine.so,null --steps 400 --quiet --out both
[ -d both/pendulum-search ] || complain "a run is not named after the algorithm"

# the config takes options and presets of the library
accepts "" train "$task" --algo ./mine.so --steps 400 --preset small --quiet --out preset
grep -q '^noise = 1$' preset/seed-0/config.ini || complain "the preset of the library is ignored"
refuses 2 "--set search.nois: [search]: unknown key 'nois'; did you mean 'noise'?" \
    train "$task" --algo ./mine.so --set search.nois=1 --out bad

# wrong libraries
wrong() { # NAME CODE TEXT
    printf '#include <fans/algo.h>\n%s\n' "$2" >"$1.c"
    cc -shared -fPIC -I "$root/include" "$1.c" -o "$1.so" 2>/dev/null || complain "$1.c does not compile"
    refuses 2 "train: --algo: ./$1.so: $3" train "$task" --algo "./$1.so" --out bad
}
wrong nothing 'int x;' "does not export 'const fans_algo_def fans_algo'"
wrong old 'FANS_API const fans_algo_def fans_algo = {.abi = 999};' "built for algorithm ABI 999, this FANS has"
wrong part 'FANS_API const fans_algo_def fans_algo = {.abi = FANS_ALGO_ABI, .name = "x", .help = "x"};' "fans_algo.act is missing"
refuses 2 "train: --algo: ./none.so: cannot load" train "$task" --algo ./none.so --out bad

# a failure without a message does not show an older one
cat >silent.c <<'C'
#include <fans/algo.h>
static int start(void **agent, const fans_algo_setup *s) { (void)s; *agent = &start; return 0; }
static void stop(void *agent) { (void)agent; }
static int act(void *agent, const fans_moment *now, bool explore, float *action)
{
    (void)agent, (void)now, (void)explore, (void)action;
    return -1;
}
FANS_API const fans_algo_def fans_algo = {
    .abi = FANS_ALGO_ABI, .name = "silent", .help = "says nothing", .open = start, .close = stop, .act = act};
C
cc -shared -fPIC -I "$root/include" silent.c -o silent.so || complain "silent.c does not compile"
"$fans" train "$task" --algo ./silent.so --quiet --out silent >out 2>err && complain "a silent failure passes"
grep -q "act returned -1 and set no message" err || complain "a silent failure: $(cat err)"

exit $bad
