"""Prints what results/collect.py collected: returns at some episodes, at the end, and the area.

    python results/curves.py results/base-learner/screen-1.csv [MORE.csv …] --at 500,1000 [--task half_cheetah_aep_r]

A line per variant, task and algorithm; means over seeds, and for the end mean ± standard deviation. The last column is
the seed furthest from the median, in standard deviations.
"""
import argparse
import csv
from statistics import mean, median, stdev

BLOCK = 100  # episodes of a point of a curve, as collected


def groups_of(paths, task):
    groups = {}
    for path in paths:
        for row in csv.DictReader(open(path)):
            if task in (None, row["task"]):
                groups.setdefault((row["variant"], row["task"], row["algo"]), []).append(row)
    return groups


def line_of(rows, episodes):
    curves = [[float(x) for x in row["curve"].split()] for row in rows]
    shortest = min(map(len, curves))
    at = [mean(c[e // BLOCK - 1] for c in curves) if e // BLOCK <= shortest else float("nan") for e in episodes]
    finals = [float(row["final"]) for row in rows]
    spread = stdev(finals) if len(finals) > 1 else 0
    worst = max(abs(x - median(finals)) for x in finals) / spread if spread else 0
    area = mean(mean(c[:shortest]) for c in curves)
    return (f"{len(rows):3d} {shortest * BLOCK:5d}  " + " ".join(f"{x:7.1f}" for x in at) +
            f"  {mean(finals):7.1f} ± {spread:4.1f}  {area:7.1f}  {worst:4.1f}")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("files", nargs="+")
    parser.add_argument("--at", default="500,1000")
    parser.add_argument("--task")
    a = parser.parse_args()
    episodes = [int(x) for x in a.at.split(",")]
    print(f"{'variant':20s} {'task':34s} {'algo':7s}   n  done  " + " ".join(f"{e:7d}" for e in episodes) +
          "          end          area  worst")
    for (variant, task, algo), rows in sorted(groups_of(a.files, a.task).items()):
        print(f"{variant or '-':20s} {task:34s} {algo:7s} " + line_of(rows, episodes))


if __name__ == "__main__":
    main()
