#!/usr/bin/env bash
# test_reference.sh FANS BUILD - docs/reference says what the tool says.
# shellcheck source=tests/tool.sh
. "$(dirname "$0")/../tool.sh"
docs=$(dirname "$0")/../../docs

"$docs/reference.sh" "$fans" "$folder/reference" || complain "docs/reference.sh fails"
diff -r "$docs/reference" "$folder/reference" >"$folder/differences" || {
    head -40 "$folder/differences"
    complain "docs/reference differs from what the tool says: run ./dev reference"
}

# every list as Markdown
accepts "| \`sac\` |" list algos --markdown
accepts "## pendulum" list envs --markdown
accepts "| \`linear\` |" list ops --markdown
accepts "## [train]" list options --markdown
accepts "| \`clock\` | choice | episode | one of step\\|episode\\|block\\|random |" list options --markdown
refuses 2 "list: --markdown takes no value" list ops --markdown=yes
exit $bad
