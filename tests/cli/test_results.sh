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
exit "$bad"
