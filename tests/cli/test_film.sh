#!/usr/bin/env bash
# test_film.sh - fans rollout --video: with GL, without it, and without ffmpeg.
#   test_film.sh FANS BUILD_FOLDER
set -eu
fans=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/../.."

fail() {
    echo "test_film: $*" >&2
    exit 1
}

# CONFIG FILE: a film of one episode
film() {
    "$fans" rollout "configs/$1.ini" --episodes 1 --size 96 --video "$folder/$2" >"$folder/said"
    grep -q "^film " "$folder/said" || fail "rollout does not say where the film is"
}

# without ffmpeg: one PNG per step
env PATH= "$fans" rollout configs/pendulum.ini --episodes 1 --size 32 --video "$folder/bare.mp4" >"$folder/said"
grep -q "^film .*bare.mp4.frames" "$folder/said" || fail "rollout does not say where the frames are"
[ "$(find "$folder/bare.mp4.frames" -name "*.png" | wc -l)" = 200 ] || fail "not one picture per step"

"$fans" rollout configs/pendulum.ini --episodes 1 --size 32 --video "$folder/none.txt" 2>"$folder/said" &&
    fail "a film called none.txt is no error"
grep -q "none.txt" "$folder/said" || fail "the error does not name the file"

command -v ffprobe >/dev/null || {
    echo "skipped: there is no ffprobe on this machine"
    exit 77
}

# CONFIG STEPS: the film has a frame per step
frames() {
    film "$1" film.mp4
    local n
    n=$(ffprobe -v error -count_frames -show_entries stream=nb_read_frames -of csv=p=0 "$folder/film.mp4")
    [ "$n" = "$2" ] || fail "$1: $n frames instead of $2"
    rm "$folder/film.mp4"
}

frames pendulum 200
frames half_cheetah 50
frames sawyer_peg_aep_r 40
FANS_GL=none frames sawyer_peg_aep_r 40
