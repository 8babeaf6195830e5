#!/usr/bin/env python3
"""Prints the tables of docs/notebook/2026-11-18-hardening.md from the files in results/hardening, or,
given another folder such as results/hardening-2, those of its entry, as far as it has files."""
import csv
import pathlib
import statistics
import sys

FOLDER = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else pathlib.Path(__file__).parent / "hardening"


def rows(name):
    with open(FOLDER / name, newline="") as f:
        return list(csv.DictReader(f))


def table(head, lines):
    print("| " + " | ".join(head) + " |")
    print("|" + "---|" * len(head))
    for line in lines:
        print("| " + " | ".join(str(x) for x in line) + " |")
    print()


def files():
    """Faults of one method and kind of run, added up over the kinds of fault."""
    sums = {}
    for r in rows("files.csv"):
        method, run, fault = r["what"].split("; ")
        s = sums.setdefault((method, run), [0] * 5)
        s[0] = max(s[0], int(r["calls"]))
        for i, key in enumerate(("tried", "unharmed", "refused", "killed")):
            s[i + 1] += int(r[key])
    lines = [(*key, *s) for key, s in sums.items()]
    lines.append(("all", "", "", *(sum(s[i] for s in sums.values()) for i in range(1, 5))))
    table(("method", "run", "calls", "faults tried", "without harm", "refused", "killed"), lines)


def memory():
    """One line for a command, whose allocations may have been tried in parts: "one of 8 from 3"."""
    sums = {}
    for r in rows("memory.csv"):
        command, share = r["what"].split("; ")
        parts = int(share.split()[2]) if share.startswith("one of ") else 0
        key = command if parts else f"{command}: {share}"
        s = sums.setdefault(key, [0] * 5)
        s[0] = max(s[0], int(r["calls"]))
        for i, name in enumerate(("tried", "unharmed", "refused", "killed")):
            s[i + 1] += int(r[name])
    table(("command", "allocations", "tried", "right result", "one line", "a signal and one line"),
          [(key, *s) for key, s in sums.items()])


def bench():
    """Ratio after / before, round by round: the median, and from least to most."""
    ratios = {}
    for r in rows("bench.csv"):
        ratios.setdefault(r["step"], []).append(float(r["after"]) / float(r["before"]))
    everything = [x for list_ in ratios.values() for x in list_]
    ratios["all"] = everything
    table(("step", "rounds", "median", "least", "most"),
          [(k, len(x), f"{statistics.median(x):.3f}", f"{min(x):.3f}", f"{max(x):.3f}") for k, x in ratios.items()])


def simple(name, *keys):
    table(keys, [[r[k] for k in keys] for r in rows(name)])


def fuzz():
    sums = {}
    for r in rows("fuzz.csv"):
        s = sums.setdefault(r["target"], {"asan": 0, "release": 0, "failures": 0})
        s[r["build"]] += int(r["inputs"])
        s["failures"] += int(r["failures"])
    lines = {}
    for r in rows("coverage.csv") if (FOLDER / "coverage.csv").exists() else []:
        s = lines.setdefault(r["target"], [0, 0])
        s[0] += int(r["lines"])
        s[1] += int(r["missed"])
    reached = {t: f"{100 * (1 - missed / all_):.1f} %" for t, (all_, missed) in lines.items()}
    table(("target", "inputs under ASan and UBSan", "inputs, release", "failures", "lines", "reached"),
          [(t, f"{s['asan']:,}", f"{s['release']:,}", s["failures"], lines.get(t, ["–"])[0], reached.get(t, "–"))
           for t, s in sorted(sums.items())])


def hostile():
    """Links and pipes once: their lines differ in nothing but the file."""
    seen, out = set(), []
    for r in rows("hostile.csv"):
        what = r["what"]
        for kind in (" is a link", " is a pipe"):
            if kind in what:
                what = "a file of the run" + what[what.index(kind):]
        if what in seen:
            continue
        seen.add(what)
        out.append((what, r["exit status"], r["says"].replace("|", "\\|")))
    table(("what", "exit status", "says"), out)


TABLES = {
    "files.csv": files,
    "memory.csv": memory,
    "kills.csv": lambda: simple("kills.csv", "algorithm", "kills", "runs compared"),
    "extreme.csv": lambda: simple("extreme.csv", "algorithm", "environment", "checkpoints", "refused"),
    "fuzz.csv": fuzz,
    "hostile.csv": hostile,
    "bench.csv": bench,
    "tests.csv": lambda: simple("tests.csv", "part", "tests", "seconds", "sum of tests",
                                "of these for faults and hostile data"),
    "instructions.csv": lambda: simple("instructions.csv", "training", "before", "after", "ratio"),
}

if __name__ == "__main__":
    for name, print_table in TABLES.items():
        if (FOLDER / name).exists():
            print_table()
