"""Measures how well graphs of synthetic worlds are found, and writes CSV files to results/graphs.

    python results/graphs.py WHAT [--fans build/fans] [--worlds FIRST LAST]

WHAT is one of
    edges      every edge of worlds of any kind: what it explains, its probability, the truth
    forty      the same of twenty worlds of the documented kind, ten sparse ones and ten with few data
    changes    worlds that lose or gain an edge half-way, and worlds where only factors move
    fits       the forty worlds by `fans model fit`, with R2 of the factors: a minute or two each
    kinds      the same of twenty worlds in which factors move at every step (CONT) or in blocks of ten steps (W-EP)
    wide       every edge of worlds with 20, 40 and 64 states, with seconds and memory
    pcmci      tigramite's PCMCI on four worlds, the factors shown to it (in a Python with tigramite)
Stopped, it resumes: worlds that are in the file are skipped. World seeds below 1000 are for choosing settings.
"""
import argparse
import csv
import json
import os
import random
import subprocess
import tempfile
import time
from collections import Counter
from pathlib import Path

HERE = Path(__file__).resolve().parent
CONFIGS = HERE.parent / "configs"
DOCUMENTED = {"config": "fnmdp_aep", "d": 8, "density": 0.3, "noise": 0.1, "transitions": 20000}
HORIZON = 50


def any_kind(seed):
    """A world of any kind, also with few data and much noise."""
    pick = random.Random(seed)
    return {"config": pick.choice(["fnmdp_aep", "fnmdp_wep", "fnmdp_cont", "fnmdp_random"]),
            "d": pick.choice([4, 6, 8, 12]), "density": pick.choice([0.12, 0.3, 0.6]),
            "noise": pick.choice([0.05, 0.1, 0.3, 1, 3]), "transitions": pick.choice([500, 1000, 2000, 5000, 20000])}


def forty(seed):
    """Twenty of the documented kind, ten sparse ones, ten with few data; seeds 1000 to 1039, or as many below."""
    kind = seed % 40
    if kind < 20:
        return DOCUMENTED
    return DOCUMENTED | ({"density": 0.12} if kind < 30 else {"transitions": 5000})


class Tool:
    def __init__(self, fans, folder):
        self.fans, self.folder = fans, Path(folder)

    def settings(self, seed, kind, **more):
        keys = {f"env.{k}": kind[k] for k in ("d", "density", "noise")} | {"env.world_seed": seed} | more
        return [x for k, v in keys.items() for x in ("--set", f"{k}={v}")]

    def run(self, *words):
        done = subprocess.run([self.fans, *map(str, words)], capture_output=True, text=True)
        if done.returncode:
            raise SystemExit(f"fans {' '.join(map(str, words))}: {done.stderr}")
        return done.stdout

    def figures(self, *words):
        return json.loads(self.run(*words, "--json", "-"))

    def config(self, kind):
        return CONFIGS / f"{kind['config']}.ini"

    def data(self, name, seed, kind, episodes=None, **more):
        path = self.folder / f"{name}.csv"
        self.run("rollout", self.config(kind), *self.settings(seed, kind, **more), "--seed", seed,
                 "--episodes", episodes or kind["transitions"] // HORIZON, "--csv", path)
        return path

    def graph(self, seed, kind, *words, **more):
        return self.figures("graph", self.config(kind), *self.settings(seed, kind, **more), *words)


def true_edges(truth):
    """Effects (the reward last) by causes (the hidden factors last)."""
    m = truth["masks"]
    rows = [s + a + [float(any(t))] for s, a, t in zip(m["C_ss"], m["C_as"], m["C_ts"])]
    return rows + [m["c_sr"][0] + m["c_ar"][0] + [1.0]]


def edges(tool, seed, kind):
    truth = true_edges(tool.graph(seed, kind, "--truth"))
    found = tool.graph(seed, kind, "--data", tool.data("data", seed, kind))
    shown = probabilities(found)
    for i, row in enumerate(found["nats"]):
        for j, (nats, error, signal) in enumerate(row):
            yield {"seed": seed, **kind, "effect": i, "cause": j, "hidden": int(j == len(row) - 1), "nats": f"{nats:.6g}",
                   "error": f"{error:.4g}", "signal": f"{signal:.4g}", "probability": shown[i][j], "truth": int(truth[i][j])}


def kinds(seed):
    return DOCUMENTED | {"config": ["fnmdp_cont", "fnmdp_wep"][seed % 2]}


def wide(seed):
    """About as many causes of a state as with eight states; every fourth world has six."""
    d = [20, 40, 64, 20][seed % 4]
    return DOCUMENTED | {"d": d, "density": 0.3 if seed % 4 == 3 else round(2.4 / d, 3)}


def fits(tool, seed, kind, times=("start", "end")):
    """`fans model fit`: data and model of this seed; R2 at these times of an episode."""
    found = tool.figures("model", "fit", tool.config(kind), *tool.settings(seed, kind), "--seed", seed, "--threads", 1,
                         "--transitions", kind["transitions"])
    score = found["graph"]["all"]
    yield {"seed": seed, **kind, "f1": f"{score['f1']:.4f}", "extra": score["extra"], "missing": score["missing"],
           **{f"r2_{when}_{factor}": f"{r2:.4f}" for when in times for factor, r2 in found["r2"][when].items()},
           **{key: f"{x:.4f}" for key, x in found["error"].items()}, "seconds": f"{found['seconds']:.0f}"}


def large(tool, seed, kind):
    """Edges found, seconds and memory of `fans graph --data`."""
    truth = true_edges(tool.graph(seed, kind, "--truth"))
    data, out = tool.data("data", seed, kind), tool.folder / "graph.json"
    started = time.monotonic()
    child = subprocess.Popen([tool.fans, "graph", tool.config(kind), *tool.settings(seed, kind), "--data", data, "--json", out],
                             stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    seconds = time.monotonic() - started
    if status:
        raise SystemExit(f"fans graph failed on world {seed}")
    judged = Counter((float(p) > 0.5, t == 1) for row, there in zip(probabilities(json.loads(out.read_text())), truth)
                     for p, t in zip(row, there) if p != "")
    hits, extra, missing = judged[True, True], judged[True, False], judged[False, True]
    yield {"seed": seed, **kind, "edges": hits + missing, "extra": extra, "missing": missing,
           "f1": f"{2 * hits / (2 * hits + extra + missing):.4f}", "seconds": f"{seconds:.2f}",
           "processor_seconds": f"{used.ru_utime + used.ru_stime:.2f}", "mb": used.ru_maxrss // 1024}


def peer(tool, seed):
    """PCMCI with the factors shown to it, and fans graph without, on the same data."""
    import pcmci
    kind = forty(seed)
    truth = true_edges(tool.graph(seed, kind, "--truth"))
    data = tool.data("data", seed, kind)
    found = [[p != "" and float(p) > 0.5 for p in row] for row in probabilities(tool.graph(seed, kind, "--data", data))]
    p, d = pcmci.levels(data), kind["d"]
    best, level = pcmci.best(p, truth, d, 2)
    yield {"seed": seed, **kind, "fans": f"{pcmci.f1(found, truth):.4f}",
           "pcmci": f"{pcmci.f1(pcmci.edges_at(p, 0.01, d, 2), truth):.4f}", "best": f"{best:.4f}", "best_level": f"{level:.3g}"}


def moving(pick):
    """Settings of the three factors of a half: where they move, how far and how fast."""
    return {f"change.theta_{f}.{key}": round(pick.uniform(low, high), 3) for f in ("s0", "s1", "r0")
            for key, low, high in (("offset", -1, 1), ("amplitude", 0.5, 2), ("frequency", 0.2, 0.6))}


def changes(tool, seed):
    """Two halves of 10,000 transitions. An edge is removed or added, or only factors move: they always do."""
    pick = random.Random(seed)
    what = ["removed", "added", "nothing", "nothing"][seed % 4]
    truth = tool.graph(seed, DOCUMENTED, "--truth")
    edges = [(j, i) for i, row in enumerate(true_edges(truth)[:-1]) for j, there in enumerate(row[:-1]) if there and i != j]
    number = pick.randrange(len(edges))
    cut = {"removed": (0, number + 1), "added": (number + 1, 0), "nothing": (0, 0)}[what]
    halves = [tool.data(f"half{k}", seed, DOCUMENTED, 200, **{"env.cut": cut[k]} | moving(pick)) for k in range(2)]
    found = tool.graph(seed, DOCUMENTED, "--data", halves[0], "--recent", halves[1])
    names = truth["states"] + truth["actions"]
    cause, effect = (names[edges[number][0]], names[edges[number][1]]) if what != "nothing" else ("", "")
    for edge in found["edges"]:
        yield {"seed": seed, "what": what, "cause": edge["cause"], "effect": edge["effect"],
               "changed": int((edge["cause"], edge["effect"]) == (cause, effect)), "nats": f"{edge['nats']:.5g}",
               "error": f"{edge['error']:.4g}", "p": f"{edge['p']:.4g}"}


def probabilities(found):
    """As true_edges; the reward's hidden factor has none in a graph."""
    m = found["masks"]
    rows = [s + a + [max(t)] for s, a, t in zip(m["C_ss"], m["C_as"], m["C_ts"])]
    return [[f"{p:.4f}" for p in row] for row in rows] + [[f"{p:.4f}" for p in m["c_sr"][0] + m["c_ar"][0]] + [""]]


PARTS = {"edges": (lambda tool, seed: edges(tool, seed, any_kind(seed)), range(1000, 1160)),
         "forty": (lambda tool, seed: edges(tool, seed, forty(seed)), range(1000, 1040)),
         "changes": (changes, range(1000, 1040)),
         "fits": (lambda tool, seed: fits(tool, seed, forty(seed)),
                  sorted(range(1000, 1040), key=lambda s: (s - 1000) / 20 if s < 1020 else s % 10 / 10)),
         "kinds": (lambda tool, seed: fits(tool, seed, kinds(seed), ("any",)), range(1080, 1100)),
         "wide": (lambda tool, seed: large(tool, seed, wide(seed)), range(1100, 1120)),
         "pcmci": (peer, range(1000, 1004))}


def seeds_in(path):
    if not path.exists():
        return set()
    with path.open() as f:
        return {int(row["seed"]) for row in csv.DictReader(f)}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=sorted(PARTS))
    parser.add_argument("--fans", default=HERE.parent / "build/fans")
    parser.add_argument("--out", type=Path, default=HERE / "graphs")
    parser.add_argument("--file", help="its name, without .csv (WHAT)")
    parser.add_argument("--worlds", type=int, nargs=2, metavar=("FIRST", "LAST"))
    a = parser.parse_args()
    part, seeds = PARTS[a.what]
    if a.worlds:
        seeds = range(a.worlds[0], a.worlds[1] + 1)
    path = a.out / f"{a.file or a.what}.csv"
    done = seeds_in(path)
    with tempfile.TemporaryDirectory() as folder:
        tool = Tool(a.fans, folder)
        for seed in seeds:
            if seed in done:
                continue
            rows = list(part(tool, seed))
            with path.open("a", newline="") as f:
                writer = csv.DictWriter(f, rows[0], lineterminator="\n")
                if f.tell() == 0:
                    writer.writeheader()
                writer.writerows(rows)


if __name__ == "__main__":
    main()
