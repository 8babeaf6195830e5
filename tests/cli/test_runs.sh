#!/usr/bin/env bash
# test_runs.sh FANS BUILD - fans runs --watch: small curves, in the characters that the terminal has; anew on a
# terminal until Ctrl-C, once anywhere else.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
config=$(cd "$(dirname "$0")/../.." && pwd)/configs/pendulum.ini
cd "$folder" || exit 1

"$fans" train "$config" --algo random --steps 8000 --quiet --out runs >/dev/null || complain "no runs"

accepts "learning" runs runs --watch
LC_ALL=C.UTF-8 accepts "█" runs runs --watch
LC_ALL=C accepts "#" runs runs --watch
LC_ALL=C grep -q '[^ -~]' out && complain "characters that an old terminal lacks: $(cat out)"
accepts "run" runs runs
grep -q learning out && complain "curves where none were asked for"
grep -q "$(printf '\033')" out && complain "escape sequences where there is no terminal"
accepts '"final_return"' runs runs --watch --json -

# the time of a run is its own, not that of the process: learning takes time, and doing nothing takes none
"$fans" train "$config" --algo null,sac --steps 1600 --quiet --threads 1 --out both >/dev/null || complain "no two runs"
"$fans" runs both --json both.json >/dev/null
times=$(grep -o '"time_s": [0-9.e-]*' both.json | cut -d' ' -f2 | tr '\n' ' ')
awk '{ exit !($1 < $2 / 2) }' <<<"$times" || complain "null and sac took $times"

command -v script >/dev/null || {
    echo "skipped: there is no script on this machine, which makes a terminal"
    exit 77
}
script -qec "timeout --foreground -s INT 5 $fans runs runs --watch; echo status \$?" /dev/null >said </dev/null
[ "$(grep -c "random" said)" -ge 2 ] || complain "the list is not shown again: $(cat -v said)"
grep -q "status 1[23]" said || complain "Ctrl-C does not end it: $(cat -v said)"
script -qec "TERM=dumb $fans runs runs --watch" /dev/null >said </dev/null
grep -q learning said || complain "a terminal that cannot write over lines: $(cat -v said)"
grep -q "$(printf '\033')" said && complain "escape sequences for a terminal that knows none: $(cat -v said)"
exit $bad
