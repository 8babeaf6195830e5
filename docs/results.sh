#!/usr/bin/env bash
# results.sh FANS DIR README - writes the pages of results into the folder DIR and the blocks of README
# between "<!-- results NAME -->" and "<!-- end of results -->", all from results/*.json and tables/.
# `./dev results` runs it; tests/cli/test_results.sh compares.
set -euo pipefail
fans=$1 out=$2 readme=$3

# What is stored of a table: the section "Ours" of its page.
ours() { awk '/^## / { on = $2 == "Ours"; next } on && /^\|/' "$out/$1.md"; }

rm -f "$out"/*.md "$out"/*.svg
"$fans" reproduce --docs "$out"
while IFS= read -r line; do
    if [ "$line" = "<!-- end of results -->" ]; then skip=''; fi
    [ -n "${skip:-}" ] || printf '%s\n' "$line"
    if [[ $line =~ ^'<!-- results '([a-z-]+)' -->'$ ]]; then
        ours "${BASH_REMATCH[1]}"
        skip=yes
    fi
done <"$readme" >"$readme.new"
if cmp -s "$readme" "$readme.new"; then rm "$readme.new"; else mv "$readme.new" "$readme"; fi
