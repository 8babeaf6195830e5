#!/usr/bin/env bash
# test_report_page.sh FANS BUILD - the page of fans report in Chromium: wide, narrow, dark and printed, and of folders
# whose texts would like to run. SHOTS: a folder for pictures of it.
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
    echo "skipped: pages are looked at in the release build"
    exit 77
}

"$fans" train "$here/../../configs/pendulum_flip.ini" --algo "$late,random,sac" --seeds 2 --steps 6000 --quiet --threads 1 \
    --set sac.random_steps=5500 --out runs >said 2>&1 || complain "no runs: $(cat said)"
PYTHONDONTWRITEBYTECODE=1 python3 "$here/report_page.py" "$fans" "${SHOTS:-}" runs ||
    complain "the page is not as it should be"
exit $bad
