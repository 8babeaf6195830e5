"""What the tool writes for programs, read by another program."""

import json
import subprocess

import mujoco


def figures(build, *command):
    """The JSON that a command writes."""
    path = build / "parity.json"
    subprocess.run([build / "fans", *command, "--json", path], check=True, capture_output=True)
    return json.loads(path.read_text())


def test_doctor(build):
    found = figures(build, "doctor")
    assert found["FANS"]["found"] and found["oneDNN"]["found"]
    assert found["threads"]["usable"] >= 1
    for name, finding in found.items():
        assert isinstance(finding["found"], bool), name
        assert finding["found"] or (finding["install"] and finding["without"]), name
    # MuJoCo's Python package may be newer than the library; both must be a version
    assert found["MuJoCo"]["version"].count(".") == 2 and mujoco.__version__


def test_lists(build):
    for row in figures(build, "list", "options"):
        assert set(row) == {"section", "key", "type", "default", "range", "help"}
    names = [row["name"] for row in figures(build, "list", "ops")]
    assert len(names) == len(set(names))
