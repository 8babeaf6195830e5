"""fans_rl.tune: a study of real trainings, shared and resumed."""

import csv
import importlib.util
import pathlib
import subprocess
import sys
import tempfile

from common import SOURCE, refused
from fans_rl.tune import Range
from run import Skip

FLIP = SOURCE / "configs" / "pendulum_flip.ini"


def run_tune(build, folder, *words):
    if importlib.util.find_spec("optuna") is None:
        raise Skip("optuna is not installed")
    command = [sys.executable, "-m", "fans_rl.tune", FLIP, "--algo", "sac", "--steps", "400", "--seeds", "2", "--out", folder,
               "--fans", build / "fans", "--set", "sac.random_steps=100", "--set", "sac.batch=16", *words]
    return subprocess.run(command, capture_output=True, text=True)


def test_a_study(build):
    search = ["--search", "sac.lr=1e-4:1e-2:log", "--search", "sac.width=8:16", "--search", "sac.n_step=1|2"]
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "study")
        first = run_tune(build, out, *search, "--trials", "2", "--best", "0")
        assert first.returncode == 0 and first.stdout.count("trial-") == 2, first
        second = run_tune(build, out, *search, "--trials", "3", "--best", "2")
        assert second.returncode == 0 and second.stdout.count("trial-") == 1, second  # it goes on
        assert sorted(path.name for path in out.glob("trial-????")) == ["trial-0000", "trial-0001", "trial-0002"]
        assert {path.name for path in out.glob("trial-*-again/seed-*")} == {"seed-2", "seed-3"}  # fresh ones
        with open(out / "best.csv", newline="") as file:
            rows = list(csv.DictReader(file))
        assert len(rows) == 2 and float(rows[0]["fresh"]) >= float(rows[1]["fresh"])
        assert 1e-4 <= float(rows[0]["sac.lr"]) <= 1e-2 and 8 <= int(rows[0]["sac.width"]) <= 16


def test_a_failed_trial_is_told(build):
    with tempfile.TemporaryDirectory() as folder:
        done = run_tune(build, folder, "--search", "sac.batch=20|30", "--set", "train.worlds=nine", "--trials", "1")
        assert done.returncode == 1 and "trial-0000: failed" in done.stdout and "worlds" in done.stdout, done


def test_ranges(build):
    assert Range.parse("sac.lr=1e-4:1e-2:log") == Range("sac.lr", 1e-4, 1e-2, True)
    assert Range.parse("sac.width=8:64").whole
    assert Range.parse("change.torque.rate=0:0.5").high == 0.5
    for wrong in "sac.lr=3", "sac.lr=2:1", "sac.lr=0:1:log", "sac.lr=a:b":
        refused(lambda wrong=wrong: Range.parse(wrong), "not LOW:HIGH", ValueError)
    refused(lambda: Range.parse("sac.lrr=1:2"), "no option 'sac.lrr'", ValueError)


def test_misuse(build):
    with tempfile.TemporaryDirectory() as folder:
        done = run_tune(build, folder, "--search", "sac.nothing=1:2")
        assert done.returncode == 2 and done.stderr.startswith("tune: --search sac.nothing") and done.stderr.count("\n") == 1
