"""Turns a CSV of results/collect.py into the data of `fans reproduce`: results/NAME.json, a run a line.

    python results/convert.py results/base-learner/half-cheetah.csv --command "fans train ..." >results/base-learner.json

What a CSV does not tell is null: wall time and commit. The machine is the one of the notebook's entry of 2026-11-18. The
identity of a run is that of its config with the defaults of the given program: convert only runs that were made with
these. Runs that stopped before their last episode are left out: they are not what their identity says.
"""
import argparse
import csv
import json
import subprocess
import tempfile
from pathlib import Path

MACHINE = {"wall_s": None, "commit": None, "cpu": None, "cores": 16, "device": "NVIDIA H200",
           "precision": "fp32"}


def identities(fans, rows, preset):
    """(config, algo) -> identity, asked of the program: a manifest of these cells, planned and not trained."""
    configs, algos = sorted({r["task"] for r in rows}), sorted({r["algo"] for r in rows})
    with tempfile.TemporaryDirectory() as folder:
        table = Path(folder) / "ask.ini"
        table.write_text(f"[table]\ntitle = ask\nmethods = {','.join(algos)}\npreset = {preset}\n" +
                         "".join(f"[row.{c}]\nconfig = {c}\n" for c in configs))
        subprocess.run([fans, "reproduce", table, "--report", "--out", folder], check=True, stdout=subprocess.DEVNULL)
        cells = json.loads((Path(folder) / "ask.json").read_text())["rows"]
    return {(row["config"], cell["algo"]): cell["id"] for row in cells for cell in row["methods"] if "id" in cell}


def convert(row, ids, o):
    episodes = int(row["episodes"])
    return {"id": ids[row["task"], row["algo"]], "config": row["task"], "algo": row["algo"], "preset": o.preset, "settings": "",
            "seed": int(row["seed"]), "episodes": episodes, "steps": episodes * o.horizon, "final": float(row["final"]),
            "area": float(row["area"]), "command": o.command, **MACHINE, "curve": [float(x) for x in row["curve"].split()]}


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("csv")
    options.add_argument("--fans", default="build/fans")
    options.add_argument("--command", help="how the runs were trained, if that is known")
    options.add_argument("--preset", default="standard")
    options.add_argument("--horizon", type=int, default=50, help="steps of an episode")
    options.add_argument("--episodes", type=int, default=3000, help="length of a whole run")
    o = options.parse_args()
    with open(o.csv) as f:
        rows = [r for r in csv.DictReader(f) if not r["variant"] and int(r["episodes"]) == o.episodes]
    ids = identities(o.fans, rows, o.preset)
    runs = [json.dumps(convert(r, ids, o)) for r in rows]
    print('{"runs": [\n' + ",\n".join(runs) + "\n]}")


if __name__ == "__main__":
    main()
