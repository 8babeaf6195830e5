#!/usr/bin/env bash
# test_length.sh FANS - the length of a run changes nothing in its episodes: the first ones of a long run are those of
# a short one. So results may be cut at any episode (results/convert.py).
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum_flip.ini
cd "$folder" || exit 1

train() { # OUT EPISODES ALGOS [OPTIONS...] : methods with little to learn
    local out=$1 episodes=$2 algos=$3
    shift 3
    "$fans" train "$config" --algo "$algos" --preset small --quiet --device cpu --threads 1 --out "$out" \
        --set "train.episodes=$episodes" --set sac.width=16 --set sac.batch=16 --set sac.random_steps=200 "$@" >/dev/null ||
        complain "train $algos: status $?"
}

for what in "long 9" "short 7"; do
    # shellcheck disable=SC2086 # two words
    train $what null,sac,stack,rsac,lilac,varibad,trio,zeus,oracle --set rsac.window=8 --set rsac.windows=2 --set rsac.burn_in=2 \
        --set varibad.initial=800 --set varibad.updates=10 --set trio.initial=800 --set trio.updates=10 \
        --set lilac.initial=800 --set lilac.updates=10 --set zeus.width=16
done
train long-fans/pendulum_flip-fans 36 fans --set fans.initial=6400 --set fnvae.updates=20
train short-fans/pendulum_flip-fans 34 fans --set fans.initial=6400 --set fnvae.updates=20
for run in short*/*/seed-0; do
    lines=$(wc -l <"$run/metrics.csv")
    cmp <(head -"$lines" "long${run#short}/metrics.csv") "$run/metrics.csv" || complain "$run: other episodes than those of a longer run"
done
[ "$(find short* -name metrics.csv | wc -l)" = 10 ] || complain "not ten runs: $(ls short*)"
exit "$bad"
