#!/usr/bin/env bash
# cuda_resume.sh FANS BUILD [DEVICE] - trainings on a GPU that are killed and resumed: the same figures
# to the last digit; and runs that move between GPU and CPU.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
device=${3:-cuda}

cat >"$folder/task.ini" <<'TEXT'
[train]
episodes = 400
checkpoint_every = 100
[env]
name = pendulum
horizon = 25
[change.torque]
clock = episode
function = choice
values = -1, 1
[fans]
initial = 400
refresh = 100
[fnvae]
window = 50
batch = 2
updates = 100
p = 2
q = 2
encode = 4
lstm = 16
[sac]
random_steps = 200
width = 64
batch = 64
TEXT

training=("$fans" train "$folder/task.ini" --algo "fans,sac" --seeds 2)

# train OUT DEVICE
train() {
    "${training[@]}" --out "$folder/$1" --device "$2" >"$folder/log" 2>&1
}

# kill_after SECONDS OUT DEVICE: true if the training was done by then
kill_after() {
    local seconds=$1
    shift
    (
        timeout -s KILL "$seconds" "${training[@]}" --out "$folder/$1" --device "$2" >"$folder/log" 2>&1
        exit $?
    ) 2>/dev/null # the shell says when a command was killed
}

"$fans" train "$folder/task.ini" --algo sac --steps 25 --out "$folder/try" --device "$device" >/dev/null 2>"$folder/err" || {
    echo "skipped: $(cat "$folder/err")"
    exit 77
}
train whole "$device" || complain "the undisturbed training: $(tail -n 1 "$folder/log")"

killed=0
for seconds in 1.3 1.9 1.6 2.3 1.4 2.7 2.1 3.1; do
    kill_after $seconds cut "$device" && break
    killed=$((killed + 1))
done
train cut "$device" || complain "the killed training: $(tail -n 1 "$folder/log")"
echo "killed $killed times"
[ $killed -gt 0 ] || complain "the training was over before it could be killed: make it longer"
for path in "$folder"/whole/*/seed-*; do
    run=${path#"$folder"/whole/}
    for file in metrics.csv beliefs.csv; do
        [ -f "$path/$file" ] || continue
        cmp -s "$path/$file" "$folder/cut/$run/$file" || complain "$run/$file differs"
    done
done

# moves FROM TO: started on one, finished on the other
moves() {
    rm -rf "${folder:?}/$1-$2"
    kill_after 2.5 "$1-$2" "$1" && complain "the training on $1 was over before it could move"
    train "$1-$2" "$2" || complain "from $1 to $2: $(tail -n 1 "$folder/log")"
    for path in "$folder/$1-$2"/*/seed-*; do
        [ "$(wc -l <"$path/metrics.csv")" = 401 ] || complain "$path has no 400 episodes"
    done
}
moves "$device" cpu
moves cpu "$device"
exit $bad
