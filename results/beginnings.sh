#!/usr/bin/env bash
# beginnings.sh FANS [FOLDER] - results/early.json and results/glance.json: the first episodes of runs that were made for other
# tables, or that were stopped before their end. Run from the root of the source.
set -eu
fans=$1 out=${2:-results}
convert() { python3 results/convert.py results/base-learner/half-cheetah.csv results/methods/h200.csv --fans "$fans" "$@"; }

convert --cut 700 --tasks half_cheetah_aep_r,half_cheetah_aep_d_motor --out "$out/early.json" \
    --command "results/methods/h200.sh build/fans OUT SECONDS; fans and oracle: fans train configs/half_cheetah_{aep_r,aep_d_motor}.ini --algo fans,oracle --seeds 10 --device cuda"
convert --cut 1500 --out "$out/glance.json" \
    --tasks half_cheetah_aep_r,half_cheetah_aep_d_motor,half_cheetah_aep_a,half_cheetah_random_r,half_cheetah_random_motor \
    --command "fans train configs/half_cheetah_{aep_r,aep_d_motor,aep_a,random_r,random_motor}.ini --algo fans,oracle,sac --seeds 10 --device cuda; sac on aep_r and aep_d_motor: results/methods/h200.sh build/fans OUT SECONDS"
