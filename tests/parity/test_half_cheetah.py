"""half_cheetah against Gymnasium's HalfCheetah, from the same states under the same actions.

 - Our program (its own MuJoCo) with Gymnasium's environment: within 1e-6 over 5 steps and 1e-3 over
   50 where the MuJoCo versions differ, equal in every bit where they are the same.
 - Our MJCF with Gymnasium's, both in Python's MuJoCo: equal in every bit.
"""

import pathlib
import subprocess

import mujoco
import numpy as np
from gymnasium.envs.mujoco.half_cheetah_v5 import HalfCheetahEnv

ROOT = pathlib.Path(__file__).resolve().parents[2]
STEPS = 50
SEEDS = range(20)


def start(seed):
    """A state as a reset makes it, and actions that are exact in single precision."""
    rng = np.random.default_rng(seed)
    qpos, qvel = rng.uniform(-0.1, 0.1, 9), 0.1 * rng.standard_normal(9)
    actions = rng.uniform(-1, 1, (STEPS, 6)).astype(np.float32).astype(np.float64)
    return qpos, qvel, actions


def ours(build, qpos, qvel, actions):
    """(MuJoCo's version, observations and rewards) of our program."""
    words = " ".join(repr(float(x)) for x in np.concatenate([qpos, qvel, actions.ravel()]))
    done = subprocess.run(
        [build / "parity_half_cheetah"], input=words, text=True, check=True, capture_output=True
    )
    version, *lines = done.stdout.splitlines()
    return version, np.array([[float(x) for x in line.split()] for line in lines])


def gymnasiums(env, qpos, qvel, actions):
    """The same from Gymnasium, with our reward computed from its observations."""
    env.reset(seed=0)
    env.set_state(qpos, qvel)
    rows = []
    for action in actions:
        obs = env.step(action)[0]
        rows.append([*obs, -abs(obs[8] - 1.5) - 0.05 * np.sum(action**2)])
    return np.array(rows)


def rollout(model, qpos, qvel, actions):
    """States of a model in Python's MuJoCo, five sub-steps per action."""
    data = mujoco.MjData(model)
    data.qpos[:], data.qvel[:] = qpos, qvel
    rows = []
    for action in actions:
        data.ctrl[:] = action
        mujoco.mj_step(model, data, 5)
        rows.append(np.concatenate([data.qpos, data.qvel]))
    return np.array(rows)


def test_program(build):
    env = HalfCheetahEnv()
    errors = []
    for seed in SEEDS:
        qpos, qvel, actions = start(seed)
        version, got = ours(build, qpos, qvel, actions)
        errors.append(np.abs(got - gymnasiums(env, qpos, qvel, actions)))
    env.close()
    early, late = np.max([e[:5] for e in errors]), np.max(errors)
    print(
        f"MuJoCo {version} against {mujoco.__version__}, {len(errors)} starts: "
        f"largest difference {early:.2g} over 5 steps, {late:.2g} over {STEPS}"
    )
    assert early < 1e-6
    assert late < 1e-3
    assert late == 0 or version != mujoco.__version__


def test_model(_build):
    env = HalfCheetahEnv()
    theirs = env.unwrapped.model
    model = mujoco.MjModel.from_xml_path(str(ROOT / "assets" / "half_cheetah.xml"))
    np.testing.assert_array_equal(model.body_mass, theirs.body_mass)
    np.testing.assert_array_equal(model.body_inertia, theirs.body_inertia)
    for seed in SEEDS:
        state_and_actions = start(seed)
        got, want = (rollout(m, *state_and_actions) for m in (model, theirs))
        np.testing.assert_array_equal(got, want)
    env.close()
    print(f"MuJoCo {mujoco.__version__}, {len(SEEDS)} starts of {STEPS} steps: equal in every bit")
