#!/usr/bin/env bash
# layers.sh - every layer includes only itself and what lies before it; public headers include only
# public headers. Run from the root of the source, or with another tree as second argument (the test
# of this test).
set -eu
cd "${2:-.}"

# layer: the layers whose headers it may include
allowed='
base:   base
nn:     base nn
env:    base env
data:   base nn data
learn:  base nn env data learn
algo:   base nn env data learn algo
train:  base nn env data learn algo train
deploy: base nn env data learn algo train deploy
api:    base nn env data learn algo train deploy api
report: base learn algo report
film:   base nn env data learn algo train report film
live:   base nn env data learn algo train report film live
cli:    base nn env data learn algo train deploy api report film live cli
'

bad=0
complain() {
    echo "$1"
    bad=1
}

# "file:line:layer" of every quoted include in a folder
includes() {
    grep -rnoE '^[[:space:]]*#[[:space:]]*include "[^"]+"' "$1" --include='*.[ch]' --include='*.cu' --include='*.cuh' |
        sed -E 's/^([^:]+:[0-9]+):.*"([^"]+)"$/\1 \2/' || true
}

for folder in src/*/; do
    layer=$(basename "$folder")
    row=$(grep -E "^$layer:" <<<"$allowed" | cut -d: -f2) || true
    [ -n "$row" ] || complain "$folder: not a known layer; see tests/layers.sh"
    while read -r place header; do
        [ -n "$place" ] || continue
        case $header in
        fans/* | commit.h) continue ;; # public headers, and the one that the build writes
        */*) ;;
        *) complain "$place: \"$header\" must name its layer" ;;
        esac
        from=${header%%/*}
        grep -qw -- "$from" <<<"$row" || complain "$place: layer $layer must not include \"$header\""
    done < <(includes "$folder")
done

while read -r place header; do
    case ${header:-fans/} in
    fans/*) ;;
    *) complain "$place: a public header must not include \"$header\"" ;;
    esac
done < <(includes include/fans)

exit $bad
