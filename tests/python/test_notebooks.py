"""The notebooks of examples/notebooks run from top to bottom, in their reduced form."""

import importlib.util
import os
import subprocess
import sys

from common import SOURCE
from run import Skip

NOTEBOOKS = SOURCE / "examples" / "notebooks"


def run_notebook(name, *needs):
    for package in needs:
        if importlib.util.find_spec(package) is None:
            raise Skip(f"{package} is not installed")
    quick = os.environ | {"FANS_QUICK": "1", "OMP_NUM_THREADS": "1"}
    done = subprocess.run([sys.executable, NOTEBOOKS / f"{name}.py"], env=quick, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_first_steps(build):
    said = run_notebook("first_steps", "pandas", "networkx")
    assert "fans    mean return" in said and "the reward depends on" in said


def test_own_environment(build):
    assert "steps of four worlds" in run_notebook("own_environment", "pandas")


def test_side_by_side(build):
    assert "FANS, told when it may change" in run_notebook("side_by_side", "stable_baselines3")


def test_no_notebook_is_forgotten(build):
    names = {path.stem for path in NOTEBOOKS.glob("*.py")}
    assert names == {name.removeprefix("test_") for name in globals() if name.startswith("test_")} - {"no_notebook_is_forgotten"}
