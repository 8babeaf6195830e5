"""export.py - how exact exported policies are: C and ONNX of every algorithm, beside the agent.

    .venv/bin/python bench/export.py [--steps 20000] [--runs out/export] [--out results/embedding/export.csv]

It trains each algorithm on configs/pendulum_flip.ini and lets the agent live for 20 new episodes. The
recorded ticks then go through the interpreter, the exported C and the exported ONNX, whose states are
never corrected. In closed loop, where small differences grow, each acts for itself in the same 20
episodes.
"""

import argparse
import csv
import ctypes
import json
import math
import pathlib
import statistics
import subprocess
import sys

SOURCE = pathlib.Path(__file__).parents[1]
BUILD = SOURCE / "build"
sys.path[:0] = [str(BUILD / "python")]

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402
import onnxruntime  # noqa: E402

import fans_rl  # noqa: E402,F401  (it registers the environments)

TASK, CONFIG = "fans/Pendulum-Flip-v0", SOURCE / "configs" / "pendulum_flip.ini"
ALGOS = ["fans", "sac", "oracle", "stack", "rsac", "lilac", "varibad", "zeus"]  # trio cannot be exported
EPISODES, SEED = 20, 1_000_000  # as in `fans eval`


def tool(*words):
    return subprocess.run([BUILD / "fans", *map(str, words)], check=True, capture_output=True, text=True).stdout


def sizes(run, to, weights="f32"):
    """Exports it; what the command reports."""
    return json.loads(tool("export", run, "--to", to, "--out", run, "--weights", weights, "--json", "-"))


class Recorded:
    """What the agent lived through, and what the interpreter answers to it."""

    def __init__(self, run):
        text = subprocess.run([BUILD / "parity_export", run, str(EPISODES)], check=True, capture_output=True).stdout
        ticks = json.loads(text)
        self.inputs = {name: np.array(rows, np.float32) for name, rows in ticks["inputs"].items()}
        self.actions, self.belief = np.array(ticks["actions"], np.float32), np.array(ticks["belief"], np.float32)
        self.answers, self.acted = np.array(ticks["answers"], np.float32), ~np.array(ticks["last"], bool)


class InC:
    """The exported C as a shared library: a tick and an answer are rows of floats."""

    def __init__(self, run, recorded):
        sizes(run, "c")
        self.names, self.width = list(recorded.inputs), recorded.answers.shape[1]
        subprocess.run(["cc", "-std=c99", "-O2", "-shared", "-fPIC", "policy.c", "-lm", "-o", "policy.so"], cwd=run, check=True)
        self.library = ctypes.CDLL(str(run / "policy.so"))
        self.state, self.acts = (ctypes.c_char * 1_000_000)(), recorded.actions.shape[1]

    def begin(self):
        self.library.policy_begin(self.state)

    def step(self, tick):
        row, out = np.concatenate([np.ravel(tick[name]) for name in self.names]).astype(np.float32), np.zeros(self.width, np.float32)
        self.library.policy_step(self.state, row.ctypes.data_as(ctypes.c_void_p), out.ctypes.data_as(ctypes.c_void_p))
        return out


class InOnnx:
    def __init__(self, run):
        sizes(run, "onnx")
        self.session = onnxruntime.InferenceSession(run / "policy.onnx")
        self.takes = {i.name: i.shape[1] for i in self.session.get_inputs()}

    def begin(self):
        self.state = np.zeros((1, self.takes.get("state_in", 0)), np.float32)

    def step(self, tick):
        feed = {name: np.asarray(tick[name], np.float32).reshape(1, -1) for name in self.takes if name != "state_in"}
        if "state_in" in self.takes:
            feed["state_in"] = self.state
        *out, last = self.session.run(None, feed)
        if "state_in" not in self.takes:
            return np.ravel(last)
        self.state = last
        return np.concatenate([np.ravel(x) for x in out])


def replay(policy, recorded):
    policy.begin()
    rows = range(len(recorded.actions))
    return np.array([policy.step({name: x[i] for name, x in recorded.inputs.items()}) for i in rows])


def play(policy, acts):
    """The returns of as many episodes, in closed loop. The oracle sees the sign of the motor one-hot."""
    env = gymnasium.make(TASK, tell="what").unwrapped
    told, info = env.reset(seed=SEED)
    width = len(told) - sum(f.moves for f in env.factors)
    policy.begin()
    returns = []
    tick = {"last_action": np.zeros(acts), "reward": 0, "terminated": 0, "seen": 0}
    while len(returns) < EPISODES:
        total, ended = 0.0, False
        tick["seen"] = 0
        while not ended:
            tick |= {"obs": told[:width], "factors": [told[width] < 0, told[width] > 0], "change": info["change"], "terminated": 0}
            action = np.clip(policy.step(tick)[:acts], -1, 1)
            told, reward, terminated, truncated, info = env.step(action)
            ended, total = terminated or truncated, total + reward
            tick |= {"last_action": action, "reward": reward, "seen": 1}
        policy.step(tick | {"obs": told[:width], "change": 0, "terminated": terminated})
        told, info = env.reset()
        returns.append(total)
    return returns


def apart(a, b):
    return float(np.abs(a - b).max()) if a.size else 0.0


def interval(returns):
    """Half of the mean's 95 % interval."""
    return 1.96 * statistics.stdev(returns) / math.sqrt(len(returns))


def measure(algo, steps, runs):
    run = runs / f"{algo}" / "seed-0"
    tool("train", CONFIG, "--algo", algo, "--steps", steps, "--threads", 1, "--device", "cpu", "--quiet", "--out", run.parent)
    recorded = Recorded(run)
    c, onnx = InC(run, recorded), InOnnx(run)
    acts, theta = recorded.actions.shape[1], recorded.belief.shape[1] if recorded.belief.size else 0
    answers, by_c, by_onnx = recorded.answers, replay(c, recorded), replay(onnx, recorded)
    row = {"algorithm": algo, "steps": steps, "ticks": len(answers), "bits_c_differ": int((by_c.view(np.uint32) != answers.view(np.uint32)).sum())}
    for name, found in ("c", by_c), ("onnx", by_onnx):
        row[f"action_{name}"] = f"{apart(found[recorded.acted, :acts], recorded.actions[recorded.acted]):.2e}"
        row[f"belief_{name}"] = f"{apart(found[recorded.acted, acts:acts + theta], recorded.belief[recorded.acted]):.2e}" if theta else ""
    tool("eval", run, "--episodes", EPISODES, "--seed", SEED, "--threads", 1, "--json", runs / "eval.json")
    returns = {"agent": json.loads((runs / "eval.json").read_text())["returns"], "c": play(c, acts), "onnx": play(onnx, acts)}
    for name, found in returns.items():
        row[f"return_{name}"] = f"{statistics.mean(found):.2f}"
    row["interval"] = f"{interval(returns['agent']):.2f}"
    reported = sizes(run, "c")
    row |= {key: reported[key] for key in ("flash", "state", "stack")} | {"flash_f16": sizes(run, "c", "f16")["flash"]}
    row["onnx_bytes"] = (run / "policy.onnx").stat().st_size
    return row


def keep(path, rows):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.DictWriter(file, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--steps", type=int, default=20_000)
    parser.add_argument("--algo", nargs="*", default=ALGOS)
    parser.add_argument("--runs", type=pathlib.Path, default=SOURCE / "out" / "export", help="folder of the runs, which resume")
    parser.add_argument("--out", type=pathlib.Path, help="CSV file")
    args = parser.parse_args()
    rows = []
    for algo in args.algo:
        rows.append(measure(algo, args.steps, args.runs))
        print(*(f"{key}={value}" for key, value in rows[-1].items()), flush=True)
        if args.out:
            keep(args.out, rows)


if __name__ == "__main__":
    main()
