#!/usr/bin/env bash
# test_env.sh FANS BUILD - environments through the tool: check, rollout, list envs, and every config.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
plugins=$2/plugins
configs=$(cd "$(dirname "$0")/../../configs" && pwd)

# every built-in environment and the example pass all their checks
environments=$("$fans" list envs | awk 'NR > 1 && /^[a-z]/ { print $1 }')
[ -n "$environments" ] || complain "list envs names none"
for env in $environments "$plugins/custom_env.so"; do
    accepts "ok" check "$env" --json "$folder/check.json"
    grep -q FAILED "$folder/out" && complain "check $env: $(grep FAILED "$folder/out")"
    grep -q '"passed": true' "$folder/check.json" || complain "check $env: no JSON"
done

# a fault is named, with exit status 1 and the whole table
"$fans" check "$plugins/faulty_env.so" --set env.fault=9 >"$folder/out" 2>"$folder/err" && complain "check lets a fault pass"
grep -qF "fans: $plugins/faulty_env.so: 1 of 14 checks failed" "$folder/err" || complain "check says $(cat "$folder/err")"
grep -q "^FAILED *factor bonus *is a reward factor, but changes no reward" "$folder/out" || complain "check hides the fault"
refuses 2 "check: no environment 'pendulun'; did you mean 'pendulum'?" check pendulun

# breaks FAULT TEXT : the environment breaks off; the table so far, one line, exit status 1
breaks() {
    local got
    ASAN_OPTIONS=${ASAN_OPTIONS:-}:handle_segv=0:detect_leaks=0 TSAN_OPTIONS=${TSAN_OPTIONS:-}:handle_segv=0 \
        "$fans" check "$plugins/faulty_env.so" --set "env.fault=$1" --limit 3 >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = 1 ] || complain "check, fault $1: exit status $got"
    [ "$(cat "$folder/err")" = "fans: $plugins/faulty_env.so: $2" ] || complain "check, fault $1: says $(cat "$folder/err")"
    grep -q "^FAILED  ${3:-finite} " "$folder/out" || complain "check, fault $1: prints $(cat "$folder/out")"
}
breaks 29 "crashed: Segmentation fault in the check 'finite'"
grep -q "^ok      buffers" "$folder/out" || complain "check hides what passed before a crash"
breaks 30 "did not end within 3 s in the check 'finite'"
breaks 31 "ended the process, with exit status 0 in the check 'finite'"
breaks 32 "crashed: Segmentation fault in the check 'open'" open
refuses 1 "faulty, episode 0, step 30: step returned -42 and set no message" rollout "$configs/pendulum.ini" \
    --set "env.name=$plugins/faulty_env.so" --set env.fault=25
refuses 2 "--set env.fualt: [env]: unknown key 'fualt'; did you mean 'fault'?" check "$plugins/faulty_env.so" --set env.fualt=1
(cd "$plugins" && "$fans" check custom_env.so >/dev/null) || complain "a library here is not found by its bare name"

# a run names its library so that it is found from elsewhere
printf '[env]\nname = ./custom_env.so\nhorizon = 20\n' >"$folder/own.ini"
(cd "$plugins" && "$fans" train "$folder/own.ini" --algo random --steps 40 --quiet --out "$folder/own" >/dev/null 2>&1) ||
    complain "a task of one's own is not trained"
line=$(grep -n "^name = $plugins" "$folder/own/seed-0/config.ini" | cut -d: -f1)
refuses 1 "$folder/own/seed-0/config.ini, line $line: names the library $plugins/custom_env.so" eval "$folder/own"
accepts "over 2 episodes" eval "$folder/own" --episodes 2 --plugin "$plugins/custom_env.so"

# a library that was built anew with other factors does not resume the run
sed 's/{"current", FANS_DYNAMICS, -1, 1,/{"current", FANS_DYNAMICS, -1, 2,/' "$configs/../examples/custom_env.c" >"$folder/river.c"
build_river() { cc -shared -fPIC -I "$configs/../include" "$1" -o "$folder/river.so" -lm || complain "$1"; }
river() { "$fans" train "$folder/river.ini" --algo random --steps "$1" --quiet --out "$folder/river"; }
printf '[env]\nname = %s/river.so\nhorizon = 20\n' "$folder" >"$folder/river.ini"
build_river "$configs/../examples/custom_env.c"
river 40 >/dev/null || complain "the river is not trained"
rm "$folder/river.so" && build_river "$folder/river.c"
river 80 >"$folder/out" 2>"$folder/err" && complain "a run resumes with other factors"
grep -qF "its config has '# factor current: dynamics, -1 to 1, initially 0', this one '# factor current: dynamics, -1 to 2" \
    "$folder/err" || complain "other factors: $(cat "$folder/err")"
refuses 1 "$plugins/wrong_abi.so: built for environment ABI" check "$plugins/wrong_abi.so"

# every config plays, if its environment is built in
for config in "$configs"/*.ini; do
    name=$(sed -n 's/^name = //p' "$config")
    grep -qx "$name" <<<"$environments" || continue
    accepts "environment  $name" rollout "$config" --episodes 2
done

# CSV: a header, one row per step, the same bytes from the same seed, others from another
play() { "$fans" rollout "$configs/fnmdp_random.ini" --episodes 3 --csv "$1" --seed "$2" >/dev/null; }
for life in a:1 b:1 c:2; do
    play "$folder/${life%:*}.csv" "${life#*:}" || complain "rollout fails"
done
[ "$(wc -l <"$folder/a.csv")" = 151 ] || complain "not one row per step"
[ "$(awk -F, '{ print NF }' "$folder/a.csv" | sort -u)" = 26 ] || complain "rows differ in length"
cmp -s "$folder/a.csv" "$folder/b.csv" || complain "one seed, two lives"
cmp -s "$folder/a.csv" "$folder/c.csv" && complain "two seeds, one life"

# columns and lists have the environment's names, or numbers where it gives none
[ "$(head -1 "$folder/a.csv" | cut -d, -f9-12)" = "obs.s0,obs.s1,obs.s2,obs.s3" ] || complain "columns: $(head -1 "$folder/a.csv")"
accepts "torso_z torso_pitch rear_thigh" list envs --json "$folder/envs.json"
grep -q '"torso_vx"' "$folder/envs.json" || complain "list envs --json names no observations"
accepts "" rollout "$configs/pendulum.ini" --set "env.name=$plugins/faulty_env.so" --episodes 1 --csv "$folder/n.csv"
head -1 "$folder/n.csv" | grep -qF ",obs.obs0,obs.obs1,action.act0,reward,terminated,truncated,success,next_obs.obs0" ||
    complain "columns: $(head -1 "$folder/n.csv")"
refuses 1 "faulty: obs_names[1] = 'Speed (m/s)'" check "$plugins/faulty_env.so" --set env.fault=21

# one environment, also one's own
accepts "thrust_along thrust_across" list envs "$plugins/custom_env.so"
[ "$(grep -c "^[a-z]" "$folder/out")" = 2 ] || complain "list envs ENV lists others: $(cat "$folder/out")"
accepts "cos_angle sin_angle speed" list envs pendulum --json "$folder/one.json"
[ "$(grep -c '"observation_names"' "$folder/one.json")" = 1 ] || complain "list envs ENV --json"
refuses 2 "list: no environment 'pendulun'; did you mean 'pendulum'?" list envs pendulun
refuses 1 "./none.so: cannot load" list envs ./none.so

# zero actions, settings from the command line, JSON
accepts "with zero actions" rollout "$configs/pendulum.ini" --policy zero --episodes 1 --json "$folder/z.json" \
    --set env.horizon=7 --csv "$folder/z.csv"
[ "$(wc -l <"$folder/z.csv")" = 8 ] || complain "horizon is not taken from the command line"
[ "$(cut -d, -f13 "$folder/z.csv" | sort -u | tr '\n' ' ')" = "0 action.torque " ] || complain "the action is not zero"
grep -q '"policy": "zero"' "$folder/z.json" || complain "rollout --json"

refuses 2 "rollout: --policy is zero or random, not 'best'" rollout "$configs/pendulum.ini" --policy best
refuses 2 "rollout: --fps 0: not a whole number from 1 to 240" rollout "$configs/pendulum.ini" --fps 0
printf '[env]\nname = pendulun\n' >"$folder/typo.ini"
refuses 1 "$folder/typo.ini, line 2: no environment 'pendulun'; did you mean 'pendulum'?" rollout "$folder/typo.ini"
refuses 1 "$folder/none.ini: cannot read" rollout "$folder/none.ini"
refuses 1 "/no/such/f.csv: cannot write" rollout "$configs/pendulum.ini" --csv /no/such/f.csv
refuses 1 "/dev/full: cannot write" rollout "$configs/pendulum.ini" --csv /dev/full
refuses 2 "--set change.gravity.amplitude" rollout "$configs/pendulum_gravity.ini" --set change.gravity.amplitude=x
refuses 2 "--set change.gravity.amplitude: [change.gravity]: goes from -30 to 50, but gravity takes 0 to 30" \
    rollout "$configs/pendulum_gravity.ini" --set change.gravity.amplitude=4
refuses 1 "faulty, episode 0, step 30: the spring broke" rollout "$configs/pendulum.ini" \
    --set "env.name=$plugins/faulty_env.so" --set env.fault=3

exit "$bad"
