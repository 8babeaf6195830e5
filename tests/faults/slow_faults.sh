#!/usr/bin/env bash
# slow_faults.sh FANS BUILD - every call of test_faults.sh, for one more algorithm.
POINTS='' ALGOS="sac fans stack" exec bash "$(dirname "$0")/test_faults.sh" "$@"
