#!/usr/bin/env bash
# slow_thousand.sh FANS BUILD - a report of 1,000 runs of 3,000 episodes each: ten tasks, ten methods, ten seeds. With a
# folder RESULTS the figures go to thousand.csv in it.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
here=$(cd "$(dirname "$0")" && pwd)
cd "$folder" || exit 1

command -v python3 >/dev/null || {
    echo "skipped: there is no python3 on this machine"
    exit 77
}

"$fans" train "$here/../../configs/half_cheetah_aep_r.ini" --preset small --algo fans,sac,oracle --steps 2600 --quiet \
    --threads 1 --set fans.initial=1000 --set fnvae.updates=20 --out few >said 2>&1 || complain "no runs: $(cat said)"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/thousand.py" many few >figures.csv || complain "cannot make the runs"
TIMEFORMAT="seconds,%R,
processor seconds,%U,
of the system,%S,"
{ time "$fans" report many/runs --out page.html >said 2>&1; } 2>>figures.csv || complain "no report: $(cat said)"
grep -q "page.html: 1000 runs on 10 tasks" said || complain "it says: $(tail -1 said)"
size=$(wc -c <page.html)
echo "bytes of the page,$size," >>figures.csv
[ "$size" -le 10000000 ] || complain "the page has $size bytes"
cat figures.csv
[ -z "${RESULTS:-}" ] || { echo "what,value,unit" && cat figures.csv; } >"$RESULTS/thousand.csv"
exit $bad
