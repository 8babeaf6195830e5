#!/usr/bin/env bash
# abi.sh BUILD [--write] - compares the interface of libfans.so, functions and structs, with
# libfans.abi. Programs built for an older version must keep working, so a change may only add:
# raise FANS_ABI, and write the file anew with --write.
set -eu
build=$1
source=$(cd "$(dirname "$0")/../.." && pwd)
stored=$source/tests/api/libfans.abi
command -v abidw >/dev/null || { echo "skipped: no abidw (abigail-tools)"; exit 77; }

describe() {
    abidw --exported-interfaces-only --headers-dir "$source/include/fans" --drop-private-types --no-show-locs --no-corpus-path \
        --no-comp-dir-path --no-elf-needed --no-architecture --out-file "$1" "$build/libfans.so"
}

if [ "${2:-}" = --write ]; then
    describe "$stored"
    sed -i -E "s# path='[^']*/(src|include)/# path='\\1/#" "$stored" # wherever it was built
    exit
fi
now=$(mktemp)
trap 'rm -f "$now"' EXIT
describe "$now"
if ! abidiff --harmless --no-show-locs "$stored" "$now"; then
    echo "the interface is not that of tests/api/libfans.abi"
    exit 1
fi
