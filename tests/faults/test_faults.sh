#!/usr/bin/env bash
# test_faults.sh FANS BUILD - one call fails: a file's (an error, half a write, a kill) or an allocation's,
# the libraries' included. Nothing is lost: a resumed run is bit-identical. And exit status 0 is only
# for the right result. POINTS calls of each kind are tried; slow_faults.sh tries them all.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
shim=$2/plugins/fault_shim.so
points=${POINTS-4}
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum.ini
cd "$folder" || exit 1
if ldd "$fans" | grep -q "lib[at]san"; then
    echo "skipped: a sanitizer has its own allocator"
    exit 77
fi

train=(train "$config" --steps 400 --quiet --device cpu --threads 1 --set sac.width=8 --set sac.batch=4
    --set sac.random_steps=50 --set train.checkpoint_every=150)
model=(--set fans.initial=200 --set fnvae.window=20 --set fnvae.batch=2 --set fnvae.updates=2 --preset small)

# under FAULT ARGUMENTS...
under() {
    (
        timeout 60 env FAULT="$1" LD_PRELOAD="$shim" "$fans" "${@:2}" >out 2>err
        exit $?
    ) 2>/dev/null # where the shell says that it was killed
}

# calls KIND ARGUMENTS... : how many there are
calls() {
    FAULT_COUNT=$folder/count LD_PRELOAD=$shim "$fans" "${@:2}" >out 2>err || complain "$*: $(cat err)" >&2
    [ "$(sed -n "s/^$1 //p" count)" -gt 10 ] || complain "$*: the calls are not counted" >&2
    sed -n "s/^$1 //p" count
}

# sample COUNT : some numbers up to COUNT, evenly, or all
sample() {
    if [ -z "$points" ] || [ "$1" -le "$points" ]; then seq "$1"; else seq 2 $(($1 / points)) "$1"; fi
}

same() { # WHAT FOLDER
    cmp -s "$whole/seed-0/metrics.csv" "$2/seed-0/metrics.csv" || complain "$1: other metrics"
    cmp -s <(tail -c 4000 "$whole/seed-0/config.ini") <(tail -c 4000 "$2/seed-0/config.ini") || complain "$1: other config"
}

one_line() { # WHAT
    [ "$(grep -c . err)" = 1 ] || complain "$1: not one line: $(cat err)" # libgomp adds an empty one
}

# files: a first run and a resume
for algo in ${ALGOS-sac fans}; do
    run=("${train[@]}" --algo "$algo")
    [ "$algo" = fans ] && run+=("${model[@]}")
    whole=whole-$algo half=half-$algo
    n=$(calls files "${run[@]}" --out "$whole")
    "$fans" "${run[@]}" --steps 200 --out "$half" >out 2>err || complain "$algo: $(cat err)"
    rm -rf again && cp -r "$half" again
    m=$(calls files "${run[@]}" --out again)
    for fault in EIO ENOSPC ESTALE short kill torn; do
        for from in first resume; do
            [ $from = first ] && count=$n || count=$m
            for i in $(sample "$count"); do
                rm -rf again && [ $from = resume ] && cp -r "$half" again
                under "$fault:$i" "${run[@]}" --out again
                status=$?
                what="$algo, $from, $fault at call $i of $count"
                [ $status = 0 ] || [ $status = 137 ] || one_line "$what"
                [ $status = 0 ] && same "$what" again
                "$fans" "${run[@]}" --out again >out 2>err || complain "$what: does not resume: $(cat err)"
                same "$what, resumed" again
                [ -z "$(find again -name '*.tmp')" ] || complain "$what: leaves $(find again -name '*.tmp')"
            done
        done
    done
done

# memory: each of these commands either says so or gives the right bytes
whole="whole-sac"
"$fans" report whole-fans --out right.html --json right.json >right.out || complain "no report"
"$fans" runs whole-fans --json runs.json >runs.out || complain "no runs"
run=("${train[@]}" --algo sac)
rm -rf again
n=$(calls memory "${run[@]}" --out again)
for i in $(sample "$n"); do
    rm -rf again
    under "memory:$i" "${run[@]}" --out again
    status=$?
    what="train, allocation $i of $n"
    [ $status = 0 ] && same "$what" again
    [ $status = 0 ] || one_line "$what"
done
n=$(calls memory report whole-fans --out page.html --json page.json)
for i in $(sample "$n"); do
    under "memory:$i" report whole-fans --out page.html --json page.json
    status=$?
    what="report, allocation $i of $n"
    [ $status = 0 ] || one_line "$what"
    [ $status != 0 ] || { cmp -s page.html right.html && cmp -s page.json right.json &&
        cmp -s <(head -2 out) <(head -2 right.out); } || complain "$what: another report"
done
n=$(calls memory runs whole-fans --json page.json)
for i in $(sample "$n"); do
    under "memory:$i" runs whole-fans --json page.json
    status=$?
    what="runs, allocation $i of $n"
    [ $status = 0 ] || one_line "$what"
    [ $status != 0 ] || { cmp -s page.json runs.json && cmp -s out runs.out; } || complain "$what: another list"
done

exit "$bad"
