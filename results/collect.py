"""Writes finished or partial runs as one CSV: a line per run, its curve in blocks of episodes.

    python results/collect.py RUNS... >runs.csv

RUNS are folders of CONFIG-ALGO/seed-N or CONFIG-ALGO-SETTINGS/seed-N folders. A config named TASK__VARIANT.ini is split at
the double underscore.
"""
import csv
import sys
from pathlib import Path

BLOCK = 100  # episodes of a point of the curve; the last one is the final return
FIELDS = ["task", "variant", "algo", "seed", "episodes", "final", "area", "curve"]


def returns_of(folder):
    with open(folder / "metrics.csv") as f:
        rows = csv.DictReader(f)
        return [float(r["return"]) for r in rows]


def row_of(folder):
    name, algo, *settings = folder.parent.name.split("-", 2)
    task, _, variant = name.partition("__")
    x = returns_of(folder)
    blocks = [x[i:i + BLOCK] for i in range(0, len(x) - BLOCK + 1, BLOCK)]
    return {"task": task, "variant": variant or "".join(settings), "algo": algo, "seed": folder.name.removeprefix("seed-"),
            "episodes": len(x), "final": f"{sum(x[-BLOCK:]) / len(x[-BLOCK:]):.3f}", "area": f"{sum(x) / len(x):.3f}",
            "curve": " ".join(f"{sum(b) / BLOCK:.2f}" for b in blocks)}


def collect(folders, out):
    writer = csv.DictWriter(out, FIELDS, lineterminator="\n")
    writer.writeheader()
    for top in folders:
        for metrics in sorted(Path(top).glob("*/seed-*/metrics.csv")):
            row = row_of(metrics.parent) if metrics.stat().st_size else None
            if row and row["episodes"] > 0:
                writer.writerow(row)


if __name__ == "__main__":
    collect(sys.argv[1:], sys.stdout)
