#!/usr/bin/env bash
# peg.sh - Sawyer-Peg on a machine with a GPU, in calls of ten minutes: run it again until it says
# "done". First the ceiling from the state, then from pixels; five seeds each, runs and page in DIR.
#
#     bench/peg.sh [DIR]
#
# A call trains for nine minutes and leaves checkpoints; the next resumes, bit for bit.
set -euo pipefail
cd "$(dirname "$0")/.."
out=${1:-runs/peg}

# trains a table; true when all its runs are done
part() {
    local status=0
    build/fans reproduce "$1" --out "$out" --device cuda --precision tf32 --together 5 --for 0:09:00 --quiet || status=$?
    [ "$status" = 0 ] || [ "$status" = 75 ] || exit "$status"
    [ "$status" = 0 ]
}

for table in peg-state peg; do
    if ! part "$table"; then
        echo "$table: something is left; run this again"
        exit 0
    fi
    build/fans reproduce "$table" --out "$out" --report --store
done
echo "done"
