"""The pendulum against Gymnasium's Pendulum-v1: every step of a rollout, replayed in the other one."""

import csv
import pathlib
import subprocess
import tempfile

import gymnasium
import numpy as np

CONFIGS = pathlib.Path(__file__).parents[2] / "configs"
OBS = ("cos_angle", "sin_angle", "speed")


def rollout(build, config, *arguments):
    """The columns of a rollout's CSV, by name."""
    with tempfile.TemporaryDirectory() as folder:
        path = pathlib.Path(folder) / "steps.csv"
        command = [build / "fans", "rollout", CONFIGS / config, "--csv", path, *arguments]
        subprocess.run(command, check=True, capture_output=True)
        with open(path, newline="") as file:
            rows = list(csv.DictReader(file))
    return {name: np.array([float(r[name] or "nan") for r in rows]) for name in rows[0]}


def other(s, k):
    """Gymnasium's pendulum, put where ours was before step k of `s`, with the same physics."""
    env = gymnasium.make("Pendulum-v1").unwrapped
    env.reset()
    env.g, env.m, env.l = s["gravity"][k], s["mass"][k], s["length"][k]
    env.state = np.array([np.arctan2(s["obs.sin_angle"][k], s["obs.cos_angle"][k]), s["obs.speed"][k]])
    return env


def compare_steps(s):
    for k in range(len(s["t"])):
        env = other(s, k)
        torque = 2 * s["action.torque"][k]
        obs, reward, *_ = env.step(np.array([s["torque"][k] * torque]))
        # Gymnasium charges the torque that acts, we the one that was asked for
        reward += 0.001 * ((s["torque"][k] * torque) ** 2 - torque**2)
        ours = [s[f"next_obs.{name}"][k] for name in OBS]
        np.testing.assert_allclose(ours, obs, rtol=2e-6, atol=3e-6, err_msg=f"step {k}")
        np.testing.assert_allclose(s["reward"][k], reward, rtol=2e-6, atol=3e-6, err_msg=f"step {k}")


def test_stationary(build):
    compare_steps(rollout(build, "pendulum.ini"))


def test_gravity(build):
    s = rollout(build, "pendulum_gravity.ini", "--episodes", "15")
    np.testing.assert_allclose(s["gravity"], 10 * (1 + 0.5 * np.sin(0.5 * s["episode"])))
    compare_steps(s)


def test_torque(build):
    s = rollout(build, "pendulum_torque.ini", "--episodes", "15")
    np.testing.assert_allclose(s["torque"], np.cos(0.5 * s["episode"]), atol=1e-15)
    compare_steps(s)


def test_mass_and_length(build):
    change = ["--set", "change.mass.function=uniform", "--set", "change.mass.low=0.2"]
    change += ["--set", "change.mass.high=5", "--set", "change.length.function=uniform"]
    change += ["--set", "change.length.low=0.5", "--set", "change.length.high=2"]
    s = rollout(build, "pendulum.ini", "--episodes", "15", *change)
    assert len(set(s["mass"])) == len(set(s["length"])) == 15
    compare_steps(s)


def test_whole_episodes(build):
    """Not put back at each step: the same 200 steps from the same start."""
    s = rollout(build, "pendulum.ini", "--episodes", "10")
    for start in np.flatnonzero(s["step"] == 0):
        env = other(s, start)
        for k in range(start, start + 200):
            obs, *_ = env.step(np.array([2 * s["action.torque"][k]]))
            ours = [s[f"next_obs.{name}"][k] for name in OBS]
            np.testing.assert_allclose(ours, obs, atol=1e-3, err_msg=f"row {k}")


def test_starts(build):
    """Angles uniform all around, speeds uniform in [-1, 1], as Gymnasium draws them."""
    s = rollout(build, "pendulum.ini", "--episodes", "2000", "--set", "env.horizon=1")
    angle = np.sort(np.arctan2(s["obs.sin_angle"], s["obs.cos_angle"])) / np.pi
    speed = np.sort(s["obs.speed"])
    for x in (angle, speed):
        # Kolmogorov-Smirnov against the uniform on [-1, 1]; 1.95 / sqrt(n) is its 0.1 % point
        assert np.abs((x + 1) / 2 - (np.arange(2000) + 0.5) / 2000).max() < 1.95 / np.sqrt(2000)
