"""The golden values of the numeric core are what PyTorch says today."""

import json
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

GOLDEN = pathlib.Path(__file__).parents[1] / "golden"


def close(a, b, where):
    if isinstance(a, dict):
        assert a.keys() == b.keys(), where
        for key in a:
            close(a[key], b[key], f"{where}/{key}")
    else:
        assert np.allclose(np.array(a), np.array(b), rtol=1e-7, atol=1e-8), where


def test_golden_values_are_pytorchs(build):
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "nn.json"
        subprocess.run([sys.executable, GOLDEN / "make_golden.py", path], check=True, capture_output=True)
        close(json.loads(path.read_text())["cases"], json.loads((GOLDEN / "nn.json").read_text())["cases"], "nn.json")
