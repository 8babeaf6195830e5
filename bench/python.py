"""python.py - what Python costs: worlds, training and acting, beside C and beside PyTorch.

    .venv/bin/python bench/python.py [--out results/python]

It prints tables and, with --out, keeps those of each part as CSV. PYTHONPATH names the package, build/python by
default; build/fans is the tool. Everything runs on one thread, so times are the processor's, which
others on the machine hardly disturb. Every figure is the median of five rounds (training: three), in
which the variants take turns.
"""

import argparse
import csv
import functools
import os
import pathlib
import resource
import statistics
import subprocess
import sys
import tempfile
import time
import warnings

os.environ["OMP_NUM_THREADS"] = "1"
SOURCE = pathlib.Path(__file__).parents[1]
sys.path.insert(0, os.environ.get("PYTHONPATH", str(SOURCE / "build" / "python")))

import gymnasium  # noqa: E402
import numpy as np  # noqa: E402

import fans_rl  # noqa: E402
from fans_rl._library import lib  # noqa: E402

ROUNDS = 5


def in_turns(variants, rounds=ROUNDS):
    """Each variant is a function that returns seconds per unit: name → median, and all of them."""
    found = {name: [] for name in variants}
    for _ in range(rounds):
        for name, measure in variants.items():
            found[name].append(measure())
    return {name: (statistics.median(times), times) for name, times in found.items()}


def per_call(call, count):
    start = time.process_time()
    for _ in range(count):
        call()
    return (time.process_time() - start) / count


# ---- worlds -------------------------------------------------------------------------------------


def worlds(task, n, count):
    """A step of `n` worlds: the library's own loop, and through Gymnasium."""
    envs = {copy: gymnasium.make_vec(task, n, copy=copy) for copy in (True, False)}
    for env in envs.values():
        env.reset(seed=0)
    raw = fans_rl._worlds.Worlds(envs[True].spec.kwargs["config"], None, n, 1)
    actions = np.zeros((n, raw.act_width), np.float32)
    variants = {
        "library": lambda: per_call(lambda: lib.fans_worlds_step(raw.handle), count),
        "make_vec, copy=False": lambda: per_call(lambda: envs[False].step(actions), count),
        "make_vec": lambda: per_call(lambda: envs[True].step(actions), count),
    }
    return in_turns(variants)


def single(task, count):
    env = gymnasium.make(task).unwrapped
    env.reset(seed=0)
    raw = fans_rl._worlds.Worlds(env.spec.kwargs["config"], None, 1, 1)
    action = np.zeros(raw.act_width, np.float32)

    def step():
        if env.step(action)[3]:
            env.reset()

    return in_turns({"library": lambda: per_call(lambda: lib.fans_worlds_step(raw.handle), count),
                     "make": lambda: per_call(step, count)})


# ---- training -----------------------------------------------------------------------------------

RANDOM = 1000  # steps before the first update
SIZES = {"small": ({"width": 64, "batch": 100}, 4000), "standard": ({"width": 256, "batch": 256}, 2000)}  # and steps in all
MODEL = {"p": 2, "q": 1, "window": 100, "updates": 20}


class Gravity(gymnasium.Wrapper):
    """Pendulum-v1 with another gravity in every episode."""

    def reset(self, **arguments):
        obs, info = self.env.reset(**arguments)
        self.unwrapped.g = float(self.np_random.uniform(5, 15))
        return obs, info


def built_in(config, algo, options, steps):
    words = [word for section, keys in options.items() for key, value in keys.items() for word in ("--set", f"{section}.{key}={value}")]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([SOURCE / "build" / "fans", "train", SOURCE / "configs" / config, "--algo", algo, "--steps", str(steps),
                        "--threads", "1", "--quiet", "--out", folder, "--device", "cpu", *words], check=True, capture_output=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime - before.ru_utime + after.ru_stime - before.ru_stime


def in_python(make, algo, options, steps):
    start = time.process_time()
    fans_rl.Agent(make(), algo=algo, device="cpu", **options).learn(steps)
    return time.process_time() - start


def per_update(run, options, steps):
    """An update with the step before it: what a run costs more than one that has only begun to learn."""
    return (run(options, steps) - run(options, RANDOM)) / (steps - RANDOM)


def training(config, algo, options, steps, envs):
    runs = {f"fans train {config}": functools.partial(built_in, config, algo)}
    for name, make in envs.items():
        runs[f"{algo} on {name}"] = functools.partial(in_python, make, algo)
    return in_turns({name: functools.partial(per_update, run, options, steps) for name, run in runs.items()}, 3)


# ---- acting -------------------------------------------------------------------------------------


def acting(task):
    """predict, of two hidden layers of 256 on the same observations; SB3's on one thread."""
    import torch
    from stable_baselines3 import SAC

    torch.set_num_threads(1)
    env = gymnasium.make(task)
    warnings.simplefilter("ignore")
    theirs = SAC("MlpPolicy", env, policy_kwargs={"net_arch": [256, 256]}, device="cpu")
    ours = fans_rl.SAC(task, sac={"random_steps": 100, "update_every": 50}).learn(1000).policy
    fans = fans_rl.FANS(task, fans={"initial": 2000, "model_every": 500}, fnvae={"updates": 20, "window": 100},
                        sac={"update_every": 50}).learn(3000).policy
    obs, _ = env.reset(seed=0)
    variants, states = {}, {}

    def step(name, policy, rows):
        states[name] = policy.predict(rows, states.get(name), deterministic=True, reward=0.0)[1]

    for n in 1, 16:
        rows = obs if n == 1 else np.repeat(obs[None], n, 0)
        variants[f"SB3's SAC, {n} row(s)"] = lambda rows=rows: per_call(lambda: theirs.predict(rows, deterministic=True), 500)
        for name, policy in ("sac", ours), ("fans", fans):
            name = f"{name}, {n} row(s)"
            variants[name] = lambda name=name, policy=policy, rows=rows: per_call(lambda: step(name, policy, rows), 500)
    return in_turns(variants)


# ---- tables -------------------------------------------------------------------------------------


def show(title, table, base):
    print(f"\n{title}")
    for name, (median, times) in table.items():
        spread = f"{min(times) * 1e6:.2f} to {max(times) * 1e6:.2f}"
        print(f"  {name:45} {median * 1e6:9.2f} µs  ({spread})  {median / table[base][0]:5.2f}")


def keep(path, tables):
    path.parent.mkdir(parents=True, exist_ok=True)
    with open(path, "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["what", "variant", "median_us", "rounds_us"])
        for title, table, _ in tables:
            for name, (median, times) in table.items():
                writer.writerow([title, name, f"{median * 1e6:.3f}", " ".join(f"{t * 1e6:.3f}" for t in times)])


def world_tables():
    for task, count in ("fans/Pendulum-Flip-v0", 5000), ("fans/HalfCheetah-AEP-R-v0", 200):
        yield f"step of one world, {task}", single(task, count), "library"
        yield f"step of 16 worlds, {task}", worlds(task, 16, count), "library"


def training_tables():
    ids = {name: functools.partial(gymnasium.make, name) for name in ("fans/Pendulum-v0", "Pendulum-v1")}
    for size, (options, steps) in SIZES.items():
        table = training("pendulum.ini", "sac", {"sac": options | {"random_steps": RANDOM}}, steps, ids)
        yield f"an update of sac, {size} networks", table, "fans train pendulum.ini"


def model_tables():
    ids = {name: functools.partial(gymnasium.make, name) for name in ("fans/Pendulum-Gravity-v0", "Pendulum-v1")}
    envs = dict(ids)
    envs["Pendulum-v1 with changing gravity"] = lambda: Gravity(gymnasium.make("Pendulum-v1"))
    options = {"sac": SIZES["standard"][0], "fans": {"initial": RANDOM}, "fnvae": MODEL}
    table = training("pendulum_gravity.ini", "fans", options, 1400, envs)
    yield "an update of fans, standard networks", table, "fans train pendulum_gravity.ini"


def acting_tables():
    task = "fans/HalfCheetah-AEP-R-v0"
    yield f"predict, {task}", acting(task), "SB3's SAC, 1 row(s)"


PARTS = {"worlds": world_tables, "training": training_tables, "model": model_tables, "acting": acting_tables}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=pathlib.Path, help="folder for the CSV files")
    parser.add_argument("--only", choices=list(PARTS))
    args = parser.parse_args()
    for name, part in PARTS.items():
        if args.only in (None, name):
            tables = list(part())
            for table in tables:
                show(*table)
            if args.out:
                keep(args.out / f"{name}.csv", tables)


if __name__ == "__main__":
    main()
