#!/usr/bin/env bash
# test_work.sh FANS - plans and workers: every run is trained once, whoever trains it, with the same
# bytes; whatever is left is said by status 75.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum.ini
cd "$folder" || exit 1

# plan OUT STEPS: six runs of a grid
plan() {
    accepts "$1.csv: 6 runs" sweep "$config" --algo sac --grid sac.lr=1e-4,3e-4 --seeds 3 --set sac.width=16 \
        --set sac.batch=16 --set sac.random_steps=200 --steps "$2" --out "$1" --plan "$1.csv"
}
work() { "$fans" work "$@" --quiet --device cpu --threads 1; }

# a plan can be read, and says what is wrong with it
plan one 800
[ "$(wc -l <one.csv)" = 7 ] || complain "one.csv: $(cat one.csv)"
grep -qF 'one/pendulum-sac-sac.lr=3e-4/seed-2,' one.csv || complain "one.csv: $(cat one.csv)"
refuses 1 "bad.csv: is not a plan; its first line must be run,config" work "$(echo x >bad.csv; echo bad.csv)"
sed 's/,2,/,two,/' one.csv >bad.csv
refuses 1 "bad.csv:4: the seed is 'two', not a number from 0" work bad.csv
(cat one.csv; tail -1 one.csv) >bad.csv
refuses 1 "bad.csv: one/pendulum-sac-sac.lr=3e-4/seed-2 is in two lines; every run needs its own folder" work bad.csv
refuses 2 "--set sac.lt: [sac]: unknown key 'lt'; did you mean" sweep "$config" --algo sac --grid sac.lt=1,2 --plan none.csv
refuses 2 "--grid sac.lr: must be SECTION.KEY=VALUE,VALUE" sweep "$config" --grid sac.lr
refuses 2 "sweep: --emit: there is no engine 'slrum'; did you mean 'slurm'?" sweep "$config" --emit slrum
refuses 2 "work: --shard 3/3: must be K/N" work one.csv --shard 3/3
refuses 2 "work: --for soon: must be a time" work one.csv --for soon

# shares are disjoint and complete, and 1, 2 and 4 workers leave the same bytes
plan two 800 && plan four 800
work one.csv >out || complain "one worker: status $?"
grep -q "^6 runs: 0 done before, 6 done now, 0 failed, 0 with another worker, 0 left$" out || complain "$(cat out)"
done=0
for k in 0 1; do SLURM_ARRAY_TASK_ID=$k SLURM_ARRAY_TASK_COUNT=2 work two.csv --shard auto --json two.json >/dev/null &
    wait $! || complain "worker $k of 2: status $?"
    done=$((done + $(sed -n 's/.*"done": \([0-9]*\).*/\1/p' two.json)))
done
[ $done = 6 ] || complain "two workers trained $done runs, not 6"
for k in 0 1 2 3; do OMPI_COMM_WORLD_RANK=$k OMPI_COMM_WORLD_SIZE=4 work four.csv --shard auto >/dev/null & done
wait
for run in one/*/seed-*; do
    for other in two four; do
        cmp "$run/metrics.csv" "$other${run#one}/metrics.csv" || complain "$run differs between one worker and $other"
    done
done

# what is done is skipped; a different run in its place is not
work one.csv >out || complain "a finished plan: status $?"
grep -q "^6 runs: 6 done before, 0 done now" out || complain "$(cat out)"
sed 's/sac.batch=16/sac.batch=32/' one.csv >bad.csv
refuses 1 "one/pendulum-sac-sac.lr=1e-4/seed-0: holds a different run; its config has 'batch = 16', this one 'batch = 32'" work bad.csv --device cpu

# TERM and a limit leave 75; kill -9 costs no more than what came after the last checkpoint; two
# workers on the same lines never train the same run
plan long 40000
work long.csv --for 1 >out
[ $? = 75 ] || complain "--for 1: not 75: $(cat out)"
"$fans" work long.csv --quiet --device cpu --threads 1 >out 2>&1 &
first=$!
sleep 0.7
work long.csv >other 2>&1
[ $? = 75 ] || complain "a worker that finds all runs taken: not 75: $(cat other)"
grep -q "0 done now, 0 failed, 6 with another worker" other || complain "$(cat other)"
kill -TERM $first
wait $first
[ $? = 75 ] || complain "TERM: not 75: $(cat out)"
"$fans" work long.csv --quiet --device cpu --threads 1 >out 2>&1 &
first=$!
sleep 0.5
kill -KILL $first
wait $first 2>/dev/null
work long.csv --for 1 >out 2>&1
[ $? = 75 ] || complain "after kill -9: not 75: $(cat out)"

# scripts are valid for their shells
for engine in slurm mpi parallel make kubernetes; do
    accepts "2 jobs" sweep "$config" --seeds 6 --per 3 --plan "$engine.csv" --emit $engine
done
if ! { bash -n slurm.slurm && sh -n mpi.mpi.sh && sh -n parallel.sh; }; then complain "a script is not one"; fi
make -n -f make.mk >out 2>&1 || complain "make: $(cat out)"
[ "$(grep -c 'fans work make.csv' out)" = 2 ] || complain "make: $(cat out)"
exit "$bad"
