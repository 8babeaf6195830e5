"""fans_rl.runs: folders of real runs, against the tool's own files and pages."""

import json
import os
import pathlib
import re
import subprocess
import tempfile

import numpy as np
from fans_rl import Run, find_runs, load, scores

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
SMALL = ["sac.width=16", "sac.batch=16", "sac.random_steps=100", "fans.initial=400", "fnvae.updates=20",
         "fnvae.window=20", "fnvae.encoder=8", "fnvae.lstm=8", "fnvae.dense=8"]


def train(build, folder, algos, configs=("pendulum_flip",)):
    settings = [word for setting in SMALL for word in ("--set", setting)]
    paths = [CONFIGS / f"{name}.ini" for name in configs]
    subprocess.run([build / "fans", "train", *paths, "--algo", algos, "--seeds", "2", "--steps", "800", "--threads",
                    "1", "--quiet", "--out", folder, *settings], check=True, capture_output=True)


def refused(call, line):
    try:
        call()
    except (ValueError, OSError) as error:
        assert re.search(line, str(error)) and "\n" not in str(error), error
    else:
        raise AssertionError(f"not refused: {line}")


def test_tables_and_config(build):
    with tempfile.TemporaryDirectory() as folder:
        train(build, folder, "fans,sac")
        run = Run(f"{folder}/pendulum_flip-fans/seed-1")
        assert (run.algo, run.seed) == ("fans", 1)
        assert run.config["change.torque"]["values"] == "-1, 1"
        assert run.metrics["step"].tolist() == [200, 400, 600, 800]
        assert set(run.beliefs["true.torque"]) <= {-1, 1} and "theta0" in run.beliefs
        assert np.isclose(run.final_return(), run.result["final_return"])
        refused(lambda: Run(f"{folder}/pendulum_flip-sac/seed-0").beliefs, "has no beliefs.csv; only `fans`")
        refused(lambda: Run(folder), "not the folder of a run")


def test_links_and_pipes_are_refused(build):
    with tempfile.TemporaryDirectory() as folder:
        train(build, folder, "fans")
        run = Run(f"{folder}/seed-0")
        reads = {"metrics.csv": run.final_return, "result.json": lambda: run.result, "beliefs.csv": lambda: run.beliefs,
                 "graph.json": lambda: run.graph, "spaces.json": lambda: load(run.path), "config.ini": lambda: Run(run.path)}
        for name, read in reads.items():
            path = run.path / name
            kept = path.read_bytes() if path.exists() else None
            path.unlink(missing_ok=True)
            path.symlink_to("/etc/passwd")
            refused(read, f"{name}: is (a link|not a plain file)")
            path.unlink()
            os.mkfifo(path)
            refused(read, f"{name}: is not a")
            path.unlink()
            if kept:
                path.write_bytes(kept)


def test_graph_is_the_tools(build):
    with tempfile.TemporaryDirectory() as folder:
        train(build, folder, "fans")
        run, dot = Run(f"{folder}/seed-0"), pathlib.Path(folder, "graph.dot")
        subprocess.run([build / "fans", "graph", run.path, "--dot", dot], check=True, capture_output=True)
        text = dot.read_text()
        labels = dict(re.findall(r'(?m)^  (\w+) \[label="([^"]+)"', text))
        assert set(labels.values()) == set(run.graph.nodes)
        edges = {(labels[a], labels[b]) for a, b in re.findall(r"(\w+) -> (\w+)", text)}
        assert edges == set(run.graph.edges) and len(edges) > 0
        filled = {labels[name] for name in re.findall(r'(\w+) \[label="[^"]+", style=filled', text)}
        assert filled == {name for name, kept in run.graph.nodes(data="kept") if kept}


def test_scores_for_rliable(build):
    with tempfile.TemporaryDirectory() as folder:
        train(build, folder, "sac,oracle", ("pendulum_flip", "pendulum_gravity"))
        runs = find_runs(folder)
        assert len(runs) == 8
        table = scores(runs, last=2)
        assert {name: found.shape for name, found in table.items()} == {"oracle": (2, 2), "sac": (2, 2)}
        first = json.loads(pathlib.Path(folder, "pendulum_flip-oracle", "seed-0", "result.json").read_text())["runs"][0]
        assert np.isclose(scores(runs)["oracle"][0, 0], first["final_return"])
        scaled = scores(runs, normalize=("sac", "oracle"))
        assert np.allclose(scaled["sac"].mean(axis=0), 0) and np.allclose(scaled["oracle"].mean(axis=0), 1)
        assert runs[0].scores()[runs[0].algo].shape == (1, 1)
        refused(lambda: scores(runs[:-1]), "same number of seeds")
        refused(lambda: scores([runs[0], runs[0]]), "twice")
        refused(lambda: find_runs(build / "plugins"), "no run in or below")
