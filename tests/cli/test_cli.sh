#!/usr/bin/env bash
# test_cli.sh FANS BUILD - the tool: what it prints, and one clear line for every misuse.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"

commands="check doctor eval export graph list play report rollout runs train"
for ask in help --help -h; do accepts "usage: fans COMMAND" $ask; done
for ask in "help help" "help --help" "--help --help"; do
    # shellcheck disable=SC2086 # words on purpose
    accepts "usage: fans help" $ask
done
accepts "fans 0." --version
for command in $commands "model fit" "model eval"; do
    # shellcheck disable=SC2086
    {
        accepts "  ${command% *}" help
        accepts "usage: fans $command" $command --help
        accepts "usage: fans $command" $command x -h
        accepts "usage: fans $command" help $command
        [ "$(awk '{ print length }' "$folder/out" | sort -n | tail -1)" -le 81 ] || complain "help $command is too wide"
        head -1 "$folder/out" | grep -q "^fans $command - " || complain "help $command says nothing of it"
        refuses 2 "$command: unknown option '--jsno'; did you mean '--json'?" $command --jsno x
        refuses 2 "$command: unknown option '--frobnicate'" $command --frobnicate
        refuses 2 "$command: --json needs a value" $command --json
        refuses 2 "$command: unknown option '-j'" $command -j
    }
done
for command in check eval export graph list play report rollout train watch "model fit" "model eval"; do
    # shellcheck disable=SC2086
    refuses 2 "$command: " $command # a word is missing
done
refuses 2 "doctor: 'x' is one argument too many" doctor x
for command in check eval export rollout runs "model fit" "model eval"; do
    # shellcheck disable=SC2086
    refuses 2 "$command: 'x' is one argument too many" $command a x
done
refuses 2 "graph: 'y' is one argument too many" graph a x y
accepts "usage: fans model fit" model --help
accepts "usage: fans model fit" help model
refuses 2 "model: fit or eval is missing" model
refuses 2 "model: there is no 'eva'; did you mean 'eval'?" help model eva
refuses 2 "help: 'more' is one argument too many" help model fit more
refuses 2 "unknown command 'docter'; did you mean 'doctor'?" help docter
refuses 2 "no command given; \`fans help\` lists them"
refuses 2 "unknown command 'docter'; did you mean 'doctor'?" docter
refuses 2 "unknown command 'hlep'; did you mean 'help'?" hlep
refuses 2 "unknown command 'xyzzy'; \`fans help\` lists them" xyzzy
refuses 2 "unknown command '--frobnicate'" --frobnicate
refuses 2 "unknown command ''" ""

accepts "section.key" list options
accepts "linear" list ops
refuses 2 "list: LIST is missing: algos" list
refuses 2 "list: there is no list 'opps'; did you mean 'ops'?" list opps
refuses 2 "list: there is no list 'zebras'; there are algos, envs, ops and options" list zebras
refuses 2 "list: 'more' is one argument too many" list ops more
refuses 1 "/no/such/folder/f: cannot write: No such file or directory" list options --json /no/such/folder/f
refuses 1 "$folder: cannot write: Is a directory" list options --json "$folder"
refuses 1 "/dev/full: cannot write: No space left on device" list options --json /dev/full

accepts "oneDNN" doctor --json "$folder/doctor.json"
grep -q '"found"' "$folder/doctor.json" || complain "doctor --json wrote no findings"
refuses 1 "/no/such/f: cannot write" doctor --json /no/such/f
accepts '"key": "horizon"' list options --json /dev/stdout
[ -L /dev/stdout ] || complain "/dev/stdout was replaced"

# --json - : JSON alone on stdout
json_only() {
    "$fans" "$@" --json - >"$folder/out" 2>"$folder/err" || complain "fans $* --json -: exit status $?"
    [ ! -s "$folder/err" ] || complain "fans $* --json -: prints to stderr: $(cat "$folder/err")"
    case $(head -c 1 "$folder/out")$(tail -n 1 "$folder/out") in
    "{}" | "[]") ;;
    *) complain "fans $* --json -: not JSON alone: $(head -2 "$folder/out")" ;;
    esac
    [ ! -e - ] || complain "fans $*: wrote a file called -"
}
json_only doctor
json_only list options
"$fans" list options --json - >/dev/full 2>"$folder/err" && complain "JSON on a full disk goes unnoticed"
grep -q "^fans: cannot write to the standard output$" "$folder/err" || complain "a full disk is not named"

# training: bad input of every kind leaves one line and no folder
configs=$(dirname "$0")/../../configs
runs=$folder/runs
small="--set sac.width=8 --set sac.batch=4 --set sac.random_steps=10 --threads 1"
refuses 2 "train: CONFIG is missing" train
refuses 1 "/no/such.ini: cannot read" train /no/such.ini --out "$runs"
refuses 2 "train: --algo: there is no algorithm 'sack'; did you mean 'sac'?" train "$configs/pendulum.ini" --algo sack --out "$runs"
refuses 2 "--set sac.widht: [sac]: unknown key 'widht'; did you mean 'width'?" train "$configs/pendulum.ini" --set sac.widht=8 --out "$runs"
refuses 2 "--set scs.width: unknown section [scs]" train "$configs/pendulum.ini" --set scs.width=8 --out "$runs"
refuses 2 "--set sac.batch: [sac]: batch = 0: not a whole number from 1 to 65536" train "$configs/pendulum.ini" --set sac.batch=0 --out "$runs"
refuses 2 "--set train.told: [train]: told = all: not one of boundaries|episodes|nothing" train "$configs/pendulum.ini" --set train.told=all --out "$runs"
refuses 1 "train.told = nothing: trio has to be told where segments begin; use episodes" train "$configs/pendulum_flip.ini" --algo trio --set train.told=nothing --out "$runs"
refuses 2 "--steps 30: not a whole number of episodes of 200 steps" train "$configs/pendulum.ini" --steps 30 --out "$runs"
refuses 2 "train: --seeds 0: not a whole number from 1 to 1024" train "$configs/pendulum.ini" --seeds 0
refuses 2 "--precision tf23: not one of fp32, tf32 and bf16; did you mean 'tf32'?" train "$configs/pendulum.ini" --precision tf23 --out "$runs"
refuses 2 "--precision double: not one of fp32, tf32 and bf16" train "$configs/pendulum.ini" --precision double --out "$runs"
refuses 2 "--precision tf32 needs a GPU: --device cuda" train "$configs/pendulum.ini" --device cpu --precision tf32 --out "$runs"
CUDA_VISIBLE_DEVICES='' refuses 1 "--precision bf16 needs a GPU: no GPU: " train "$configs/pendulum.ini" --precision bf16 --out "$runs"
refuses 2 "--set env.pixels: fnmdp has no camera; set it to false" train "$configs/fnmdp.ini" --set env.pixels=true --out "$runs"
refuses 1 "lilac learns from the state, not from pixels; set env.pixels = false, or use sac, oracle, stack, zeus or fans" \
    train "$configs/pendulum_pixels.ini" --algo lilac --out "$runs"
refuses 2 "--set pixels.frame: [pixels]: unknown key 'frame'; did you mean 'frames'?" \
    train "$configs/pendulum_pixels.ini" --set pixels.frame=2 --out "$runs"
refuses 1 "/dev/null/x: cannot make the folder" train "$configs/pendulum.ini" --out /dev/null/x --steps 200
[ ! -e "$runs" ] || complain "a refused training left $runs"
refuses 1 "$runs: is not the folder of a run (it has no config.ini)" eval "$runs"
refuses 1 "$runs: is not the folder of a run (it has no config.ini)" play "$runs"
refuses 1 "$runs: there is no such folder" runs "$runs"
# shellcheck disable=SC2086 # words on purpose
accepts "return" train "$configs/pendulum.ini" --algo sac --steps 400 --precision fp32 --out "$runs/a" $small
grep -q '"precision": "fp32"' "$runs/a/seed-0/system.json" || complain "a run does not note its precision"
# shellcheck disable=SC2086
refuses 1 "$runs/a/seed-0: has 400 steps already, but only 200 were asked for" train "$configs/pendulum.ini" --algo sac --steps 200 --out "$runs/a" $small
# shellcheck disable=SC2086
accepts "seed-4: return" train "$configs/pendulum.ini" --algo oracle --steps 400 --seed 3 --seeds 2 --out "$runs/b" $small
refuses 2 "--set: oracle is told the factors that move: in its training none, here torque" eval "$runs/b/seed-3" \
    --set change.torque.function=choice --set change.torque.values=-1,1
accepts "over 3 episodes" eval "$runs/a" --episodes 3 # the only run in it
refuses 1 "$runs/b: holds 2 runs; name one, such as $runs/b/seed-3" eval "$runs/b"
accepts "no film: --video FILE makes one" play "$runs/a" --episodes 1
refuses 2 "--video: $folder/film.txt: not one of .mp4" play "$runs/a" --episodes 1 --video "$folder/film.txt"
refuses 2 "--set env.horizon: a setting is written SECTION.KEY=VALUE" eval "$runs/a" --set env.horizon
refuses 2 "--set env.name: no environment 'pendulun'; did you mean 'pendulum'?" eval "$runs/a" --set env.name=pendulun
for command in "eval $runs/a --episodes 2" "play $runs/a --episodes 2" "runs $runs/a" "report $runs/a --out $folder/r.html" \
    "rollout $configs/pendulum.ini --episodes 2" "check pendulum" "list envs" "export $runs/a --to c --out $folder/code"; do
    # shellcheck disable=SC2086
    json_only $command
done
# shellcheck disable=SC2086
json_only train "$configs/pendulum.ini" --algo null --steps 400 --out "$runs/json"
for command in "eval $runs/a" "play $runs/a" "rollout $configs/pendulum.ini"; do
    # shellcheck disable=SC2086
    refuses 2 "${command%% *}: --episodes few: not a whole number from 1" $command --episodes few
done
accepts "over 3 episodes" eval "$runs/a" --episodes 3 --set change.gravity.offset=12
refuses 2 "--set sac.lr=1: only env.* and change.* can differ from the training" eval "$runs/a" --set sac.lr=1
accepts "flash " export "$runs/a" --to c --out "$folder/code"
accepts "policy.onnx: sac, 3 observations, 1 actions" export "$runs/a" --to onnx --out "$folder/code"
refuses 2 "export: --to is missing: c or onnx" export "$runs/a"
refuses 2 "export: --to pytorch: c or onnx" export "$runs/a" --to pytorch
refuses 2 "export: --weights f8: f32 or f16" export "$runs/a" --to c --weights f8
refuses 2 "export: --name 2: up to 40 letters, digits and _, the first a letter" export "$runs/a" --to c --name 2
refuses 1 "null cannot be exported" export "$runs/json" --to c
refuses 1 "/no/such: is not the folder of a run" export /no/such --to c
refuses 1 "$runs/a/seed-0: has no graph: neither the graph.json of a run" graph "$runs/a"
refuses 1 "/no/such: there is no such folder" graph /no/such
accepts "over 3 episodes" eval "$runs/a" --episodes 3 --set env.horizon=7 # who looks needs no replay
refuses 2 "--set change.wind.offset: [change.wind]: pendulum has no factor 'wind'; \`fans list envs\` lists" eval "$runs/a" --set change.wind.offset=1
refuses 2 "train: --seed 2147483647 --seeds 2: seeds end at 2147483647" train "$configs/pendulum.ini" --seed 2147483647 --seeds 2 --out "$runs/p"
refuses 2 "train: --preset: there is no preset 'tiny'; choose paper, standard, small, classic or pixels" train "$configs/pendulum.ini" --preset tiny --out "$runs/p"
warns "sac.random_steps = 500: all 200 steps of a run are random, and its policy never starts" train "$configs/pendulum.ini" --algo sac --steps 200 --threads 1 --out "$runs/w"
refuses 1 "$runs/w/seed-0: holds a different run" train "$configs/pendulum.ini" --algo sac --steps 200 --set sac.lr=2e-3 --out "$runs/w" # and no warning
refuses 1 "fans.initial = 100: too few steps to learn from" train "$configs/pendulum.ini" --algo fans --set fans.initial=100 --set fnvae.window=200 --out "$runs/p"
refuses 1 "replay.steps is too small: each of 1 worlds keeps 303 rows" train "$configs/pendulum.ini" --algo fans --set replay.steps=300 --out "$runs/p"
refuses 1 "fnvae.observed = true: fans infers the factors" train "$configs/pendulum.ini" --algo fans --set fnvae.observed=true --out "$runs/p"

# a run of fans that ends before its policy begins: a warning, once for all seeds; none to who only looks
quick="$small --set fans.initial=400 --set fnvae.window=20 --set fnvae.batch=2 --set fnvae.updates=2 --preset small"
# shellcheck disable=SC2086
{
    warns "fans.initial = 400: all 400 steps of a run are random, and its policy never starts" train "$configs/pendulum.ini" --algo fans --steps 400 --seeds 2 --out "$runs/h" $quick
    accepts "over 1 episode" eval "$runs/h/seed-0" --episodes 1
    grep -q "episodes\|±" "$folder/out" && complain "one episode is said to be several: $(cat "$folder/out")"
    accepts "return" train "$configs/pendulum.ini" --algo fans --steps 600 --seeds 2 --out "$runs/h" $quick
}
accepts "oracle  pendulum" runs "$runs"
# shellcheck disable=SC2086
refuses 1 "$runs/a/seed-0: holds a different run; its config has 'lr = 0.001', this one 'lr = 0.002'" train "$configs/pendulum.ini" --steps 400 --out "$runs/a" $small --set sac.lr=2e-3

# seeds join a run of one seed, and change nothing about it
# shellcheck disable=SC2086
{
    cp -r "$runs/a" "$folder/one"
    accepts "over 3 seeds" train "$configs/pendulum.ini" --algo sac --steps 400 --seeds 3 --out "$runs/a" $small
    cmp -s "$folder/one/seed-0/metrics.csv" "$runs/a/seed-0/metrics.csv" || complain "the first seed is not what it was"
    cmp -s "$folder/one/seed-0/result.json" "$runs/a/seed-0/result.json" || complain "the first seed's result is not what it was"
    [ "$("$fans" runs "$runs/a" | grep -c ' done$')" = 3 ] || complain "not all three seeds are listed"
    rm -r "$runs/a" && mv "$folder/one" "$runs/a"
}

# whole numbers may have an exponent, in options and in settings
accepts "return" train "$configs/pendulum.ini" --algo null --steps 4e2 --set replay.steps=1.5e3 --out "$runs/i"
[ "$(wc -l <"$runs/i/seed-0/metrics.csv")" = 3 ] || complain "--steps 4e2 are not 400"
for steps in 4e-1 1.5e0 400.0 0x190 e2 4e 1e99 nan; do
    refuses 2 "train: --steps $steps: not a whole number from 1" train "$configs/pendulum.ini" --steps $steps
done
accepts "1 episode" train "$configs/pendulum.ini" --algo null --steps 200 --out "$runs/one"
grep -q "last 1 episodes" "$folder/out" && complain "one episode is said to be several"

# several configs and algorithms: folders CONFIG-ALGO/seed-N that equal those of runs of their own
both="$configs/pendulum_gravity.ini $configs/pendulum_torque.ini"
mkdir "$folder/other"
cp "$configs/pendulum_gravity.ini" "$folder/other/"
echo "[train]" >"$folder/other/wrong.ini"
# shellcheck disable=SC2086
{
    refuses 1 "$configs/pendulum_gravity.ini and $folder/other/pendulum_gravity.ini: both would use the folder pendulum_gravity-sac" train $both "$folder/other/pendulum_gravity.ini" --algo sac --out "$runs/d"
    refuses 2 "--algo: sac is named twice" train $both --algo sac,sac --out "$runs/d"
    refuses 1 "$folder/other/wrong.ini: the config names no environment" train $both "$folder/other/wrong.ini" --out "$runs/d"
    refuses 2 "train: --algo: there is no algorithm 'nul'; did you mean 'null'?" train $both --algo sac,nul --out "$runs/d"
    refuses 2 "--set scs.width: unknown section [scs]" train $both --algo null,random --set scs.width=8 --out "$runs/d"
    refuses 2 "--set sac.batch: [sac]: batch = 0: not a whole number from 1 to 65536" train $both --algo null,sac --set sac.batch=0 --out "$runs/d"
    [ ! -e "$runs/d" ] || complain "a refused training left $runs/d"
    accepts "pendulum_torque-oracle: return" train $both --algo sac,oracle,null --steps 400 --seeds 2 --out "$runs/d" $small
    accepts "over 3 seeds" train $both --algo sac,oracle,null --steps 400 --seeds 3 --out "$runs/d" $small
    accepts "seed-2: return" train "$configs/pendulum_torque.ini" --algo oracle --steps 400 --seeds 3 --out "$runs/e" $small
}
for file in seed-0/metrics.csv seed-2/metrics.csv seed-1/config.ini; do
    cmp -s "$runs/d/pendulum_torque-oracle/$file" "$runs/e/$file" || complain "$file differs where others train beside it"
done
(
    ulimit -Sn 40 # fewer than these need
    accepts "over 20 seeds" train "$configs/pendulum.ini" --algo null --steps 200 --seeds 20 --out "$runs/g"
    exit "$bad"
) || bad=1
[ "$(grep -c '"seed"' "$runs/d/result.json")" = 18 ] || complain "not all runs are in the result"

# worlds that share a short run among them end no episode: no return, and no failure
accepts "return nan" train "$configs/pendulum.ini" --algo null --steps 200 --set train.worlds=4 --out "$runs/f" --json "$folder/f.json"
grep -q '"final_return": null' "$runs/f/seed-0/result.json" || complain "a result without episodes has a return"
accepts "nan" runs "$runs/f"

# damaged runs: a line for each, the others all the same, and a failure in the end
mkdir "$folder/some"
cp -r "$runs/a" "$runs/e/seed-0" "$runs/e/seed-1" "$runs/e/seed-2" "$folder/some"
# lists_damaged COUNT : so many of the four runs
lists_damaged() {
    "$fans" runs "$folder/some" --json "$folder/some.json" >"$folder/out" 2>"$folder/err" && complain "fans runs: damage goes unnoticed"
    [ "$(wc -l <"$folder/err")" = "$1" ] || complain "fans runs: not $1 lines: $(cat "$folder/err")"
    [ "$(grep -c ' damaged$' "$folder/out")" = "$1" ] || complain "fans runs: lists $(cat "$folder/out")"
    [ "$(grep -c ' done$' "$folder/out")" = $((4 - $1)) ] || complain "fans runs: lists $(cat "$folder/out")"
    [ "$(grep -c '"status": "damaged"' "$folder/some.json")" = "$1" ] || complain "fans runs --json: $(cat "$folder/some.json")"
}
echo '{' >"$folder/some/seed-0/result.json"
lists_damaged 1
grep -qF "fans: $folder/some/seed-0/result.json, line " "$folder/err" || complain "fans runs: says $(cat "$folder/err")"
echo '{"runs": 7}' >"$folder/some/seed-1/result.json"
lists_damaged 2
grep -qF "fans: $folder/some/seed-0/result.json, line " "$folder/err" || complain "fans runs: says $(cat "$folder/err")"
grep -qF "fans: $folder/some/seed-1/result.json: not the result of a run" "$folder/err" || complain "fans runs: says $(cat "$folder/err")"

# a folder that may not be written: as a stranger, since root may do everything
if [ "$(id -u)" = 0 ] && command -v setpriv >/dev/null; then
    chmod 755 "$folder"
    line=$(setpriv --reuid=65534 --regid=65534 --clear-groups "$fans" train "$configs/pendulum.ini" --steps 200 --out "$runs/c" 2>&1) &&
        complain "a read-only folder was accepted"
    case $line in
    "fans: $runs/c: cannot make the folder: Permission denied") ;;
    *) complain "a read-only folder: says $line" ;;
    esac
fi

# a machine without anything optional: advice, and no failure
env PATH=/nowhere "$fans" doctor >"$folder/out" || complain "doctor fails where ffmpeg is missing"
grep -qF "to get it: apt install ffmpeg; without it:" "$folder/out" || complain "doctor gives no advice"

# an output that cannot be written is an error
"$fans" --help >/dev/full 2>"$folder/err" && complain "a full disk goes unnoticed"
grep -q "^fans: cannot write to the standard output$" "$folder/err" || complain "a full disk is not named"

exit "$bad"
