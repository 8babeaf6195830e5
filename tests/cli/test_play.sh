#!/usr/bin/env bash
# test_play.sh - fans play: several runs in one film, stills, and films that are cut short.
#   test_play.sh FANS BUILD_FOLDER
set -eu
fans=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/../.."

fail() {
    echo "test_play: $*" >&2
    exit 1
}

train() { "$fans" train configs/pendulum_flip.ini --steps 2600 --quiet --threads 1 --out "$folder/$1" "${@:2}" >"$folder/said"; }
play() { "$fans" play "$@" >"$folder/said"; }
says() { grep -q -- "$1" "$folder/said" || fail "no line says '$1': $(cat "$folder/said")"; }

# a belief only has to be there: a few updates of a small model will do
train both --algo fans,sac --set fnvae.updates=20 --set fans.initial=1000
fans_run=$folder/both/pendulum_flip-fans/seed-0 sac_run=$folder/both/pendulum_flip-sac/seed-0

play "$fans_run" "$sac_run" --episodes 2 --size 96 --still "$folder/last.png" --json "$folder/play.json"
says "^fans: mean return"
says "^sac: mean return"
says "^still: "
grep -q '"changes"' "$folder/play.json" || fail "the figures say nothing of changes"
# the head of a PNG has its size: two lanes are 192 wide
[ "$(od -An -tu1 -j18 -N2 "$folder/last.png" | tr -d ' ')" = 0192 ] || fail "the still is not two lanes wide"

# the same world: alone or beside another, a run has the same returns
play "$fans_run" --episodes 2
alone=$(grep "^fans, episode" "$folder/said")
play "$fans_run" "$sac_run" --episodes 2 --size 96 --still "$folder/again.png"
[ "$(grep "^fans, episode" "$folder/said")" = "$alone" ] || fail "a run plays otherwise beside another"
cmp -s "$folder/last.png" "$folder/again.png" || fail "two films of the same differ"

train other --algo sac --set env.horizon=100
"$fans" play "$sac_run" "$folder/other/seed-0" 2>"$folder/said" && fail "two tasks in one film are no error"
says "another task"

command -v ffprobe >/dev/null || {
    echo "skipped: there is no ffprobe on this machine"
    exit 77
}

# a still as WebP
play "$fans_run" --episodes 1 --size 96 --still "$folder/still.webp" --at 5
[ "$(head -c 4 "$folder/still.webp")$(head -c 12 "$folder/still.webp" | tail -c 4)" = RIFFWEBP ] || fail "the still is not a WebP"

frames() { ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 "$1"; }

play "$fans_run" "$sac_run" --episodes 1 --size 96 --video "$folder/film.mp4"
[ "$(frames "$folder/film.mp4")" = 200 ] || fail "not one frame per step"

# what a stranger sees: pixels of a still in the colours of the legend, in the left lane and in the right one; the
# agent at the left knows of a change five steps later, the one at the right never
late=$2/plugins/late_algo.so
"$fans" train configs/pendulum_flip.ini --algo "$late,random" --set train.told=nothing --steps 6000 --quiet --threads 1 --out "$folder/late" >"$folder/said"
pixels() { # STEP LANE
    "$fans" play "$folder"/late/pendulum_flip-{late,random}/seed-0 --plugin "$late" --episodes 6 --size 200 --seed 3 --still "$folder/seen.png" \
        --at "$1" --json "$folder/seen.json" >"$folder/said"
    ffmpeg -v error -y -i "$folder/seen.png" -vf "crop=200:ih:$((200 * $2)):0" -f rawvideo -pix_fmt rgb24 - |
        od -An -v -tu1 -w3 | awk '
            function far(x, y) { return x > y ? x - y : y - x }
            function is(r, g, b) { return far($1, r) + far($2, g) + far($3, b) < 60 } # edges are soft
            is(213, 94, 0) { orange++ } is(0, 138, 96) { green++ } is(0, 114, 178) { blue++ }
            END { print orange + 0, green + 0, blue + 0 }'
}
change=0 # the first episode whose world is another one
for episode in 1 2 3 4 5; do
    read -r orange _ _ <<<"$(pixels $((200 * episode + 3)) 1)"
    if [ "$orange" -gt 500 ]; then
        change=$episode
        break
    fi
done
[ $change -gt 0 ] || fail "no frame shows a change"
read -r orange green blue <<<"$(pixels $((200 * change + 3)) 0)"
if [ "$orange" -lt 500 ] || [ "$blue" -lt 20 ]; then fail "three steps later: $orange pixels of a change, $blue of a belief"; fi
before=$green
read -r _ green _ <<<"$(pixels $((200 * change + 20)) 0)"
[ "$green" -gt $((before + 500)) ] || fail "twenty steps later no frame says that it was noticed: $before, then $green pixels"
read -r orange green _ <<<"$(pixels $((200 * change + 20)) 1)"
[ "$orange" -gt 500 ] || fail "the agent that knows nothing does not look like it: $orange, $green"
grep -q '"after_steps": 5' "$folder/seen.json" || fail "not noticed after five steps: $(cat "$folder/seen.json")"

# SIGNAL STATUS: a film that a signal ends is still a film
cut() {
    local film=$folder/cut-$1.mp4 status=0
    "$fans" play "$fans_run" --episodes 10000 --size 96 --video "$film" >"$folder/said" 2>&1 &
    local pid=$!
    for _ in $(seq 300); do # until frames arrive
        if [ -s "$film" ]; then break; fi
        sleep 0.2
    done
    sleep 1
    kill "-$1" $pid
    wait $pid 2>/dev/null || status=$?
    [ $status = "$2" ] || fail "after $1 the status is $status"
    for _ in $(seq 50); do # ffmpeg may have to finish it alone
        if [[ $(frames "$film" 2>/dev/null) == [1-9]* ]]; then return; fi
        sleep 0.2
    done
    fail "after $1 there is no film"
}
cut INT 130
cut KILL 137
