#!/usr/bin/env bash
# slow_watch.sh FANS BUILD - fans watch with trained agents, for hours, and under rubbish. With a folder RESULTS the
# figures go to watch.csv in it.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
here=$(cd "$(dirname "$0")" && pwd)
configs=$here/../../configs
cd "$folder" || exit 1

for tool in python3 chromium; do
    command -v $tool >/dev/null || {
        echo "skipped: there is no $tool on this machine"
        exit 77
    }
done

train() { "$fans" train "$configs/$1.ini" --algo fans,sac --quiet --threads 1 --out "$1" "${@:2}" >said 2>&1 || complain "$1: $(cat said)"; }
train pendulum_flip --steps 20000
train half_cheetah_aep_r --preset small --steps 2600 --set fans.initial=1000 --set fnvae.updates=20
export PYTHONDONTWRITEBYTECODE=1
{
    python3 "$here/watch_slow.py" pictures "$fans" half_cheetah_aep_r/*-{fans,sac} || complain "too few pictures"
    python3 "$here/watch_slow.py" agents "$fans" pendulum_flip/*-{fans,sac} || complain "the agents are not watched as they should be"
} >figures.csv
cat figures.csv
[ -z "${RESULTS:-}" ] || { echo "what,value,unit" && cat figures.csv; } >"$RESULTS/watch.csv"
exit $bad
