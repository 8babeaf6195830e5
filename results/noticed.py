"""How soon agents notice changes that nobody tells of: over the second half of each run, the median delay, what is missed, and
false alarms, as the report counts them.

    python results/noticed.py collect LABEL=RUNS... >segments.csv    # RUNS: a folder of seed-N folders
    python results/noticed.py show segments.csv

Changes are those that lasted 50 steps.
"""
import csv
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import mean, median, stdev

KEPT = ["segment", "step", "length", "moved", "noticed", "alarms"]
LASTING = 50


def collect(words):
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(["run", "seed", "return", *KEPT])
    for word in words:
        label, folder = word.split("=", 1)
        for run in sorted(Path(folder).glob("seed-*"), key=lambda x: int(x.name[5:])):
            result = json.loads((run / "result.json").read_text())["runs"][0]
            with (run / "segments.csv").open() as f:
                for row in csv.DictReader(f):
                    writer.writerow([label, result["seed"], f"{result['final_return']:.2f}", *(row[k] for k in KEPT)])


def count(rows):
    """Of one run."""
    end = max(int(r["step"]) + int(r["length"]) for r in rows)
    late = [r for r in rows if int(r["step"]) >= end / 2]
    lasting = [r["noticed"] for r in late if r["moved"] == "1" and int(r["length"]) >= LASTING]
    return {"delays": [float(x) for x in lasting if x], "missed": sum(not x for x in lasting),
            "alarms": sum(int(r["alarms"] or 0) for r in late), "steps": sum(int(r["length"]) for r in late)}


def show(path):
    runs = defaultdict(lambda: defaultdict(list))
    returns = defaultdict(dict)
    with open(path) as f:
        for row in csv.DictReader(f):
            runs[row["run"]][int(row["seed"])].append(row)
            returns[row["run"]][int(row["seed"])] = float(row["return"])
    print("| run | seeds | changes | median delay | missed | false alarms per 1,000 steps, seed by seed | all | return |")
    print("|---|---|---|---|---|---|---|---|")
    for label, seeds in runs.items():
        each = [count(rows) for rows in seeds.values()]
        delays, missed = [d for x in each for d in x["delays"]], sum(x["missed"] for x in each)
        per = " ".join(f"{1000 * x['alarms'] / x['steps']:.2f}" for x in each)
        all_alarms = 1000 * sum(x["alarms"] for x in each) / sum(x["steps"] for x in each)
        n, r = len(delays) + missed, list(returns[label].values())
        print(f"| {label} | {min(seeds)} to {max(seeds)} | {n} | {median(delays) if delays else '–'} | "
              f"{f'{missed} ({100 * missed / n:.1f} %)' if n else '–'} | {per} | {all_alarms:.2f} | "
              f"{mean(r):.1f} ± {stdev(r) if len(r) > 1 else 0:.1f} |")


def main():
    if len(sys.argv) < 3 or sys.argv[1] not in ("collect", "show"):
        raise SystemExit(__doc__)
    if sys.argv[1] == "collect":
        collect(sys.argv[2:])
    else:
        show(sys.argv[2])


if __name__ == "__main__":
    main()
