#!/usr/bin/env bash
# test_progress.sh - progress fits the terminal, whatever its width; elsewhere every method has a line.
#   test_progress.sh FANS BUILD_FOLDER
set -eu
fans=$1
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
cd "$(dirname "$0")/../.."

fail() {
    echo "test_progress: $*" >&2
    exit 1
}

train="$fans train configs/pendulum.ini --algo random,null,sac --steps 1000 --threads 1 --set sac.random_steps=900"

$train --out "$folder/piped" >"$folder/said"
for algo in random null sac; do
    grep -q "^      pendulum-$algo -[0-9.]*$" "$folder/said" || fail "no line for $algo: $(cat "$folder/said")"
done

command -v script >/dev/null || {
    echo "skipped: there is no script on this machine, which makes a terminal"
    exit 77
}

# nothing is coloured, not even where colours are asked for; and a terminal that cannot write over lines gets lines
script -qec "CLICOLOR_FORCE=1 $train --out $folder/coloured" /dev/null >"$folder/said" </dev/null
grep -q "$(printf '\033')" "$folder/said" && fail "escape sequences: $(cat -v "$folder/said")"
script -qec "NO_COLOR=1 TERM=dumb $train --out $folder/dumb" /dev/null >"$folder/said" </dev/null
grep -q "^      pendulum-sac -[0-9.]*" "$folder/said" || fail "a dumb terminal: $(cat -v "$folder/said")"
grep -q "$(printf '[\033]')" "$folder/said" && fail "escape sequences: $(cat -v "$folder/said")"

for columns in 20 80; do
    script -qec "stty cols $columns; $train --out $folder/$columns" /dev/null >"$folder/said" </dev/null
    # the line that is written over: what lies between two returns of the carriage
    longest=$(head -n 1 "$folder/said" | tr '\r' '\n' | awk '{ if (length > most) most = length } END { print most + 0 }')
    if [ "$longest" -le 10 ] || [ "$longest" -ge "$columns" ]; then
        fail "a line of $longest on $columns columns"
    fi
done
