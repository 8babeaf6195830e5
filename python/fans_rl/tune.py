"""Search for options by Optuna: ask and tell, a `fans train` and a folder per trial.

    python -m fans_rl.tune configs/pendulum_flip.ini --algo fans --steps 20000 --trials 30 \\
        --search sac.lr=1e-4:1e-2:log --search 'sac.width=32|64|128' --out tune/flip

A trial trains several seeds; its value is the mean of their final returns. Since the best of many
trials owes part of its value to luck, the best few are trained again with fresh seeds at the end.

Start the same command on as many machines as you like: they share the study in OUT/journal.log. On
a network file system, whose locks are not to be trusted, give a database as --storage.
"""

from __future__ import annotations

import argparse
import csv
import os
import pathlib
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ._config import Path, find_config
from ._library import ffi, lib
from .runs import find_runs

if TYPE_CHECKING:
    import optuna

__all__ = ["Range", "Search", "tune"]


class Range(NamedTuple):
    """What may be tried for an option: `low` to `high`, or one of `choices`."""

    key: str
    low: float = 0
    high: float = 0
    log: bool = False
    whole: bool = False
    choices: tuple[str, ...] = ()

    @classmethod
    def parse(cls, text: str) -> Range:
        """KEY=LOW:HIGH, KEY=LOW:HIGH:log or KEY=A|B|C."""
        key, equals, rest = text.partition("=")
        kind = _kinds().get(re.sub(r"^change\.\w+\.", "change.*.", key))
        if not equals or (kind is None and not key.startswith("env.")):
            raise ValueError(f"--search {text}: there is no option '{key}'; `fans list options` lists them")
        if "|" in rest:
            return cls(key, choices=tuple(one.strip() for one in rest.split("|")))
        found = re.fullmatch(r"([^:]+):([^:]+)(:log)?", rest)
        try:
            low, high = (float(found[k]) for k in (1, 2)) if found else (0.0, 0.0)
        except ValueError:
            low = high = 0.0
        if not found or low >= high or (found[3] and low <= 0):
            raise ValueError(f"--search {text}: not LOW:HIGH, LOW:HIGH:log or A|B|C")
        return cls(key, low, high, bool(found[3]), kind == "whole number")

    def ask(self, trial: optuna.Trial) -> str:
        if self.choices:
            return str(trial.suggest_categorical(self.key, self.choices))
        if self.whole:
            return str(trial.suggest_int(self.key, int(self.low), int(self.high), log=self.log))
        return repr(trial.suggest_float(self.key, self.low, self.high, log=self.log))


def _kinds() -> dict[str, str]:
    info = ffi.new("fans_option_info *", {"size": ffi.sizeof("fans_option_info")})
    found: dict[str, str] = {}
    while lib.fans_option_at(len(found), info) == 0:
        found[ffi.string(info.key).decode()] = ffi.string(info.kind).decode()
    return found


class Search:
    """What all trials of a study have in common."""

    def __init__(
        self, config: Path, ranges: Iterable[Range], out: Path, *, algo: str = "fans", preset: str = "standard",
        steps: int | None = None, seeds: int = 3, settings: Iterable[str] = (), threads: int = 1, tool: Path | None = None,
    ) -> None:
        self.config, self.ranges, self.out = find_config(config), list(ranges), pathlib.Path(out)
        self.seeds, self.settings = seeds, list(settings)
        found = tool or shutil.which("fans")
        if found is None:
            raise FileNotFoundError("the program `fans` is not on the PATH; say where it is: --fans build/fans")
        words = ["--algo", algo, "--preset", preset, "--threads", str(threads), "--quiet"]
        self.command = [str(found), "train", str(self.config), *words, *(["--steps", str(steps)] if steps else [])]

    def train(self, name: str, settings: dict[str, str], seed: int) -> float:
        """Trains in a child and returns the mean final return; a folder that is done is only read."""
        folder = self.out / name
        words = [f"{key}={value}" for key, value in settings.items()] + self.settings
        command = [*self.command, "--seed", str(seed), "--seeds", str(self.seeds), "--out", str(folder)]
        child = subprocess.run([*command, *(word for one in words for word in ("--set", one))], capture_output=True, text=True)
        if child.returncode != 0:
            raise RuntimeError((child.stderr.strip().splitlines() or [f"exit {child.returncode}"])[-1])
        return float(np.mean([run.final_return() for run in find_runs(folder)]))


def _optuna() -> Any:
    try:
        import optuna
    except ImportError:
        raise ImportError("fans_rl: optuna is not installed; pip install 'fans-rl[tune]' installs it") from None
    return optuna


def _study(out: pathlib.Path, storage: str | None) -> optuna.Study:
    there = _optuna()
    place: Any = storage
    if storage is None:
        from optuna.storages.journal import JournalFileBackend, JournalFileOpenLock

        journal = str(out / "journal.log")
        place = there.storages.JournalStorage(JournalFileBackend(journal, lock_obj=JournalFileOpenLock(journal)))
    study: optuna.Study = there.create_study(
        storage=place, study_name=out.name, direction="maximize", load_if_exists=True)
    return study


def tune(search: Search, trials: int, storage: str | None = None, say: Any = None) -> optuna.Study:
    """Trials until the study has so many finished ones. Resumes, and shares the study with others."""
    optuna = _optuna()
    search.out.mkdir(parents=True, exist_ok=True)
    study, say = _study(search.out, storage), say or (lambda line: None)
    while sum(trial.state.is_finished() for trial in study.get_trials(deepcopy=False)) < trials:
        trial = study.ask()
        settings = {one.key: one.ask(trial) for one in search.ranges}
        name = f"trial-{trial.number:04d}"
        trial.set_user_attr("settings", settings)
        try:
            value = search.train(name, settings, 0)
        except RuntimeError as error:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            say(f"{name}: failed: {error}")
        except BaseException:
            study.tell(trial, state=optuna.trial.TrialState.FAIL)
            raise
        else:
            study.tell(trial, value)
            say(f"{name}: {value:.2f}  {_words(settings)}")
    return study


def confirm(search: Search, study: optuna.Study, count: int) -> list[dict[str, Any]]:
    """The best trials again, with as many fresh seeds; the best by those first."""
    done = [trial for trial in study.trials if trial.value is not None]
    rows = []
    for trial in sorted(done, key=lambda one: -float(one.value or 0))[:count]:
        settings = trial.user_attrs["settings"]
        fresh = search.train(f"trial-{trial.number:04d}-again", settings, search.seeds)
        rows.append({"trial": trial.number, "value": trial.value, "fresh": fresh, **settings})
    return sorted(rows, key=lambda row: -row["fresh"])


def _words(settings: dict[str, str]) -> str:
    return " ".join(f"{key}={value}" for key, value in settings.items())


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m fans_rl.tune", description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("config", help="config file, or the name of one of the package")
    add("--search", action="append", required=True, metavar="KEY=RANGE", help="LOW:HIGH, LOW:HIGH:log or A|B|C")
    add("--out", required=True, help="folder of the study and its trials")
    add("--algo", default="fans", help="algorithm (fans)")
    add("--preset", default="standard", help="preset (standard)")
    add("--set", action="append", default=[], metavar="KEY=VALUE", help="an option of all trials")
    add("--steps", type=int, help="steps per run (train.episodes × horizon)")
    add("--trials", type=int, default=50, help="finished trials of the whole study (50)")
    add("--seeds", type=int, default=3, help="seeds per trial (3)")
    add("--best", type=int, default=5, help="trials to train again with fresh seeds at the end; 0: leave it to others (5)")
    add("--threads", type=int, default=1, help="threads per child (1)")
    add("--storage", help="URL of a database (OUT/journal.log)")
    add("--fans", help="the program (the one on the PATH)")
    return parser


def main(words: list[str] | None = None) -> int:
    args = _parser().parse_args(words)
    try:
        _optuna().logging.set_verbosity(_optuna().logging.WARNING)
        search = Search(args.config, map(Range.parse, args.search), args.out, algo=args.algo, preset=args.preset,
                        steps=args.steps, seeds=args.seeds, settings=args.set, threads=args.threads, tool=args.fans)
    except (ImportError, OSError, ValueError) as error:
        print(f"tune: {error}", file=sys.stderr)
        return 2
    study = tune(search, args.trials, args.storage, lambda line: print(line, flush=True))
    rows = confirm(search, study, args.best)
    for row in rows:
        print(f"trial {row['trial']}: {row['value']:.2f}, with fresh seeds {row['fresh']:.2f}")
    if rows:
        with open(os.path.join(args.out, "best.csv"), "w", newline="") as file:
            writer = csv.DictWriter(file, rows[0])
            writer.writeheader()
            writer.writerows(rows)
    return 0 if rows or args.best == 0 else 1


if __name__ == "__main__":
    sys.exit(main())
