#!/usr/bin/env bash
# tables.sh FANS TABLE... - trains tables in full and stores them: results/TABLE.json. Without a name, all that have runs, those
# of the main table first. Prints a CSV: seconds, and runs that were stored. It resumes: run it again after a stop.
#
#   results/tables.sh build/fans >>results/cost/tables.csv
set -u
fans=$1
shift
[ $# -gt 0 ] || set -- main curves glance early degrees factors forms ablations smoothness latents theta tasks jumps prelude unknown \
    base-learner demo

echo "table,seconds,stored"
for table in "$@"; do
    begin=$SECONDS
    stored=$("$fans" reproduce "$table" --store --quiet | tee /dev/stderr | sed -n 's/^\([0-9]*\) runs* stored$/\1/p')
    echo "$table,$((SECONDS - begin)),${stored:-0}"
done
