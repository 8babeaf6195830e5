# shellcheck shell=bash disable=SC2034 # the tests read `bad`
# tool.sh - what the tests of the tool share; sourced with the tool's path as $1. A test ends with
# `exit $bad`.
set -u
fans=$(realpath "$1")
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

complain() {
    echo "FAILED: $*"
    bad=1
}

# refuses STATUS TEXT ARGUMENTS... : that exit status, one line on stderr with TEXT, empty stdout
refuses() {
    local status=$1 text=$2 got
    shift 2
    "$fans" "$@" >"$folder/out" 2>"$folder/err"
    got=$?
    [ $got = "$status" ] || complain "fans $*: exit status $got, not $status"
    [ ! -s "$folder/out" ] || complain "fans $*: prints to stdout: $(head -1 "$folder/out")"
    [ "$(wc -l <"$folder/err")" = 1 ] || complain "fans $*: not one line: $(cat "$folder/err")"
    grep -qF -- "fans: $text" "$folder/err" || complain "fans $*: says $(cat "$folder/err"), not $text"
}

# warns TEXT ARGUMENTS... : exit status 0, one line on stderr with TEXT
warns() {
    local text=$1
    shift
    "$fans" "$@" >"$folder/out" 2>"$folder/err" || complain "fans $*: exit status $?"
    [ "$(wc -l <"$folder/err")" = 1 ] || complain "fans $*: not one line: $(cat "$folder/err")"
    grep -qF -- "fans: $text" "$folder/err" || complain "fans $*: says $(cat "$folder/err"), not $text"
}

# accepts TEXT ARGUMENTS... : exit status 0, TEXT on stdout, empty stderr
accepts() {
    local text=$1
    shift
    "$fans" "$@" >"$folder/out" 2>"$folder/err" || complain "fans $*: exit status $?"
    grep -qF -- "$text" "$folder/out" || complain "fans $*: does not print $text"
    [ ! -s "$folder/err" ] || complain "fans $*: prints to stderr: $(cat "$folder/err")"
}
