"""Evaluates agents of half_cheetah_aep_r, no longer learning, on the schedule they know and after a jump of the target
speed from 0.5 to 2.5 m/s, and prints a CSV: a line per run and schedule, its returns episode by episode.

    python results/jump.py RUNS... --fans build/fans >jump.csv

RUNS are folders of seed-N folders. In `jump` the speed is 0.5 m/s for 20 episodes and 2.5 m/s after; the last two points
keep the oracle's scale.
"""
import argparse
import csv
import json
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

SCHEDULES = {
    "same": ["--episodes", "64"],
    "twice": ["--episodes", "64", "--set", "change.speed.frequency=0.4"],
    "jump": ["--episodes", "40", "--set", "change.speed.function=linear", "--set",
             "change.speed.points=0:0.5, 19:0.5, 20:2.5, 999:2.5, 1000:0, 1001:3"],
}


def returns(fans, run, schedule):
    command = [fans, "eval", str(run), "--seed", "100", "--threads", "1", "--json", "-", *SCHEDULES[schedule]]
    return json.loads(subprocess.run(command, check=True, capture_output=True, text=True).stdout)["returns"]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="+")
    parser.add_argument("--fans", default="build/fans")
    parser.add_argument("--at-once", type=int, default=2)
    a = parser.parse_args()
    jobs = [(run, schedule) for top in a.runs for run in sorted(Path(top).glob("seed-*")) for schedule in SCHEDULES]
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["runs", "seed", "schedule", "returns"])
    with ThreadPoolExecutor(a.at_once) as pool:
        for (run, schedule), x in zip(jobs, pool.map(lambda job: returns(a.fans, *job), jobs)):
            writer.writerow([run.parent.name, run.name.removeprefix("seed-"), schedule, " ".join(f"{r:.1f}" for r in x)])


if __name__ == "__main__":
    main()
