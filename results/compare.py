"""Compares two result.json files of `fans train`, run by run with the same names: did a change of the code change
what is learned?

    python results/compare.py before.json after.json

One line per task and algorithm: mean and standard deviation of the final returns before and after, and the p of
Wilcoxon's signed-rank test over the seeds (two-sided, exact).
"""
import json
import sys
from statistics import mean, stdev

from scipy.stats import wilcoxon


def returns(path):
    found = {}
    for run in json.load(open(path))["runs"]:
        entry, seed = run["run"].rsplit("/", 1)
        found.setdefault(entry, {})[seed] = run["final_return"]
    return found


before, after = (returns(path) for path in sys.argv[1:3])
print(f"{'task and algorithm':40} {'before':>16} {'after':>16} {'p':>7}  within one sd")
for entry in before:
    seeds = sorted(before[entry])
    x, y = ([runs[entry][seed] for seed in seeds] for runs in (before, after))
    p = wilcoxon(x, y, mode="exact").pvalue
    near = abs(mean(x) - mean(y)) <= max(stdev(x), stdev(y))
    print(f"{entry:40} {mean(x):8.2f} ± {stdev(x):5.2f} {mean(y):8.2f} ± {stdev(y):5.2f} {p:7.3f}  {'yes' if near else 'NO'}")
