#!/usr/bin/env bash
# The runs of the compared methods, for a GPU with 16 cores, in pieces of any length: what is done stays done, what is not
# resumes.
#
#   results/methods/gpu.sh FANS OUT tune             plans: two settings of each method, seeds 100 to 102, two tasks
#   results/methods/gpu.sh FANS OUT tables [T …]     plans: every cell of these tables (main tasks prelude)
#   results/methods/gpu.sh FANS OUT work SECONDS     trains what is planned, a process per method, for so long
#   results/methods/gpu.sh FANS OUT show             how much is done; curves of tuning runs; tables, stored in results/
#
# PRESET (standard), SEEDS (of tables: 10), STEPS (of tuning: 75000, which are 1,500 episodes) and DEVICE (cuda) change the rest.
set -eu
fans=$1 out=$2 what=$3
shift 3
here=$(cd "$(dirname "$0")/.." && pwd)
preset=${PRESET:-standard}
mkdir -p "$out/plans"

# tune ALGO GRID... : its learning rate, and one setting of its own
tune() {
    local algo=$1 grids=() g
    shift
    for g in "$@"; do grids+=(--grid "$g"); done
    "$fans" sweep configs/half_cheetah_aep_r.ini configs/half_cheetah_aep_d_motor.ini --algo "$algo" "${grids[@]}" --seed 100 \
        --seeds 3 --steps "${STEPS:-75000}" --preset "$preset" --out "$out/tuned" --plan "$out/plans/$algo.csv"
}

case $what in
tune)
    tune sac sac.lr=3e-4,1e-3,2e-3 sac.tau=0.005,0.02
    tune stack sac.lr=3e-4,1e-3 stack.steps=1,3,5,10
    tune rsac rsac.rate=1,0.333333,0.1 rsac.update_every=2,5
    tune zeus sac.lr=3e-4,1e-3 zeus.weight=0.01,0.1,1
    tune lilac lilac.lr=3e-4,1e-3 lilac.beta_rise=1e-6,1e-5
    tune varibad varibad.lr=3e-4,1e-3,3e-3 varibad.beta=0.01,0.1,1
    tune trio trio.lr=3e-4,1e-3 trio.shown=4,16
    tune fans fnvae.lr=3e-4,1e-3,3e-3 fans.refresh=250,500
    ;;
tables)
    [ $# -gt 0 ] || set -- main tasks prelude
    for table in "$@"; do
        "$fans" reproduce "$table" --preset "$preset" --seeds "${SEEDS:-10}" --out "$out" --emit make
        mkdir -p "$out/tables"
        echo "$table" >"$out/tables/$(basename "$table" .ini)"
    done
    # a plan per method; a run that several tables share is there once
    python3 - "$out" "$@" <<'TEXT'
import csv
import sys
from pathlib import Path

out, plans = Path(sys.argv[1]), {}
for table in sys.argv[2:]:
    with open(out / f"{Path(table).stem}.csv") as f:
        for row in csv.DictReader(f):
            plans.setdefault(row["algo"], {})[row["run"]] = row
for algo, rows in plans.items():
    with open(out / "plans" / f"{algo}.csv", "w") as f:
        writer = csv.DictWriter(f, ["run", "config", "algo", "preset", "seed", "settings"], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows.values())
    print(f"{algo}: {len(rows)} runs")
TEXT
    ;;
work)
    for plan in "$out"/plans/*.csv; do
        "$fans" work "$plan" --for "$1" --device "${DEVICE:-cuda}" --threads 2 --together 100 --quiet \
            >"${plan%.csv}.log" 2>&1 &
    done
    wait
    tail -qn 1 "$out"/plans/*.log | sed "s/^/$(date +%H:%M) /"
    ;;
show)
    for plan in "$out"/plans/*.csv; do echo "$(basename "$plan" .csv): $(tail -n 1 "${plan%.csv}.log" 2>/dev/null)"; done
    if [ -d "$out/tuned" ]; then
        python3 "$here/collect.py" "$out/tuned" >"$out/tuned.csv"
        python3 "$here/curves.py" "$out/tuned.csv" --at 300,500,1000
    fi
    for table in "$out"/tables/*; do
        [ ! -e "$table" ] ||
            "$fans" reproduce "$(cat "$table")" --preset "$preset" --seeds "${SEEDS:-10}" --out "$out" --report --store
    done
    ;;
*)
    sed -n '2,11s/^# \{0,1\}//p' "$0"
    exit 2
    ;;
esac
