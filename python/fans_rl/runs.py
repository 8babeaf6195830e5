"""Runs: what `fans train` or `learn(run=…)` left in a folder, as pandas tables and NetworkX graphs.

>>> run = Run("runs/pendulum_flip-fans/seed-0")
>>> run.metrics.plot("step", "return")
>>> run.graph.predecessors("r")
"""

from __future__ import annotations

import configparser
import csv
import importlib
import itertools
import json
import os
import pathlib
import stat
from collections.abc import Iterable
from types import ModuleType
from typing import TYPE_CHECKING, Any

import numpy as np

from ._library import FormatError

if TYPE_CHECKING:
    import networkx
    import pandas

__all__ = ["Run", "find_runs", "scores"]

LAST = 100  # episodes in a final return, as in reports


def _optional(name: str) -> ModuleType:
    try:
        return importlib.import_module(name)
    except ImportError:
        raise ImportError(f"fans_rl: {name} is not installed; pip install 'fans-rl[runs]' installs it") from None


class Run:
    """The folder of one run: one seed of one algorithm on one task."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = pathlib.Path(path)
        if not self._file("config.ini"):
            raise FileNotFoundError(f"{self.path}: not the folder of a run: it has no config.ini")

    def __repr__(self) -> str:
        return f"Run({str(self.path)!r})"

    @property
    def config(self) -> dict[str, dict[str, str]]:
        """Every option, as resolved: section → key → text."""
        parser = configparser.ConfigParser(interpolation=None)
        parser.read(self._has("config.ini"), encoding="utf-8")
        return {name: dict(parser[name]) for name in parser.sections()}

    @property
    def algo(self) -> str:
        """The algorithm's name, as in `fans list algos`."""
        return self.config["train"]["algo"]

    @property
    def seed(self) -> int:
        return int(self.config["train"]["seed"])

    @property
    def result(self) -> dict[str, Any] | None:
        """What the run came to; None while it is unfinished."""
        path = self._file("result.json")
        return json.loads(path.read_text())["runs"][0] if path else None

    @property
    def metrics(self) -> pandas.DataFrame:
        """A row per episode: episode, step, world, return, length, success, then losses."""
        return _optional("pandas").read_csv(self._has("metrics.csv"))

    @property
    def beliefs(self) -> pandas.DataFrame:
        """Belief (`theta0`, …) and truth (`true.FACTOR`) at every tenth step of an episode."""
        return _optional("pandas").read_csv(self._has("beliefs.csv", "only `fans` has beliefs"))

    @property
    def graph(self) -> networkx.DiGraph:
        """The causal graph found. `x` is a node before a step and `x'` the same one after it.

        Nodes have `kind` (state, action, theta_s, theta_r or reward) and `kept` (a path leads from
        it to the reward); edges have `probability`.
        """
        path = self._has("graph.json", "`fans` writes it at step fans.initial")
        return _graph(_optional("networkx").DiGraph(), json.loads(path.read_text()))

    def final_return(self, last: int = LAST) -> float:
        """The mean return of the last episodes."""
        with open(self._has("metrics.csv"), newline="") as file:
            returns = [float(row["return"]) for row in csv.DictReader(file)]
        if not returns:
            raise ValueError(f"{self.path}: no episode has ended yet")
        return float(np.mean(returns[-last:]))

    def scores(self, last: int = LAST) -> dict[str, np.ndarray]:
        """This run alone, in the shape that rliable takes; `fans_rl.scores` compares many."""
        return scores([self], last)

    def _file(self, name: str) -> pathlib.Path | None:
        """A file of the run, if it is there. A link would lead elsewhere, a pipe would wait for ever."""
        path = self.path / name
        try:
            mode = path.lstat().st_mode
        except (FileNotFoundError, NotADirectoryError):
            return None
        if not stat.S_ISREG(mode):
            raise FormatError(f"{path}: is not a plain file, as the files of a run must be")
        return path

    def _has(self, name: str, hint: str = "") -> pathlib.Path:
        path = self._file(name)
        if not path:
            raise FileNotFoundError(f"{self.path}: has no {name}" + (f"; {hint}" if hint else ""))
        return path


def find_runs(folder: str | os.PathLike[str]) -> list[Run]:
    """Every run in or below a folder, in order of its path."""
    found = [Run(path.parent) for path in sorted(pathlib.Path(folder).rglob("config.ini"))]
    if not found:
        raise FileNotFoundError(f"{folder}: no run in or below this folder")
    return found


# ---- scores -------------------------------------------------------------------------------------


def scores(
    runs: Iterable[Run], last: int = LAST, normalize: tuple[str, str] | None = None
) -> dict[str, np.ndarray]:
    """Final returns for rliable: algorithm → (seeds, tasks), tasks in the order of their first run.

    `normalize=("sac", "oracle")` makes 0 the first algorithm's mean on a task and 1 the second's.
    """
    table: dict[str, dict[str, dict[int, float]]] = {}
    for run in runs:
        config = run.config
        seeds = table.setdefault(_task(config), {}).setdefault(config["train"]["algo"], {})
        if run.seed in seeds:
            raise ValueError(f"{run.path}: this algorithm has seed {run.seed} twice on its task")
        seeds[run.seed] = run.final_return(last)
    if normalize:
        for task in table.values():
            _normalize(task, *normalize)
    algos = list(dict.fromkeys(itertools.chain.from_iterable(table.values())))
    return {algo: _columns(algo, list(table.values())) for algo in algos}


def _task(config: dict[str, dict[str, str]]) -> str:
    """Runs share a task where [env] and every [change.…] agree, as in reports."""
    return repr([(name, keys) for name, keys in config.items() if name == "env" or name.startswith("change.")])


def _normalize(task: dict[str, dict[int, float]], zero: str, one: str) -> None:
    for name in (zero, one):
        if name not in task:
            raise ValueError(f"normalize: a task has no run of '{name}', only of {', '.join(task)}")
    low, high = (float(np.mean(list(task[name].values()))) for name in (zero, one))
    if low == high:
        raise ValueError(f"normalize: {zero} and {one} have the same mean return, {low:g}")
    for seeds in task.values():
        for seed in seeds:
            seeds[seed] = (seeds[seed] - low) / (high - low)


def _columns(algo: str, tasks: list[dict[str, dict[int, float]]]) -> np.ndarray:
    columns = [[value for _, value in sorted(task.get(algo, {}).items())] for task in tasks]
    if len({len(column) for column in columns}) > 1:
        counts = ", ".join(str(len(column)) for column in columns)
        raise ValueError(f"{algo}: every task needs the same number of seeds; they have {counts}")
    return np.array(columns).T


# ---- graphs -------------------------------------------------------------------------------------

# mask: kinds of cause and effect; theta acts within the step, so C_ts starts at its later value
MASKS = {
    "C_ss": ("state", "state"), "C_as": ("action", "state"), "C_ts": ("theta_s", "state"),
    "c_sr": ("state", "reward"), "c_ar": ("action", "reward"),
    "C_tt_s": ("theta_s", "theta_s"), "C_tt_r": ("theta_r", "theta_r"),
}


def _graph(g: networkx.DiGraph, found: dict[str, Any]) -> networkx.DiGraph:
    names = {
        "state": found.get("states") or [f"s{i}" for i in range(found["d"])],
        "action": found.get("actions") or [f"a{i}" for i in range(found["m"])],
        "theta_s": [f"theta_s{i}" for i in range(found["p"])],
        "theta_r": [f"theta_r{i}" for i in range(found["q"])],
    }
    kept = {"state": found["s_min"], "theta_s": found["theta_s_min"], "theta_r": found["theta_r_min"]}
    later = {kind: [f"{name}'" for name in names[kind]] for kind in kept} | {"reward": ["r"]}
    for kind, list_ in itertools.chain(names.items(), later.items()):
        for i, name in enumerate(list_):
            g.add_node(name, kind=kind, kept=kept[kind][i] if kind in kept else True)
    for mask, (cause, effect) in MASKS.items():
        causes = later[cause] if mask == "C_ts" else names[cause]
        for i, row in enumerate(found["masks"][mask]):
            for j, probability in enumerate(row):
                if probability > found["threshold"]:
                    g.add_edge(causes[j], later[effect][i], probability=probability)
    for name in later["theta_r"]:
        g.add_edge(name, "r", probability=1.0)
    return g
