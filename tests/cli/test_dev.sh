#!/usr/bin/env bash
# test_dev.sh - ./dev installs packages: as root or by sudo, waiting for another apt-get, or one
# clear line. Programs that would change the machine are stand-ins here.
set -u
dev=$(cd "$(dirname "$0")/../.." && pwd)/dev
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT
bad=0

complain() {
    echo "FAILED: $*"
    bad=1
}

# stand_in NAME SCRIPT
stand_in() {
    printf '#!/bin/sh\n%s\n' "$2" >"$folder/bin/$1"
    chmod +x "$folder/bin/$1"
}

mkdir "$folder/bin"
for tool in bash cat dirname env grep sh; do ln -s "$(command -v $tool)" "$folder/bin/$tool"; done
stand_in dpkg-query 'exit 1' # nothing is installed
stand_in sleep ''
stand_in apt-get "echo \"\$*\" >>$folder/log
case \"\$*\" in
*update*) [ -e $folder/free ] || { : >$folder/free; echo 'E: Could not get lock /var/lib/apt/lists/lock' >&2; exit 100; } ;;
esac"

# ask UID : ./dev deps demo as that user
ask() {
    stand_in id "echo $1"
    rm -f "$folder/log" "$folder/free"
    env PATH="$folder/bin" bash "$dev" deps demo >"$folder/out" 2>"$folder/err"
}

ask 1000 && complain "no sudo is no failure"
[ "$(cat "$folder/err")" = "dev: neither root nor sudo here; have these packages installed, then run this again: ffmpeg" ] ||
    complain "without sudo it says $(cat "$folder/err")"
if [ -s "$folder/out" ] || [ -e "$folder/log" ]; then complain "without sudo it continues: $(cat "$folder/out")"; fi

ask 0 || complain "as root: $(cat "$folder/err")"
[ "$(grep -c " update$" "$folder/log")" = 2 ] || complain "it does not wait for the lists: $(cat "$folder/log")"
grep -q "DPkg::Lock::Timeout=600 install .*ffmpeg" "$folder/log" || complain "it does not wait for dpkg: $(cat "$folder/log")"

stand_in sudo "echo sudo >>$folder/log; exec \"\$@\""
ask 1000 || complain "by sudo: $(cat "$folder/err")"
grep -q sudo "$folder/log" || complain "sudo is not used"

stand_in apt-get 'echo "E: no network" >&2; exit 100'
ask 0 && complain "a failed update is no failure"
grep -q "^dev: apt-get update: E: no network$" "$folder/err" || complain "a failed update: $(cat "$folder/err")"
exit $bad
