"""Trains variants of the options side by side, as many at once as fit, until the time is up.

    python results/screen.py VARIANTS OUT --fans build/fans --algo oracle --tasks half_cheetah_aep_r,… \\
        --seed 100 --seeds 4 --steps 50000 --at-once 5 --seconds 500

VARIANTS is a text file with lines `name: section.key=value …`. The runs go to OUT/TASK__NAME-ALGO/seed-N; what they
learned is printed as a CSV by results/collect.py.
"""
import argparse
import signal
import subprocess
import time
from pathlib import Path


def variants_of(path):
    lines = [line.split("#")[0].strip() for line in open(path)]
    return [(name.strip(), rest.split()) for name, _, rest in (line.partition(":") for line in lines if line)]


def config_of(task, name, options, folder):
    """The task's config, with the variant's options appended section by section."""
    text = (Path("configs") / f"{task}.ini").read_text()
    for option in options:
        key, value = option.split("=", 1)
        section, key = key.rsplit(".", 1)
        text += f"\n[{section}]\n{key} = {value}\n"
    path = folder / f"{task}__{name}.ini"
    path.write_text(text)
    return str(path)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("variants")
    parser.add_argument("out")
    parser.add_argument("--fans", default="build/fans")
    parser.add_argument("--algo", default="oracle")
    parser.add_argument("--tasks", required=True)
    parser.add_argument("--seed", default="100")
    parser.add_argument("--seeds", default="5")
    parser.add_argument("--steps", default="150000")
    parser.add_argument("--at-once", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=1e9)
    a = parser.parse_args()
    end, out = time.time() + a.seconds, Path(a.out)
    out.mkdir(parents=True, exist_ok=True)
    todo = variants_of(a.variants)
    for i in range(0, len(todo), a.at_once):
        start, some = time.time(), todo[i:i + a.at_once]
        if start > end - 20:
            break
        configs = [config_of(t, name, options, out) for name, options in some for t in a.tasks.split(",")]
        run = subprocess.Popen([a.fans, "train", *configs, "--algo", a.algo, "--seed", a.seed, "--seeds", a.seeds,
                                "--steps", a.steps, "--out", str(out), "--quiet"], stdout=subprocess.DEVNULL)
        try:
            run.wait(end - start)
        except subprocess.TimeoutExpired:
            run.send_signal(signal.SIGINT)
            run.wait()
        print(f"{' '.join(name for name, _ in some)}: {time.time() - start:.0f} s", flush=True)


if __name__ == "__main__":
    main()
