#!/usr/bin/env bash
# test_results.sh FANS - every figure in docs/results and in README's blocks is in results/.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
fans=$(readlink -f "$fans")
cd "$(dirname "$0")/../.." || exit 1

cp README.md "$folder/README.md"
docs/results.sh "$fans" "$folder/results" "$folder/README.md" || complain "docs/results.sh fails"
diff -r docs/results "$folder/results" >"$folder/differences" || {
    head -40 "$folder/differences"
    complain "docs/results differs from results/: run ./dev results"
}
cmp README.md "$folder/README.md" || complain "README.md differs from results/: run ./dev results"

# a figure that is not in the data is found
sed '/^<!-- results glance -->/,/^<!-- end/s/ ± 0/ ± 7/' README.md >"$folder/README.md"
cmp -s README.md "$folder/README.md" && complain "README.md has no figures"
docs/results.sh "$fans" "$folder/results" "$folder/README.md"
cmp -s README.md "$folder/README.md" || complain "a typed figure stays in README.md"

# returns stand in the generated blocks, whose data is known, or in the notebook: nowhere else is one typed
typed() { # FILE... : lines outside of blocks and code with a deviation or a return with decimals
    awk '/^```/ { code = !code } /^<!-- results / { block = 1 } /^<!-- end of results -->/ { block = 0 }
        !code && !block && /[0-9] ± [0-9]|−[0-9]+\.[0-9]/ { print FILENAME ":" FNR ": " $0 }' "$@"
}
typed README.md docs/*.md docs/guide/*.md docs/explanation/*.md >"$folder/typed"
[ ! -s "$folder/typed" ] || complain "a figure that is in no data: $(cat "$folder/typed")"
printf 'It has −14.2 at the end.\n' >"$folder/page.md"
[ -n "$(typed "$folder/page.md")" ] || complain "a typed figure is not noticed"

# what is converted from CSVs is what they say
if command -v python3 >/dev/null; then
    for name in early glance; do cp "results/$name.json" "$folder/$name.json"; done
    results/beginnings.sh "$fans" "$folder" || complain "results/beginnings.sh fails"
    for name in early glance; do cmp "results/$name.json" "$folder/$name.json" || complain "results/$name.json: run results/beginnings.sh"; done
    python3 results/speed.py results/speed/cpu.txt results/base-learner/bench-cuda-1.txt | cmp - results/speed/speed.csv || complain "results/speed/speed.csv: run results/speed.py"
fi
exit "$bad"
