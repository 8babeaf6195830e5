#!/usr/bin/env bash
# slow_slurm.sh FANS - plans under real engines: a Slurm of one node, started here without systemd or
# cgroups, and MPI with two ranks. An array, a requeue, TERM before the limit and a worker killed with
# kill -9 all end with the runs that one worker leaves.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
config=$(cd "$(dirname "$0")/../../configs" && pwd)/pendulum.ini
PATH=$PATH:/usr/sbin:$(dirname "$fans")
cd "$folder" || exit 1

skip() {
    echo "skipped: $*"
    exit 77
}

# plan NAME STEPS: four runs, two jobs
plan() {
    "$fans" sweep "$config" --algo sac --seeds 4 --set sac.width=16 --set sac.batch=16 --set sac.random_steps=200 \
        --set train.checkpoint_every=2000 --steps "$2" --out "$1" --plan "$1.csv" --per 2 --emit "$3" >/dev/null ||
        complain "no plan $1"
}

# same NAME: its runs are bit-identical to those of one worker
same() {
    local run
    for run in one/seed-*; do
        cmp "$run/metrics.csv" "$1/${run#one/}/metrics.csv" || complain "$1: ${run#one/} differs from one worker's"
    done
}

plan one 4000 make
"$fans" work one.csv --quiet --device cpu --threads 1 >/dev/null || complain "one worker: status $?"

# ---- MPI ----------------------------------------------------------------------------------------

if command -v mpirun >/dev/null; then
    plan mpi 4000 mpi
    # both ranks may be on one core, and root may run tests
    OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1 OMPI_MCA_rmaps_base_oversubscribe=1 \
        OMPI_MCA_plm=isolated timeout 120 sh mpi.mpi.sh >mpi.log 2>&1 || complain "mpirun: status $?: $(cat mpi.log)"
    [ "$(grep -c '^2 runs: 0 done before, 2 done now' mpi.log)" = 2 ] || complain "mpirun: $(cat mpi.log)"
    same mpi
else
    echo "skipped: MPI, there is no mpirun"
fi

# ---- Slurm --------------------------------------------------------------------------------------

for program in slurmctld slurmd sbatch munged; do command -v $program >/dev/null || skip "there is no $program"; done
[ "$(id -u)" = 0 ] || skip "slurmd wants root"
port=$((20000 + $$ % 20000)) host=$(hostname -s)
slurm=$folder/slurm
mkdir -p "$slurm"/{state,spool} "$slurm/munge"
chmod 700 "$slurm/munge"
dd if=/dev/urandom of="$slurm/munge/key" bs=1024 count=1 status=none
chmod 400 "$slurm/munge/key"
chmod 755 "$folder"
cat >"$slurm/slurm.conf" <<TEXT
ClusterName=test
SlurmctldHost=$host(127.0.0.1)
SlurmUser=root
AuthType=auth/munge
AuthInfo=socket=$slurm/munge/socket
CryptoType=crypto/munge
SlurmctldPort=$port
SlurmdPort=$((port + 1))
StateSaveLocation=$slurm/state
SlurmdSpoolDir=$slurm/spool
SlurmctldPidFile=$slurm/slurmctld.pid
SlurmdPidFile=$slurm/slurmd.pid
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
ReturnToService=2
MpiDefault=none
KillWait=30
NodeName=$host NodeAddr=127.0.0.1 CPUs=$(nproc) State=UNKNOWN
PartitionName=all Nodes=$host Default=YES MaxTime=INFINITE State=UP OverSubscribe=FORCE:4
TEXT
export SLURM_CONF=$slurm/slurm.conf
daemons=()
# shellcheck disable=SC2317 # the trap calls it
end() {
    local pid
    squeue -h -o %A 2>/dev/null | xargs -r scancel 2>/dev/null
    for pid in "${daemons[@]}"; do kill "$pid" 2>/dev/null; done
    sleep 1
    rm -rf "$folder"
}
trap end EXIT
munged -F --key-file="$slurm/munge/key" --socket="$slurm/munge/socket" --pid-file="$slurm/munge/pid" \
    --log-file="$slurm/munge/log" --seed-file="$slurm/munge/seed" --force >/dev/null 2>&1 &
daemons+=($!)
sleep 1
slurmctld -D -c >"$slurm/slurmctld.log" 2>&1 &
daemons+=($!)
slurmd -D -N "$host" >"$slurm/slurmd.log" 2>&1 &
daemons+=($!)
for ((i = 0; i < 30; i++)); do
    sinfo -h -o %T 2>/dev/null | grep -q idle && break
    sleep 1
done
sinfo -h -o %T 2>/dev/null | grep -q idle ||
    skip "Slurm does not start here: $(tail -n 1 "$slurm/slurmctld.log") $(tail -n 1 "$slurm/slurmd.log")"

# until_done NAME: all four runs of a plan have a result, within two minutes
until_done() {
    local i
    for ((i = 0; i < 240; i++)); do
        # a requeued job is held for two minutes, unless it is told to start
        squeue -h -t PD -o %A 2>/dev/null | while read -r job; do scontrol update "JobId=$job" StartTime=now 2>/dev/null; done
        [ "$(find "$1" -name result.json 2>/dev/null | wc -l)" = 4 ] && return
        sleep 0.5
    done
    complain "$1: not done: $(squeue -h) $(cat slurm-*.out)"
}

# started NAME: one of its runs has a checkpoint
started() {
    local i
    for ((i = 0; i < 120; i++)); do
        [ -z "$(find "$1" -name 'checkpoint.safetensors' 2>/dev/null)" ] || return
        sleep 0.25
    done
    complain "$1: never started: $(cat slurm-*.out)"
}

# an array, to its end
plan array 4000 slurm
sbatch --quiet array.slurm || complain "sbatch: status $?"
until_done array
same array

# requeue, TERM as before a limit, kill -9: each costs no more than what came after the last checkpoint
plan one 40000 make
"$fans" work one.csv --quiet --device cpu --threads 1 >/dev/null || complain "one worker, longer: status $?"
for how in requeue term kill; do
    plan $how 40000 slurm
    job=$(sbatch --parsable $how.slurm)
    started $how
    case $how in
    requeue) scontrol requeue "${job}_0" ;;
    term) scancel --signal=TERM --batch "${job}_0" ;;
    kill) kill -KILL "$(pgrep -f -- "fans work kill.csv --shard 0/2" | head -1)" && scontrol requeue "${job}_0" ;;
    esac
    until_done $how
    same $how
done
exit "$bad"
