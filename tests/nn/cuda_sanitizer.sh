#!/usr/bin/env bash
# cuda_sanitizer.sh FANS BUILD - the GPU tests under compute-sanitizer: no access out of bounds, no
# read of uninitialised memory, no race in shared memory. Racecheck is slow: it gets every operator,
# small LSTMs and tiny steps (layers of all sizes would take five minutes).
set -u
tests=$2/tests
sanitizer=$(command -v compute-sanitizer || echo /usr/local/cuda/bin/compute-sanitizer)
[ -x "$sanitizer" ] || {
    echo "skipped: there is no compute-sanitizer; it comes with the CUDA toolkit"
    exit 77
}
bad=0

# under TOOL PROGRAM PATTERN
under() {
    local log status
    log=$("$sanitizer" --tool "$1" --error-exitcode 9 "$tests/$2" "$3" 2>&1)
    status=$?
    if [ $status = 77 ]; then
        echo "$log" | grep "skipped:"
        exit 77
    fi
    echo "$1 $2 $3: $(echo "$log" | grep -a SUMMARY)"
    [ $status = 0 ] && return
    echo "$log" | tail -n 40
    bad=1
}

for tool in memcheck initcheck; do
    under $tool cuda_ops '*'
    under $tool cuda_steps 'the_same*'
    under $tool cuda_train 'tables*'
done
under racecheck cuda_ops 'operators*'
under racecheck cuda_ops 'the_rest*'
under racecheck cuda_ops 'small_lstms*'
under racecheck cuda_steps 'tiny*'
under racecheck cuda_train 'tables*'
exit $bad
