#!/usr/bin/env bash
# test_threads.sh FANS BUILD - without --threads small networks train on one thread, large ones on all cores.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
config=$(cd "$(dirname "$0")/../.." && pwd)/configs/pendulum.ini
cd "$folder" || exit 1
[ "$(nproc)" -gt 1 ] || {
    echo "skipped: there is one core on this machine"
    exit 77
}

# threads_of OPTIONS... : of a training that has made some episodes
threads_of() {
    "$fans" train "$config" --algo sac --steps 100000 --quiet --out out "$@" >/dev/null 2>&1 &
    local pid=$! count=0
    for _ in $(seq 600); do
        count=$(awk '/^Threads:/ { print $2 }' /proc/$pid/status)
        [ "$(grep -c , out/seed-0/metrics.csv 2>/dev/null || true)" -gt 2 ] 2>/dev/null && break
        sleep 0.1
    done
    kill $pid
    wait $pid 2>/dev/null
    rm -rf out
    echo "$count"
}

one=$(threads_of --threads 1)
all=$(threads_of --threads 0 --set sac.width=1024 --set sac.random_steps=100000)
[ "$(threads_of --set sac.random_steps=100000)" = "$one" ] || complain "small networks train on more than $one threads"
[ "$all" -ge $((one + $(nproc) - 1)) ] || # a sanitizer may add one of its own
    complain "large networks train on $all threads, not on all $(nproc)"
exit $bad
