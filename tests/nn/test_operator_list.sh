#!/usr/bin/env bash
# test_operator_list.sh FANS BUILD - an operator that is listed (src/nn/ops/list.h) but has no body,
# for the CPU or for CUDA, is an error of the compiler or of the linker. Repeats commands of the build
# with a list that has one more operator.
set -u
source=$(cd "$(dirname "$0")/../.." && pwd)
cd "$2" || exit 1
if ! [ -f build.ninja ] || ! command -v ninja >/dev/null; then
    echo "skipped: the build's commands are read from ninja"
    exit 77
fi
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
mkdir -p "$folder/nn/ops"
bad=0 status=0

# list [LINE]: the operators, and one more
list() {
    cat "$source/src/nn/ops/list.h" >"$folder/nn/ops/list.h"
    echo "${1:-}" >>"$folder/nn/ops/list.h"
}

# run WHAT COMMAND
run() {
    what=$1
    bash -c "$2" >"$folder/log" 2>&1
    status=$?
}

# compile TARGET OBJECT: as for TARGET, but with this list
compile() {
    run "compiling $2" "$(ninja -t commands "$1" | grep -E -- "-o $2( |\$)" |
        sed -E "s# -MD -MT [^ ]+ -MF [^ ]+##; s# -o $2# -o $folder/ours.o#; s# -I# -I$folder -I#")"
}

# link TARGET OBJECT: with the new object in OBJECT's place
link() {
    run "linking $1" "$(ninja -t commands "$1" | tail -n 1 |
        sed -E "s# $2# $folder/ours.o#; s# -o $1# -o $folder/linked#")"
}

# Checks what ran last: it passes, or it fails and says TEXT.
passes() {
    [ $status = 0 ] && return
    echo "FAILED: $what: $(tail -n 5 "$folder/log")"
    bad=1
}
fails() {
    [ $status != 0 ] && grep -qE "$1" "$folder/log" && return
    echo "FAILED: $what: status $status, '$(tail -n 5 "$folder/log")', not '$1'"
    bad=1
}

graph=CMakeFiles/fans_core.dir/src/nn/graph.c.o
list
compile fans $graph
passes
link fans $graph
passes
list "X(missing, ROWS)"
compile fans $graph
passes
link fans $graph
fails "undefined reference to .nn_op_missing"

[ -f libfans_cuda.so ] || exit $bad
bodies=CMakeFiles/fans_cuda.dir/src/nn/cuda/backend.cu.o
rows=CMakeFiles/fans_cuda.dir/src/nn/cuda/rows.cu.o
list
compile libfans_cuda.so $bodies
passes
link libfans_cuda.so $bodies
passes
list "X(missing, WHOLE)"
compile libfans_cuda.so $bodies
passes
link libfans_cuda.so $bodies
fails "undefined reference to .missing_(for|back)ward"
list "X(missing, ROWS)"
compile libfans_cuda.so $rows
fails "rows_missing.* is undefined"
list "X(missing, COST)"
compile libfans_cuda.so $rows
fails "rows_missing_back.* is undefined"
exit $bad
