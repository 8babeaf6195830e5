"""Ratios of two sets of benchmark outputs, row by row: the least of the after runs by the least of the before runs.

    python results/bench_ratio.py 'before-*.txt' 'after-*.txt'

A row is a name and its first numbers (milliseconds for bench_nn, bench_model and bench_cuda, seconds for bench_train).
"""
import glob
import re
import sys


def rows(pattern, columns):
    found = {}
    for path in sorted(glob.glob(pattern)):
        for line in open(path):
            m = re.match(r"([a-z_]+[-\w]*(?: [a-z0-9-]+)?)\s+((?:-?[\d.]+%?\s+)+)", line + " ")
            if m:
                numbers = [float(x.rstrip("%")) for x in m.group(2).split()]
                for c in columns:
                    if c < len(numbers):
                        found.setdefault((m.group(1), c), []).append(numbers[c])
    return {k: min(v) for k, v in found.items()}


columns = [int(c) for c in sys.argv[3].split(",")] if len(sys.argv) > 3 else [0]
before, after = rows(sys.argv[1], columns), rows(sys.argv[2], columns)
for key in before:
    if key in after and before[key] > 0:
        print(f"{key[0]:24} {key[1]}  {before[key]:10.3f} {after[key]:10.3f}  {after[key] / before[key]:.3f}")
