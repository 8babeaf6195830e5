"""thousand.py OUT TEMPLATES [TASKS METHODS SEEDS EPISODES] - run folders for a report, made of few real ones.

TEMPLATES holds folders NAME-ALGO/seed-0 of short trainings. Their tables are repeated up to EPISODES episodes, with
returns of their own; what is the same is linked. So what a report has to read is as much as that of real runs."""

import os
import pathlib
import random
import sys

TABLES = {"metrics.csv": ("episode", "step"), "beliefs.csv": ("episode", "step"), "segments.csv": ("segment", "step"),
          "times.csv": ("step",)}


def lengthen(file, times, episodes, steps):
    """Its rows again and again, as if the run had continued."""
    head, *rows = file.read_text(encoding="ascii").splitlines()
    names = head.split(",")
    add = {"episode": episodes, "segment": episodes, "step": steps, "seconds": 60}
    places = [(names.index(name), add[name]) for name in (*TABLES[file.name], "seconds") if name in names]
    rows = [row.split(",") for row in rows]
    out = [head]
    for t in range(times):
        for row in rows:
            row = row.copy()
            for at, n in places:
                row[at] = f"{float(row[at]) + n * t:.3f}" if names[at] == "seconds" else str(int(row[at]) + n * t)
            out.append(",".join(row))
    return out


def set_keys(text, **keys):
    """Keys of a config, wherever they are."""
    for key, value in keys.items():
        text = "\n".join(f"{key} = {value}" if line.startswith(f"{key} = ") else line for line in text.split("\n"))
    return text


class Template:
    def __init__(self, run, episodes, shared):
        self.run = run
        self.config = (run / "config.ini").read_text(encoding="utf-8")
        last = (run / "metrics.csv").read_text(encoding="ascii").splitlines()[-1].split(",")
        have, steps = int(last[0]) + 1, int(last[1])
        times = -(-episodes // have)
        self.episodes, self.steps = have * times, steps * times
        self.metrics = lengthen(run / "metrics.csv", times, have, steps)
        self.linked = [run / name for name in ("command.txt", "graph.json") if (run / name).exists()]
        for name in TABLES:
            if name == "metrics.csv" or not (run / name).exists():
                continue
            file = shared / f"{run.parent.name}-{name}"
            file.write_text("\n".join(lengthen(run / name, times, have, steps)) + "\n", encoding="ascii")
            self.linked.append(file)

    def write(self, to, task, setting, seed):
        rng = random.Random(f"{task} {setting} {seed}")
        gain = self.metrics[0].split(",").index("return")
        rows = [self.metrics[0]]
        better = 1 - 0.05 * setting + 0.02 * rng.random()
        for row in self.metrics[1:]:
            row = row.split(",")
            row[gain] = f"{float(row[gain]) * better:.9g}"
            rows.append(",".join(row))
        to.mkdir(parents=True)
        (to / "metrics.csv").write_text("\n".join(rows) + "\n", encoding="ascii")
        (to / "config.ini").write_text(
            set_keys(self.config, seed=seed, episodes=self.episodes, world_seed=task, lr=f"1e-{3 + setting}"), encoding="utf-8")
        (to / "result.json").write_text(
            f'{{"runs": [{{"status": "done", "episodes": {self.episodes}, "steps": {self.steps}, "busy_s": 600}}]}}',
            encoding="ascii")
        (to / "system.json").write_bytes((self.run / "system.json").read_bytes())
        for file in self.linked:
            os.link(file, to / file.name.split("-")[-1])


def main(out, templates, tasks=10, methods=10, seeds=10, episodes=3000):
    out = pathlib.Path(out)
    (shared := out / "shared").mkdir(parents=True)
    found = [Template(run, int(episodes), shared) for run in sorted(pathlib.Path(templates).glob("*-*/seed-0"))]
    for task in range(int(tasks)):
        for m in range(int(methods)):
            t, setting = found[m % len(found)], m // len(found)
            for seed in range(int(seeds)):
                t.write(out / "runs" / f"task{task}" / f"method{m}" / f"seed-{seed}", task, setting, seed)
    size = sum(f.stat().st_size for f in (out / "runs").rglob("*") if f.is_file())
    print(f"bytes to read,{size},")


main(*sys.argv[1:])
