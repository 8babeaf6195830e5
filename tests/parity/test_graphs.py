"""Graphs in data beside tigramite's PCMCI, which is shown the factors that `fans graph` has to do without."""

import importlib.util
import json
import pathlib
import subprocess
import sys
import tempfile

SOURCE = pathlib.Path(__file__).resolve().parents[2]
WORLD = ["env.d=4", "env.noise=0.1", "env.world_seed=0"]


def load(name):
    spec = importlib.util.spec_from_file_location(name, SOURCE / "results" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def test_graph_beside_pcmci(build):
    pcmci, graphs = load("pcmci"), load("graphs")
    config = str(SOURCE / "configs/fnmdp_aep.ini")
    settings = [word for setting in WORLD for word in ("--set", setting)]

    def fans(*words):
        done = subprocess.run([build / "fans", *words], check=True, capture_output=True, text=True)
        return json.loads(done.stdout)

    with tempfile.TemporaryDirectory() as folder:
        data = pathlib.Path(folder) / "data.csv"
        fans("rollout", config, *settings, "--episodes", "60", "--csv", str(data), "--json", "-")
        truth = graphs.true_edges(fans("graph", config, *settings, "--truth", "--json", "-"))
        found = graphs.probabilities(fans("graph", config, *settings, "--data", str(data), "--json", "-"))
        p = pcmci.levels(data)
    ours = pcmci.f1([[x != "" and float(x) > 0.5 for x in row] for row in found], truth)
    theirs = pcmci.f1(pcmci.edges_at(p, 0.01, 4, 2), truth)
    best, _ = pcmci.best(p, truth, 4, 2)
    assert ours >= 0.95, ours
    assert ours >= theirs, (ours, theirs)
    assert theirs > 0.5 and best > 0.8, (theirs, best)  # PCMCI reads the same steps: it finds most of the graph, too
