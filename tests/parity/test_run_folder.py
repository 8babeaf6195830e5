"""A run folder, read by those for whom it is written: TensorBoard and the safetensors package."""

import csv
import json
import pathlib
import signal
import subprocess
import tempfile
import time

import numpy as np
import zstandard
from safetensors import safe_open
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
TYPES = {"F32": np.float32, "F64": np.float64, "I64": np.int64, "U64": np.uint64, "U8": np.uint8}


def command(build, folder):
    settings = ["sac.width=32", "sac.batch=32", "sac.random_steps=100", "train.checkpoint_every=350"]
    return [build / "fans", "train", CONFIGS / "pendulum_gravity.ini", "--algo", "oracle", "--out",
            pathlib.Path(folder).parent, "--steps", "3000", "--quiet", *(x for s in settings for x in ("--set", s))]


def interrupted(build, folder):
    """A run that was stopped twice, once politely and once not."""
    for how in (signal.SIGINT, signal.SIGKILL):
        process = subprocess.Popen(command(build, folder), stdout=subprocess.DEVNULL)
        while not (pathlib.Path(folder) / "checkpoint.safetensors").exists() and process.poll() is None:
            time.sleep(0.01)
        time.sleep(0.1)
        process.send_signal(how)
        process.wait()
    subprocess.run(command(build, folder), check=True, capture_output=True)


def metrics(folder):
    with open(pathlib.Path(folder) / "metrics.csv", newline="") as file:
        return list(csv.DictReader(file))


def test_tensorboard_reads_one_whole_curve(build):
    with tempfile.TemporaryDirectory() as above:
        folder = str(pathlib.Path(above) / "seed-0")
        interrupted(build, folder)
        events = EventAccumulator(folder, size_guidance={"scalars": 0})
        events.Reload()
        rows = metrics(folder)
        assert len(rows) == 15, len(rows)
        for tag, column in (("rollout/return", "return"), ("train/critic_loss", "critic_loss"),
                            ("train/ent_coef", "ent_coef")):
            curve = events.Scalars(tag)
            assert [e.step for e in curve] == [int(r["step"]) for r in rows], tag
            assert np.allclose([e.value for e in curve], [float(r[column]) for r in rows], rtol=1e-6), tag
        returns = [float(r["return"]) for r in rows]
        mean = events.Scalars("rollout/ep_rew_mean")[-1].value
        assert np.isclose(mean, np.mean(returns[-100:]), rtol=1e-6)
        assert {"rollout/ep_len_mean", "time/fps", "train/actor_loss", "train/n_updates"} <= set(events.Tags()["scalars"])


def unpacked(file, name):
    """An array of the checkpoint; compressed ones have their type and shape in the metadata."""
    array, note = file.get_tensor(name), (file.metadata() or {}).get(name)
    if note is None:
        return array
    kind, dtype, shape = note.split(" ", 2)
    assert kind == "zstd"
    raw = zstandard.ZstdDecompressor().decompress(array.tobytes())
    return np.frombuffer(raw, TYPES[dtype]).reshape(json.loads(shape))


def test_safetensors_reads_the_checkpoint(build):
    with tempfile.TemporaryDirectory() as above:
        folder = str(pathlib.Path(above) / "seed-0")
        interrupted(build, folder)
        rows = metrics(folder)
        with safe_open(pathlib.Path(folder) / "checkpoint.safetensors", "np") as file:
            arrays = {name: unpacked(file, name) for name in file.keys()}
        assert arrays["run/tick"] == 3000 and arrays["run/episodes"] == 15
        assert arrays["actor/pi.1.W"].shape == (1, 3 + 1, 32)
        assert arrays["critic/q.out.W"].shape == (2, 32, 1)
        assert all(np.isfinite(a).all() for a in arrays.values() if a.dtype.kind == "f")
        # the replay holds the rewards of the run: its sums are the returns
        steps = arrays["replay.0/steps"]  # observation, action, reward, terminated
        assert steps.shape[1] == 3 + 1 + 2
        kind, reward = arrays["replay.0/kind"].ravel(), steps[:, 4]
        head = int(arrays["replay.0/head"])
        assert head == 3000 + 15
        ends = np.flatnonzero(kind[:head] == 2)
        sums = [reward[a + 1:b].astype(np.float64).sum() for a, b in zip([-1, *ends[:-1]], ends)]
        assert np.allclose(sums, [float(r["return"]) for r in rows], rtol=1e-5)
        result = json.loads((pathlib.Path(folder) / "result.json").read_text())["runs"][0]
        assert result["algo"] == "oracle" and result["env"] == "pendulum" and result["steps"] == 3000
        assert np.isclose(result["final_return"], np.mean([float(r["return"]) for r in rows]), rtol=1e-6)
