#!/usr/bin/env bash
# test_watch.sh FANS BUILD - fans watch: who is answered, what a slider does, limits, memory.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
here=$(cd "$(dirname "$0")" && pwd)
late=$2/plugins/late_algo.so
cd "$folder" || exit 1

"$fans" train "$here/../../configs/pendulum_flip.ini" --algo "$late,random" --steps 6000 --quiet --threads 1 --out runs >said 2>&1 ||
    complain "no run to watch: $(cat said)"

refuses 2 "watch: RUN is missing" watch
accepts "usage: fans watch" watch --help
refuses 2 "watch: unknown option '--prot'; did you mean '--port'?" watch runs --prot 1
refuses 2 "watch: --port" watch runs --port 70000
refuses 1 "none: is not the folder of a run" watch none

command -v python3 >/dev/null || {
    echo "skipped: there is no python3 on this machine"
    exit 77
}
ticks=864000 requests=3000 # eight hours of 30 a second
grep -q '^FANS_SANITIZE:STRING=.' "$2/CMakeCache.txt" && ticks=0 requests=500
PYTHONDONTWRITEBYTECODE=1 python3 "$here/watch_requests.py" "$fans" "$late" $ticks $requests runs/pendulum_flip-late runs/pendulum_flip-random ||
    complain "fans watch does not answer as it should"
exit $bad
