#!/usr/bin/env bash
# test_watch_page.sh FANS BUILD - the page of fans watch in Chromium: a slider moves the world, the agent
# notices, keys and names, two browsers, narrow and dark.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
here=$(cd "$(dirname "$0")" && pwd)
late=$2/plugins/late_algo.so
cd "$folder" || exit 1

for tool in python3 chromium; do
    command -v $tool >/dev/null || {
        echo "skipped: there is no $tool on this machine"
        exit 77
    }
done

grep -q '^FANS_SANITIZE:STRING=.' "$2/CMakeCache.txt" && {
    echo "skipped: the page is looked at in the release build; test_watch asks the same of this one"
    exit 77
}

"$fans" train "$here/../../configs/pendulum_flip.ini" --algo "$late,random" --steps 6000 --quiet --threads 1 --out runs >said 2>&1 ||
    complain "no run to watch: $(cat said)"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/watch_page.py" "$fans" "${SHOTS:-}" "$late" runs/pendulum_flip-late runs/pendulum_flip-random ||
    complain "the page does not do what it should"
exit $bad
