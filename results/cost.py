"""What a run of each method costs in each environment: processor time of whole runs, one after the other on one thread.

    python3 results/cost.py build/fans --steps 10000 >results/cost/small.json

`fans reproduce --list` adds these up to what a table costs. Every run has the preset and the number of steps that are given,
so that the steps in which a method fits its model first count with their full weight.
"""
import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

TASKS = ["half_cheetah_aep_rd", "sawyer_reach_aep_r", "minitaur_aep_rd", "pendulum_random_flip"]
METHODS = ["null", "sac", "stack", "rsac", "lilac", "varibad", "trio", "zeus", "fans", "oracle"]


def run(o, task, algo, folder):
    """Trains one run; returns what it is, its steps, seconds of a core and the most memory."""
    command = [o.fans, "train", f"configs/{task}.ini", "--algo", algo, "--preset", o.preset, "--seed", "0", "--set",
               f"train.episodes={-(-o.steps // o.horizons[task])}", "--device", "cpu", "--threads", "1", "--quiet", "--out", folder]
    child = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    _, status, used = os.wait4(child.pid, 0)
    if status:
        sys.exit(f"{' '.join(command)} failed")
    result = json.loads((Path(folder) / "seed-0" / "result.json").read_text())["runs"][0]
    return {"env": result["env"], "task": task, "algo": algo, "steps": result["steps"],
            "seconds": round(used.ru_utime + used.ru_stime, 2), "memory_mb": round(used.ru_maxrss / 1024)}


def horizon(fans, task):
    """Steps of an episode: those of a run of one episode that does nothing."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([fans, "train", f"configs/{task}.ini", "--algo", "null", "--set", "train.episodes=1", "--quiet", "--device", "cpu",
                        "--out", folder], check=True, stdout=subprocess.DEVNULL)
        return json.loads((Path(folder) / "seed-0" / "result.json").read_text())["runs"][0]["steps"]


def main():
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("fans")
    options.add_argument("--steps", type=int, default=10000)
    options.add_argument("--preset", default="small")
    options.add_argument("--tasks", default=",".join(TASKS))
    options.add_argument("--methods", default=",".join(METHODS))
    o = options.parse_args()
    tasks = o.tasks.split(",")
    o.horizons = {task: horizon(o.fans, task) for task in tasks}
    costs = []
    with tempfile.TemporaryDirectory() as folder:
        for task in tasks:
            for algo in o.methods.split(","):
                costs.append(run(o, task, algo, f"{folder}/{task}-{algo}"))
                print(costs[-1], file=sys.stderr, flush=True)
        system = json.loads(next(Path(folder).glob("*/seed-0/system.json")).read_text())
    head = {"command": " ".join(["python3", "results/cost.py", *sys.argv[1:]]), "preset": o.preset, "device": "cpu",
            "commit": system["commit"], "cpu": system["cpu"]}
    print("{" + json.dumps(head)[1:-1] + ',\n"costs": [\n' + ",\n".join(json.dumps(c) for c in costs) + "\n]}")


if __name__ == "__main__":
    main()
