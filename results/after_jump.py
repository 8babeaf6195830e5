"""Prints what results/jump.py measured: mean return on each schedule, and the episodes around the jump.

    python results/after_jump.py results/doubt/jump.csv

The jump is at episode 20 of the schedule `jump`; of the first episode after it, every seed is listed.
"""
import csv
import sys
from statistics import mean, stdev

JUMP, SHOWN = 20, 6


def main():
    by_schedule = {}
    for row in csv.DictReader(open(sys.argv[1])):
        by_schedule.setdefault(row["schedule"], []).append([float(x) for x in row["returns"].split()])
    for schedule, lives in by_schedule.items():
        means = [mean(life) for life in lives]
        print(f"{schedule:6s} {len(lives)} seeds, {len(lives[0])} episodes: {mean(means):6.1f} ± {stdev(means):.1f}")
    lives = by_schedule["jump"]
    print("around the jump:", " ".join(f"{mean(life[i] for life in lives):.1f}" for i in range(JUMP - 1, JUMP + SHOWN)))
    print("first episode after it:", " ".join(f"{life[JUMP]:.1f}" for life in lives))


if __name__ == "__main__":
    main()
