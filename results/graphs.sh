#!/usr/bin/env bash
# graphs.sh [PYTHON] - measures all of results/graphs, which takes hours of a core; stopped, it resumes. PYTHON has
# tigramite.
set -euo pipefail
cd "$(dirname "$0")"
python=${1:-python3}
for what in forty edges changes wide kinds; do "$python" graphs.py $what; done
"$python" graphs.py fits --worlds 1040 1079 --file fits-3-starts
"$python" graphs.py pcmci
"$python" graphs_summary.py
