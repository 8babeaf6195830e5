#!/usr/bin/env bash
# test_folder.sh FANS - what a run's folder says, and that nothing in it is lost or mistaken.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum.ini
cd "$folder" || exit 1

# a run of sac, to complete with --steps and --out
sac=(train "$config" --algo sac --quiet --device cpu --threads 1 --set sac.width=16 --set sac.batch=16
    --set train.checkpoint_every=1000)

# start OUT ROWS: a long run in the background; returns once its metrics have more than ROWS rows
start() {
    "$fans" "${sac[@]}" --steps 2000000 --out "$1" >"$folder/log" 2>&1 &
    training=$!
    for _ in $(seq 200); do
        [ -f "$1/seed-0/metrics.csv" ] && [ "$(wc -l <"$1/seed-0/metrics.csv")" -gt "$2" ] && return
        sleep 0.1
    done
    complain "$1 did not reach $2 rows: $(cat "$folder/log")"
}

# stop SIGNAL STATUS
stop() {
    local status
    kill -s "$1" $training
    wait $training
    status=$?
    [ $status = "$2" ] || complain "a training that got SIG$1 exits with $status, not $2"
}

# only one process may train a run; a signal stops it, and its exit status says so
start busy 2
refuses 1 "busy/seed-0: another process is training it" "${sac[@]}" --steps 2000000 --out busy
stop TERM 143
accepts "unfinished, " runs busy
grep -q "sac  *pendulum  *0 .* of 10000 episodes" "$folder/out" || complain "fans runs: lists $(cat "$folder/out")"

# truncated and removed files
accepts "return" "${sac[@]}" --steps 2000 --out whole
for name in metrics.csv events.out.tfevents.0000000000.fans; do
    rm -rf cut && cp -r whole cut
    truncate -s 150 "cut/seed-0/$name"
    refuses 1 "cut/seed-0/$name: has 150 bytes, but had " "${sac[@]}" --steps 2400 --out cut
    [ "$(stat -c %s "cut/seed-0/$name")" = 150 ] || complain "$name was made longer"
done
rm -rf cut && cp -r whole cut
sed -i '$d' cut/seed-0/metrics.csv
refuses 1 "cut/seed-0/metrics.csv: has 9 episodes, result.json 10" report cut --out page.html
"$fans" runs cut >"$folder/out" 2>"$folder/err" && complain "fans runs: damage goes unnoticed"
grep -q " damaged$" "$folder/out" || complain "fans runs: lists $(cat "$folder/out")"
printf '\0' >>cut/seed-0/metrics.csv
refuses 1 "cut/seed-0/metrics.csv: is damaged: it holds a zero byte" report cut --out page.html

# a finished run whose checkpoint is gone does not start over
rm -rf cut && cp -r whole cut
rm cut/seed-0/checkpoint.safetensors
refuses 1 "cut/seed-0: has a result.json, but no checkpoint to resume from" "${sac[@]}" --steps 2000 --out cut
cmp -s whole/seed-0/metrics.csv cut/seed-0/metrics.csv || complain "a refused training changed metrics.csv"

# a run that was made longer is unfinished again
start whole 12
stop INT 130
accepts "unfinished, " runs whole

# command.txt can be pasted into a shell
accepts "return" train "$config" --algo null --steps 200 --out "it's a run" --set "change.gravity.function=choice" \
    --set "change.gravity.values=9, 10"
eval "set -- $(tail -n 1 "it's a run/seed-0/command.txt")"
[ "$9 ${13}" = "it's a run change.gravity.values=9, 10" ] || complain "command.txt: $(cat "it's a run/seed-0/command.txt")"

# the discount follows from the horizon; config.ini says which it is
discount() { # PRESET HORIZON : the discount that a run was trained with
    "$fans" train "$config" --algo sac --preset "$1" --set env.horizon="$2" --steps 1200 --device cpu --quiet \
        --out "discount-$1-$2" >"$folder/out" 2>&1 || complain "fans train: $(cat "$folder/out")"
    sed -n 's/^discount = //p' "discount-$1-$2/seed-0/config.ini"
}
found="$(discount standard 50) $(discount standard 100) $(discount standard 200) $(discount classic 50)"
[ "$found" = "0.97 0.985 0.99 0.99" ] || complain "discounts of horizons 50, 100, 200 and of classic: $found"

exit "$bad"
