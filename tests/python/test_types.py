"""The package's type hints hold, as strictly as mypy knows."""

import importlib.util
import subprocess
import sys

from common import SOURCE
from run import Skip


def test_hints(build):
    if importlib.util.find_spec("mypy") is None:
        raise Skip("mypy is not installed")
    done = subprocess.run([sys.executable, "-m", "mypy", "--config-file", SOURCE / "pyproject.toml", "--cache-dir",
                           build / "mypy", "-p", "fans_rl"], cwd=build / "python", capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
