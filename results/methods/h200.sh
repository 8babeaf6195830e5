#!/usr/bin/env bash
# The runs of results/methods and results/doubt: on one H200, several processes at once, stopped after SECONDS.
#
#   results/methods/h200.sh FANS OUT SECONDS
#
# Agents with doubt for 2,000 episodes of four tasks; then what they do after a jump. The compared methods for 1,500
# episodes of two tasks. Ten seeds each. Writes OUT/doubt.csv, OUT/jump.csv, OUT/methods.csv (results/collect.py), and OUT/log.txt.
set -u
fans=$1 out=$2 end=$((SECONDS + $3)) runs=$(mktemp -d)
mkdir -p "$out"

left() { echo $((end - SECONDS)); }

# train NAME STEPS TASKS OPTIONS... : a training of ten seeds in the background, stopped when the time is up
train() {
    local name=$1 steps=$2 tasks=$3 configs=() task
    shift 3
    for task in $tasks; do configs+=("configs/half_cheetah_$task.ini"); done
    timeout -s TERM "$(left)" "$fans" train "${configs[@]}" --seeds 10 --steps "$steps" --device cuda --threads 4 --quiet \
        --out "$runs/$name" "$@" >"$runs/$name.log" 2>&1 &
}

train jump 100000 aep_r --algo fans,null --set fans.doubt=0.02
jump=$!
train doubt 100000 "aep_rd aep_d_motor aep_d_friction" --algo fans --set fans.doubt=0.02
train plain 75000 "aep_r aep_d_motor" --algo sac,stack
train latent 75000 "aep_r aep_d_motor" --algo varibad,trio
train coded 75000 "aep_r aep_d_motor" --algo zeus,lilac
train memory 75000 "aep_r aep_d_motor" --algo rsac
wait $jump
python3 results/jump.py "$runs/jump/half_cheetah_aep_r-fans" --fans "$fans" --at-once 8 >"$out/jump.csv"
wait
python3 results/collect.py "$runs/jump" "$runs/doubt" >"$out/doubt.csv"
python3 results/collect.py "$runs/plain" "$runs/latent" "$runs/coded" "$runs/memory" >"$out/methods.csv"
tail -n 30 "$runs"/*.log >"$out/log.txt"
