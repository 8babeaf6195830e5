#!/usr/bin/env bash
# test_hostile.sh FANS BUILD - folders from elsewhere, closed descriptors, signals and limits: each ends
# in one line and the right exit status, and nothing outside the folder is read or written. Where RESULTS
# names a folder, hostile.csv there gets what happened.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum.ini
cd "$folder" || exit 1
sac=(train "$config" --algo sac --quiet --device cpu --threads 1 --set sac.width=16 --set sac.batch=16
    --set sac.random_steps=100)
accepts "return" "${sac[@]}" --steps 1000 --out made
run=made/seed-0

# row WHAT STATUS FILE : a line of the table, with the line that the tool said last
row() {
    [ -n "${RESULTS-}" ] || return 0
    [ -e "$RESULTS/hostile.csv" ] || echo "what,exit status,says" >"$RESULTS/hostile.csv"
    printf '%s,%s,"%s"\n' "$1" "$2" "$(grep . "$3" | tail -n 1 | tr '"' "'" | sed "s#$fans#fans#")" >>"$RESULTS/hostile.csv"
}

# ---- folders ------------------------------------------------------------------------------------

echo "a secret" >secret
commands=("runs bad" "report bad --out page.html" "eval bad/seed-0" "graph bad/seed-0" "play bad/seed-0"
    "rollout bad/seed-0/config.ini")
for name in config.ini metrics.csv system.json command.txt result.json graph.json beliefs.csv segments.csv times.csv evals.csv \
    checkpoint.safetensors checkpoint.next.safetensors events.out.tfevents.0000000000.fans; do
    rm -rf bad && cp -r made bad
    ln -sf ../../secret "bad/seed-0/$name"
    refuses 1 "bad/seed-0/$name: is a link; the files of a run must be plain files" \
        "${sac[@]}" --steps 2000 --out bad
    row "$name is a link: train" 1 err
    [ "$(cat secret)" = "a secret" ] || complain "$name: training wrote through a link"
    rm "bad/seed-0/$name" && mkfifo "bad/seed-0/$name"
    for command in "${commands[@]}"; do
        # shellcheck disable=SC2086 # words
        timeout 20 "$fans" $command >out 2>err
        status=$?
        [ $status = 1 ] || complain "$command: $name is a pipe: exit status $status"
        grep -q "is not a file; the files of a run must be plain files" err || complain "$command: $(cat err)"
        row "$name is a pipe: ${command%% *}" $status err
    done
done
rm -rf bad && cp -r made bad
truncate -s 2M bad/seed-0/config.ini
refuses 1 "bad/seed-0/config.ini: has 2097152 bytes; more than 1048576 cannot be right" eval bad/seed-0
row "config.ini of 2 MiB: eval" 1 err
rm -rf bad && cp -r made bad
printf 'junk' >bad/seed-0/checkpoint.safetensors.77.tmp
accepts "return" "${sac[@]}" --steps 1200 --out bad
[ ! -e bad/seed-0/checkpoint.safetensors.77.tmp ] || complain "what a killed writer left stays"

# what a terminal would obey
mkdir -p "esc/$(printf 'a\033]0;x\007\xc2\x9b31m')" && cp -r $run esc/a*/
"$fans" runs esc >out 2>err || complain "runs: $(cat err)"
LC_ALL=C grep -q "$(printf '\033\\|\xc2\x9b')" out && complain "runs prints escape sequences"

# many sections are refused, not searched
for i in $(seq 5000); do printf '[s%d]\nx = 1\n' "$i"; done >many.ini
refuses 1 "many.ini, line 8194: more than 4096 settings" train many.ini
row "5000 sections: train" 1 err

# ---- descriptors --------------------------------------------------------------------------------

closed() { # STATUS REDIRECTION
    rm -rf shut
    eval "\"\$fans\" \"\${sac[@]}\" --steps 1000 --out shut >out 2>err $2"
    status=$?
    [ $status = "$1" ] || complain "with $2: exit status $status, not $1"
    cmp -s $run/metrics.csv shut/seed-0/metrics.csv || complain "with $2: other metrics"
    row "descriptors closed by $2: train" $status err
}
closed 0 "<&-"
closed 1 ">&-"
closed 0 "2>&-"
closed 1 "<&- >&- 2>&-"

# ---- signals ------------------------------------------------------------------------------------

signalled() { # SIGNAL STATUS
    rm -rf long
    "$fans" "${sac[@]}" --steps 2000000 --out long >out 2>err &
    training=$!
    for _ in $(seq 200); do
        [ -s long/seed-0/metrics.csv ] && break
        sleep 0.1
    done
    kill -s "$1" $training
    wait $training
    status=$?
    [ $status = "$2" ] || complain "SIG$1: exit status $status, not $2"
    [ "$(grep -c "^stopped at step .*resume$" out err | awk -F: '{ n += $2 } END { print n }')" = 1 ] ||
        complain "SIG$1: says $(cat out err)"
    [ -f long/seed-0/checkpoint.safetensors ] || complain "SIG$1: no checkpoint"
    row "SIG$1: train" $status <(cat err out)
}
signalled INT 130
signalled TERM 143
signalled HUP 129
signalled USR1 138
signalled PIPE 141
if ! ldd "$fans" | grep -q "libtsan"; then # its shadow memory is a file
    (ulimit -f 8 && "$fans" "${sac[@]}" --steps 1000 --out limited >out 2>err)
    status=$?
    [ $status = 1 ] || complain "ulimit -f: exit status $status"
    grep -q "cannot write: File too large$" err || complain "ulimit -f: $(cat err)"
    row "ulimit -f 8: train" $status err
fi

# ---- memory -------------------------------------------------------------------------------------

# sanitizers need all the addresses there are
if ! ldd "$fans" | grep -q "lib[at]san"; then
    for size in 40000 50000 55000 60000 70000 80000 100000 300000 600000; do
        rm -rf small
        (ulimit -v $size && exec "$fans" "${sac[@]}" --steps 1000 --out small >out 2>err)
        status=$?
        if [ $status = 0 ]; then
            cmp -s $run/metrics.csv small/seed-0/metrics.csv || complain "ulimit -v $size: other metrics"
        else
            [ $status -lt 128 ] || complain "ulimit -v $size: exit status $status"
            [ "$(wc -l <err)" = 1 ] || complain "ulimit -v $size: exit status $status, says $(cat err)"
        fi
        row "ulimit -v $size: train" $status err
    done
fi

exit "$bad"
