#!/usr/bin/env bash
# test_length.sh FANS - the length of a run changes nothing in its episodes: the first ones of a long run are those of
# a short one. So results may be cut at any episode (results/convert.py).
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum_flip.ini
cd "$folder" || exit 1

train() { # OUT EPISODES : all methods, with little to learn
    "$fans" train "$config" --algo null,sac,stack,rsac,lilac,varibad,trio,zeus,fans,oracle --preset small --quiet \
        --device cpu --threads 1 --out "$1" --set "train.episodes=$2" --set sac.width=16 --set sac.batch=16 \
        --set varibad.initial=800 --set varibad.updates=10 --set trio.initial=800 --set trio.updates=10 \
        --set lilac.initial=800 --set lilac.updates=10 --set fans.initial=6400 --set fnvae.updates=20 >/dev/null ||
        complain "train: status $?"
}

train long 40
train short 36
for run in short/*/seed-0; do
    cmp <(head -37 "long${run#short}/metrics.csv") "$run/metrics.csv" || complain "$run: other episodes than those of a longer run"
done
[ "$(find short -name metrics.csv | wc -l)" = 10 ] || complain "not ten runs: $(ls short)"
exit "$bad"
