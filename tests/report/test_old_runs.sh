#!/usr/bin/env bash
# test_old_runs.sh FANS - runs of version 0.1 are read where results are looked at, and refused in one
# line where their checkpoints would be needed. version-0.1/ holds some, without checkpoints.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
cp -r "$(cd "$(dirname "$0")" && pwd)/version-0.1" "$folder/old"
cd "$folder" || exit 1

accepts "old/old-fans/seed-1  fans  pendulum  1     -150.01  done" runs old
accepts "theta_s0" graph old/old-fans/seed-0
accepts "old   sac     nothing     2      -151.9" report old --out page.html
grep -q "old" page.html || complain "the report is empty"
why="trained by fans 0.1.0, whose checkpoints"
refuses 1 "old/old-fans/seed-0: $why" eval old/old-fans/seed-0
refuses 1 "old/old-sac/seed-1: $why" train old/old.ini --algo sac --seed 1 --out old/old-sac

exit $bad
