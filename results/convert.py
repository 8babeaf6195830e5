"""Turns CSVs of results/collect.py into the data of `fans reproduce`: results/NAME.json, a run a line.

    python3 results/convert.py results/base-learner/half-cheetah.csv --command "fans train ..." --out results/base-learner.json
    python3 results/convert.py results/base-learner/half-cheetah.csv results/methods/h200.csv --cut 700 --command "..." \\
        --tasks half_cheetah_aep_r,half_cheetah_aep_d_motor --out results/early.json

What a CSV does not tell is null: wall time and commit. The machine is the one of the notebook's entry of 2026-11-18. The
identity of a run is that of its config with the defaults of the given program: convert only runs that were made with
these. Runs that stopped before their last episode are left out: they are not what their identity says. With --cut N, each run
becomes its own first N episodes: what it was trained for later changes nothing in them (tests/train/test_length.sh).
"""
import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

BLOCK = 100  # episodes of a point of the curve, see results/collect.py
MACHINE = {"wall_s": None, "commit": None, "cpu": None, "cores": 16, "device": "NVIDIA H200",
           "precision": "fp32"}


def identities(o, rows):
    """(config, algo) -> identity, asked of the program: a manifest of these cells, planned and not trained."""
    configs, algos = sorted({r["task"] for r in rows}), sorted({r["algo"] for r in rows})
    settings = f"set = {o.settings}\n" if o.settings else ""
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "ask.ini"
        table.write_text(f"[table]\ntitle = ask\nmethods = {','.join(algos)}\npreset = {o.preset}\n" +
                         "".join(f"[row.{c}]\nconfig = {c}\n{settings}" for c in configs))
        subprocess.run([o.fans, "reproduce", table, "--report", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        cells = json.loads((Path(folder) / "ask.json").read_text())["rows"]
    return {(row["config"], cell["algo"]): cell["id"] for row in cells for cell in row["methods"] if "id" in cell}


def cut(row, episodes):
    """The first episodes of a run, or nothing where it has fewer."""
    if int(row["episodes"]) < episodes:
        return None
    curve = row["curve"].split()[:episodes // BLOCK]
    area = sum(float(x) for x in curve) / len(curve)
    return {**row, "episodes": episodes, "final": curve[-1], "area": f"{area:.3f}", "curve": " ".join(curve)}


def read(o):
    """Whole runs of the CSVs, or beginnings of them."""
    rows = []
    for path in o.csv:
        with open(path) as f:
            of_file = [r for r in csv.DictReader(f) if not r["variant"] and (not o.tasks or r["task"] in o.tasks.split(","))]
        if o.cut:
            of_file = [{**short, "from": f"{path}, its first {o.cut} episodes"} for r in of_file if (short := cut(r, o.cut))]
        else:
            of_file = [r for r in of_file if int(r["episodes"]) == o.episodes]
        rows += of_file
    return rows


def convert(row, ids, o):
    episodes = int(row["episodes"])
    source = {"from": row["from"]} if "from" in row else {}
    return {"id": ids[row["task"], row["algo"]], "config": row["task"], "algo": row["algo"], "preset": o.preset,
            "settings": o.settings, "seed": int(row["seed"]), "episodes": episodes, "steps": episodes * o.horizon,
            "final": float(row["final"]), "area": float(row["area"]), "command": o.command, **source, **MACHINE,
            "curve": [float(x) for x in row["curve"].split()]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("csv", nargs="+")
    options.add_argument("--out", required=True, help="results/NAME.json")
    options.add_argument("--fans", default="build/fans")
    options.add_argument("--command", help="how the runs were trained, if that is known")
    options.add_argument("--preset", default="standard")
    options.add_argument("--horizon", type=int, default=50, help="steps of an episode")
    options.add_argument("--episodes", type=int, default=3000, help="length of a whole run")
    options.add_argument("--cut", type=int, default=0, help="only the first episodes of every run, so many")
    options.add_argument("--tasks", default="", help="only these, separated by commas")
    o = options.parse_args()
    if o.cut % BLOCK:
        options.error(f"--cut: must be a multiple of {BLOCK}")
    o.settings = f"train.episodes={o.cut}" if o.cut else ""
    rows = read(o)
    ids = identities(o, rows)
    runs = [json.dumps(convert(r, ids, o)) for r in rows]
    Path(o.out).write_text('{"runs": [\n' + ",\n".join(runs) + "\n]}\n")


if __name__ == "__main__":
    main()
